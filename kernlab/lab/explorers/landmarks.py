"""Landmarks in the plane: where they lie, what boundary they allow, and where the time goes."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.ticker import NullFormatter

from kernlab.estimators import LASN
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider
from kernlab.lab.explorers.plane import (
    BLUE,
    DARK,
    draw_rows,
    draw_sides,
    empty_plane,
    fixed_figure,
    heading,
    square,
)
from kernlab.lab.explorers.samples import TOYS, sample_choice, samples
from kernlab.lab.plots.style import house_style

RULES = ("kmeans", "uniform", "first", "rpcholesky", "leverage")
ROWS = 2000
STEPS = 25
STAGES = {"landmarks": "choose landmarks", "map": "factor the map", "solve": "Newton"}
PLACES = [(0.01, 0.02, 0.4, 0.88), (0.475, 0.15, 0.2, 0.75), (0.8, 0.15, 0.19, 0.75)]


@dataclass(frozen=True)
class LandmarkFit:
    """A machine on landmarks, and what its picture shows."""

    X: np.ndarray
    y: np.ndarray
    landmarks: np.ndarray
    decisions: np.ndarray  # on the grid of `square`
    residuals: list  # of Newton's steps
    milliseconds: dict
    accuracy: float
    error: float  # of the kernel matrix, relative, sampled


def fit_landmarks(rows, rule, k, gamma, C, seed=0):
    """Train LASN on rows in the plane, and test it on the others."""
    X, y, X_test, y_test = rows
    machine = LASN(min(k, len(y)), landmarks=rule, gamma=gamma, C=C, random_state=seed)
    began = time.perf_counter()
    machine.fit(X, y)
    total = time.perf_counter() - began
    stages = {name.split(": ")[-1]: seconds for name, seconds in machine.timings_.items()}
    spent = {stage: 1e3 * stages.get(stage, 0.0) for stage in STAGES}
    return LandmarkFit(
        X=X,
        y=y,
        landmarks=machine.landmarks_,
        decisions=machine.decision_function(square()[1]),
        residuals=[step["residual"] for step in machine.result_.trace],
        milliseconds=spent | {"other": max(0.0, 1e3 * total - sum(spent.values()))},
        accuracy=machine.score(X_test, y_test),
        error=machine.approximation_.error(X, n_sampled=400),
    )


@cache
@house_style()
def _scene():
    figure, (plane, steps, times) = fixed_figure(PLACES, (10.2, 4.2))
    empty_plane(plane)
    steps.set(yscale="log", xlabel="Newton step", title="Relative gradient")
    steps.set(xlim=(-1, STEPS), ylim=(1e-17, 10))
    steps.yaxis.set_minor_formatter(NullFormatter())
    times.set_yticks(range(4), [*STAGES.values(), "other"])
    times.set(title="Milliseconds", xscale="log", xlim=(0.02, 1000), ylim=(3.5, -0.5))
    times.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    times.minorticks_off()
    times.grid(axis="y", visible=False)
    return Scene(figure)


def draw_landmarks(fit):
    """The plane with its landmarks; the gradient at every Newton step; where the time went."""

    def moving(plane, steps, times):
        draw_sides(plane, square()[0], fit.decisions)
        draw_rows(plane, fit.X, fit.y, size=4, alpha=0.35, linewidths=0)
        plane.scatter(*fit.landmarks.T, s=26, marker="X", color=DARK, linewidths=0.5)
        heading(plane, f"{len(fit.landmarks)} landmarks")
        steps.plot(np.maximum(fit.residuals, 1e-16), marker="o", ms=4, color=BLUE)
        spent = np.maximum(list(fit.milliseconds.values()), 0.02)
        times.barh(range(4), spent, color=BLUE)

    return _scene().png(moving)


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    return (
        f"accuracy <b>{fit.accuracy:.1%}</b> on fresh rows; the kernel matrix is "
        f"reproduced to <b>{fit.error:.2%}</b>; trained on {len(fit.y):,} rows in "
        f"{sum(fit.milliseconds.values()):.0f} ms"
    )


def landmarks(*data):
    """The explorer: data set, rule, number of landmarks, bandwidth and C.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=TOYS)

    def draw(dataset, rule, k, gamma, C):
        fit = fit_landmarks(sets[dataset].rows(ROWS, plane=True), rule, round(k), gamma, C)
        return draw_landmarks(fit), describe(fit)

    def code(dataset, rule, k, gamma, C):
        return (
            f"from kernlab import LASN\n{sets[dataset].code(ROWS, plane=True)}\n"
            f"machine = LASN({round(k)}, landmarks={rule!r}, gamma={gamma:.4g}, C={C:.4g}, "
            "random_state=0).fit(X, y)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "spirals"),
        "rule": choice("landmarks", list(RULES), "kmeans"),
        "k": log_slider("k", 30, 0.3, 2.6),
        "gamma": log_slider("gamma", 4.0, -2, 2),
        "C": log_slider("C", 10.0, -4, 4),
    }
    return Explorer(draw, controls, "landmarks in the plane, by rule, k, gamma and C", code=code)
