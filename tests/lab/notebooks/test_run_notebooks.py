"""The runner: any directory, this Python, and an error wherever a notebook did not do its part."""

import json
import sys

import nbformat
import pytest

from kernlab.lab.engine import UnknownStudy
from kernlab.lab.report.notebooks.files import NotebookError
from kernlab.lab.report.notebooks.run import execute_notebook, run_notebooks

pytestmark = [pytest.mark.notebooks, pytest.mark.usefixtures("tiny_house")]


def test_executed_notebook_figures_and_page(write_notebook, tmp_path, monkeypatch):
    elsewhere = tmp_path / "ganz woanders (ä)"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (outcome,) = run_notebooks([write_notebook()], "quick", progress=False)
    assert (outcome.error, outcome.figures) == ("", 1)
    folder = tmp_path / "out" / "quick"
    assert {path.name for path in (folder / "figures").iterdir()} == {
        "tiny-t1-error.png",
        "tiny-t1-error.svg",
        "tiny-t1-error.json",
    }
    nb = nbformat.read(folder / "notebooks" / "00_tiny.ipynb", as_version=4)
    texts = [
        output.text for cell in nb.cells for output in cell.get("outputs", ()) if "text" in output
    ]
    assert texts[-1] == "00_tiny: 1 study, 1 figure, profile quick: complete\n"
    assert any("accuracy  0.910\npoints    3" in text for text in texts)
    page = (folder / "notebooks" / "00_tiny.html").read_text()
    dark = page.partition("(prefers-color-scheme: dark)")[2]
    assert "--jp-layout-color1:" in dark
    assert dark.index("</style>") < dark.index("</head>")  # the last word on colours
    assert "<title>A tiny notebook</title>" in page
    assert "image/png" in page
    assert not list(elsewhere.iterdir())


def test_kernel_is_this_python_whatever_is_installed(write_notebook, tmp_path, monkeypatch):
    decoy = tmp_path / "jupyter" / "kernels" / "python3"
    decoy.mkdir(parents=True)
    argv = ["/nowhere/python", "{connection_file}"]
    (decoy / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "x"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    path = write_notebook(cells=["import sys\nprint(sys.executable)"], studies=(), figures=())
    nb = execute_notebook(path, tmp_path / "executed.ipynb")
    assert nb.cells[-1].outputs[0].text.strip() == sys.executable


@pytest.mark.parametrize(
    ("parts", "profile", "message"),
    [
        ({"parameters": None}, None, "00_tiny has no parameters cell"),
        (
            {"cells": ["1 / 1", "x = 1\nraise ValueError('first line\\nsecond')"]},
            "quick",
            r"^00_tiny, cell 6: ValueError: first line$",
        ),
        (
            {"cells": ["import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"]},
            None,
            "00_tiny: its kernel died",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(write_notebook, tmp_path, parts, profile, message):
    path = write_notebook(**parts)
    with pytest.raises(NotebookError, match=message):
        execute_notebook(path, tmp_path / "executed.ipynb", profile)


def test_one_failing_notebook_does_not_keep_the_others(write_notebook, tmp_path):
    paths = [
        write_notebook(name="01_bad", cells=["1 / 0"], figures=()),
        write_notebook(name="02_good", cells=["print(1)"], figures=()),
    ]
    stale = tmp_path / "out" / "quick" / "notebooks" / "01_bad.html"
    stale.parent.mkdir(parents=True)
    stale.write_text("of an earlier run")
    bad, good = run_notebooks(paths, jobs=2, progress=False)
    assert "01_bad, cell 4: ZeroDivisionError" in bad.error
    assert good.error == ""
    assert not stale.exists()
    with pytest.raises(UnknownStudy, match="no notebook called '99_none'"):
        run_notebooks(["99_none"])
