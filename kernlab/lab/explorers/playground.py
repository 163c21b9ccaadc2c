"""A kernel support vector machine in the plane: what kernel, bandwidth and C do to its boundary."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernlab.kernels import KERNELS
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider
from kernlab.lab.explorers.plane import (
    BLUE,
    DARK,
    REACH,
    RED,
    Plane,
    draw_rows,
    draw_sides,
    empty_plane,
    fixed_figure,
    square,
)
from kernlab.lab.explorers.samples import TOYS, Rows, samples
from kernlab.lab.plots.style import house_style
from kernlab.solvers import Certificate

ROWS = 500
ALONE = "own points alone"
PLACE, SIZE = (0.005, 0.005, 0.99, 0.99), (5.6, 4.6)


@dataclass(frozen=True)
class PlaygroundFit:
    """A machine trained on a toy, and all that its picture shows."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray
    decisions: np.ndarray  # on the grid of `square`
    certificate: Certificate
    train_accuracy: float
    test_accuracy: float | None
    seconds: float


def fit_playground(rows, kernel, gamma, C, points=()):
    """Train on rows in the plane and on points (x, y, label) of one's own; test on the others."""
    own = np.array(points, dtype=float).reshape(-1, 3)
    X, y = np.vstack([rows.X, own[:, :2]]), np.append(rows.y, own[:, 2])
    if len(np.unique(y)) < 2:
        raise ValueError("click points of both classes into the picture")
    machine = LibSVM(C=C, kernel=kernel, gamma=gamma, max_iter=200_000)
    began = time.perf_counter()
    machine.fit(X, y)
    seconds = time.perf_counter() - began
    return PlaygroundFit(
        X=X,
        y=y,
        support=machine.support_,
        decisions=machine.decision_function(square()[1]),
        certificate=machine.certify(X, y),
        train_accuracy=machine.score(X, y),
        test_accuracy=machine.score(rows.X_test, rows.y_test) if len(rows.y_test) else None,
        seconds=seconds,
    )


@cache
@house_style()
def _scene():
    figure, (ax,) = fixed_figure([PLACE], SIZE)
    empty_plane(ax)
    return Scene(figure)


def draw_playground(fit):
    """The sides, the boundary (solid), the margins (dashed) and the support vectors (ringed)."""

    def moving(ax):
        draw_sides(ax, square()[0], fit.decisions)
        draw_rows(ax, fit.X, fit.y)
        ax.scatter(*fit.X[fit.support].T, s=34, facecolors="none", edgecolors=DARK, linewidths=0.7)

    return _scene().png(moving)


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    fresh = fit.test_accuracy
    return (
        f"accuracy <b>{fit.train_accuracy:.1%}</b> on the training rows"
        f"{'' if fresh is None else f', <b>{fresh:.1%}</b> on fresh ones'}; "
        f"{len(fit.support)} of {len(fit.y)} rows are support vectors; "
        f"relative duality gap {fit.certificate.relative_gap:.1e}; "
        f"trained in {1e3 * fit.seconds:.0f} ms"
    )


def playground(*data):
    """The playground: data set, kernel, bandwidth, C, and points that can be added and moved.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=TOYS)
    none = Rows(np.empty((0, 2)), np.empty(0), np.empty((0, 2)), np.empty(0))

    def rows(dataset):
        return none if dataset == ALONE else sets[dataset].rows(ROWS, plane=True)

    def draw(dataset, kernel, gamma, C, points):
        fit = fit_playground(rows(dataset), kernel, gamma, C, points)
        return draw_playground(fit), describe(fit)

    def code(dataset, kernel, gamma, C, points):
        text = "import numpy as np\nfrom kernlab.lab.baselines import LibSVM\n"
        if dataset != ALONE:
            text += f"{sets[dataset].code(ROWS, plane=True)}\n"
        if points:
            own = ", ".join(f"({x:.4g}, {y:.4g}, {label:+d})" for x, y, label in points)
            text += f"points = np.array([{own}])\n"
            text += (
                "X, y = points[:, :2], points[:, 2]\n"
                if dataset == ALONE
                else "X, y = np.vstack([X, points[:, :2]]), np.append(y, points[:, 2])\n"
            )
        return f"{text}machine = LibSVM(C={C:.4g}, kernel={kernel!r}, gamma={gamma:.4g}).fit(X, y)"

    plane = Plane(PLACE, (-REACH, REACH), SIZE, {"blue": (-1, BLUE), "red": (1, RED)})
    controls = {
        "dataset": choice("data set", [*sets, ALONE], next(iter(sets))),
        "kernel": choice("kernel", list(KERNELS), "rbf"),
        "gamma": log_slider("gamma", 1.0, -2, 2),
        "C": log_slider("C", 1.0, -2, 3),
        "points": plane,
    }
    text = "a kernel machine in the plane, by data set, kernel, gamma, C"
    return Explorer(draw, controls, text, code=code, picture=plane)
