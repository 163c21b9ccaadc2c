"""Fixtures of the report's tests: an empty registry, and a folder filled by a synthetic run."""

from importlib import import_module

import pytest
import report_demo

from kernlab.studies import STUDIES

AT_HAND = {"a9a": True, "w8a": True, "ijcnn1": False, "madelon": True, "susy": False}


@pytest.fixture
def studies(monkeypatch):
    """The registry of studies, empty and free to be filled; restored afterwards."""
    before = dict(STUDIES)
    STUDIES.clear()
    yield STUDIES
    STUDIES.clear()
    STUDIES.update(before)


@pytest.fixture
def at_hand(monkeypatch):
    """Data sets that are at hand on every machine that runs the tests, and some that are not."""
    # kernlab.report.scorecard as an attribute is the function of that name.
    module = import_module("kernlab.report.scorecard")
    monkeypatch.setattr(module, "_availability", lambda: AT_HAND.get)


@pytest.fixture
def demo(tmp_path, studies, at_hand):
    """The output folder of a synthetic run; its profile's folder is demo / "quick"."""
    report_demo.build(tmp_path, studies)
    return tmp_path
