"""Figures of what the sparse kernel achieves: data, accuracy, time, and the slip in the listing."""

import numpy as np
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import plain_log_ticks, slope_guide
from kernlab.lab.plots.style import method_colour, new_figure

CLASSES = ("#0062B0", "#CC3311", "#B98800")
SLIP_FORMS = {"equal weights": "#B5B5B5", "as printed": "#CC3311", "corrected": "#009E73"}
PATHS = {"double loop": "#8C8C8C", "cholesky": "#009E73", "newton": "#3B7D23"}


def draw_roll(table):
    """The roll in space, and unrolled, where the classes are stretches."""
    figure, axes = new_figure(1, 2, panel=(4.4, 3.6), width_ratios=[1.15, 1])
    place = axes[0].get_subplotspec()
    figure.delaxes(axes[0])
    space = figure.add_subplot(place, projection="3d")
    for label, rows in table.groupby("label"):
        colour = CLASSES[int(label)]
        space.scatter(rows["x1"], rows["x3"], rows["x2"], s=4, color=colour, linewidths=0)
        axes[1].scatter(
            rows["t"], rows["x2"], s=5, color=colour, linewidths=0, label=f"class {label:.0f}"
        )
    space.view_init(elev=40, azim=-72)
    space.set_box_aspect((1, 1, 0.7), zoom=1.15)
    space.set_title("in space", loc="left")
    space.tick_params(labelsize=6, pad=-2)
    axes[1].set(xlabel="along the roll", ylabel="height", title="unrolled")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2)
    return figure


def draw_against_sigma(table):
    """Accuracy of both kernels, and the shares of zeros in K and in its factor, against sigma."""
    figure, axes = new_figure(1, 2, panel=(4.6, 3.4), sharex=True)
    names = {"SparseCholeskySVC": "sparse", "LIBSVM": "Gaussian (LIBSVM)"}
    for method, rows in table.groupby("method", sort=False):
        rows = rows.sort_values("sigma")
        colour = method_colour(method)
        axes[0].plot(
            rows["sigma"], rows["test_accuracy"], color=colour, marker="o", ms=3.5,
            label=names.get(method, method),
        )  # fmt: skip
    sparse = table[table["method"] == "SparseCholeskySVC"].sort_values("sigma")
    colour = method_colour("SparseCholeskySVC")
    axes[0].plot(
        sparse["sigma"], sparse["cv_accuracy"], color=colour, ls="dotted", label="sparse, held out"
    )
    axes[1].plot(sparse["sigma"], sparse["sparsity"], color=colour, marker="o", ms=3.5, label="K")
    axes[1].plot(
        sparse["sigma"], sparse["factor_sparsity"], color="#CC3311", marker="o", ms=3.5, label="L"
    )
    axes[0].set(ylabel="test accuracy", title=f"{table['dataset'].iloc[0]}: accuracy")
    axes[1].set(title="zeros in the kernel matrix and its factor")
    for ax in axes:
        ax.set(xscale="log", xlabel=r"$\sigma$")
        widths = sorted(table["sigma"].unique())
        ax.set_xticks(widths, [f"{width:g}" for width in widths])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        label_lines(ax)
    return figure


def draw_table(table):
    """Seconds of training against test error, one panel per data set, a dot per method and l."""
    names = list(dict.fromkeys(table["dataset"]))
    columns = min(3, len(names))
    figure, axes = new_figure(-(-len(names) // columns), columns, panel=(3.7, 2.9), squeeze=False)
    for ax in axes.ravel()[len(names) :]:
        ax.set_axis_off()
    shown = {}
    for ax, name in zip(axes.ravel(), names, strict=False):
        for method, rows in table[table["dataset"] == name].groupby("method", sort=False):
            errors = (1.0 - rows["test_accuracy"]).clip(lower=1e-4)
            colour = method_colour(method)
            shown[method] = ax.scatter(rows["fit_seconds"], errors, color=colour, s=75, zorder=3)
            for row, error in zip(rows.itertuples(), errors, strict=True):
                ax.annotate(
                    f"{row.l:g}" if row.l else "", (row.fit_seconds, error), fontsize=6,
                    color="white", ha="center", va="center_baseline", zorder=4,
                )  # fmt: skip
        ax.set(xscale="log", yscale="log", title=name, xlabel="seconds to train")
        ax.margins(x=0.25)
        plain_log_ticks(ax.xaxis)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
        ax.yaxis.set_minor_formatter(NullFormatter())
    for ax in axes[:, 0]:
        ax.set_ylabel("test error")
    axes[0, -1].legend(shown.values(), shown, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_slip(table):
    """Accuracy as the listing has it and as it should be, one line per run."""
    runs = list(dict.fromkeys(zip(table["dataset"], table["sigma"], table["l"], strict=True)))
    figure, ax = new_figure(panel=(6.0, 0.42 * len(runs) + 1.2))
    for height, (name, sigma, exponent) in enumerate(runs):
        rows = table[
            (table["dataset"] == name) & (table["sigma"] == sigma) & (table["l"] == exponent)
        ]
        found = rows.set_index("variant")["test_accuracy"]
        ax.plot(found, [height] * len(found), color="#D5D5D5", lw=2, zorder=1)
        for form, colour in SLIP_FORMS.items():
            if form in found:
                label = form if height == 0 else None
                ax.scatter(found[form], height, color=colour, s=40, zorder=3, label=label)
    ax.set(
        yticks=range(len(runs)),
        yticklabels=[
            f"{name}, $\\sigma$ = {sigma:g}, l = {power:g}" for name, sigma, power in runs
        ],
        ylim=(len(runs) - 0.4, -0.6),
        xlabel="test accuracy",
    )
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_cost(table):
    """Seconds of assembling, factorising and solving against n, beside the double loop."""
    stages = {
        "assemble_seconds": "assemble K",
        "factor_seconds": "factorise",
        "solve_seconds": "solve",
    }
    figure, axes = new_figure(1, len(stages), panel=(3.7, 3.2), sharey=True)
    for ax, (column, title) in zip(axes, stages.items(), strict=True):
        for method, rows in table.groupby("method", sort=False):
            rows = rows[rows[column] > 0].sort_values("rows")
            if len(rows):
                ax.plot(
                    rows["rows"], rows[column], color=PATHS[method], marker="o", ms=3.5,
                    label=method,
                )  # fmt: skip
        ax.set(xscale="log", yscale="log", title=title, xlabel="rows n")
        sizes = sorted(table["rows"].unique())
        ax.set_xticks(sizes, [f"{size / 1000:g}k" for size in sizes])
        ax.xaxis.set_minor_locator(NullLocator())
    for ax in axes:  # once all have their common limits
        slope_guide(ax, 1)
    for ax in axes:
        label_lines(ax)
    axes[0].set_ylabel("seconds")
    return figure


def draw_shattering(table):
    """Every labelling of every configuration, with a line where there is one."""
    cases = list(dict.fromkeys(table["variant"]))
    most = int(table["labelling"].max()) + 1
    figure, axes = new_figure(len(cases), most, panel=(1.15, 1.2), squeeze=False)
    for line, case in zip(axes, cases, strict=True):
        rows = table[table["variant"] == case]
        for ax in line:
            ax.set_axis_off()
        for number, part in rows.groupby("labelling"):
            _draw_labelling(line[int(number)], part)
        line[0].set_title(case, fontsize=8, loc="left")
    return figure


def _draw_labelling(ax, rows):
    ax.set_axis_on()
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set(visible=True, color="#BBBBBB", linewidth=0.8)
    ax.grid(False)
    for label, colour in ((-1, "#0062B0"), (1, "#CC3311")):
        side = rows[rows["label"] == label]
        ax.scatter(side["x1"], side["x2"], color=colour, s=26, zorder=3, clip_on=False)
    first = rows.iloc[0]
    w = first[["w1", "w2"]].to_numpy(float)
    if first["separable"]:
        if not w.any():  # all labels are the same: any line far away will do
            return
        foot = -first["b"] * w / (w @ w)
        along = np.array([-w[1], w[0]]) / np.hypot(*w)
        ax.plot(*np.array([foot - 5 * along, foot + 5 * along]).T, color="#222222", lw=1.0)
    else:
        ax.set_facecolor("#f2e3e0")
        ax.text(0.04, 0.96, "no line", ha="left", va="top", fontsize=7, color="#7A1F0F")
