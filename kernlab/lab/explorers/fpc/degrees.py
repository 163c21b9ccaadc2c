"""Degree against overfitting: what FPC and the hinge optimum make of few rows and many features."""

from dataclasses import dataclass
from functools import cache

import ipywidgets as widgets
import numpy as np
from matplotlib.ticker import MaxNLocator

from kernlab.approximations.polynomial import space_dimension
from kernlab.lab.explorers.base import Explorer
from kernlab.lab.explorers.fpc.plane import (
    POINTS,
    draw_plane,
    percent,
    plane_and_panels,
    shortfall,
    trained,
)
from kernlab.lab.papers.fpc.axes_figures import look, say_percent
from kernlab.lab.papers.fpc.toy import errors, toy
from kernlab.lab.plots.style import QUIET, house_style
from kernlab.runtime import single_blas_thread

DEGREES = tuple(range(1, 13))
ROWS = (100, 200, 400, 1000)
COMPARED = {"FPC": {}, "hinge optimum": {"tol": 1e-3, "max_iter": 60}}


@dataclass(frozen=True)
class Degrees:
    """Both machines at all degrees on the same rows."""

    X: np.ndarray
    y: np.ndarray
    scores: dict  # (method, degree) -> scores on the grid
    errors: dict  # method -> a pair: errors on training and on test rows, one per degree
    gaps: list  # of the hinge optimum's mean loss to its minimum, at most, by degree


@cache
def all_degrees(rows):
    """Train every machine of a slider beforehand."""
    X, y, X_test, y_test = toy(rows, 0)
    scores, wrong = {}, {}
    with single_blas_thread():
        for method, settings in COMPARED.items():
            machines = {s: trained(method, X, y, s, **settings) for s in DEGREES}
            scores |= {(method, s): m.decision_function(POINTS) for s, m in machines.items()}
            found = [errors(m, X, y, X_test, y_test) for m in machines.values()]
            wrong[method] = [[row[name] for row in found] for name in ("train_error", "test_error")]
    gaps = [machine.result_.gap for machine in machines.values()]
    return Degrees(X=X, y=y, scores=scores, errors=wrong, gaps=gaps)


@house_style()
def draw_degrees(fits, degree):
    """Both boundaries at one degree; the errors at all degrees."""
    figure, (plane, test, train) = plane_and_panels(2)
    scores = {method: fits.scores[method, degree] for method in COMPARED}
    features = space_dimension(2, degree)
    draw_plane(
        plane, fits.X, fits.y, scores,
        f"Degree {degree}: {features} polynomials on {len(fits.y)} rows",
    )  # fmt: skip
    for ax, of_rows, title in ((test, 1, "Test error"), (train, 0, "Training error")):
        for method in COMPARED:
            ax.plot(DEGREES, fits.errors[method][of_rows], marker="o", ms=3, **look(method))
        ax.axvline(degree, color=QUIET, lw=0.9)
        ax.set(title=title, ylim=(0, None))
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_major_formatter(say_percent)
    train.axhline(0.1, color=QUIET, lw=0.9, ls=(0, (4, 3)))  # the labels that are wrong
    train.set_xlabel("degree s", labelpad=0)
    return figure


def describe(fits, degree):
    """The errors at this degree, and what they mean, in HTML."""
    at = DEGREES.index(degree)
    said = [
        f"{method}: test error <b>{percent(fits.errors[method][1][at])}</b>, training error "
        f"{percent(fits.errors[method][0][at])}"
        for method in COMPARED
    ]
    return (
        f"{'; '.join(said)}. One label in ten is wrong (dashed): who errs less on the training "
        f"rows than that has begun to learn the noise{shortfall(fits.gaps[at])}"
    )


def fpc_degrees():
    """The explorer: degree, and number of training rows."""

    def draw(degree, rows):
        fits = all_degrees(rows)
        return draw_degrees(fits, degree), describe(fits, degree)

    for rows in ROWS:
        all_degrees(rows)
    controls = {
        "degree": widgets.IntSlider(
            value=9, min=DEGREES[0], max=DEGREES[-1], description="degree s"
        ),
        "rows": widgets.SelectionSlider(options=ROWS, value=400, description="rows"),
    }
    return Explorer(draw, controls, "degree against overfitting, by degree and rows")
