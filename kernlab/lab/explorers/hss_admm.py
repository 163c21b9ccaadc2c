"""ADMM with a factor that is kept: h is chosen once, then every C is a matter of a few solves."""

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.ticker import NullLocator

from kernlab.approximations.hss import HSSKernel
from kernlab.estimators import HSSSVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.playground import BLUE, RED, TOYS, draw_sides
from kernlab.lab.plots.style import house_style, new_figure

ROWS, FRESH_ROWS, SHOWN_ROWS = 5000, 1000, 500
GRID = 60
BINS = 40
REL_TOL = 1e-3
SMALLEST_RESIDUAL = 1e-8
PLACES = (  # of the three axes: left, bottom, width, height
    (0.005, 0.02, 0.40, 0.88),
    (0.475, 0.16, 0.22, 0.74),
    (0.765, 0.16, 0.225, 0.74),
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that depends on the data and h alone: K~, and the kernel between rows and new points."""

    X: np.ndarray
    y: np.ndarray
    y_fresh: np.ndarray
    kernel: HSSKernel
    axes: tuple  # of the grid: x values, y values
    at_grid: np.ndarray  # kernel values, grid points by rows, in single precision
    at_fresh: np.ndarray
    seconds: float


@dataclass(frozen=True, eq=False)
class AdmmFit:
    """A machine for one C, and what its picture shows."""

    prepared: Prepared
    machine: HSSSVC
    grid: tuple
    accuracy: float
    milliseconds: float


@lru_cache(maxsize=1)
def prepare(dataset, h, rows=ROWS, seed=0):
    """Compress the kernel matrix of a toy; the last one asked for is kept."""
    X, y = TOYS[dataset](rows, seed)
    fresh, y_fresh = TOYS[dataset](FRESH_ROWS, seed + 1)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    X, fresh = (X - centre) / scale, (fresh - centre) / scale
    began = time.perf_counter()
    kernel = HSSKernel(gamma=gamma_from_sigma(h), rel_tol=REL_TOL, random_state=seed).fit(X)
    seconds = time.perf_counter() - began
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    axes = tuple(np.linspace(low[i], high[i], GRID) for i in range(2))
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])
    single = X.astype(np.float32)
    at_grid, at_fresh = (kernel.kernel_(new.astype(np.float32), single) for new in (points, fresh))
    return Prepared(X, y, y_fresh, kernel, axes, at_grid, at_fresh, seconds)


def refit(prepared, C, beta, steps):
    """So many of the paper's steps for one C, with the factor that the last C has left behind."""
    began = time.perf_counter()
    machine = HSSSVC(C=C, beta=beta, max_iter=steps).fit_on(prepared.kernel, prepared.y)
    weights = np.zeros(len(prepared.y), dtype=np.float32)
    weights[machine.support_] = machine.dual_coef_[0]
    decisions, fresh = (
        values @ weights + machine.intercept_[0] for values in (prepared.at_grid, prepared.at_fresh)
    )
    milliseconds = 1e3 * (time.perf_counter() - began)
    accuracy = float(np.mean((fresh > 0) == (prepared.y_fresh > 0)))
    grid = (*prepared.axes, decisions.reshape(GRID, GRID))
    return AdmmFit(prepared, machine, grid, accuracy, milliseconds)


@house_style()
def draw_admm(fit):
    """The boundary; both residuals at every step; the dual variables of both classes."""
    figure, (plane, residuals, duals) = new_figure(1, 3, panel=(3.5, 3.5))
    figure.set_layout_engine("none")  # fixed places: no layout to solve at every release
    for ax, place in zip((plane, residuals, duals), PLACES, strict=True):
        ax.set_position(place)
    draw_sides(plane, *fit.grid)
    X, y = fit.prepared.X[:SHOWN_ROWS], fit.prepared.y[:SHOWN_ROWS]
    dual = np.zeros(len(fit.prepared.y))
    dual[fit.machine.support_] = np.abs(fit.machine.dual_coef_[0])
    for label, colour in ((-1, BLUE), (1, RED)):
        plane.scatter(*X[y == label].T, s=3, color=colour, alpha=0.5, linewidths=0)
    plane.set(xticks=[], yticks=[], title="Boundary and margins")
    plane.grid(visible=False)
    _draw_residuals(residuals, fit.machine.result_.trace)
    top = max(dual.max(), 1e-12)
    for label, colour in ((-1, BLUE), (1, RED)):
        counts, edges = np.histogram(dual[fit.prepared.y == label], BINS, (0, top))
        duals.stairs(np.maximum(counts, 0.5), edges, color=colour, lw=1.3)
    if top >= 0.999 * fit.machine.C:
        duals.axvline(fit.machine.C, color="#222222", lw=0.8, ls="dashed")
    duals.set(xlabel="dual variable", title="Rows of both classes", yscale="log")
    duals.set_ylim(bottom=0.7)
    for ax in (residuals, duals):
        ax.yaxis.set_minor_locator(NullLocator())
    return figure


def _draw_residuals(ax, trace):
    steps = [row["iteration"] for row in trace]
    for name, label, colour in (
        ("primal_residual", "x - z", "#222222"),
        ("dual_residual", "z moves", "#B98800"),
    ):
        values = np.maximum([row[name] for row in trace], SMALLEST_RESIDUAL)
        ax.plot(steps, values, color=colour, label=label)
    ax.set(yscale="log", ylim=(0.5 * SMALLEST_RESIDUAL, 1e4), xlabel="step", title="Residuals")
    ax.legend(loc="upper right")


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    kernel = fit.prepared.kernel
    return (
        f"accuracy <b>{100 * fit.accuracy:.1f} %</b> on fresh rows; "
        f"{len(fit.machine.support_):,} of {len(fit.prepared.y):,} rows are support vectors; "
        f"largest rank {kernel.rank_}; compressed once for this h in "
        f"{1e3 * fit.prepared.seconds:.0f} ms, refitted in <b>{fit.milliseconds:.0f} ms</b>"
    )


def hss_admm():
    """The explorer: data set and h, which compress; beta, which factors; C and steps."""

    def draw(dataset, h, beta, C, steps):
        fit = refit(prepare(dataset, h), C, beta, round(steps))
        return draw_admm(fit), describe(fit)

    controls = {
        "dataset": choice(
            "data set", [name for name in TOYS if name != "gaussians"], "checkerboard"
        ),
        "h": log_slider("h", 0.2, -1.5, 1),
        "beta": log_slider("beta", 10.0, -1, 4),
        "C": log_slider("C", 1.0, -3, 3),
        "steps": log_slider("steps", 30, 0, 1.8),
    }
    return Explorer(draw, controls, "ADMM on a hierarchical kernel, by h, beta, C and steps")
