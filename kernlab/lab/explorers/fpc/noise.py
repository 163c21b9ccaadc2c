"""Noise painted on FPC's toy: where and how many labels are wrong, and what is learnt from them."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from matplotlib.patches import Circle

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.explorers.base import Explorer, Scene, choice, slider, whole
from kernlab.lab.explorers.fpc.plane import (
    CURVE,
    NAMES,
    PLACE,
    POINTS,
    SIZE,
    boundary,
    draw_square,
    plane_and_panels,
    shortfall,
    trained,
)
from kernlab.lab.explorers.plane import Plane, draw_rows, heading
from kernlab.lab.papers.fpc.figures.axes import say_percent
from kernlab.lab.papers.fpc.toy import errors, toy
from kernlab.lab.plots.style import QUIET, house_style, method_colour, text_colour
from kernlab.runtime import single_blas_thread

PLACES = {"near the curve": "near", "everywhere": "everywhere", "far from the curve": "far"}
PAINTED = "where I paint"
ROWS = 1000
SETTINGS = {"hinge optimum": {"tol": 1e-3, "max_iter": 50}}
PAINT = "#B98800"


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
    dabs: tuple


def noisy_rows(place, width, ratio, dabs=()):
    """The toy with the share `ratio` of the labels of a region reversed; test rows without noise.

    The region is a band of the toy's own, or all that is within `width` of a dab of paint.
    """
    if place != PAINTED:
        return toy(ROWS, 0, where=PLACES[place], width=width, noise=ratio)
    X, y, X_test, y_test = toy(ROWS, 0, noise=0.0)
    centres = np.array([dab[:2] for dab in dabs], dtype=float).reshape(-1, 2)
    painted = (((X[:, None] - centres) ** 2).sum(axis=2) < width**2).any(axis=1)
    wrong = painted & (np.random.default_rng(0).random(len(y)) < ratio)
    return X, np.where(wrong, -y, y), X_test, y_test


@lru_cache(maxsize=64)
def fit_noise(place, width, ratio, degree, dabs=()):
    """Train three machines on the noisy rows."""
    X, y, X_test, y_test = noisy_rows(place, width, ratio, dabs)
    with single_blas_thread():
        machines = {m: trained(m, X, y, degree, **SETTINGS.get(m, {})) for m in NAMES}
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
        dabs=dabs,
    )


@cache
@house_style()
def _scene():
    X, y, *_ = toy(ROWS, 0, noise=0.0)
    figure, (plane, bars) = plane_and_panels(1)
    draw_square(plane, X[:0], y[:0], NAMES)
    for height, method in enumerate(NAMES):
        colour = text_colour(method_colour(method))
        bars.text(0.0, height - 0.36, f" {method}", fontsize=9, color=colour)
    bars.set(yticks=[], ylim=(len(NAMES) - 0.6, -0.6), xlim=(0, 0.5))
    bars.set_title("Error on test rows (filled) and training rows (hollow)", fontsize=9)
    bars.xaxis.set_major_formatter(say_percent)
    bars.grid(axis="y", visible=False)
    return Scene(figure)


def draw_noise(fit):
    """The square with the painted region; the errors of three machines beside the noise."""

    def moving(plane, bars):
        _paint_region(plane, fit)
        draw_rows(plane, fit.X, fit.y, size=5, linewidths=0, alpha=0.5)
        for method in NAMES:
            boundary(plane, method, fit.scores[method])
        heading(plane, f"{fit.noise_level:.1%} of the labels are wrong")
        for height, method in enumerate(NAMES):
            look = {"height": 0.26, "lw": 1.4, "edgecolor": method_colour(method)}
            test, train = (fit.errors[method][name] for name in ("test_error", "train_error"))
            bars.barh(height - 0.15, test, facecolor=method_colour(method), **look)
            bars.barh(height + 0.15, train, facecolor="white", **look)
        bars.axvline(fit.noise_level, color=QUIET, lw=0.9, ls=(0, (4, 3)))

    return _scene().png(moving)


def _paint_region(ax, fit):
    """Where wrong labels may be."""
    curve, paint = fpc_bayes_curve(CURVE), {"color": PAINT, "alpha": 0.13, "lw": 0}
    low, high = curve - fit.width, curve + fit.width
    if fit.place == PAINTED:
        for x, y, _ in fit.dabs:
            ax.add_patch(Circle((x, y), fit.width, **paint))
    elif fit.place == "near the curve":
        ax.fill_between(CURVE, low, high, **paint)
    elif fit.place == "far from the curve":
        ax.fill_between(CURVE, 0, np.maximum(low, 0), **paint)
        ax.fill_between(CURVE, np.minimum(high, 1), 1, **paint)
    else:
        ax.fill_between(CURVE, 0, 1, **paint)


def describe(fit):
    """The errors in one line of HTML."""
    said = [f"{method} <b>{fit.errors[method]['test_error']:.1%}</b>" for method in NAMES]
    agree = np.mean((fit.scores["FPC"] > 0) == (fit.scores["ridge"] > 0))
    return (
        f"test error: {', '.join(said)}; FPC and ridge regression decide alike on "
        f"<b>{agree:.1%}</b> of the square. Dashed: the share of wrong labels"
        f"{shortfall(fit.gap)}"
    )


def fpc_noise():
    """The explorer: where labels are wrong, in a region how wide, how many, and the degree.

    A click in the picture is a dab of paint: labels within the width of it are reversed.
    """

    def draw(place, width, ratio, degree, dabs):
        place = PAINTED if dabs else place
        fit = fit_noise(place, round(width, 3), round(ratio, 3), degree, dabs)
        return draw_noise(fit), describe(fit)

    def code(place, width, ratio, degree, dabs):
        place = PAINTED if dabs else place
        return (
            "from kernlab import FPC\nfrom kernlab.lab.explorers.fpc.noise import noisy_rows\n\n"
            f"X, y, X_test, y_test = noisy_rows({place!r}, {width:.3g}, {ratio:.3g}, {dabs})\n"
            f"machine = FPC({degree}).fit(X, y)"
        )

    plane = Plane(PLACE, (0.0, 1.0), SIZE, {"a dab of noise": (1, PAINT)})
    controls = {
        "place": choice("noise", [*PLACES, PAINTED], "far from the curve"),
        "width": slider("width", 0.25, 0.02, 0.4, 0.01),
        "ratio": slider("ratio", 0.4, 0.0, 0.5, 0.01),
        "degree": whole("degree s", 9, 1, 12),
        "dabs": plane,
    }
    text = "noise on FPC's toy, by place, width, ratio and degree"
    return Explorer(draw, controls, text, code=code, picture=plane)
