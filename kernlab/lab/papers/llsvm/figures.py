"""Figures of the LLSVM paper's studies."""

import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from kernlab.lab.papers.common.theory import draw_bounds, draw_differences
from kernlab.lab.plots.marks import bands, draw_methods, draw_sweep, plain_log_ticks
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import method_colour, new_figure


@figure("llsvm-prop2", "differences")
def draw_reduced(table):
    """Proposition 2 in numbers: the reduced SVM, solved as the quadratic programme that it is (with
    the labels that the printed constraint misses), and as a linear machine on the Nystrom map.
    Shown is the largest difference of a decision on new points, where the margin has size 1: what
    is left is the tolerance of the two solvers.
    """
    names = [f"{row.dataset}, k = {row.n_landmarks}" for row in table.itertuples()]
    named = table.assign(dataset=names, method="linear machine on the map")
    return draw_methods(named, "decision_difference", "largest difference of a decision")


@figure("llsvm-t1", "accuracy")
def draw_map_accuracy(table):
    """Three kernel maps of the same data: the square root of K (as many features as rows), the bare
    kernel values of 100 landmarks (the reduced SVM without its Hessian), and the Nystrom map of the
    same landmarks. Test accuracy of the linear machine on each.
    """
    return draw_methods(table, "test_accuracy", "test accuracy", log=False)


@figure("llsvm-t3", "errors")
def draw_errors(table):
    """Table 3 measured: test error of a linear machine, of the quadratic kernel written out, of
    LIBSVM, CVM and LaSVM with the Gaussian kernel, of AMM on standardised rows, and of LLSVM after
    one run over the data and at its optimum. After the one epoch that its authors advise, LaSVM may
    stop short of LIBSVM's dual objective; three epochs reach it to 1e-3. Under the quick profile a
    smaller checkerboard stands in.
    """
    forms = ", " + table["variant"]
    forms = table["method"] + forms.where(table["variant"] != "", "")
    theirs = "llsvm-t3", "{method} error"
    return draw_methods(table.assign(method=forms), "error", "test error", theirs=theirs)


@figure("llsvm-f1", "sweep")
def draw_landmark_sweep(table):
    """Figure 1 of the paper: test error and training time of LLSVM against the number of landmarks,
    both axes logarithmic for time. Level lines are the machines of Table 3 that have no landmarks.
    Under the quick profile a smaller checkerboard stands in.
    """
    curves = table[table["n_landmarks"] > 0]
    level = table[table["n_landmarks"] == 0]
    ends = curves["n_landmarks"].agg(["min", "max"])
    levels = [level.assign(variant=level["method"], n_landmarks=end) for end in ends]
    table = pd.concat([curves.assign(variant="LLSVM"), *levels], ignore_index=True)
    panels = {"error": "Test error", "fit_seconds": "Seconds to train"}
    return draw_sweep(table, "n_landmarks", "landmarks k", panels)


@figure("llsvm-t4", "cost")
def draw_prediction_cost(table):
    """What a prediction costs on MAGIC. The exact machine grows with its support vectors; with
    landmarks it grows with k alone, and folding the map into one vector of weights removes the
    quadratic part that Table 4 lists.
    """
    figure, ax = new_figure(panel=(6.0, 3.6))
    others = table["support_vectors"].fillna(table["n_features"])
    size = np.where(table["n_landmarks"] > 0, table["n_landmarks"], others)
    for method, group in table.assign(size=size).groupby("method", sort=False):
        group = group.sort_values("size")
        style = "dashed" if method.endswith("unfolded") else "solid"
        look = {"color": method_colour(method.partition(", ")[0]), "ls": style, "marker": "o"}
        ax.plot(group["size"], group["microseconds_per_row"], label=method, **look)
    ax.set(xscale="log", yscale="log", xlabel="features, landmarks k, or support vectors")
    ax.set_ylabel("microseconds per row")
    return figure


@figure("llsvm-prop1", "differences")
def draw_factors(table):
    r"""Proposition 1 in numbers. The kernel machine and the linear machine on a factor F of its
    kernel matrix ($FF^\top = K$) decide alike on new points: left, the largest difference of a
    decision, where the margin has size 1 (dashed line); right, the relative difference of the dual
    objectives. Three different factors give the same machine, on every data set.
    """
    return draw_differences(table)


@figure("llsvm-thm1", "bounds")
def draw_weights(table):
    """Theorem 1 in numbers: the squared distance between the weights on the best and on the Nystrom
    features of rank k. Unaligned (red) it says little, for the two feature spaces differ by a
    rotation; after the one that brings the features closest (blue) it becomes small as k grows. The
    bound of the theorem, as printed and as its own proof gives it, lies many orders of magnitude
    above and grows with k: it says nothing about either.
    """
    return draw_bounds(table)


MAP_COLOURS = {"Nystrom, k-means": "#0062B0", "Nystrom, uniform": "#5B7F95", "Fourier": "#0B8C99"}


@figure("llsvm-fourier", "features")
def draw_features(table):
    """What landmarks must beat: random Fourier features, drawn without a look at the data. Left the
    relative error of the kernel matrix on sampled rows, right the test error of the same machine on
    the features (squared hinge, one C), against their number k; medians and the 20 to 80 % range of
    the repeats. The error of random features falls as one over the square root of k, that of
    landmarks with the spectrum of the kernel.
    """
    groups = list(table.groupby("dataset", sort=False))
    labels = {"kernel_error": r"$|K - FF^\top|\ /\ |K|$", "error": "test error"}
    figure, axes = new_figure(len(groups), 2, panel=(4.4, 2.9), squeeze=False)
    for line, (name, rows) in zip(axes, groups, strict=True):
        for ax, (column, label) in zip(line, labels.items(), strict=True):
            bands(ax, rows, "features", column, colours=MAP_COLOURS.get, marker="o")
            ax.set(xscale="log", yscale="log", title=name, ylabel=label)
            ax.set_xlabel("landmarks k, or random features")
            plain_log_ticks(ax.xaxis)
        line[1].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        line[1].yaxis.set_minor_formatter(PercentFormatter(1.0, decimals=1))
        for unnamed in line[0].get_lines():  # the names stand on the right
            unnamed.set_label("_")
    return figure
