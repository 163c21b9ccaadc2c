"""Figures of the LLSVM paper's studies."""

from kernlab.plots.data_tables import sizes_figure
from kernlab.plots.equivalence import draw_differences
from kernlab.plots.landmark_theory import draw_bounds
from kernlab.plots.registry import FigureSpec

FIGURES = [
    FigureSpec(
        "llsvm-prop1",
        "differences",
        "Proposition 1 in numbers. The kernel machine and the linear machine on a factor F of its "
        "kernel matrix (F F^T = K) decide alike on new points: left, the largest difference of a "
        "decision, where the margin has size 1 (dashed line); right, the relative difference of "
        "the dual objectives. Three different factors give the same machine, on every data set.",
        draw_differences,
    ),
    sizes_figure("llsvm-t2", "LLSVM"),
    FigureSpec(
        "llsvm-thm1",
        "bounds",
        "Theorem 1 in numbers: the squared distance between the weights on the best and on the "
        "Nystrom features of rank k. Unaligned (red) it says little, for the two feature spaces "
        "differ by a rotation; after the best rotation (blue) it is small. The bound of the "
        "theorem, as printed and as its own proof gives it, lies many orders of magnitude above "
        "and grows with k: it says nothing about either.",
        draw_bounds,
    ),
]
