"""Figures of the sparse Cholesky thesis' studies."""

import numpy as np

from kernlab.lab.papers.common.data_tables import sizes_figure
from kernlab.lab.papers.sparse.figures.matrix import (
    draw_fill,
    draw_limits,
    draw_radii,
    draw_trade_off,
)
from kernlab.lab.papers.sparse.figures.results import (
    draw_against_sigma,
    draw_cost,
    draw_roll,
    draw_shattering,
    draw_slip,
    draw_table,
)
from kernlab.lab.papers.sparse.figures.suited import draw_scaling, draw_suited
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import new_figure

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
    FigureSpec(
        "sparse-l31",
        "limits",
        "Lemma 3.1 in numbers: how far the sparse kernel matrix is from the Gaussian one (red) and "
        "from the identity (blue), in the Frobenius norm, relative to either, against $\\alpha$ in "
        "units of $1/\\sigma$. Both limits are reached, but the thesis' $\\alpha = 1/(3\\sigma)$ "
        "(dashed) "
        "is near neither. Equal rows keep their entries at any $\\alpha$.",
        draw_limits,
    ),
    FigureSpec(
        "sparse-l33",
        "radii",
        "Lemma 3.3 in numbers: the Gershgorin radius of every row, sorted by that of the Gaussian "
        "matrix (black); the sparse matrix' (green) is smaller in each. Only where it is below 1 "
        "(dashed) do the circles prove the matrix positive definite; the smallest eigenvalue in "
        "the titles is positive all the same, by Askey's theorem.",
        draw_radii,
    ),
    FigureSpec(
        "sparse-e41",
        "trade-off",
        "Equations 39 to 41: similarity to the Gaussian matrix and share of zeros against "
        "$\\alpha$, "
        "and the $\\alpha$ that three rules choose: the trade-off with $\\beta = 1$, the thesis' "
        "$1/(3\\sigma)$, and the first quartile of the distances.",
        draw_trade_off,
    ),
    FigureSpec(
        "sparse-f3",
        "fill-in",
        "Figure 3 and real kernel matrices: each matrix in the order named (blue) and its Cholesky "
        "factor (red), a pixel per block, darker where it is fuller. The arrowhead fills up "
        "entirely in its own order and not at all with AMD. Kernel matrices, of real rows and of a "
        "Swiss roll, fill in whatever the order, but far less with a good one: rows that are near "
        "each other then stand beside each other.",
        draw_fill,
    ),
    FigureSpec(
        "sparse-f5",
        "roll",
        "Figure 5: the Swiss roll with its three classes, in space and unrolled. The classes "
        "alternate along the roll, so that no plane separates them.",
        draw_roll,
    ),
    FigureSpec(
        "sparse-f6",
        "sigma",
        "Figure 6: test accuracy of the sparse and of the Gaussian kernel against $\\sigma$ (left; "
        "dotted, the sparse kernel by cross-validation on training rows alone), and the share of "
        "zeros in the kernel matrix and in its factor (right).",
        draw_against_sigma,
    ),
    FigureSpec(
        "sparse-t2",
        "time",
        "Table 2 measured: test error against seconds to train, for both paths of the sparse "
        "kernel at each exponent l (the number in its dot), LIBSVM with the Gaussian kernel, and a "
        "linear machine. Lower and further to the left is better.",
        draw_table,
    ),
    FigureSpec(
        "sparse-scaling",
        "sparsity",
        "The share of entries that the kernel matrix has at the printed $\\sigma$, by how the "
        "features "
        "are scaled, and the printed share (ring). The thesis does not say how it scaled; the "
        "dot inside the ring does.",
        draw_scaling,
    ),
    FigureSpec(
        "sparse-suited",
        "density",
        "Where a sparse kernel suits: its accuracy less that of the Gaussian kernel, in points, "
        "against the share of the kernel matrix that is kept, on 2000 rows of each set (in "
        "brackets its features), with the exponent of Askey's rule (left) and with l = 3 (middle); "
        "the green band is within a point. Sets of few features get there while the matrix is "
        "sparse, others late or never. Right: the share is known from a few rows before any run.",
        draw_suited,
    ),
    FigureSpec(
        "sparse-slip",
        "accuracy",
        "The listing orders the dual variables by the permutation P where its inverse is needed. "
        "Test accuracy as printed (red) and corrected (green), and with all dual variables set to "
        "their mean (grey), where near rows just vote: the printed order leaves no more than that. "
        "Where the kernel vanishes off the diagonal (l = 129) nothing is lost, because nothing was "
        "there.",
        draw_slip,
    ),
    FigureSpec(
        "sparse-cost",
        "stages",
        "Seconds of each stage on the Swiss roll against n, with about 100 near rows a row at any "
        "size: assembling the kernel by the thesis' double loop and by cells, factorising, and "
        "solving by LIBLINEAR on the factor or by Newton's method on the matrix. By cells "
        "the kernel is the cheapest stage of the path through the factor.",
        draw_cost,
    ),
    FigureSpec(
        "sparse-shatter",
        "labellings",
        "Figure 4 in full: all labellings of a few points in the plane, up to exchanging the "
        "classes, with a separating line where there is one. Three points in general position are "
        "shattered, four never are: the VC dimension of lines is three.",
        draw_shattering,
    ),
]
