"""FPC's tables drawn: accuracy, time and sparsity per data set; rows by the million."""

import numpy as np

from kernlab.lab.papers.fpc.figures.axes import log_numbers, say_percent
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import plain_log_ticks, slope_guide
from kernlab.lab.plots.style import QUIET, method_colour, new_figure
from kernlab.lab.published import published
from kernlab.runtime import format_bytes

ROW = 0.42  # of a data set's height is filled by its methods, on either side


def draw_accuracy(table):
    """Test accuracy of every method on every set."""
    figure, ax = _draw_methods(table, "test_accuracy", _paper("fpc-t2", "accuracy", 0.01))
    ax.set(xlabel="test accuracy")
    ax.xaxis.set_major_formatter(say_percent)
    return figure


def draw_images(table):
    """Test accuracy of every method on the images."""
    printed = published("fpc-t7")
    accuracies = printed[printed["column"] == "accuracy"].set_index("row")["value"]
    paper = {("dogs-vs-cats", name): 0.01 * value for name, value in accuracies.items()}
    figure, ax = _draw_methods(table, "test_accuracy", paper)
    ax.set(xlabel="test accuracy")
    ax.xaxis.set_major_formatter(say_percent)
    return figure


def draw_training(table):
    """Seconds of training at the chosen parameters."""
    figure, ax = _draw_methods(table, "fit_seconds", _paper("fpc-t3", "training time"))
    ax.set(xlabel="seconds to train", xscale="log")
    return figure


def draw_testing(table):
    """Seconds of predicting all test rows."""
    figure, ax = _draw_methods(table, "predict_seconds", _paper("fpc-t4", "test time"))
    ax.set(xlabel="seconds to predict", xscale="log")
    return figure


def draw_sparsity(table):
    """What a prediction depends on: support vectors, trees, centres."""
    figure, ax = _draw_methods(table, "sparsity", _paper("fpc-t4", "sparsity"))
    ax.set(xlabel="support vectors, trees or centres", xscale="log")
    log_numbers(ax.xaxis)
    return figure


def _paper(study, quantity, scale=1.0):
    """The published means of a table: (data set, method) -> value."""
    printed = published(study)
    printed = printed[printed["column"].str.endswith(f" {quantity}")]
    methods = printed["column"].str.removesuffix(f" {quantity}")
    return dict(
        zip(zip(printed["row"], methods, strict=True), scale * printed["value"], strict=True)
    )


def _draw_methods(table, column, paper):
    """A strip per data set with the methods one below another, and the published means beside."""
    names = list(dict.fromkeys(table["dataset"]))
    methods = list(dict.fromkeys(table["method"]))
    figure, ax = new_figure(panel=(6.4, (0.11 * len(methods) + 0.12) * len(names) + 1.0))
    for height in range(0, len(names), 2):
        ax.axhspan(height - 0.5, height + 0.5, color="#F4F4F4", lw=0, zorder=0)
    offsets = np.linspace(-ROW, ROW, len(methods) + 2)[1:-1]
    for offset, method in zip(offsets, methods, strict=True):
        colour = method_colour(method)
        means = table[table["method"] == method].groupby("dataset")[column].mean().dropna()
        heights = [names.index(name) + offset for name in means.index]
        ax.scatter(means, heights, s=26, color=colour, label=method, zorder=3)
        theirs = {name: paper.get((name, method), 0.0) for name in names}
        known = [(value, names.index(name) + offset) for name, value in theirs.items() if value > 0]
        ax.scatter(*np.reshape(known, (-1, 2)).T, s=60, marker="|", color=colour, lw=1.6)
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    return figure, ax


def draw_massive(table, study):
    """Left, seconds to train on generated rows, and bytes beside the data; right, accuracy."""
    made = table["dataset"] == "generated"
    labelled = table[~made]
    panels = 1 + (len(labelled) > 0)
    figure, axes = new_figure(1, panels, panel=(4.6, 2.4), squeeze=False)
    _draw_cost(axes[0, 0], table[made])
    if len(labelled):
        _draw_labelled(axes[0, 1], labelled, study)
    return figure


def _draw_cost(ax, generated):
    made = [
        f"{row.n_centres:.0f} centres" if row.method == "FPC" else row.method
        for row in generated.itertuples()
    ]
    labels = [a + _bytes(row) for a, row in zip(made, generated.itertuples(), strict=True)]
    colours = [method_colour(method) for method in generated["method"]]
    ax.barh(range(len(labels)), generated["fit_seconds"], color=colours, height=0.5)
    ax.set(yticks=range(len(labels)), yticklabels=labels, xlabel="seconds to train")
    if len(generated):
        ax.set_title(f"{generated['n_train'].iloc[0]:,} generated rows")
    ax.grid(axis="y", visible=False)
    ax.invert_yaxis()


def _bytes(row):
    """The most memory that was in use beyond what the process held before it had any data."""
    if not np.isfinite(getattr(row, "peak_bytes", np.nan)):
        return ""
    return f"\npeak {format_bytes(row.peak_bytes)}, data {format_bytes(row.data_bytes)}"


def _draw_labelled(ax, labelled, study):
    """Accuracies on labelled rows, and the paper's on the real file."""
    names = [f"{row.dataset}, {row.method}{_centres(row)}" for row in labelled.itertuples()]
    colours = [method_colour(method) for method in labelled["method"]]
    accuracies = 100 * labelled["test_accuracy"]
    ax.scatter(accuracies, range(len(names)), color=colours, s=40, zorder=3)
    paper = published(study).set_index(["row", "column"])["value"]["FPC", "accuracy"]
    ax.axvline(paper, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    ax.annotate(
        "paper ",
        (paper, 0.97),
        xycoords=("data", "axes fraction"),
        fontsize=7.5,
        color=QUIET,
        ha="right",
        va="top",
    )
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel="test accuracy in percent", title="Labelled rows")


def _centres(row):
    shown = row.variant == "the real file" and row.method == "FPC"
    return f", {row.n_centres:.0f} centres" if shown else ""


def draw_bench(table):
    """Left, seconds on MAGIC; right, seconds against the number of rows."""
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.0))
    magic = table[table["dataset"] == "magic"].groupby("method", sort=False)
    seconds, accuracies = magic["fit_seconds"].median(), magic["test_accuracy"].mean()
    heights = range(len(seconds))
    left.scatter(seconds, heights, s=44, color=[method_colour(name) for name in seconds.index])
    for height, name in enumerate(seconds.index):
        text = f"{seconds[name]:.2g} s, {100 * accuracies[name]:.1f} %"
        left.annotate(
            text, (seconds[name], height), xytext=(0, 7), textcoords="offset points",
            fontsize=7.5, ha="center",
        )  # fmt: skip
    left.set(yticks=heights, yticklabels=seconds.index, ylim=(len(seconds) - 0.6, -0.7))
    left.set(xscale="log", xlabel="seconds to train", title="MAGIC, 9,510 rows")
    left.grid(axis="y", visible=False)
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
