"""Figures of the ADMM-HSS paper's studies."""

from kernlab.plots.data_tables import sizes_figure
from kernlab.plots.hss_bound import draw_bound
from kernlab.plots.hss_matrix import draw_errors, draw_ranks, draw_singular_values
from kernlab.plots.registry import FigureSpec

FIGURES = [
    sizes_figure("hss-t1", "ADMM-HSS"),
    FigureSpec(
        "hss-f1",
        "decay",
        "Figure 1 of the paper. Left, singular values of Gaussian kernel matrices for five widths "
        "h, relative to the largest: only wide kernels are of low rank as a whole. Right, the "
        "matrix at h = 1 with its rows in random order and after 2-means clustering; the rank of "
        "the block that couples the two halves counts singular values above 1 % of the norm of K.",
        draw_singular_values,
    ),
    FigureSpec(
        "hss-error",
        "tolerance",
        "Error of K~ on sampled columns, relative in the Frobenius norm, against the tolerance of "
        "the local decisions (dashed: equal). With the reference's columns, nearest neighbours "
        "only, nothing is known of the far field; columns from afar bring the error down with the "
        "tolerance.",
        draw_errors,
    ),
    FigureSpec(
        "hss-error",
        "ranks",
        "Mean rank of the bases on each level of the tree, in the default mode. Where ranks fall "
        "to 0 at the top, K~ is block diagonal there.",
        draw_ranks,
    ),
    FigureSpec(
        "hss-e9",
        "bound",
        "Equation 9 measured: the difference of the optimal dual objectives with K~ and with K "
        "(red), and the equation's two bounds. Above, K~ as compressed, which is mostly "
        "indefinite, so that the proof does not apply; below, with its eigenvalues lifted to "
        "zero, where it does. The bound by quadratic forms is sharp, the one by norms is not.",
        draw_bound,
    ),
]
