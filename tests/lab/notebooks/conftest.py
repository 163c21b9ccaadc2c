"""Notebooks made for a test, and a house in which their study and figures exist."""

import os

import nbformat
import pytest
from tiny_notebooks import HERE, make_notebook


@pytest.fixture
def write_notebook(tmp_path):
    """Write a notebook into a folder whose name has a space and an umlaut; its path."""
    folder = tmp_path / "Übungen im Labor"
    folder.mkdir()

    def write(*, name="00_tiny", edit=lambda nb: nb, **parts):
        nb = make_notebook(**parts)
        edit(nb)
        path = folder / f"{name}.ipynb"
        nbformat.write(nb, path)
        return path

    return write


@pytest.fixture
def tiny_house(monkeypatch, tmp_path):
    """The tiny study and its figures here and in every process started from here."""
    from kernlab.lab.catalogue import FIGURES, STUDIES

    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("KERNLAB_OUT", str(tmp_path / "out"))
    before = dict(STUDIES), dict(FIGURES)
    import tiny_house

    STUDIES.update({s.id: s for s in (tiny_house.STUDY, tiny_house.BROKEN)})
    FIGURES[tiny_house.STUDY.id] = tiny_house.SPECS
    yield tiny_house
    for registry, content in zip((STUDIES, FIGURES), before, strict=True):
        registry.clear()
        registry.update(content)
