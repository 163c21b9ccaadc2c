"""Landmarks in the plane: where they lie, what boundary they allow, and where the time goes."""

import time
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import NullFormatter

from kernlab.estimators import LASN
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.playground import BLUE, RED, TOYS, draw_sides, grid_points
from kernlab.lab.plots.style import house_style, new_figure

RULES = ("kmeans", "uniform", "first", "rpcholesky", "leverage")
ROWS = 2000
STAGES = {"landmarks": "choose landmarks", "map": "factor the map", "solve": "Newton"}


@dataclass(frozen=True)
class LandmarkFit:
    """A machine on landmarks, and what its picture shows."""

    X: np.ndarray
    y: np.ndarray
    landmarks: np.ndarray
    grid: tuple
    residuals: list  # of Newton's steps
    milliseconds: dict
    accuracy: float
    error: float  # of the kernel matrix, relative, sampled


def fit_landmarks(dataset, rule, k, gamma, C, rows=ROWS, seed=0):
    """Train LASN on a toy standardised to unit variance; test on as many fresh rows."""
    X, y = TOYS[dataset](rows, seed)
    X_test, y_test = TOYS[dataset](rows, seed + 1)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - centre) / scale, (X_test - centre) / scale
    machine = LASN(n_landmarks=k, landmarks=rule, gamma=gamma, C=C, random_state=seed)
    began = time.perf_counter()
    machine.fit(X, y)
    total = time.perf_counter() - began
    spent = {stage: 1e3 * _seconds(machine.timings_, stage) for stage in STAGES}
    across, up, points = grid_points(X)
    return LandmarkFit(
        X=X,
        y=y,
        landmarks=machine.landmarks_,
        grid=(across, up, machine.decision_function(points).reshape(len(up), len(across))),
        residuals=[step["residual"] for step in machine.result_.trace],
        milliseconds=spent | {"other": max(0.0, 1e3 * total - sum(spent.values()))},
        accuracy=machine.score(X_test, y_test),
        error=machine.approximation_.error(X, n_sampled=400),
    )


def _seconds(timings, stage):
    """A stage's seconds under the name that the estimator gives it."""
    return next((s for name, s in timings.items() if name.split(": ")[-1] == stage), 0.0)


@house_style()
def draw_landmarks(fit):
    """The plane with its landmarks; the gradient at every Newton step; where the time went."""
    figure, (plane, steps, times) = new_figure(1, 3, panel=(3.4, 3.4), width_ratios=[1.5, 1, 0.8])
    draw_sides(plane, *fit.grid)
    for label, colour in ((-1, BLUE), (1, RED)):
        rows = fit.X[fit.y == label]
        plane.scatter(*rows.T, s=4, color=colour, alpha=0.35, linewidths=0)
    plane.scatter(*fit.landmarks.T, s=26, marker="X", color="#222222", linewidths=0.5)
    plane.set(xticks=[], yticks=[], title=f"{len(fit.landmarks)} landmarks")
    plane.grid(visible=False)
    steps.plot(range(len(fit.residuals)), np.maximum(fit.residuals, 1e-16), marker="o", ms=4)
    steps.set(yscale="log", xlabel="Newton step", title="Relative gradient")
    steps.yaxis.set_minor_formatter(NullFormatter())
    names = [STAGES.get(stage, stage) for stage in fit.milliseconds]
    times.barh(names, list(fit.milliseconds.values()), color="#0062B0")
    times.set(title="Milliseconds")
    times.invert_yaxis()
    times.grid(axis="y", visible=False)
    return figure


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    return (
        f"accuracy <b>{100 * fit.accuracy:.1f} %</b> on fresh rows; the kernel matrix is "
        f"reproduced to <b>{100 * fit.error:.2g} %</b>; trained on {len(fit.y):,} rows in "
        f"{sum(fit.milliseconds.values()):.0f} ms"
    )


def landmarks():
    """The explorer: data set, rule, number of landmarks, bandwidth and C."""

    def draw(dataset, rule, k, gamma, C):
        fit = fit_landmarks(dataset, rule, round(k), gamma, C)
        return draw_landmarks(fit), describe(fit)

    controls = {
        "dataset": choice("data set", list(TOYS), "spirals"),
        "rule": choice("landmarks", list(RULES), "kmeans"),
        "k": log_slider("k", 30, 0.3, 2.6),
        "gamma": log_slider("gamma", 4.0, -2, 2),
        "C": log_slider("C", 10.0, -4, 4),
    }
    return Explorer(draw, controls, "landmarks in the plane, by rule, k, gamma and C")
