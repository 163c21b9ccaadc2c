"""Figures of the LASN paper's studies."""

from kernlab.plots.data_tables import sizes_figure
from kernlab.plots.equivalence import draw_differences
from kernlab.plots.landmark_theory import draw_bounds, draw_convergence
from kernlab.plots.registry import FigureSpec

FIGURES = [
    FigureSpec(
        "lasn-thm1",
        "differences",
        "Theorem 1 in numbers: the same equivalence with the squared hinge. The kernel machine is "
        "LIBSVM's hard-margin machine on K + I/(2C), the linear one the semismooth Newton method "
        "on a factor F of K. Left, the largest difference of a decision on new points, where the "
        "margin has size 1 (dashed line); right, the relative difference of the dual objectives.",
        draw_differences,
    ),
    FigureSpec(
        "lasn-thm2",
        "bounds",
        "Theorem 2 in numbers, with the squared hinge: the squared distance between the weights on "
        "the best and on the Nystrom features of rank k, unaligned (red) and after the best "
        "rotation (blue), and the bound, as printed and corrected, far above both.",
        draw_bounds,
    ),
    FigureSpec(
        "lasn-thm3",
        "convergence",
        "Theorem 3 in numbers: the gradient at each step of the semismooth Newton method, relative "
        "to the start. Once the active rows are found the last steps gain many digits at once: "
        "with exact directions (left) the method ends, with conjugate gradients (right) the digits "
        "at least double.",
        draw_convergence,
    ),
    sizes_figure("lasn-t1", "LASN's sweeps"),
    sizes_figure("lasn-t2", "LASN's comparisons"),
]
