"""Figures of the FPC paper's studies."""

from functools import partial

from kernlab.lab.papers.common.data_tables import sizes_figure
from kernlab.lab.papers.fpc.figures import simulations as fpc_simulations
from kernlab.lab.papers.fpc.figures import tables as fpc_tables
from kernlab.lab.papers.fpc.figures import theory as fpc_theory
from kernlab.lab.plots.registry import FigureSpec

RIDGE = (
    "Ridge is regression on the labels, FPC's own first step; the hinge optimum is the minimiser "
    "that FPC's iteration would reach in the end."
)

MARKS = " Dots: measured here; short strokes of the same colour: the paper's means."

FIGURES = [
    FigureSpec(
        "fpc-p1",
        "ranks",
        "Proposition 1 in numbers: the rank of the functions $(1 + x \\cdot \\eta)^s$, as a share "
        "of the "
        "dimension of the polynomials of degree s, for six ways to place as many centres. Filled: "
        "in exact arithmetic, where only degenerate sets fall short. Red rings: what double "
        "precision sees of it, which is less at high degrees.",
        fpc_theory.draw_ranks,
    ),
    FigureSpec(
        "fpc-p2",
        "duality",
        "Proposition 2 in numbers: the least mean hinge loss by a linear programming solver, the "
        "value of the dual programme, and kernlab's optimum fall together; FPC's usual stop (dots "
        "on the right) is far above.",
        fpc_theory.draw_duality,
    ),
    FigureSpec(
        "fpc-thm12",
        "convergence",
        "Theorems 1 and 2 in numbers, on the toy with degree 9. Left: the squared H-norm of ADMM's "
        "steps never grows; with $\\beta = 1$ it falls below the usual tolerance (dashed) after 3 "
        "steps, "
        "where FPC stops (large dots), and then rests for a hundred. Right: the loss above its "
        "minimum has hardly moved by then; an interior point method arrives.",
        fpc_theory.draw_convergence,
    ),
    FigureSpec(
        "fpc-thm3",
        "rates",
        "Theorem 3 in numbers: excess error on the toy against the number of rows, with the degree "
        "that the theorem prescribes for two degrees of smoothness; dashed, its rate. Means over "
        "repeats, shaded from 20 to 80 %. " + RIDGE,
        fpc_theory.draw_rates,
    ),
    FigureSpec(
        "fpc-f2",
        "margin",
        "Figure 2b of the paper from real fits: on separable rows of the toy the margin of a "
        "machine without slack shrinks as rows are added, and more and more of them lie near the "
        "curve. Medians over repeats, shaded from 20 to 80 %.",
        fpc_theory.draw_shrinking_margin,
    ),
    FigureSpec(
        "fpc-f5",
        "rows",
        "Figure 5 of the paper: the toy's training rows (red +1, blue -1), the Bayes curve h, and "
        "rings around the tenth of the labels that are reversed.",
        fpc_simulations.draw_toy,
    ),
    FigureSpec(
        "fpc-f6",
        "tolerance",
        "Figure 6 of the paper: errors and iterations of FPC against the tolerance "
        "$10^{-\\gamma}$. Past "
        "the recommended $5 \\cdot 10^{-4}$ (dashed) iterations multiply and errors hardly move. "
        "Means over "
        "repeats, shaded from 20 to 80 %. " + RIDGE,
        fpc_simulations.draw_tolerance,
    ),
    FigureSpec(
        "fpc-f6-readings",
        "errors",
        "Test errors of FPC at the tolerances $10^{-3.2}$ (filled) and $10^{-5}$ (hollow) under "
        "several "
        "readings of the simulation, with the mean number of steps; grey lines: the errors that "
        "the paper states for them (solid, dashed), with 3 and 1734 steps.",
        fpc_simulations.draw_readings,
    ),
    FigureSpec(
        "fpc-f7",
        "alpha",
        "Figure 7 of the paper: errors of FPC against the proximal parameter $\\alpha$, and of "
        "ridge "
        "regression with the penalty $\\alpha$. The hinge optimum does not depend on it. Means "
        "over "
        "repeats, shaded from 20 to 80 %.",
        partial(fpc_simulations.draw_parameter, name="alpha", symbol=r"$\alpha$"),
    ),
    FigureSpec(
        "fpc-f8",
        "beta",
        "Figure 8 of the paper: errors of FPC against the Lagrangian parameter $\\beta$, and of "
        "ridge "
        "regression with the penalty $1 / \\beta$. The hinge optimum does not depend on it. Means "
        "over "
        "repeats, shaded from 20 to 80 %.",
        partial(fpc_simulations.draw_parameter, name="beta", symbol=r"$\beta$"),
    ),
    FigureSpec(
        "fpc-f9",
        "degrees",
        "Figure 9 of the paper: errors against the degree, of FPC and of a regularised polynomial "
        "machine (its regularisation chosen by the test rows, as in the paper). " + RIDGE,
        fpc_simulations.draw_degrees,
    ),
    FigureSpec(
        "fpc-f10",
        "schemes",
        "Figure 10 of the paper: test error of FPC at the best degree against the number of rows, "
        "for centres drawn uniformly, taken as the first rows, or drawn from the rows. Means over "
        "repeats, shaded from 20 to 80 %.",
        fpc_simulations.draw_schemes,
    ),
    FigureSpec(
        "fpc-f11",
        "boundaries",
        "Figure 11 of the paper: what is learnt (coloured) under three kinds of label noise, "
        "beside the Bayes curve (black), with the test error; wrong labels lie between the dotted "
        "lines, everywhere, or beyond them. Above FPC, on the broad grey boundary of ridge "
        "regression; below the hinge optimum.",
        fpc_simulations.draw_boundaries,
    ),
    FigureSpec(
        "fpc-f12",
        "noise",
        "Figure 12 of the paper: test error (above) and training error (below) against the share "
        "of wrong labels, by kind of noise and width of its region; where the training error is "
        "that share it lies on the thin line. " + RIDGE,
        fpc_simulations.draw_noise,
    ),
    FigureSpec(
        "fpc-t2",
        "accuracy",
        "Table II: test accuracy, means over repeats." + MARKS + " " + RIDGE,
        fpc_tables.draw_accuracy,
    ),
    FigureSpec(
        "fpc-t3",
        "seconds",
        "Table III: seconds of one training at the parameters that the validation rows chose, on a "
        "logarithmic axis. The paper's seconds of support vector machines are of the whole search, "
        "or look like it: divided by its 121 and 1210 settings they are those of one training."
        + MARKS,
        fpc_tables.draw_training,
    ),
    FigureSpec(
        "fpc-t4",
        "seconds",
        "Table IV: seconds to predict all test rows, on a logarithmic axis. Where the paper prints "
        "0 there is no stroke." + MARKS,
        fpc_tables.draw_testing,
    ),
    FigureSpec(
        "fpc-t4",
        "sparsity",
        "Table IV: support vectors, trees or centres that a prediction depends on." + MARKS,
        fpc_tables.draw_sparsity,
    ),
    *(
        FigureSpec(
            study,
            "cost",
            f"{table}: seconds and memory of five steps of FPC on generated rows, with as many "
            "centres as the polynomials have dimensions, and with the paper's number; and, where "
            "labelled rows are at hand, test accuracy beside the paper's on the whole file "
            "(dashed). Peaks are growth of the process and depend on what ran before: below some "
            "30 MB they say nothing. " + RIDGE,
            partial(fpc_tables.draw_massive, study=study),
        )
        for study, table in (("fpc-t5", "Table V"), ("fpc-t6", "Table VI"))
    ),
    FigureSpec(
        "fpc-t7",
        "accuracy",
        "Table VII: test accuracy on images by their features, means over repeats." + MARKS,
        fpc_tables.draw_images,
    ),
    FigureSpec(
        "bench-fpc",
        "seconds",
        "Left: seconds to train on MAGIC and test accuracy, FPC beside two support vector machines "
        "at their best parameters. Right: seconds of FPC on generated rows against their number.",
        fpc_tables.draw_bench,
    ),
    sizes_figure("fpc-t1", "FPC"),
]
