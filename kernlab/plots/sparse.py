"""Figures of the sparse Cholesky thesis' studies."""

import numpy as np

from kernlab.plots.data_tables import sizes_figure
from kernlab.plots.registry import FigureSpec
from kernlab.plots.style import new_figure

BLUE, RED = "#0062B0", "#CC3311"


def draw_margins(table):
    """One panel per machine: rows, line, margins, and rings around the support vectors."""
    cases = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(
        1, len(cases), panel=(3.7, 2.6), squeeze=False, sharex=True, sharey=True
    )
    across = table["x1"].min() - 0.4, table["x1"].max() + 0.4
    up = table["x2"].min() - 0.4, table["x2"].max() + 0.4
    for ax, case in zip(axes.ravel(), cases, strict=True):
        rows = table[table["variant"] == case]
        _draw_line(ax, rows)
        for label, colour in ((-1, BLUE), (1, RED)):
            side = rows[rows["label"] == label]
            ax.scatter(side["x1"], side["x2"], color=colour, s=16, linewidths=0.4, zorder=3)
        supports = rows[rows["dual"] > 1e-9 * rows["C"]]
        ax.scatter(
            supports["x1"], supports["x2"], s=44, facecolors="none", edgecolors="#222222", lw=0.8
        )
        first = rows.iloc[0]
        ax.set_title(f"{case.capitalize()}: C = {first['C']:g}, width {first['width']:.2f}")
        ax.set(xlim=across, ylim=up, xlabel="$x_1$", aspect="equal")
    axes[0, 0].set_ylabel("$x_2$")
    return figure


def _draw_line(ax, rows):
    """The line w . x + b = 0 and the two at which it is -1 and 1."""
    w1, w2, b = rows.iloc[0][["w1", "w2", "b"]].astype(float)
    normal = np.array([w1, w2])
    along = np.array([-w2, w1]) / np.hypot(w1, w2)
    for level, style in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
        foot = normal * (level - b) / (normal @ normal)
        ends = np.array([foot - 50 * along, foot + 50 * along])
        ax.plot(*ends.T, color="#222222", lw=1.0, ls=style, zorder=2)


FIGURES = [
    FigureSpec(
        "sparse-margin",
        "lines",
        "The margin of a linear support vector machine, from real fits. Left: two clouds that a "
        "line separates; the widest margin (dashed) is held by the few ringed support vectors. "
        "Middle and right: clouds that overlap, with a small and a large C; the smaller C buys a "
        "wider margin with more rows inside it, all of which become support vectors.",
        draw_margins,
    ),
    sizes_figure("sparse-t1", "the sparse Cholesky thesis"),
]
