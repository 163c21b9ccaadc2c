"""FPC's propositions and theorems drawn: ranks, duality, convergence, rates, margins."""

import numpy as np

from kernlab.lab.papers.fpc.figures.axes import (
    log_numbers,
    log_percent,
    look,
    mean_band,
    ridge_below,
)
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import band, plain_log_ticks, slope_guide
from kernlab.lab.plots.style import QUIET, method_colour, new_figure

EXACT, DOUBLE = "#222222", "#CC3311"
TOLERANCE = 5e-4  # that FPC stops at


def draw_ranks(table):
    """One panel per space: the share of its dimension that each set of centres reaches."""
    spaces = list(dict.fromkeys(zip(table["variables"], table["degree"], strict=True)))
    kinds = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(1, len(spaces), panel=(3.4, 2.6), sharey=True, squeeze=False)
    for ax, (d, s) in zip(axes.ravel(), spaces, strict=True):
        rows = table[(table["variables"] == d) & (table["degree"] == s)]
        heights = [kinds.index(kind) for kind in rows["variant"]]
        looks = (
            ("exact_rank", EXACT, EXACT, 34, "exact"),
            ("double_rank", "none", DOUBLE, 78, "seen by doubles"),
        )
        for column, face, edge, size, label in looks:
            share = rows[column] / rows["dimension"]
            ax.scatter(share, heights, s=size, facecolors=face, edgecolors=edge, label=label)
        ax.axvline(1.0, color=QUIET, lw=0.8, zorder=0)
        dimension = rows["dimension"].iloc[0]
        ax.set_title(f"Degree {s} in {d} variables: dimension {dimension:.0f}", fontsize=8)
        ax.set(
            xlim=(0, 1.08), yticks=range(len(kinds)), yticklabels=kinds, xlabel="rank / dimension"
        )
    axes[0, 0].invert_yaxis()
    axes[0, -1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_duality(table):
    """Every problem on a line: its optimum by three ways, and FPC's usual stop to the right."""
    labels = [f"{r.dataset}, degree {r.degree}" for r in table.itertuples()]
    names = list(dict.fromkeys(labels))
    heights = np.array([names.index(label) for label in labels])
    figure, ax = new_figure(panel=(6.2, 0.35 * len(names) + 1.2))
    looks = (
        ("early_objective", "FPC's usual stop", method_colour("FPC"), "o", 36),
        ("primal_value", "linear programme", "#222222", "|", 170),
        ("dual_value", "its dual", "#0062B0", "_", 90),
        ("objective", "kernlab's optimum", method_colour("hinge optimum"), ".", 30),
    )
    for column, label, colour, marker, size in looks:
        ax.scatter(table[column], heights, s=size, color=colour, marker=marker, label=label)
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel="mean hinge loss")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_convergence(table):
    """Left, the squared H-norm of each step; right, how far the objective is from its minimum."""
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.3))
    steps = table[table["step"] > 0]
    for (method, variant), rows in steps.groupby(["method", "variant"], sort=False):
        if method != "FPC":
            colour, label = method_colour(method), "interior point"
        else:
            colour, label = None, variant.replace("beta", "β").replace("alpha", "α")
            left.plot(rows["step"], rows["change"], label=label)
        excess = rows["excess"].clip(lower=1e-9)
        (line,) = right.plot(rows["step"], excess, color=colour, label=label)
        stop = rows[rows["change"] < TOLERANCE].head(1)
        if method == "FPC":
            stops = {"color": line.get_color(), "marker": "o", "ms": 7, "mec": "white"}
            left.plot(stop["step"], stop["change"], **stops)
            right.plot(stop["step"], stop["excess"], **stops)
    left.axhline(TOLERANCE, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    left.annotate(
        "tolerance 5e-4 ", (1.0, TOLERANCE), xycoords=("axes fraction", "data"), fontsize=7.5,
        color=QUIET, ha="right", va="bottom",
    )  # fmt: skip
    left.set(title="Squared H-norm of a step", xscale="log", yscale="log", xlabel="step k")
    right.set(title="Loss above its minimum", xscale="log", yscale="log", xlabel="step k")
    for ax in (left, right):
        plain_log_ticks(ax.xaxis)
        label_lines(ax)
    return figure


def draw_rates(table):
    """Excess error against the rows, one panel per smoothness, with the theorem's rate."""
    variants = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(1, len(variants), panel=(4.2, 3.3), sharey=True, squeeze=False)
    for ax, variant in zip(axes.ravel(), variants, strict=True):
        part = table[table["variant"] == variant]
        for method, rows in ridge_below(part):
            marker = {} if method == "ridge" else {"marker": "o", "ms": 4}
            mean_band(ax, rows, "rows", "excess_error", label=method, **look(method, **marker))
        ax.set(xscale="log", yscale="log", xlabel="training rows m", title=variant.capitalize())
        rate = part.groupby("rows")["rate"].first()
        start = part[part["method"] == "FPC"].groupby("rows")["excess_error"].mean().iloc[0]
        ax.plot(rate.index, rate / rate.iloc[0] * start, color=QUIET, ls=(0, (4, 3)), label="rate")
        log_percent(ax.yaxis)
        plain_log_ticks(ax.xaxis)
    axes[0, 0].set_ylabel("excess error")
    for ax in axes.ravel():
        label_lines(ax)
    return figure


def draw_shrinking_margin(table):
    """Margin and number of rows near the curve against the number of rows."""
    figure, (left, right) = new_figure(1, 2, panel=(4.0, 3.0))
    band(left, table, "rows", "margin", colour=method_colour("LIBSVM"), marker="o")
    left.set(title="Width of the margin", xscale="log", yscale="log", xlabel="training rows")
    slope_guide(left, -1.0)
    band(right, table, "rows", "rows_near", colour=method_colour("LIBSVM"), marker="o")
    right.set(title="Rows within 0.02 of the curve", xscale="log", yscale="log")
    right.set(xlabel="training rows")
    slope_guide(right, 1.0)
    for axis in (left.xaxis, left.yaxis, right.xaxis, right.yaxis):
        log_numbers(axis)
    return figure
