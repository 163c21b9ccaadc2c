"""Figures keep their contract: captions, safe names, same bytes, and no crash where nothing ran."""

import os
import subprocess
import sys

import matplotlib as mpl
import pandas as pd
import pytest

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.plots.registry import (
    FigureSpec,
    by_study,
    declared,
    draw_figures,
    figure,
    save,
)
from kernlab.lab.plots.style import new_figure

NOTHING_FINISHED = [
    pd.DataFrame({"status": [], "dataset": []}),
    pd.DataFrame({"status": ["failed", "failed"], "message": ["boom", "boom"]}),
    pd.DataFrame(),
]


def draw_scatter(table):
    figure, ax = new_figure()
    ax.plot(table["x"], table["y"], "o")
    return figure


def spec(name="scatter", draw=draw_scatter, study="llsvm-prop1"):
    return FigureSpec(study, name, "Points of y against x.", draw)


def table():
    return pd.DataFrame({"x": [1, 2, 3], "y": [3, 1, 2], "status": ["ok", "ok", "failed"]})


def words(figure):
    return {text.get_text() for ax in figure.axes for text in ax.texts}


@pytest.mark.parametrize("name", ["a/b", "../x", "", "a b", "é\n"])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises(ValueError, match="file name"):
        spec(name, study=name)


def test_two_figures_of_one_name_are_refused():
    with pytest.raises(ValueError, match="llsvm-prop1-scatter"):
        by_study([spec(), spec("other"), spec()])


def test_a_docstring_is_the_caption_with_the_arguments_of_the_figure_filled_in():
    @figure("lasn-f2", "sweep", name="blue")
    @figure("lasn-f3", "sweep", "In all of them.", name="red")
    def draw(table, name):
        r"""Points in {name}, $\\{name}$,
        twice.
        """
        drawn, ax = new_figure()
        ax.plot(table["x"], table["y"], color=name)
        return drawn

    namespace = {"__name__": __name__, "draw": draw, "other": draw_scatter, "save": save}
    blue, red = declared(namespace)
    assert (blue.stem, red.stem) == ("lasn-f2-sweep", "lasn-f3-sweep")
    assert blue.caption == r"Points in blue, $\\blue$, twice."
    assert red.caption == r"Points in red, $\\red$, twice. In all of them."
    assert red.draw(table()).axes[0].get_lines()[0].get_color() == "red"


def test_draw_sees_the_finished_rows_only_in_the_house_style():
    seen = []

    def draw(rows):
        seen.append((len(rows), mpl.rcParams["svg.hashsalt"]))
        return draw_scatter(rows)

    spec(draw=draw).draw(table())
    assert seen == [(2, "kernlab")]


@pytest.mark.parametrize("nothing", NOTHING_FINISHED)
def test_without_finished_rows_the_figure_says_so(nothing):
    (card,) = words(spec().draw(nothing))
    assert card.startswith("Nothing computed yet: kernlab reproduce llsvm-prop1 --profile standard")
    assert all(message in card for message in set(nothing.get("message", ())))


@pytest.mark.parametrize(
    "each", [s for group in FIGURES.values() for s in group], ids=lambda s: s.stem
)
def test_every_registered_figure_bears_a_table_of_failures(each):
    (card,) = words(each.draw(NOTHING_FINISHED[1]))
    assert f"kernlab reproduce {each.study} " in card


def test_every_figure_belongs_to_a_study():
    assert set(FIGURES) <= set(STUDIES)


def test_a_figure_that_fails_leaves_the_others_and_is_named(tmp_path):
    def broken(rows):
        raise KeyError("no such column")

    specs = [spec("first", broken), spec("second")]
    with pytest.raises(ExceptionGroup, match="1 of 2 figures failed") as caught:
        draw_figures(specs, table(), "quick", tmp_path)
    assert "llsvm-prop1-first" in str(caught.value.exceptions[0].__notes__)
    assert (tmp_path / "quick/figures/llsvm-prop1-second.png").exists()
    assert not list((tmp_path / "quick/figures").glob("*first*"))


def test_a_save_that_fails_leaves_the_old_file_whole(tmp_path, monkeypatch):
    figure = draw_scatter(table())
    png, _ = save(figure, tmp_path / "a")
    before = png.read_bytes()

    def half_written(target, **settings):
        target.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", half_written)
    with pytest.raises(OSError, match="disk full"):
        save(figure, tmp_path / "a")
    assert png.read_bytes() == before
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["a.png", "a.svg"]


def test_the_same_figure_gives_the_same_bytes_in_another_process(tmp_path):
    code = (
        "import sys; from tests_figure import draw; from kernlab.lab.plots.registry import save;"
        "save(draw(), sys.argv[1])"
    )
    (tmp_path / "tests_figure.py").write_text(
        "import numpy as np, pandas as pd\n"
        "from kernlab.lab.plots.labels import label_lines\n"
        "from kernlab.lab.plots.marks import bands\n"
        "from kernlab.lab.plots.style import house_style, new_figure\n"
        "@house_style()\n"
        "def draw():\n"
        "    figure, ax = new_figure()\n"
        "    table = pd.DataFrame({'n': [1, 1, 2, 2], 'y': [1., 2, 3, 4], 'method': 'LASN'})\n"
        "    bands(ax, table, 'n', 'y', marker='o')\n"
        "    label_lines(ax)\n"
        "    return figure\n"
    )
    for run, seed in (("one", "1"), ("two", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)}
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / run)], env=environment, check=True
        )
    for suffix in ("png", "svg"):
        one, two = ((tmp_path / f"{run}.{suffix}").read_bytes() for run in ("one", "two"))
        assert one == two
    svg = (tmp_path / "one.svg").read_text("utf-8")
    assert "<dc:date>" not in svg
