"""Figures of the LASN paper's studies."""

from kernlab.plots.data_tables import sizes_figure
from kernlab.plots.equivalence import draw_differences
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
    sizes_figure("lasn-t1", "LASN's sweeps"),
    sizes_figure("lasn-t2", "LASN's comparisons"),
]
