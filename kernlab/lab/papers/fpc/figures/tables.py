"""FPC's tables drawn: accuracy, time and sparsity per data set; rows by the million."""

import numpy as np

from kernlab.lab.papers.fpc.figures.axes import RIDGE
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import log_numbers, name_rows, plain_log_ticks, slope_guide
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import QUIET, method_colour, new_figure
from kernlab.lab.plots.sweeps import draw_methods, published_values
from kernlab.lab.published import published
from kernlab.runtime import format_bytes

MARKS = "Dots: measured here; short strokes of the same colour: the paper's means."


@figure("fpc-t2", "accuracy", also=f"{MARKS} {RIDGE}")
def draw_accuracy(table):
    """Table II: test accuracy, means over repeats."""
    theirs = published_values("fpc-t2", "{method} accuracy")
    return draw_methods(table, "test_accuracy", "test accuracy", log=False, theirs=theirs)


@figure("fpc-t7", "accuracy", also=MARKS)
def draw_images(table):
    """Table VII: test accuracy on images by their features, means over repeats."""
    found = published_values("fpc-t7", "{method}").items()
    theirs = {("dogs-vs-cats", row): value for (row, name), value in found if name == "accuracy"}
    return draw_methods(table, "test_accuracy", "test accuracy", log=False, theirs=theirs)


@figure("fpc-t3", "seconds", also=MARKS)
def draw_training(table):
    """Table III: seconds of one training at the parameters that the validation rows chose, on a
    logarithmic axis. The paper's seconds of support vector machines are of the whole search, or
    look like it: divided by its 121 and 1210 settings they are those of one training.
    """
    theirs = published_values("fpc-t3", "{method} training time")
    return draw_methods(table, "fit_seconds", "seconds to train", theirs=theirs)


@figure("fpc-t4", "seconds", also=MARKS)
def draw_testing(table):
    """Table IV: seconds to predict all test rows, on a logarithmic axis. Where the paper prints 0
    there is no stroke.
    """
    theirs = published_values("fpc-t4", "{method} test time")
    return draw_methods(table, "predict_seconds", "seconds to predict", theirs=theirs)


@figure("fpc-t4", "sparsity", also=MARKS)
def draw_sparsity(table):
    """Table IV: support vectors, trees or centres that a prediction depends on."""
    theirs = published_values("fpc-t4", "{method} sparsity")
    figure = draw_methods(table, "sparsity", "support vectors, trees or centres", theirs=theirs)
    log_numbers(figure.axes[0].xaxis)
    return figure


@figure("fpc-t5", "cost", also=RIDGE, study="fpc-t5", number="V")
@figure("fpc-t6", "cost", also=RIDGE, study="fpc-t6", number="VI")
def draw_massive(table, study, **_):
    """Table {number}: seconds and memory of five steps of FPC on generated rows, with as many
    centres as the polynomials have dimensions, and with the paper's number; and, where labelled
    rows are at hand, test accuracy beside the paper's on the whole file (dashed). Peaks are growth
    of the process and depend on what ran before: below some 30 MB they say nothing.
    """
    made = table["dataset"] == "generated"
    figure, axes = new_figure(1, 1 if made.all() else 2, panel=(4.6, 2.4), squeeze=False)
    _draw_cost(axes[0, 0], table[made])
    if not made.all():
        _draw_labelled(axes[0, 1], table[~made], study)
    return figure


def _draw_cost(ax, generated):
    """Seconds to train, and the most memory beyond what was held before there was any data."""
    labels = []
    for row in generated.itertuples():
        label = f"{row.n_centres:.0f} centres" if row.method == "FPC" else row.method
        if np.isfinite(getattr(row, "peak_bytes", np.nan)):
            peak, data = format_bytes(row.peak_bytes), format_bytes(row.data_bytes)
            label += f"\npeak {peak}, data {data}"
        labels.append(label)
    colours = [method_colour(method) for method in generated["method"]]
    ax.barh(range(len(labels)), generated["fit_seconds"], color=colours, height=0.5)
    ax.set_xlabel("seconds to train")
    if len(generated):
        ax.set_title(f"{generated['n_train'].iloc[0]:,} generated rows")
    name_rows(ax, labels, legend=False)


def _draw_labelled(ax, labelled, study):
    names = []
    for row in labelled.itertuples():
        real = row.variant == "the real file" and row.method == "FPC"
        centres = f", {row.n_centres:.0f} centres" if real else ""
        names.append(f"{row.dataset}, {row.method}{centres}")
    colours = [method_colour(method) for method in labelled["method"]]
    ax.scatter(100 * labelled["test_accuracy"], range(len(names)), color=colours, s=40, zorder=3)
    paper = published(study).set_index(["row", "column"])["value"]["FPC", "accuracy"]
    ax.axvline(paper, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    ax.annotate(
        "paper ", (paper, 0.97), xycoords=("data", "axes fraction"), fontsize=7.5, color=QUIET,
        ha="right", va="top",
    )  # fmt: skip
    ax.set(xlabel="test accuracy in percent", title="Labelled rows")
    name_rows(ax, names, legend=False)


@figure("bench-fpc", "seconds")
def draw_bench(table):
    """Left: seconds to train on MAGIC and test accuracy, FPC beside two support vector machines at
    their best parameters. Right: seconds of FPC on generated rows against their number.
    """
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.0))
    magic = table[table["dataset"] == "magic"].groupby("method", sort=False)
    seconds, accuracies = magic["fit_seconds"].median(), magic["test_accuracy"].mean()
    heights = range(len(seconds))
    left.scatter(seconds, heights, s=44, color=[method_colour(name) for name in seconds.index])
    above = {"xytext": (0, 7), "textcoords": "offset points", "fontsize": 7.5, "ha": "center"}
    for height, name in enumerate(seconds.index):
        text = f"{seconds[name]:.2g} s, {100 * accuracies[name]:.1f} %"
        left.annotate(text, (seconds[name], height), **above)
    left.set(xscale="log", xlabel="seconds to train", title="MAGIC, 9,510 rows")
    name_rows(left, seconds.index, legend=False)
    left.margins(x=0.2)
    made = table[table["dataset"] == "generated"]
    for (columns, centres), rows in made.groupby(["columns", "centres"], sort=False):
        medians = rows.groupby("rows")["fit_seconds"].median()
        label = f"{columns:.0f} features, {centres:.0f} centres"
        right.plot(medians.index, medians, marker="o", label=label)
    right.set(xscale="log", yscale="log", xlabel="training rows", title="Generated rows")
    right.set_ylabel("seconds")
    if len(made):
        slope_guide(right, 1.0)
    plain_log_ticks(right.xaxis)
    for axis in (left.xaxis, right.yaxis):
        log_numbers(axis)
    label_lines(right)
    return figure
