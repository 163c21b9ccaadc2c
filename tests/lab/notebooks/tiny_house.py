"""A study with a figure that notebooks under test can run; importing this adds it to the house."""

import pandas as pd

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine import Point, Study, Tolerance
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import new_figure


def measure(point, seed):
    return {"test_accuracy": 0.9 + 0.01 * point.repeat, "fit_seconds": 0.01}


def draw(table):
    figure, ax = new_figure()
    ax.plot(table["repeat"], table["test_accuracy"])
    return figure


STUDY = Study(
    id="tiny-t1",
    paper="tiny",
    title="A tiny study",
    question="Do notebooks work?",
    grid=lambda profile: [Point.make("toy", "LASN", repeat=r) for r in range(3)],
    measure=measure,
    key_figures=lambda table: {
        "accuracy": f"{table.test_accuracy.mean():.3f}",
        "points": f"{len(table)}",
    },
    measured=lambda table: pd.DataFrame(
        {"row": ["a9a"], "column": ["LASN accuracy"], "value": [100 * table.test_accuracy.mean()]}
    ),
    tolerances={"LASN accuracy": Tolerance(absolute=0.5)},
)
BROKEN = Study(
    "tiny-broken", "tiny", "t", "q", lambda p: [Point.make("toy", "x")], lambda p, s: {}[0]
)

SPECS = [
    FigureSpec(STUDY.id, "error", "How the error falls with the repeat.", draw),
    FigureSpec(STUDY.id, "time", "How the time grows.", draw),
]

STUDIES[STUDY.id] = STUDY
STUDIES[BROKEN.id] = BROKEN
FIGURES[STUDY.id] = SPECS
