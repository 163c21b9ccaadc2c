"""Degree against overfitting: what FPC and the hinge optimum make of few rows and many features."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.ticker import MaxNLocator

from kernlab.approximations.polynomial import space_dimension
from kernlab.lab.explorers.base import Explorer, Scene, stops
from kernlab.lab.explorers.fpc.plane import (
    POINTS,
    boundary,
    draw_square,
    plane_and_panels,
    shortfall,
    toy_code,
    trained,
)
from kernlab.lab.explorers.plane import heading
from kernlab.lab.papers.fpc.figures.axes import look, say_percent
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
    """Train every machine of the slider beforehand."""
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


@cache
@house_style()
def degrees_scene(rows):
    """The rows, and the errors of both machines at all degrees."""
    fits = all_degrees(rows)
    figure, (plane, test, train) = plane_and_panels(2)
    draw_square(plane, fits.X, fits.y, list(COMPARED))
    for ax, of_rows, title in ((test, 1, "Test error"), (train, 0, "Training error")):
        for method in COMPARED:
            ax.plot(DEGREES, fits.errors[method][of_rows], marker="o", ms=3, **look(method))
        ax.set(title=title, ylim=(0, None))
        ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_major_formatter(say_percent)
    train.axhline(0.1, color=QUIET, lw=0.9, ls=(0, (4, 3)))  # the labels that are wrong
    train.set_xlabel("degree s", labelpad=0)
    return Scene(figure)


def draw_degrees(rows, degree):
    """Both boundaries at one degree, among the errors at all degrees, as PNG."""
    fits = all_degrees(rows)

    def moving(plane, test, train):
        for method in reversed(COMPARED):
            boundary(plane, method, fits.scores[method, degree])
        heading(plane, f"Degree {degree}: {space_dimension(2, degree)} polynomials on {rows} rows")
        for ax in (test, train):
            ax.axvline(degree, color=QUIET, lw=0.9)

    return degrees_scene(rows).png(moving)


def describe(fits, degree):
    """The errors at this degree, and what they mean, in HTML."""
    at = DEGREES.index(degree)
    said = [
        f"{method}: test error <b>{fits.errors[method][1][at]:.1%}</b>, training error "
        f"{fits.errors[method][0][at]:.1%}"
        for method in COMPARED
    ]
    return (
        f"{'; '.join(said)}. One label in ten is wrong (dashed): who errs less on the training "
        f"rows than that has begun to learn the noise{shortfall(fits.gaps[at])}"
    )


def fpc_degrees():
    """The explorer: degree, and number of training rows."""

    def draw(degree, rows):
        return draw_degrees(rows, degree), describe(all_degrees(rows), degree)

    def code(degree, rows):
        return (
            f"{toy_code(rows)}machine = FPC({degree}).fit(X, y)\n"
            f'optimum = FPC({degree}, basis="chebyshev", to_optimum=True).fit(X, y)'
        )

    for rows in ROWS:  # ahead, so that every control only looks up
        degrees_scene(rows)
    controls = {"degree": stops("degree s", DEGREES, 9), "rows": stops("rows", ROWS, 400)}
    text = "degree against overfitting, by degree and rows"
    return Explorer(draw, controls, text, code=code, frames={"degree": DEGREES})
