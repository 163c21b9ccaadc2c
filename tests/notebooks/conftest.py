"""Notebooks made for a test, and a house in which their study and figures exist."""

import os
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

HERE = Path(__file__).parent
PARAMETERS = 'PROFILE: str = "quick"  # quick, standard or paper'
BODY = [
    'import tiny_house\nfrom kernlab.report import notebook as nb\n\nnb.begin(PROFILE, "00_tiny")',
    'table = nb.run("tiny-t1")\nnb.show("tiny-t1", "error", table)',
    'nb.key_figures("tiny-t1", table)',
    "nb.finish()",
]


def make_notebook(
    cells=BODY, parameters=PARAMETERS, studies=("tiny-t1",), figures=("tiny-t1-error",)
):
    """A notebook with prose before every code cell."""
    nb = new_notebook()
    nb.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nb.metadata.kernlab = {"studies": list(studies), "figures": list(figures)}
    nb.cells = [new_markdown_cell("# A tiny notebook\n\nIt begins.", id="title")]
    if parameters is not None:
        cell = new_code_cell(parameters, id="parameters")
        cell.metadata.tags = ["parameters"]
        nb.cells.append(cell)
    for number, source in enumerate(cells):
        nb.cells.append(new_markdown_cell(f"Part {number} & its story.", id=f"prose-{number}"))
        nb.cells.append(new_code_cell(source, id=f"code-{number}"))
    return nb


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
    from kernlab.plots import FIGURES
    from kernlab.studies import STUDIES

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
