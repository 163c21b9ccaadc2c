"""Noise painted on FPC's toy: where and how many labels are wrong, and what is learnt from them."""

from dataclasses import dataclass
from functools import lru_cache

import ipywidgets as widgets
import numpy as np
from matplotlib.ticker import MaxNLocator

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.explorers.base import Explorer, choice
from kernlab.lab.explorers.fpc.plane import (
    CURVE,
    MACHINES,
    POINTS,
    draw_plane,
    percent,
    plane_and_panels,
    shortfall,
    trained,
)
from kernlab.lab.papers.fpc.axes_figures import say_percent
from kernlab.lab.papers.fpc.toy import errors, toy
from kernlab.lab.plots.style import QUIET, house_style, method_colour, text_colour
from kernlab.runtime import single_blas_thread

PLACES = {"near the curve": "near", "everywhere": "everywhere", "far from the curve": "far"}
ROWS = 1000
SETTINGS = {"hinge optimum": {"tol": 1e-3, "max_iter": 50}}


@dataclass(frozen=True)
class NoiseFit:
    """Rows with painted noise, and what three machines make of them."""

    X: np.ndarray
    y: np.ndarray
    noise_level: float  # the share of all labels that are wrong
    scores: dict  # by method, on the grid
    errors: dict  # by method
    gap: float  # of the hinge optimum's mean loss to its minimum, at most
    width: float
    place: str


@lru_cache(maxsize=64)
def fit_noise(place, width, ratio, degree):
    """Reverse the share `ratio` of the labels of a region, and train."""
    X, y, X_test, y_test = toy(ROWS, 0, where=PLACES[place], width=width, noise=ratio)
    with single_blas_thread():
        machines = {m: trained(m, X, y, degree, **SETTINGS.get(m, {})) for m in MACHINES}
        scores = {m: machine.decision_function(POINTS) for m, machine in machines.items()}
        wrong = {m: errors(machine, X, y, X_test, y_test) for m, machine in machines.items()}
    clean = X[:, 1] >= fpc_bayes_curve(X[:, 0])
    return NoiseFit(
        X=X,
        y=y,
        noise_level=float(np.mean((y > 0) != clean)),
        scores=scores,
        errors=wrong,
        gap=machines["hinge optimum"].result_.gap,
        width=width,
        place=place,
    )


@house_style()
def draw_noise(fit):
    """The square with the painted region; the errors of three machines beside the noise."""
    figure, (plane, bars) = plane_and_panels(1)
    _paint_region(plane, fit)
    title = f"{percent(fit.noise_level)} of the labels are wrong"
    draw_plane(plane, fit.X, fit.y, fit.scores, title)
    for height, method in enumerate(MACHINES):
        colour, look = method_colour(method), {"height": 0.26, "lw": 1.4}
        test, train = (fit.errors[method][name] for name in ("test_error", "train_error"))
        bars.barh(height - 0.15, test, facecolor=colour, edgecolor=colour, **look)
        bars.barh(height + 0.15, train, facecolor="white", edgecolor=colour, **look)
        bars.text(0.0, height - 0.36, f" {method}", fontsize=9, color=text_colour(colour))
    bars.axvline(fit.noise_level, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    bars.set(yticks=[], ylim=(len(MACHINES) - 0.6, -0.6))
    largest = max(max(row.values()) for row in fit.errors.values())
    bars.set(xlim=(0, 1.1 * max(largest, fit.noise_level, 0.02)))
    bars.set_title("Error on test rows (filled) and training rows (hollow)", fontsize=9)
    bars.xaxis.set_major_locator(MaxNLocator(5))
    bars.xaxis.set_major_formatter(say_percent)
    bars.grid(axis="y", visible=False)
    return figure


def _paint_region(ax, fit):
    """Where wrong labels may be."""
    curve, paint = fpc_bayes_curve(CURVE), {"color": "#B98800", "alpha": 0.13, "lw": 0}
    low, high = curve - fit.width, curve + fit.width
    if fit.place == "near the curve":
        ax.fill_between(CURVE, low, high, **paint)
    elif fit.place == "far from the curve":
        ax.fill_between(CURVE, 0, np.maximum(low, 0), **paint)
        ax.fill_between(CURVE, np.minimum(high, 1), 1, **paint)
    else:
        ax.fill_between(CURVE, 0, 1, **paint)


def describe(fit):
    """The errors in one line of HTML."""
    said = [f"{method} <b>{percent(fit.errors[method]['test_error'])}</b>" for method in MACHINES]
    agree = np.mean((fit.scores["FPC"] > 0) == (fit.scores["ridge"] > 0))
    return (
        f"test error: {', '.join(said)}; FPC and ridge regression decide alike on "
        f"<b>{percent(agree)}</b> of the square. Dashed: the share of wrong labels"
        f"{shortfall(fit.gap)}"
    )


def fpc_noise():
    """The explorer: where labels are wrong, in a region how wide, how many, and the degree."""

    def draw(place, width, ratio, degree):
        fit = fit_noise(place, round(width, 3), round(ratio, 3), degree)
        return draw_noise(fit), describe(fit)

    controls = {
        "place": choice("noise", list(PLACES), "far from the curve"),
        "width": _slider("width", 0.25, 0.02, 0.4),
        "ratio": _slider("ratio", 0.4, 0.0, 0.5),
        "degree": widgets.IntSlider(
            value=9, min=1, max=12, description="degree s", continuous_update=False
        ),
    }
    return Explorer(draw, controls, "noise on FPC's toy, by place, width, ratio and degree")


def _slider(description, value, low, high):
    return widgets.FloatSlider(
        value=value,
        min=low,
        max=high,
        step=0.01,
        description=description,
        continuous_update=False,
    )
