"""What notebook cells call: figures under captions, compared text, and a last cell that checks."""

import dataclasses
import importlib

import nbformat
import pandas as pd
import pytest
from tiny_notebooks import make_notebook

from kernlab.lab import notebook
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.report import scoring
from kernlab.lab.report.notebooks.files import FIGURE_KEY, NotebookError


@pytest.fixture
def shown(monkeypatch):
    """What would be displayed: (data, metadata) of each output."""
    outputs = []

    def display(thing, raw=False, metadata=None):
        outputs.append((thing if raw else {"text/markdown": thing.data}, metadata))

    monkeypatch.setattr(notebook, "display", display)
    monkeypatch.setattr(notebook, "_session", None)
    return outputs


@pytest.fixture
def house(tiny_house, shown, tmp_path, monkeypatch):
    path = tmp_path / "00_tiny.ipynb"
    nbformat.write(make_notebook(), path)
    monkeypatch.setenv("KERNLAB_NOTEBOOK", str(path))
    return tiny_house


def test_a_whole_notebook(house, shown, capsys, tmp_path):
    notebook.begin("quick", "00_tiny")
    table = notebook.run("tiny-t1")
    assert len(table) == 3
    notebook.show("tiny-t1", "error", table)
    notebook.key_figures("tiny-t1", table)
    notebook.finish()
    (caption, _), (figure, metadata) = shown
    assert caption == {"text/markdown": "How the error falls with the repeat."}
    assert figure["text/plain"] == "<Figure tiny-t1-error>"
    assert metadata[FIGURE_KEY] == "tiny-t1-error"
    assert 200 < metadata["image/png"]["width"] < 1200
    assert capsys.readouterr().out.splitlines() == [
        "accuracy  0.910",
        "points    3",
        "00_tiny: 1 study, 1 figure, profile quick: complete",
    ]
    for kind in ("png", "svg", "json"):
        assert (tmp_path / f"out/quick/figures/tiny-t1-error.{kind}").stat().st_size > 0


def test_cells_out_of_order_are_told_to_begin(house):
    for call in (notebook.finish, lambda: notebook.run("tiny-t1")):
        with pytest.raises(NotebookError, match="has not begun"):
            call()


def test_finish_names_all_that_is_missing(house, tmp_path):
    notebook.begin("quick", "00_tiny")
    with pytest.raises(NotebookError, match="study tiny-t1 was declared but not run") as caught:
        notebook.finish()
    assert "figure tiny-t1-error was declared but not shown" in str(caught.value)
    table = notebook.run("tiny-t1")
    notebook.show("tiny-t1", "error", table)
    (tmp_path / "out/quick/figures/tiny-t1-error.svg").unlink()
    with pytest.raises(NotebookError, match=r"tiny-t1-error\.svg is missing"):
        notebook.finish()


def test_failed_points_are_printed_and_end_the_notebook(house, capsys):
    notebook.begin("quick", "00_tiny")
    assert notebook.run("tiny-broken").status.to_list() == ["failed"]
    assert "tiny-broken: 1 point failed, the first: x on toy: KeyError" in capsys.readouterr().out
    with pytest.raises(NotebookError, match="tiny-broken: 1 point failed"):
        notebook.finish()


@pytest.fixture
def printed(monkeypatch, tiny_house):
    """A published table for the tiny study: one accuracy, one time, one cell without a number."""
    scorecard = importlib.import_module("kernlab.lab.report.scoring")
    frame = pd.DataFrame(
        {
            "row": ["a9a", "a9a", "w8a & co"],
            "column": ["LASN accuracy", "LASN time", "LASN accuracy"],
            "value": [91.2, 12.5, float("nan")],
            "unit": ["%", "s", "%"],
            "note": ["", "", "printed as a dash"],
            "printed": ["91.2", "12.5", "-"],
        }
    )
    monkeypatch.setattr(scoring, "published_ids", lambda: ["tiny-t1"])
    monkeypatch.setattr(scorecard, "published", lambda study_id: frame)
    measured = tiny_house.STUDY.measured

    def with_time(table):
        more = pd.DataFrame({"row": ["a9a"], "column": ["LASN time"], "value": [3.25]})
        return pd.concat([measured(table), more])

    timed = dataclasses.replace(tiny_house.STUDY, measured=with_time, timing=True)
    STUDIES["tiny-t1"] = timed
    return STUDIES["tiny-t1"]


def test_published_values_beside_ours(house, printed, shown):
    notebook.begin("quick", "00_tiny")
    notebook.compare("tiny-t1", notebook.run("tiny-t1"))
    ((data, _),) = shown
    lines = data["text/plain"].splitlines()
    assert lines[0].split() == list(scoring.HEADER)
    assert "91.2" in lines[1]
    assert "91" in lines[1]
    assert "reproduced" in lines[1]
    assert "3.25" not in data["text/plain"] + data["text/html"]  # a time is not compared
    assert lines[3] == "2 published numbers without one of ours:"
    assert lines[4].startswith("     1  times measured beside other work are not compared")
    assert lines[5].startswith("     1  ")
    assert len(lines) == 6
    assert "w8a &amp; co" in data["text/html"]  # unfolded
    assert data["text/html"].count("<details>") == 2

    notebook.begin("standard", "00_tiny")
    notebook.compare("tiny-t1", notebook.run("tiny-t1"))
    assert "3.25" in shown[-1][0]["text/plain"]
