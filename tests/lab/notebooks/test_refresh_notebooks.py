"""Refreshing: the same bytes every time, and nothing of one machine."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from tiny_notebooks import BODY

from kernlab.lab.report.notebooks.files import WIDGET_VIEW, NotebookError
from kernlab.lab.report.notebooks.refresh import normalise, refresh_notebooks
from kernlab.lab.report.notebooks.rules import check_notebook

pytestmark = [pytest.mark.notebooks, pytest.mark.usefixtures("tiny_house")]

SLIDER = (
    "from ipywidgets import IntSlider\nfrom IPython.display import display\ndisplay(IntSlider(3))"
)


def test_refreshed_notebook_is_stable_and_clean(write_notebook):
    path = write_notebook(cells=[*BODY[:-1], SLIDER, BODY[-1]])
    assert refresh_notebooks([path], progress=False) == {path: True}
    first = path.read_bytes()
    assert check_notebook(path) == []
    assert refresh_notebooks([path], progress=False) == {path: False}
    assert path.read_bytes() == first
    told = json.loads(first)
    assert told["metadata"].keys() == {"kernlab", "kernelspec", "language_info"}
    assert [cell["id"] for cell in told["cells"]][:3] == ["title", "parameters", "prose-0"]
    counts = [c["execution_count"] for c in told["cells"] if c["cell_type"] == "code"]
    assert counts == list(range(1, 7))
    assert not [file for file in path.parent.iterdir() if file != path]


def test_notebook_that_fails_is_left_as_it_was(write_notebook):
    path = write_notebook(cells=["1 / 0"])
    before = path.read_bytes()
    with pytest.raises(NotebookError, match="ZeroDivisionError"):
        refresh_notebooks([path], progress=False)
    assert path.read_bytes() == before


def test_what_belongs_to_a_moment_is_left_out():
    nb = new_notebook()
    nb.metadata.update(papermill={"duration": 3}, widgets={}, kernlab={"studies": []})
    nb.nbformat_minor = 4
    streams = [new_output("stream", name=n, text=t) for n, t in (("stdout", "a"), ("stdout", "b"))]
    view = new_output("display_data", {WIDGET_VIEW: {"model_id": "ab"}, "text/plain": "slider"})
    result = new_output("execute_result", {"text/plain": "1"}, execution_count=41)
    cell = new_code_cell("1", execution_count=41, outputs=[*streams, view, result], id="0a1b2c3d")
    cell.metadata.update(tags=["parameters"], papermill={"duration": 3}, execution={"x": 1})
    nb.cells = [cell, new_code_cell("", id="own")]
    nb = normalise(nb, {"own"})
    assert nb.metadata.keys() == {"kernlab", "kernelspec", "language_info"}
    assert [cell.id for cell in nb.cells] == ["cell-01", "own"]
    assert [cell.execution_count for cell in nb.cells] == [1, None]
    assert nb.cells[0].metadata == {"tags": ["parameters"]}
    merged, slider, one = nb.cells[0].outputs
    assert merged.text == "ab"
    assert slider.data == {"text/plain": "slider"}
    assert one.execution_count == 1
    nbformat.validate(nb)
