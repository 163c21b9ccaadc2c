"""Accuracy and time along a parameter, a line per data set; and strips of methods on data sets."""

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from kernlab.datasets import row_labels
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import name_rows
from kernlab.lab.plots.style import QUIET, dataset_marker, method_colour, new_figure
from kernlab.lab.published import published

STYLES = ("solid", "dashed", "dotted", "dashdot", (0, (1, 3)))
SCALES = {"%": 0.01, "h": 3600.0}  # of published units to shares and seconds


def draw_sweep(table, x, xlabel, panels):
    """One panel per measured column, lines of means over repeats, one per data set and variant.

    Where data sets lie more than 15 points apart, each line is shown relative to its own best
    value, which its label gives: a set near chance would squeeze the others.

    Parameters
    ----------
    table : DataFrame
    x, xlabel : str
    panels : dict
        Column -> title; columns of seconds get a logarithmic axis, accuracies per cent.
    """
    panels = {column: title for column, title in panels.items() if table[column].notna().any()}
    figure, axes = new_figure(1, len(panels), panel=(4.2, 3.3), squeeze=False)
    best = table.groupby("dataset")[[name for name in panels if "accuracy" in name]].max()
    far_apart = bool((best.max() - best.min() > 0.15).any())
    names = list(dict.fromkeys(table["dataset"]))
    variants = list(dict.fromkeys(table["variant"]))
    for ax, (column, title) in zip(axes.ravel(), panels.items(), strict=True):
        share = not column.endswith("seconds")
        apart = share and far_apart
        for (name, variant), rows in table.groupby(["dataset", "variant"], sort=False):
            means = rows.groupby(x)[column].mean().dropna()
            if means.empty:
                continue
            label = name if len(variants) == 1 else f"{name}, {variant}"
            if apart:
                label, means = f"{label} ({100 * means.max():.1f} %)", means - means.max()
            style = STYLES[variants.index(variant) % len(STYLES)]
            look = {"color": f"C{names.index(name)}", "marker": dataset_marker(name), "ms": 4}
            ax.plot(means.index, means, ls=style, label=label, **look)
        ax.set(xscale="log", xlabel=xlabel, title=f"{title}, below its best" if apart else title)
        if share:
            ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        else:
            ax.set_yscale("log")
        if apart or ax is axes[0, -1]:
            label_lines(ax)
    return figure


def draw_methods(table, column, xlabel, *, log=True, theirs=None):
    """A strip per data set with the methods one below another, published values as strokes.

    Further forms of a method, "LaSVM, three epochs" after "LaSVM, one epoch", are hollow.

    Parameters
    ----------
    table : DataFrame
    column, xlabel : str
        Shares (accuracies, errors) are shown in per cent.
    log : bool
    theirs : dict, optional
        (data set, method) -> published value, as `published_values` gives it.
    """
    names = list(dict.fromkeys(table["dataset"]))
    methods = list(dict.fromkeys(table["method"]))
    height = 0.07 * len(methods) + 0.16
    figure, ax = new_figure(panel=(6.6, height * len(names) + 1.2))
    for row in range(0, len(names), 2):
        ax.axhspan(row - 0.5, row + 0.5, color="#F4F4F4", lw=0, zorder=0)
    offsets = np.linspace(-0.36, 0.36, len(methods)) if len(methods) > 1 else [0.0]
    seen, strokes = set(), False
    for offset, method in zip(offsets, methods, strict=True):
        means = table[table["method"] == method].groupby("dataset")[column].mean().dropna()
        heights = [names.index(name) + offset for name in means.index]
        own = method.partition(", ")[0]
        colour = method_colour(own)
        face = "none" if own in seen else colour
        ax.scatter(means, heights, s=26, fc=face, ec=colour, label=method, zorder=3)
        known = {names.index(name) + offset: (theirs or {}).get((name, own)) for name in names}
        known = {height: value for height, value in known.items() if value and own not in seen}
        if known:
            look = {"marker": "|", "color": colour, "lw": 1.6, "zorder": 2}
            ax.scatter(known.values(), known.keys(), s=70, **look)
            strokes = True
        seen.add(own)
    if strokes:
        ax.scatter([], [], s=70, marker="|", color=QUIET, lw=1.6, label="the paper's, likewise")
    ax.set(xlabel=xlabel, xscale="log" if log else "linear")
    if column.endswith(("accuracy", "error")):
        form = FuncFormatter(lambda share, _: f"{100 * share:.3g} %")
        ax.xaxis.set_major_formatter(form if log else PercentFormatter(1.0, decimals=0))
        if log:
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_minor_formatter(NullFormatter())
    name_rows(ax, names)
    return figure


def published_values(study, template, turned=False):
    """(data set, method) -> the published value, in shares and seconds.

    Parameters
    ----------
    study : str
    template : str
        The printed columns, such as "{method} accuracy".
    turned : bool
        Errors, where accuracies are printed.
    """
    table, before, after = published(study), *template.split("{method}")
    names = {label: name for name, label in row_labels(study).items()}
    scale = SCALES | ({"%": -0.01} if turned else {})
    return {
        (names.get(cell.row, cell.row), cell.column.removeprefix(before).removesuffix(after)):
            turned + scale.get(cell.unit, 1.0) * cell.value
        for cell in table.dropna(subset="value").itertuples()
        if cell.column.startswith(before) and cell.column.endswith(after)
    }  # fmt: skip
