"""Accuracy and time along a parameter, a line per data set; and bars of methods on data sets."""

import numpy as np
from matplotlib.ticker import PercentFormatter

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import dataset_marker, method_colour, new_figure

STYLES = ("solid", "dashed", "dotted", "dashdot", (0, (1, 3)))


def draw_sweep(table, x, xlabel, panels):
    """One panel per measured column, lines of means over repeats, one per data set and variant.

    `panels`: column -> title; columns of seconds get a logarithmic axis, accuracies percent.
    """
    panels = {column: title for column, title in panels.items() if table[column].notna().any()}
    figure, axes = new_figure(1, len(panels), panel=(4.2, 3.3), squeeze=False)
    names = list(dict.fromkeys(table["dataset"]))
    variants = list(dict.fromkeys(table["variant"]))
    for ax, (column, title) in zip(axes.ravel(), panels.items(), strict=True):
        for name in names:
            for variant in variants:
                rows = table[(table["dataset"] == name) & (table["variant"] == variant)]
                means = rows.groupby(x)[column].mean().dropna()
                if means.empty:
                    continue
                colour = f"C{names.index(name)}"
                style = STYLES[variants.index(variant) % len(STYLES)]
                label = name if len(variants) == 1 else f"{name}, {variant}"
                ax.plot(
                    means.index,
                    means,
                    color=colour,
                    ls=style,
                    marker=dataset_marker(name),
                    ms=4,
                    label=label,
                )
        ax.set(xscale="log", xlabel=xlabel, title=title)
        if column.endswith("seconds"):
            ax.set_yscale("log")
        else:
            ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    label_lines(axes[0, -1])
    return figure


def draw_methods(table, column, xlabel, *, log=True):
    """One line per data set, a dot per method: who is faster, or better, by how much.

    Further forms of a method, "LaSVM, three epochs" after "LaSVM, one epoch", are hollow.
    """
    names = list(dict.fromkeys(table["dataset"]))
    methods = list(dict.fromkeys(table["method"]))
    figure, ax = new_figure(panel=(6.4, 0.3 * len(names) + 1.3))
    for height, name in enumerate(names):
        means = table[table["dataset"] == name].groupby("method")[column].mean().dropna()
        if len(means):
            ax.plot([means.min(), means.max()], [height, height], color="#D5D5D5", lw=2, zorder=1)
    seen = set()
    for method in methods:
        rows = table[table["method"] == method].groupby("dataset")[column].mean().dropna()
        heights = [names.index(name) for name in rows.index]
        own = method.partition(", ")[0]
        colour = method_colour(own)
        face = "none" if own in seen else colour
        ax.scatter(rows, heights, s=36, fc=face, ec=colour, label=method, zorder=3)
        seen.add(own)
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel=xlabel, xscale="log" if log else "linear")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    return figure


def draw_prediction_cost(table):
    """Microseconds per row against what the cost grows with: support vectors, or landmarks."""
    figure, ax = new_figure(panel=(6.0, 3.6))
    rows = table.assign(
        size=np.where(
            table["n_landmarks"] > 0,
            table["n_landmarks"],
            table["support_vectors"].fillna(table["n_features"]),
        )
    )
    for method, group in rows.groupby("method", sort=False):
        group = group.sort_values("size")
        ax.plot(
            group["size"],
            group["microseconds_per_row"],
            marker="o",
            color=method_colour(method),
            label=method,
        )
    ax.set(xscale="log", yscale="log", xlabel="features, landmarks k, or support vectors")
    ax.set_ylabel("microseconds per row")
    label_lines(ax)
    return figure
