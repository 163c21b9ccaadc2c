"""What FPC's explorers share: the toy's square with its rows, its Bayes curve and boundaries."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.explorers.plane import DARK, draw_rows, fixed_figure
from kernlab.lab.papers.fpc.figures.axes import look
from kernlab.lab.papers.fpc.toy import fit
from kernlab.lab.plots.style import text_colour

AXIS = np.linspace(0.0, 1.0, 61)
POINTS = np.column_stack([axis.ravel() for axis in np.meshgrid(AXIS, AXIS)])
CURVE = np.linspace(0.0, 1.0, 200)
CARD = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
NAMES = ("ridge", "hinge optimum", "FPC")  # from the lowest to the top of a picture
PLACE, SIZE = (0.045, 0.09, 0.42, 0.84), (8.8, 4.4)


def plane_and_panels(panels):
    """A square, and panels one above the other on its right."""
    height = 0.92 / panels
    bottoms = [0.11 + (panels - 1 - row) * height for row in range(panels)]
    places = [PLACE, *((0.545, bottom, 0.435, height - 0.14) for bottom in bottoms)]
    figure, axes = fixed_figure(places, SIZE)
    for ax in axes[1:]:
        ax.minorticks_off()
    return figure, axes


def draw_square(ax, X, y, names):
    """The rows, the Bayes curve, and the names of the machines whose boundaries come."""
    draw_rows(ax, X, y, size=5, linewidths=0, alpha=0.5)
    ax.plot(CURVE, fpc_bayes_curve(CURVE), color=DARK, lw=1.2)
    for row, name in enumerate(["Bayes", *names]):
        colour = DARK if name == "Bayes" else text_colour(look(name)["color"])
        ax.text(0.02, 0.02 + 0.05 * row, name, color=colour, fontsize=8.5, bbox=CARD)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    ax.grid(visible=False)


def boundary(ax, method, scores):
    """Where a machine's scores on the grid change their sign."""
    looks, values = look(method), scores.reshape(len(AXIS), len(AXIS))
    if values.min() < 0.0 < values.max():
        ax.contour(
            AXIS, AXIS, values, levels=[0.0], colors=[looks["color"]],
            linewidths=looks.get("lw", 2.0), alpha=looks.get("alpha"),
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


def toy_code(rows, noise=0.1):
    """The Python lines that make the toy's rows."""
    return (
        "from kernlab import FPC\nfrom kernlab.datasets import generators\n\n"
        f"X, y = generators.fpc_toy({rows}, noise={noise:.3g}, seed=[0, 0])\n"
        "X_test, y_test = generators.fpc_toy(1000, noise=0.0, seed=[0, 1])\n"
    )
