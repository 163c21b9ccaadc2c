"""Machines side by side in the plane, pairs of parts beside the papers', fronts of methods."""

import time
import warnings
from dataclasses import dataclass

import ipywidgets as widgets
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import APPROXIMATIONS
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, SparseCholeskySVC
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.plane import draw_rows, draw_sides, empty_plane, square
from kernlab.lab.explorers.samples import TOYS, sample_choice, samples
from kernlab.lab.papers.across.algebra import machine_of, reason
from kernlab.lab.papers.across.contestants import CONTESTANTS, SHARE
from kernlab.lab.papers.across.figures import draw_fronts
from kernlab.lab.plots.style import house_style, new_figure
from kernlab.solvers import SOLVERS

ROWS, GRID = 400, 70
SIZES = {"small": 0, "middle": 1, "large": -1}  # place of the dial's value
COSTS = {
    "training seconds": "fit_seconds",
    "microseconds per predicted row": "predict_microseconds_per_row",
    "bytes of the machine": "model_bytes",
}


@dataclass(frozen=True)
class Shown:
    """A machine in the plane, and what is said of it."""

    name: str
    error: float
    seconds: float
    decisions: np.ndarray


def fit_shown(name, machine, rows):
    """Fit a machine, and look at its two sides."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # settings are looked at, not solved
        machine.fit(rows.X, rows.y)
    seconds = time.perf_counter() - began
    error = float(np.mean(machine.predict(rows.X_test) != rows.y_test))
    ask = getattr(machine, "decision_function", None) or machine.predict
    return Shown(name, error, seconds, np.clip(np.asarray(ask(square(GRID)[1]), float), -5.0, 5.0))


@house_style()
def draw_machines(shown, rows):
    """A panel for each machine: sides, boundary and rows; errors in the titles."""
    columns = min(3, len(shown))
    height = -(-len(shown) // columns)
    figure, axes = new_figure(height, columns, panel=(3.3, 3.0), squeeze=False)
    for ax, one in zip(axes.flat, shown, strict=False):
        empty_plane(ax)
        draw_sides(ax, square(GRID)[0], one.decisions)
        draw_rows(ax, rows.X, rows.y, size=7)
        ax.set_title(f"{one.name}: {100 * one.error:.1f} %")
    for ax in axes.flat[len(shown) :]:
        ax.set_axis_off()
    return figure


def _told(shown):
    return "; ".join(
        f"{one.name}: test error <b>{100 * one.error:.1f} %</b>, {1e3 * one.seconds:.0f} ms"
        for one in shown
    )


def _contestant(name, size, gamma, C, n):
    one = CONTESTANTS[name]
    value = 1.0 if one.dial == SHARE else one.values[SIZES[size] % len(one.values)]
    given = {"gamma": gamma, "h": (2.0 * gamma) ** -0.5, "C": C}
    machine = one.make(value, n, 2, 0)
    return machine.set_params(**{k: v for k, v in given.items() if k in one.grid})


def two_machines(*own):
    """Two methods on the same rows: their boundaries, errors and times side by side.

    Parameters
    ----------
    *own : names of data sets, paths, Datasets or pairs (X, y)
        What can be chosen beside the toys; shown along two principal components.
    """
    known = samples(own, toys=TOYS)
    methods = [n for n, one in CONTESTANTS.items() if not one.package and n != "majority"]

    def draw(dataset, left, right, size, gamma, C):
        rows = known[dataset].rows(ROWS, plane=True)
        shown = [
            fit_shown(name, _contestant(name, size, gamma, C, len(rows.y)), rows)
            for name in (left, right)
        ]
        return draw_machines(shown, rows), _told(shown)

    controls = {
        "dataset": sample_choice(own, known, "two moons"),
        "left": choice("left", methods, "LASN"),
        "right": choice("right", methods, "hist boosting"),
        "size": choice("its dial", list(SIZES), "middle"),
        "gamma": log_slider("gamma", 1.0, -2, 2),
        "C": log_slider("C", 1.0, -2, 3),
    }
    return Explorer(draw, controls, "two methods on the same rows, side by side")


def pairs(*own):
    """Any approximation with any solver, beside the five papers' machines, on the same rows.

    Parameters
    ----------
    *own : names of data sets, paths, Datasets or pairs (X, y)
    """
    known = samples(own, toys=TOYS)

    def draw(dataset, approximation, solver, gamma, C):
        if why := reason(approximation, solver):
            raise ValueError(
                f"the solver {solver} has nothing to work on: the approximation {approximation} "
                f"offers {why}"
            )
        rows = known[dataset].rows(ROWS, plane=True)
        settings = {"n_landmarks": 50, "C": C}
        pair = machine_of(approximation, solver, rows.X, settings, 0)
        if approximation not in ("polynomial", "compact"):
            pair.set_params(gamma=gamma)
        h = (2.0 * gamma) ** -0.5
        machines = {
            f"{approximation} + {solver}": pair,
            "LLSVM": LLSVM(50, gamma=gamma, C=C, random_state=0),
            "LASN": LASN(50, gamma=gamma, C=C, random_state=0),
            "SparseCholeskySVC": SparseCholeskySVC(C, sigma=h, solver="newton"),
            "HSSSVC": HSSSVC(C, h=h, random_state=0),
            "FPC": FPC(6, basis="chebyshev"),
        }
        shown = [fit_shown(name, one, rows) for name, one in machines.items()]
        return draw_machines(shown, rows), _told(shown)

    controls = {
        "dataset": sample_choice(own, known, "two moons"),
        "approximation": choice("approximation", list(APPROXIMATIONS), "nystrom"),
        "solver": choice("solver", list(SOLVERS), "newton"),
        "gamma": log_slider("gamma", 1.0, -2, 2),
        "C": log_slider("C", 1.0, -2, 3),
    }
    return Explorer(draw, controls, "any approximation with any solver, beside the papers' five")


def fronts(table):
    """The showdown's fronts on one set, with methods switched on and off.

    Parameters
    ----------
    table : DataFrame
        Of the study "showdown".
    """
    done = table[table["error"].notna()]
    names = list(dict.fromkeys(done["dataset"]))
    methods = [m for m in CONTESTANTS if m in set(done["method"])]

    def draw(dataset, cost, methods):
        if not methods:
            raise ValueError("choose a method")
        rows = done[(done["dataset"] == dataset) & done["method"].isin(methods)]
        if rows.empty:
            raise ValueError(f"none of these methods has a fit on {dataset}")
        best = rows.loc[rows["error"].idxmin()]
        figure = draw_fronts(rows, COSTS[cost], cost, methods)
        return figure, f"least error: <b>{best['method']} {100 * best['error']:.1f} %</b>"

    several = widgets.SelectMultiple(options=methods, value=methods, description="methods", rows=12)
    controls = {
        "dataset": choice("data set", names, names[0]),
        "cost": choice("cost", list(COSTS), "training seconds"),
        "methods": several,
    }
    return Explorer(draw, controls, "test error against cost, methods switched on and off")
