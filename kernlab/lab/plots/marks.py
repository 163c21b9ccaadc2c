"""What figures are made of: panels, rows of names, medians with bands, heatmaps, guides, axes; and
two whole kinds, sweeps along a parameter and strips of methods on data sets."""

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)

from kernlab.datasets import row_labels
from kernlab.lab.plots.style import DARK, QUIET, dataset_marker, method_colour, new_figure
from kernlab.lab.published import published

BAND = (0.2, 0.8)
"""The quantiles between which repeats are shaded, as benchopt does it."""


def panels(table, by, panel=(4.4, 3.2), across=None, **subplots):
    """A figure with a panel for each value of a column, or for each combination of several.

    Parameters
    ----------
    table : DataFrame
    by : str or list of str
    panel : (float, float)
        Width and height of one in inches.
    across : int, optional
        Panels beside one another at most.
    **subplots
        Handed to `new_figure`.

    Returns
    -------
    (Figure, list of (axes, value or values, rows))
    """
    groups = list(table.groupby(by, sort=False))
    columns = min(across or len(groups), len(groups))
    lines = -(-len(groups) // columns)
    figure, axes = new_figure(lines, columns, panel=panel, squeeze=False, **subplots)
    for ax in axes.flat[len(groups) :]:
        ax.set_axis_off()
    return figure, [(ax, *group) for ax, group in zip(axes.flat, groups, strict=False)]


def name_rows(ax, names, legend=True):
    """A row for each name, from the top down; beside them what the marks are."""
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    if legend:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)


def dots(ax, found, looks, legend=True):
    """A row for each name, with a dot on a pale line for each of its values.

    Parameters
    ----------
    ax : Axes
    found : mapping
        Name -> the values of the row (or None) by their labels.
    looks : mapping
        Label -> how ``Axes.scatter`` draws it.
    legend : bool
    """
    rows = [{n: v for n, v in values.items() if v is not None} for values in found.values()]
    for height, values in enumerate(rows):
        ends = [min(values.values()), max(values.values())]
        ax.plot(ends, [height, height], color="#D5D5D5", lw=2, zorder=1)
    for label, look in looks.items():
        points = [(values[label], h) for h, values in enumerate(rows) if label in values]
        if points:
            ax.scatter(*zip(*points, strict=True), label=label, **{"zorder": 3} | look)
    name_rows(ax, found, legend)


def band(ax, table, x, y, *, middle="median", marker=None, **line):
    """Median of y over the repeats at each x as a line, the 20 to 80 % range shaded behind it.

    Rows where x or y is missing are left out; where nothing is left nothing is drawn.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        Tidy: one row per repeat.
    x, y : str
        Columns.
    middle : {"median", "mean"}
    marker, **line
        Of the line.

    Returns
    -------
    Line2D or None
    """
    rows = table[[x, y]].dropna()
    if rows.empty:
        return None
    groups = rows.groupby(x, sort=True)[y]
    values = groups.agg(middle)
    low, high = groups.quantile(BAND[0]), groups.quantile(BAND[1])
    edge = {} if marker is None else {"markeredgecolor": "white"}
    (drawn,) = ax.plot(values.index, values, marker=marker, **edge, **line)
    if (high > low).any():
        ax.fill_between(values.index, low, high, color=drawn.get_color(), alpha=0.18, lw=0)
    return drawn


def bands(ax, table, x, y, *, colours=method_colour, **line):
    """One `band` per method, each in its own colour and with its name as label."""
    for name, rows in table.groupby("method", sort=False):
        band(ax, rows, x, y, color=colours(name), label=name, **line)


def slope_guide(ax, slope):
    """A dashed line of a given slope on log-log axes: how data would run if they grew as x^slope.

    It lies to the right, just below all lines.

    Parameters
    ----------
    ax : Axes
        Both scales logarithmic, data already drawn.
    slope : float

    Returns
    -------
    Line2D
    """
    if ax.get_xscale() != "log" or ax.get_yscale() != "log":
        raise ValueError(
            f"slope_guide: a slope is a straight line on log-log axes only; this axes has "
            f"x {ax.get_xscale()}, y {ax.get_yscale()}. Set both scales to 'log' first."
        )
    limits = ax.get_xlim(), ax.get_ylim()
    (left, right), (bottom, top) = np.log10(limits[0]), np.log10(limits[1])
    start, end = right - 0.4 * (right - left), right - 0.05 * (right - left)
    height = _below_all_lines(ax, slope, start, right, gap=0.06 * (top - bottom))
    ends = np.array([start, end])
    levels = height + slope * (ends - start)
    (guide,) = ax.plot(10**ends, 10**levels, ls=(0, (4, 3)), lw=1.0, color=QUIET, label="_guide")
    rises = slope >= 0
    ax.annotate(
        f"slope {slope:g}", xy=(10 ** ends.mean(), 10 ** levels.mean()), va="top",
        xytext=(4 if rises else -4, -4), textcoords="offset points",
        ha="left" if rises else "right", fontsize=7.5, color=QUIET,
    )  # fmt: skip
    ax.set_xlim(limits[0])
    ax.set_ylim(min(limits[1][0], 0.7 * 10 ** levels.min()), limits[1][1])
    return guide


def heatmap(ax, table, x, y, value, *, label=None, values=None, best=None, cmap="viridis", **mesh):
    """The median of a column over a grid of two others, every cell the same size, with its scale.

    Parameters
    ----------
    ax : Axes
    table : DataFrame
        Tidy. Cells without a row stay light grey.
    x, y, value : str
        Columns.
    label : str, optional
        Of the colour bar; the column's name by default.
    values : str, optional
        Format of the value that is written into each cell, such as ".1f".
    best : {"highest", "lowest"}, optional
        Frames that cell.
    cmap, **mesh
        For ``Axes.pcolormesh``.

    Returns
    -------
    QuadMesh
    """
    grid = table.pivot_table(index=y, columns=x, values=value, aggfunc="median")
    grid = grid.sort_index().sort_index(axis=1)
    cells = np.ma.masked_invalid(grid.to_numpy(dtype=float))
    ax.set_facecolor("#f2f2f2")
    ax.grid(False)
    drawn = ax.pcolormesh(cells, cmap=cmap, edgecolors="white", linewidth=0.4, **mesh)
    ax.set_xticks(np.arange(grid.shape[1]) + 0.5, _short(grid.columns))
    ax.set_yticks(np.arange(grid.shape[0]) + 0.5, _short(grid.index))
    ax.tick_params(length=0)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if values:
        dark = cells < (drawn.norm.vmin + drawn.norm.vmax) / 2
        for (row, column), value in np.ndenumerate(cells.filled(np.nan)):
            if np.isfinite(value):
                ax.text(column + 0.5, row + 0.5, format(value, values), ha="center", va="center",
                        fontsize=7, color="white" if dark[row, column] else DARK)  # fmt: skip
    if best and cells.count():
        pick = cells.argmax() if best == "highest" else cells.argmin()
        row, column = np.unravel_index(pick, cells.shape)
        frame = {"fill": False, "clip_on": False, "zorder": 3}
        for look in ({"ec": "white", "lw": 3.2}, {"ec": DARK, "lw": 1.6}):
            ax.add_patch(Rectangle((column, row), 1, 1, **look, **frame))
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02)
    bar.set_label(value if label is None else label)
    bar.outline.set_visible(False)
    return drawn


def say_percent(share, _=None):
    """0.025 as 2.5 %"""
    return f"{100 * share:.4g} %"


def plain_log_ticks(axis):
    """Label a log axis with 100, 1000, 20k instead of powers; for ranges that people say aloud."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: _say(value)))
    axis.set_minor_formatter(NullFormatter())


def log_numbers(axis, say="{:g}".format):
    """A logarithmic axis, its data drawn, with 1, 2, 5, 10, ... written out; far apart 1, 10."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    axis.set_minor_formatter(NullFormatter())


def log_percent(axis):
    """A logarithmic axis of shares with 1 %, 2 %, 5 % written out."""
    log_numbers(axis, say_percent)


def ticks_at(axis, values, say="{:g}".format):
    """Ticks at these values alone."""
    axis.set_ticks(values, [say(value) for value in values])
    axis.set_minor_locator(NullLocator())


def tidy_log_axis(axis):
    """Plain numbers that cannot run into one another on a log axis with labels of its own."""
    if axis.get_scale() != "log" or not isinstance(axis.get_major_formatter(), LogFormatter):
        return
    low, high = sorted(axis.get_view_interval())
    if low > 0 and high / low < 30:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        plain_log_ticks(axis)
    axis.set_minor_formatter(NullFormatter())


def _below_all_lines(ax, slope, start, right, gap):
    """Height at `start` from which a line of this slope stays a gap below every drawn line."""
    heights = []
    for line in ax.get_lines():
        x, y = (np.asarray(values, dtype=float).ravel() for values in line.get_data())
        usable = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
        x, y = np.log10(x[usable]), np.log10(y[usable])
        if x.size == 0:
            continue
        order = np.argsort(x)
        x, y = x[order], y[order]
        inside = np.linspace(max(start, x[0]), min(right, x[-1]), 64)
        if inside[0] <= inside[-1]:
            heights.append(np.min(np.interp(inside, x, y) - slope * (inside - start)))
    if not heights:
        bottom, top = np.log10(ax.get_ylim())
        return 0.5 * (bottom + top)
    return min(heights) - gap


def _short(values):
    return [f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]


def _say(value):
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if suffix == 'k' else size):g}{suffix}"
    return f"{value:g}"


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
        named = apart or ax is axes[0, -1]
        for (name, variant), rows in table.groupby(["dataset", "variant"], sort=False):
            means = rows.groupby(x)[column].mean().dropna()
            if means.empty:
                continue
            label = name if len(variants) == 1 else f"{name}, {variant}"
            if apart:
                label, means = f"{label} ({100 * means.max():.1f} %)", means - means.max()
            style = STYLES[variants.index(variant) % len(STYLES)]
            look = {"color": f"C{names.index(name)}", "marker": dataset_marker(name), "ms": 4}
            ax.plot(means.index, means, ls=style, label=label if named else "_", **look)
        ax.set(xscale="log", xlabel=xlabel, title=f"{title}, below its best" if apart else title)
        if share:
            ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
        else:
            ax.set_yscale("log")
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
    theirs : tuple, optional
        What `published_values` takes; or the mapping that it gives.
    """
    theirs = published_values(*theirs) if isinstance(theirs, tuple) else theirs or {}
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
        known = {names.index(name) + offset: theirs.get((name, own)) for name in names}
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
