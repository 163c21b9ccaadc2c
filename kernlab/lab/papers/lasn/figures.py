"""Figures of the LASN paper's studies."""

from kernlab.lab.papers.common.theory import draw_bounds, draw_differences
from kernlab.lab.plots.marks import draw_methods, draw_sweep, panels
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import dataset_marker

LANDMARKS = {"what": "the number of landmarks", "x": "landmarks", "xlabel": "landmarks k"}
COST = {"what": "C", "x": "C", "xlabel": "C"}
TITLES = {
    "direct": "Direct",
    "cg": r"Conjugate gradients, $\mu$ falls",
    "cg, constant mu": r"Conjugate gradients, $\mu$ constant",
}


@figure("lasn-f2", "sweep", number=2, group="large", **LANDMARKS)
@figure("lasn-f3", "sweep", number=3, group="medium", **LANDMARKS)
@figure("lasn-f4", "sweep", number=4, group="small", **LANDMARKS)
@figure("lasn-f5", "sweep", number=5, group="medium", **COST)
@figure("lasn-f6", "sweep", number=6, group="small", **COST)
def draw_accuracies(table, x, xlabel, **_):
    """Figure {number} of the paper: test accuracy, accuracy on the fifth of the training rows that
    is set aside, and time to solve against {what}, on the {group} sets. Means over the repeats.
    """
    panels = {"test_accuracy": "Test accuracy", "cv_accuracy": "CV accuracy"}
    return draw_sweep(table, x, xlabel, panels | {"solve_seconds": "Seconds to solve"})


@figure("lasn-t3", "seconds")
def draw_solvers(table):
    """Table 3 measured: seconds that each of three linear solvers takes on the same Nystrom
    features, to its own default tolerance (the semismooth Newton method's is the tightest). Dots:
    measured; strokes of the same colour: the paper's.
    """
    theirs = "lasn-t3", "{method} solve time"
    return draw_methods(table, "solve_seconds", "seconds to solve", theirs=theirs)


@figure("lasn-t4", "accuracy")
def draw_against_libsvm(table):
    r"""Table 4 measured, on the printed rows: test error of LASN and of LIBSVM with the squared
    hinge. With $\gamma = 1$ LIBSVM gives the printed column; with LASN's own $\gamma$ it comes
    nearer to LASN. Dots: measured; strokes of the same colour: the paper's.
    """
    printed = table["variant"].str.startswith("printed")
    rows = table[printed] if printed.any() else table
    method = rows["method"] + rows["variant"].str.removeprefix("printed").where(printed, "")
    rows = rows.assign(method=method, error=1.0 - rows["test_accuracy"])
    theirs = "lasn-t4", "{method} accuracy", True
    return draw_methods(rows, "error", "test error", theirs=theirs)


@figure("lasn-thm1", "differences")
def draw_factors(table):
    """Theorem 1 in numbers: the same equivalence with the squared hinge. The kernel machine is
    LIBSVM's hard-margin machine on $K + I / (2C)$, the linear one the semismooth Newton method on a
    factor $F$ of $K$. Left, the largest difference of a decision on new points, where the margin
    has size 1 (dashed line); right, the relative difference of the dual objectives.
    """
    return draw_differences(table)


@figure("lasn-thm2", "bounds")
def draw_weights(table):
    """Theorem 2 in numbers, with the squared hinge: the squared distance between the weights on the
    best and on the Nystrom features of rank k, unaligned (red) and after the rotation that brings
    the features closest (blue), and the bound, as printed and corrected, far above both.
    """
    return draw_bounds(table)


@figure("lasn-thm3", "convergence")
def draw_gradients(table):
    r"""Theorem 3 in numbers: the gradient at each step of the semismooth Newton method, relative to
    the start. Once the active rows are found the last steps gain many digits at once: with exact
    directions (left) the method ends, with conjugate gradients whose accuracy $\mu$ follows the
    gradient (middle) the digits at least double; with $\mu$ held at 0.1 (right) a step gains no
    more than a digit or so, which is linear convergence.
    """
    figure, parts = panels(table, "variant", panel=(4.0, 3.2), sharey=True)
    for ax, variant, part in parts:
        for name, rows in part.groupby("dataset", sort=False):
            look = {"marker": dataset_marker(name), "ms": 4, "label": name}
            ax.plot(rows["iteration"], rows["residual"].clip(1e-17), **look)
        ax.set(yscale="log", title=TITLES.get(variant, variant), xlabel="Newton step")
    parts[0][0].set_ylabel("gradient, relative to the start")
    return figure
