"""FPC's tables drawn: accuracy, time and sparsity per data set; rows by the million."""

from kernlab.plots.labels import label_lines
from kernlab.plots.marks import plain_log_ticks
from kernlab.plots.style import method_colour, new_figure
from kernlab.plots.sweeps import draw_methods


def draw_accuracy(table):
    """Test accuracy of every method on every set."""
    return draw_methods(table, "test_accuracy", "test accuracy", log=False)


def draw_training(table):
    """Seconds of training at the chosen parameters."""
    return draw_methods(table, "fit_seconds", "seconds to train")


def draw_testing(table):
    """Seconds of predicting all test rows."""
    return draw_methods(table, "predict_seconds", "seconds to predict")


def draw_sparsity(table):
    """What a prediction depends on: support vectors, trees, centres."""
    return draw_methods(table, "sparsity", "support vectors, trees or centres")


def draw_massive(table):
    """Left, seconds to train on generated rows, and bytes beside the data; right, accuracy."""
    generated, labelled = (
        table[table["dataset"] == "generated"],
        table[table["dataset"] != "generated"],
    )
    panels = 1 + (len(labelled) > 0)
    figure, axes = new_figure(1, panels, panel=(4.6, 3.0), squeeze=False)
    _draw_cost(axes[0, 0], generated)
    if len(labelled):
        ax = axes[0, 1]
        names = [f"{r.dataset}, {r.method}" for r in labelled.itertuples()]
        colours = [method_colour(method) for method in labelled["method"]]
        ax.barh(range(len(names)), 100 * labelled["test_accuracy"], color=colours, height=0.6)
        low = 100 * labelled["test_accuracy"].min() - 3
        ax.set(yticks=range(len(names)), yticklabels=names, xlim=(low, None))
        ax.set(xlabel="test accuracy in percent", title="Labelled rows")
        ax.invert_yaxis()
    return figure


def _draw_cost(ax, generated):
    labels = [f"{r.n_centres:.0f} centres" for r in generated.itertuples()]
    ax.barh(range(len(labels)), generated["fit_seconds"], color=method_colour("FPC"), height=0.6)
    if "peak_bytes" in generated and generated["peak_bytes"].notna().all():
        for height, row in enumerate(generated.itertuples()):
            text = f"  {row.peak_bytes / 1e9:.2f} GB in all, data {row.data_bytes / 1e9:.2f} GB"
            ax.annotate(text, (0.0, height), va="center", fontsize=7.5, color="white")
    rows = generated["n_train"].iloc[0] if len(generated) else 0
    ax.set(yticks=range(len(labels)), yticklabels=labels, xlabel="seconds to train")
    ax.set_title(f"{rows:,} generated rows")
    ax.invert_yaxis()


def draw_bench(table):
    """Left, seconds on MAGIC; right, seconds against the number of rows."""
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.0))
    magic = table[table["dataset"] == "magic"].groupby("method", sort=False)["fit_seconds"].median()
    left.barh(magic.index, magic, color=[method_colour(name) for name in magic.index], height=0.6)
    left.set(xscale="log", xlabel="seconds to train", title="MAGIC, 9,510 rows")
    left.invert_yaxis()
    for (variant, columns), rows in table[table["dataset"] == "generated"].groupby(
        ["variant", "columns"], sort=False
    ):
        rows = rows.sort_values("rows")
        label = f"{variant}, {columns:.0f} features"
        right.plot(rows["rows"], rows["fit_seconds"], marker="o", label=label)
    right.set(xscale="log", yscale="log", xlabel="training rows", title="Generated rows")
    plain_log_ticks(right.xaxis)
    label_lines(right)
    return figure
