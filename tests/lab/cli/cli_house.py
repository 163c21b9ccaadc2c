"""A house of tiny studies, and the command line over it: `python cli_house.py reproduce ...`."""

import os
import signal
import time
from pathlib import Path

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.cli import main
from kernlab.lab.engine import Point, Study
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import new_figure
from kernlab.lab.report.notebooks import files as notebook_files

N_SLOW = 20


def grid(profile):
    return [Point.make("toy", method, repeat=r) for method in ("LASN", "LIBSVM") for r in range(2)]


def measure(point, seed):
    return {"test_accuracy": seed / 2**32, "fit_seconds": 0.5 + point.repeat}


def fail(point, seed):
    raise ValueError(f"no {point.method} today")


def slow_grid(profile):
    return [Point.make("toy", "slow", repeat=repeat) for repeat in range(N_SLOW)]


def slow(point, seed):
    time.sleep(float(os.environ.get("KERNLAB_TEST_DELAY", "0.2")))
    return {"objective": float(seed)}


def draw(table):
    figure, ax = new_figure()
    ax.plot(table["repeat"], table["test_accuracy"])
    return figure


def draw_badly(table):
    raise RuntimeError("no ink")


def study(id, measure=measure, grid=grid, **more):
    return Study(id, more.pop("paper", "tiny"), "A title", f"What of {id}?", grid, measure, **more)


GOOD = study("tiny-t1", key_figures=lambda table: {"rows": str(len(table))})
OTHER = study("other-t1", paper="other")
BAD = study("bad-t1", fail, paper="bad")
CAPPED = study("capped-t1", paper="capped", predict_seconds=lambda p: 1e6 * p.repeat)
EMPTY = study("empty-t1", paper="empty", grid=lambda profile: [])
FAR = study(
    "far-t1", paper="far", grid=lambda profile: [Point.make("higgs", "LASN"), *grid(profile)[:1]]
)
SLOW = study("slow-t1", slow, slow_grid, paper="slow")
UGLY = study("ugly-t1", paper="ugly")
BENCH = study("bench-fit", paper="bench", timing=True)
ALL = (BENCH, GOOD, OTHER, BAD, CAPPED, EMPTY, FAR, SLOW, UGLY)
SPECS = {
    "tiny-t1": [FigureSpec("tiny-t1", "error", "A caption.", draw)],
    "ugly-t1": [
        FigureSpec("ugly-t1", "bad", "A caption.", draw_badly),
        FigureSpec("ugly-t1", "good", "A caption.", draw),
    ],
}


def move_in(only=None):
    """Only these studies are in the house, in this process."""
    STUDIES.clear()
    STUDIES.update({study.id: study for study in ALL if only is None or study.id in only})
    FIGURES.clear()
    FIGURES.update(SPECS)


if __name__ == "__main__":
    # Ctrl-C must reach this process even where the tests run in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    move_in(os.environ.get("KERNLAB_TEST_ONLY", "").split() or None)
    notebook_files.notebooks_dir = lambda: Path(os.environ["KERNLAB_TEST_NOTEBOOKS"])
    main()
