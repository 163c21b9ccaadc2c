"""What FPC's explorers share: the toy's square with its rows, its Bayes curve and boundaries."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.papers.fpc.axes_figures import look
from kernlab.lab.papers.fpc.toy import fit
from kernlab.lab.plots.style import new_figure, text_colour

AXIS = np.linspace(0.0, 1.0, 61)
POINTS = np.column_stack([axis.ravel() for axis in np.meshgrid(AXIS, AXIS)])
CURVE = np.linspace(0.0, 1.0, 200)
BLUE, RED = "#0062B0", "#CC3311"
CARD = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
MACHINES = ("ridge", "hinge optimum", "FPC")  # from the lowest to the top of a picture


def plane_and_panels(panels):
    """A square, and panels one above the other on its right; a fixed layout takes no time."""
    figure, axes = new_figure(1, 1 + panels, panel=(8.8 / (1 + panels), 4.4))
    figure.set_layout_engine("none")
    axes[0].set_position([0.045, 0.09, 0.42, 0.84])
    height = 0.92 / panels
    for place, ax in enumerate(axes[1:]):
        bottom = 0.05 + (panels - 1 - place) * height
        ax.set_position([0.545, bottom + 0.06, 0.435, height - 0.14])
        ax.minorticks_off()
    return figure, axes


def draw_plane(ax, X, y, scores, title):
    """Rows, the Bayes curve, and what each machine has learnt: scores on the grid, by machine."""
    for label, colour in ((-1, BLUE), (1, RED)):
        ax.scatter(*X[y == label].T, s=5, color=colour, linewidths=0, alpha=0.5)
    for method in MACHINES:
        if method in scores:
            _draw_boundary(ax, scores[method], look(method))
    ax.plot(CURVE, fpc_bayes_curve(CURVE), color="#222222", lw=1.2)
    names = {"Bayes": "#222222"} | {name: look(name)["color"] for name in scores}
    for place, (name, colour) in enumerate(names.items()):
        ax.text(0.02, 0.02 + 0.05 * place, name, color=text_colour(colour), fontsize=8.5, bbox=CARD)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), title=title)
    ax.grid(visible=False)


def _draw_boundary(ax, scores, looks):
    """Where the scores on the grid change their sign."""
    widths = looks.get("lw", 2.0)
    values = scores.reshape(len(AXIS), len(AXIS))
    if values.min() < 0.0 < values.max():
        ax.contour(
            AXIS, AXIS, values, levels=[0.0], colors=[looks["color"]], linewidths=widths,
            alpha=looks.get("alpha"),
        )  # fmt: skip


def trained(method, X, y, degree, **settings):
    """A machine that may stop short of its optimum: `shortfall` says so in the caption."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caption says it
        return fit(method, X, y, degree, **settings)


def shortfall(gap):
    """A clause for captions where the hinge optimum is not quite reached."""
    reached = gap < 0.002
    return "" if reached else f". The hinge optimum's loss is within {gap:.3f} of the minimum"


def percent(share):
    """0.0175 as 1.8 %, for captions."""
    return f"{100 * share:.1f} %"
