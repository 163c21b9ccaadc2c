"""A kernel support vector machine in the plane: what kernel, bandwidth and C do to its boundary."""

import time
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from kernlab.datasets import generators
from kernlab.kernels import KERNELS
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.plots.style import house_style, new_figure
from kernlab.solvers import Certificate

TOYS = {
    "two moons": lambda rows, seed: generators.two_moons(rows, noise=0.2, seed=seed),
    "circles": lambda rows, seed: generators.circles(rows, noise=0.12, seed=seed),
    "spirals": lambda rows, seed: generators.spirals(rows, noise=0.04, seed=seed),
    "checkerboard": lambda rows, seed: generators.checkerboard(rows, noise=0.1, seed=seed),
    "gaussians": lambda rows, seed: generators.gaussians(rows, distance=2.5, seed=seed),
    "FPC's toy": lambda rows, seed: generators.fpc_toy(rows, noise=0.1, seed=seed),
}
BLUE, RED = "#0062B0", "#CC3311"
_SIDES = LinearSegmentedColormap.from_list("sides", ["#BBD7EE", "#FFFFFF", "#F6CFC6"])
_GRID = 90


@dataclass(frozen=True)
class PlaygroundFit:
    """A machine trained on a toy, and all that its picture shows."""

    X: np.ndarray
    y: np.ndarray
    support: np.ndarray
    grid: tuple  # x values, y values, decisions
    certificate: Certificate
    train_accuracy: float
    test_accuracy: float
    seconds: float


def fit_playground(dataset, kernel, gamma, C, rows=500, seed=0):
    """Train on a toy standardised to unit variance; test on as many fresh rows."""
    X, y = TOYS[dataset](rows, seed)
    X_test, y_test = TOYS[dataset](rows, seed + 1)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - centre) / scale, (X_test - centre) / scale
    machine = LibSVM(C=C, kernel=kernel, gamma=gamma, max_iter=200_000)
    began = time.perf_counter()
    machine.fit(X, y)
    seconds = time.perf_counter() - began
    across, up, points = grid_points(X)
    return PlaygroundFit(
        X=X,
        y=y,
        support=machine.support_,
        grid=(across, up, machine.decision_function(points).reshape(_GRID, _GRID)),
        certificate=machine.certify(X, y),
        train_accuracy=machine.score(X, y),
        test_accuracy=machine.score(X_test, y_test),
        seconds=seconds,
    )


def grid_points(X):
    """A grid over the rows of X and a little beyond: its two axes, and all its points."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.linspace(low[0], high[0], _GRID), np.linspace(low[1], high[1], _GRID)
    return across, up, np.column_stack([axis.ravel() for axis in np.meshgrid(across, up)])


def draw_sides(ax, across, up, decisions):
    """The two sides as colours, the boundary as a solid line, the margins dashed."""
    ax.imshow(
        np.clip(decisions, -1.5, 1.5),
        extent=(across[0], across[-1], up[0], up[-1]),
        origin="lower",
        aspect="auto",
        cmap=_SIDES,
        vmin=-1.5,
        vmax=1.5,
        interpolation="bilinear",
    )
    levels = [level for level in (-1.0, 0.0, 1.0) if decisions.min() < level < decisions.max()]
    if levels:
        styles = ["solid" if level == 0 else "dashed" for level in levels]
        ax.contour(across, up, decisions, levels, colors="#222222", linestyles=styles, linewidths=1)


@house_style()
def draw_playground(fit):
    """The sides, the boundary (solid), the margins (dashed) and the support vectors (ringed)."""
    figure, ax = new_figure(panel=(5.6, 4.2))
    figure.set_layout_engine("none")  # fixed margins: no layout to solve at every release
    ax.set_position([0.005, 0.005, 0.99, 0.99])
    ax.set(xticks=[], yticks=[])
    draw_sides(ax, *fit.grid)
    for label, colour in ((-1, BLUE), (1, RED)):
        rows = fit.y == label
        ax.scatter(*fit.X[rows].T, s=14, color=colour, linewidths=0.4)
    ax.scatter(*fit.X[fit.support].T, s=34, facecolors="none", edgecolors="#222222", linewidths=0.7)
    ax.grid(visible=False)
    return figure


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    return (
        f"accuracy <b>{100 * fit.train_accuracy:.1f} %</b> on the training rows, "
        f"<b>{100 * fit.test_accuracy:.1f} %</b> on fresh ones; "
        f"{len(fit.support)} of {len(fit.y)} rows are support vectors; "
        f"relative duality gap {fit.certificate.relative_gap:.1e}; "
        f"trained in {1e3 * fit.seconds:.0f} ms"
    )


def playground():
    """The playground as a widget: data set, kernel, bandwidth and C."""

    def draw(dataset, kernel, gamma, C):
        fit = fit_playground(dataset, kernel, gamma, C)
        return draw_playground(fit), describe(fit)

    controls = {
        "dataset": choice("data set", list(TOYS), "two moons"),
        "kernel": choice("kernel", list(KERNELS), "rbf"),
        "gamma": log_slider("gamma", 1.0, -2, 2),
        "C": log_slider("C", 1.0, -2, 3),
    }
    return Explorer(draw, controls, "a kernel machine in the plane, by data set, kernel, gamma, C")
