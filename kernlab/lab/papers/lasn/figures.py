"""Figures of the LASN paper's studies."""

from kernlab.lab.papers.common.data_tables import sizes_figure
from kernlab.lab.papers.common.equivalence import draw_differences
from kernlab.lab.papers.common.landmark_theory import draw_bounds, draw_convergence
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.sweeps import draw_methods, draw_sweep

ACCURACIES = {"test_accuracy": "Test accuracy", "cv_accuracy": "CV accuracy"}


def draw_landmarks(table):
    """Accuracies and seconds against k."""
    panels = ACCURACIES | {"solve_seconds": "Seconds to solve"}
    return draw_sweep(table, "landmarks", "landmarks k", panels)


def draw_costs(table):
    """Accuracies and seconds against C."""
    return draw_sweep(table, "C", "C", ACCURACIES | {"solve_seconds": "Seconds to solve"})


def draw_solvers(table):
    """Seconds of the three linear solvers on every data set."""
    return draw_methods(
        table, "solve_seconds", "seconds to solve", study="lasn-t3", printed="{method} solve time"
    )


def draw_against_libsvm(table):
    """Test error of LASN and of LIBSVM with both gammas, on the printed rows if there are any."""
    printed = table["variant"].str.startswith("printed")
    rows = table[printed] if printed.any() else table
    method = rows["method"] + rows["variant"].str.removeprefix("printed").where(printed, "")
    return draw_methods(
        rows.assign(method=method, error=1.0 - rows["test_accuracy"]), "error", "test error",
        study="lasn-t4", printed="{method} accuracy",
    )  # fmt: skip


def _sweep_figure(figure, group, what, draw):
    return FigureSpec(
        f"lasn-f{figure}",
        "sweep",
        f"Figure {figure} of the paper: test accuracy, accuracy on the fifth of the training rows "
        f"that is set aside, and time to solve against {what}, on the {group} sets. Means over the "
        "repeats.",
        draw,
    )


FIGURES = [
    *(
        _sweep_figure(figure, group, "the number of landmarks", draw_landmarks)
        for figure, group in ((2, "large"), (3, "medium"), (4, "small"))
    ),
    *(
        _sweep_figure(figure, group, "C", draw_costs)
        for figure, group in ((5, "medium"), (6, "small"))
    ),
    FigureSpec(
        "lasn-t3",
        "seconds",
        "Table 3 measured: seconds that each of three linear solvers takes on the same Nystrom "
        "features, to its own default tolerance (the semismooth Newton method's is the tightest). "
        "Dots: "
        "measured; strokes of the same colour: the paper's.",
        draw_solvers,
    ),
    FigureSpec(
        "lasn-t4",
        "accuracy",
        "Table 4 measured, on the printed rows: test error of LASN and of LIBSVM with the "
        "squared hinge. With $\\gamma = 1$ LIBSVM gives the printed column; with LASN's own "
        "$\\gamma$ it "
        "comes nearer to LASN. Dots: measured; strokes of the same colour: the paper's.",
        draw_against_libsvm,
    ),
    FigureSpec(
        "lasn-thm1",
        "differences",
        "Theorem 1 in numbers: the same equivalence with the squared hinge. The kernel machine is "
        "LIBSVM's hard-margin machine on $K + I / (2C)$, the linear one the semismooth Newton "
        "method "
        "on a factor $F$ of $K$. Left, the largest difference of a decision on new points, where "
        "the "
        "margin has size 1 (dashed line); right, the relative difference of the dual objectives.",
        draw_differences,
    ),
    FigureSpec(
        "lasn-thm2",
        "bounds",
        "Theorem 2 in numbers, with the squared hinge: the squared distance between the weights on "
        "the best and on the Nystrom features of rank k, unaligned (red) and after the rotation "
        "that brings the features closest (blue), and the bound, as printed and corrected, far "
        "above both.",
        draw_bounds,
    ),
    FigureSpec(
        "lasn-thm3",
        "convergence",
        "Theorem 3 in numbers: the gradient at each step of the semismooth Newton method, relative "
        "to the start. Once the active rows are found the last steps gain many digits at once: "
        "with exact directions (left) the method ends, with conjugate gradients whose accuracy "
        "$\\mu$ "
        "follows the gradient (middle) the digits at least double; with $\\mu$ held at 0.1 "
        "(right) a "
        "step gains no more than a digit or so, which is linear convergence.",
        draw_convergence,
    ),
    sizes_figure("lasn-t1", "LASN's sweeps"),
    sizes_figure("lasn-t2", "LASN's comparisons"),
]
