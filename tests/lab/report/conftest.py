"""Fixtures of the report's tests: an empty registry, and a folder filled by a synthetic run."""

import shutil

import pytest
import report_demo

from kernlab.lab.report import build_report


@pytest.fixture
def studies():
    """The registry of studies, empty and free to be filled; restored afterwards.

    Which data sets are at hand is fixed as well, so that no test depends on the machine.
    """
    with report_demo.own_registry() as registry:
        yield registry


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """The output folder of a synthetic run and its report; not to be changed."""
    out = tmp_path_factory.mktemp("run")
    with report_demo.own_registry() as registry:
        report_demo.build(out, registry)
        build_report("quick", out)
    return out


@pytest.fixture
def demo(finished_run, tmp_path, studies):
    """A copy of the synthetic run to change at will; its profile's folder is demo / "quick"."""
    shutil.copytree(finished_run / "quick", tmp_path / "quick")
    (tmp_path / "quick" / "index.html").unlink()
    report_demo.register(studies)
    return tmp_path
