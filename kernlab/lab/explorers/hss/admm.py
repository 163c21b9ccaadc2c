"""ADMM with a factor that is kept: h is chosen once, then every C is a matter of a few solves."""

import time
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from matplotlib.ticker import NullLocator

from kernlab.approximations.hss import HSSKernel
from kernlab.estimators import HSSSVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.explorers.base import Explorer, Scene, log_slider
from kernlab.lab.explorers.plane import (
    BLUE,
    RED,
    draw_rows,
    draw_sides,
    empty_plane,
    fixed_figure,
    square,
)
from kernlab.lab.explorers.samples import TOYS, Rows, sample_choice, samples
from kernlab.lab.plots.style import house_style

ROWS, SHOWN_ROWS = 1500, 500  # so many that h is compressed in an instant
GRID, BINS, MOST_STEPS = 60, 40, 63
RESIDUALS = {"primal_residual": ("x - z", "#222222"), "dual_residual": ("z moves", "#B98800")}
REL_TOL, SMALLEST_RESIDUAL = 1e-3, 1e-8
PLACES = [(0.005, 0.02, 0.40, 0.88), (0.475, 0.16, 0.22, 0.74), (0.765, 0.16, 0.225, 0.74)]


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that depends on the data and h alone: K~, and the kernel between rows and new points."""

    rows: Rows
    kernel: HSSKernel
    at_grid: np.ndarray  # kernel values, grid points by rows, in single precision
    at_fresh: np.ndarray
    seconds: float


@dataclass(frozen=True, eq=False)
class AdmmFit:
    """A machine for one C, and what its picture shows."""

    prepared: Prepared
    machine: HSSSVC
    decisions: np.ndarray  # on the grid
    accuracy: float
    milliseconds: float


def prepare(rows, h, seed=0):
    """Compress the kernel matrix of rows in the plane."""
    began = time.perf_counter()
    kernel = HSSKernel(gamma=gamma_from_sigma(h), rel_tol=REL_TOL, random_state=seed).fit(rows.X)
    seconds = time.perf_counter() - began
    single = rows.X.astype(np.float32)
    at_grid, at_fresh = (
        kernel.kernel_(new.astype(np.float32), single) for new in (square(GRID)[1], rows.X_test)
    )
    return Prepared(rows, kernel, at_grid, at_fresh, seconds)


def refit(prepared, C, beta, steps):
    """So many of the paper's steps for one C, with the factor that the last C has left behind."""
    rows, began = prepared.rows, time.perf_counter()
    machine = HSSSVC(C=C, beta=beta, max_iter=steps).fit_on(prepared.kernel, rows.y)
    weights = np.zeros(len(rows.y), dtype=np.float32)
    weights[machine.support_] = machine.dual_coef_[0]
    decisions, fresh = (
        values @ weights + machine.intercept_[0] for values in (prepared.at_grid, prepared.at_fresh)
    )
    milliseconds = 1e3 * (time.perf_counter() - began)
    accuracy = float(np.mean((fresh > 0) == (rows.y_test > 0)))
    return AdmmFit(prepared, machine, decisions, accuracy, milliseconds)


@cache
@house_style()
def _scene(n_rows):
    figure, (plane, residuals, duals) = fixed_figure(PLACES, (10.5, 3.5))
    empty_plane(plane, title="Boundary and margins")
    for label, colour in RESIDUALS.values():
        residuals.plot([], [], color=colour, label=label)
    residuals.set(yscale="log", ylim=(0.5 * SMALLEST_RESIDUAL, 1e4), xlim=(0, MOST_STEPS + 1))
    residuals.set(xlabel="step", title="Residuals")
    residuals.legend(loc="upper right")
    duals.set(xlabel="dual variable / C", title="Rows of both classes", yscale="log")
    duals.set(xlim=(-0.02, 1.02), ylim=(0.7, n_rows))
    for ax in (residuals, duals):
        ax.yaxis.set_minor_locator(NullLocator())
    return Scene(figure)


def draw_admm(fit):
    """The boundary; both residuals at every step; the dual variables of both classes."""
    rows, trace = fit.prepared.rows, fit.machine.result_.trace
    share = np.zeros(len(rows.y))
    share[fit.machine.support_] = np.abs(fit.machine.dual_coef_[0]) / fit.machine.C

    def moving(plane, residuals, duals):
        draw_sides(plane, square(GRID)[0], fit.decisions)
        draw_rows(plane, rows.X[:SHOWN_ROWS], rows.y[:SHOWN_ROWS], size=5, alpha=0.5, linewidths=0)
        for name, (_, colour) in RESIDUALS.items():
            values = np.maximum([row[name] for row in trace], SMALLEST_RESIDUAL)
            steps = [row["iteration"] for row in trace]
            residuals.plot(steps, values, color=colour, marker=".", ms=3)
        for label, colour in ((-1, BLUE), (1, RED)):
            counts, edges = np.histogram(share[rows.y == label], BINS, (0.0, 1.0))
            duals.stairs(np.maximum(counts, 0.5), edges, color=colour, lw=1.3)

    return _scene(len(rows.y)).png(moving)


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    kernel, rows = fit.prepared.kernel, fit.prepared.rows
    largest = np.abs(fit.machine.dual_coef_).max(initial=0.0)
    return (
        f"accuracy <b>{fit.accuracy:.1%}</b> on fresh rows; "
        f"{len(fit.machine.support_):,} of {len(rows.y):,} rows are support vectors, the largest "
        f"dual variable is {largest:.3g}; largest rank {kernel.rank_}; compressed once for this h "
        f"in {1e3 * fit.prepared.seconds:.0f} ms, refitted in <b>{fit.milliseconds:.0f} ms</b>"
    )


def hss_admm(*data):
    """The explorer: data set and h, which compress; beta, which factors; C and steps.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=[name for name in TOYS if name != "gaussians"])
    # The last few that were asked for are kept: a move of C, beta or steps compresses nothing.
    prepared = lru_cache(maxsize=4)(lambda name, h: prepare(sets[name].rows(ROWS, plane=True), h))

    def draw(dataset, h, beta, C, steps):
        fit = refit(prepared(dataset, h), C, beta, round(steps))
        return draw_admm(fit), describe(fit)

    def code(dataset, h, beta, C, steps):
        return (
            f"from kernlab import HSSSVC\n{sets[dataset].code(ROWS, plane=True)}\n"
            f"machine = HSSSVC(C={C:.4g}, h={h:.4g}, beta={beta:.4g}, max_iter={round(steps)}, "
            f"rel_tol={REL_TOL:g}, random_state=0).fit(X, y)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "checkerboard"),
        "h": log_slider("h", 0.2, -1.5, 1),
        "beta": log_slider("beta", 10.0, -1, 4),
        "C": log_slider("C", 1.0, -3, 3),
        "steps": log_slider("steps", 30, 0, 1.8),
    }
    text = "ADMM on a hierarchical kernel, by h, beta, C and steps"
    return Explorer(draw, controls, text, code=code)
