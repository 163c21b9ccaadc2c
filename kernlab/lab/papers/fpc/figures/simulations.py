"""FPC's simulations drawn: the toy, tolerances, parameters, degrees, centres, noise."""

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.papers.fpc.figures.axes import (
    level,
    log_percent,
    look,
    mean_band,
    ridge_below,
    say_percent,
)
from kernlab.lab.papers.fpc.noise import NOISES
from kernlab.lab.papers.fpc.simulations import RECOMMENDED
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import plain_log_ticks
from kernlab.lab.plots.style import QUIET, method_colour, new_figure

BLUE, RED = "#0062B0", "#CC3311"
CURVE = np.linspace(0.0, 1.0, 200)
STYLES = ("solid", "dashed")


def draw_toy(table):
    """The training rows, the Bayes curve, and rings around reversed labels."""
    figure, ax = new_figure(panel=(4.6, 4.2))
    _rows(ax, table["x1"], table["x2"], table["label"], size=9)
    wrong = table[table["reversed"] > 0]
    ax.scatter(wrong["x1"], wrong["x2"], s=30, facecolors="none", edgecolors="#222222", lw=0.6)
    ax.plot(CURVE, fpc_bayes_curve(CURVE), color="#222222", lw=1.6)
    _square(ax)
    return figure


def draw_tolerance(table):
    """Errors and iterations against the exponent of the tolerance."""
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.3))
    rows = table[table["exponent"].notna()]
    ends = [rows["exponent"].min(), rows["exponent"].max()]
    _levels(left, table, ends)
    mean_band(left, rows, "exponent", "test_error", label="FPC, test", **look("FPC"))
    mean_band(
        left, rows, "exponent", "train_error", label="FPC, training", **look("FPC", ls="dotted")
    )
    mean_band(right, rows, "exponent", "n_iter", **look("FPC"))
    for ax, title in ((left, "Error"), (right, "Iterations")):
        ax.axvline(RECOMMENDED, color=QUIET, lw=0.9, ls=(0, (4, 3)), label="_recommended")
        ax.set(xlabel=r"$\gamma$ (tolerance $10^{-\gamma}$)", title=title, yscale="log")
    right.annotate(
        "recommended: 5e-4 ", (RECOMMENDED, 0.95), xycoords=("data", "axes fraction"),
        fontsize=7.5, color=QUIET, ha="right", va="top",
    )  # fmt: skip
    plain_log_ticks(right.yaxis)
    log_percent(left.yaxis)
    label_lines(left)
    return figure


def draw_readings(table):
    """A line per reading of the text: errors at both tolerances, and the steps they took."""
    readings = list(dict.fromkeys(table["variant"]))
    figure, ax = new_figure(panel=(6.4, 0.36 * len(readings) + 1.1))
    colour = method_colour("FPC")
    for exponent, face, offset in ((3.2, colour, -0.13), (5.0, "white", 0.13)):
        rows = table[table["exponent"] == exponent]
        means = rows.groupby("variant")[["test_error", "n_iter"]].mean().loc[readings]
        heights = np.arange(len(readings)) + offset
        ax.scatter(means["test_error"], heights, s=34, facecolors=face, edgecolors=colour, zorder=3)
        for error, height, steps in zip(means["test_error"], heights, means["n_iter"], strict=True):
            ax.annotate(
                f"{steps:.0f} steps", (error, height), xytext=(6, 0), textcoords="offset points",
                va="center", fontsize=6.5, color=QUIET,
            )  # fmt: skip
        style = {3.2: "solid", 5.0: "dashed"}[exponent]
        ax.axvline(rows["stated_error"].iloc[0], color=QUIET, lw=0.9, ls=style)
    ax.set(yticks=range(len(readings)), yticklabels=readings, ylim=(len(readings) - 0.5, -0.5))
    ax.set(xlabel="test error")
    ax.margins(x=0.12)
    ax.xaxis.set_major_formatter(say_percent)
    ax.grid(axis="y", visible=False)
    return figure


def _levels(ax, table, ends):
    """The test errors of the machines that have no such parameter."""
    for method in ("ridge", "hinge optimum"):
        rows = table[table["method"] == method]
        if len(rows):
            level(ax, rows, "test_error", ends, label=f"{method}, test", **look(method))


def draw_parameter(table, name, symbol):
    """Training and test error against alpha or beta."""
    figure, ax = new_figure(panel=(5.0, 3.3))
    for method, rows in ridge_below(table):
        if rows[name].notna().any():
            mean_band(ax, rows, name, "test_error", label=f"{method}, test", **look(method))
    rows = table[table["method"] == "FPC"]
    mean_band(ax, rows, name, "train_error", label="FPC, training", **look("FPC", ls="dotted"))
    fixed = table[table[name].isna()]
    _levels(ax, fixed, [rows[name].min(), rows[name].max()])
    ax.set(xscale="log", yscale="log", xlabel=symbol, ylabel="error")
    log_percent(ax.yaxis)
    label_lines(ax)
    return figure


def draw_degrees(table):
    """Test and training error against the degree."""
    figure, axes = new_figure(1, 2, panel=(4.4, 3.3), sharey=True)
    titles = {"test_error": "Test error", "train_error": "Training error"}
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for method, rows in ridge_below(table):
            mean_band(ax, rows, "degree", column, label=method, **_dotted(method))
        ax.set(title=title, xlabel="degree s", yscale="log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        log_percent(ax.yaxis)
    for ax in axes:
        label_lines(ax)
    return figure


def draw_schemes(table):
    """Test error against the number of rows, by how the centres were chosen."""
    figure, ax = new_figure(panel=(5.0, 3.3))
    for place, (scheme, rows) in enumerate(table.groupby("variant", sort=False)):
        mean_band(ax, rows, "rows", "test_error", label=scheme, color=f"C{place}", marker="o", ms=3)
    ax.set(xlabel="training rows", ylabel="test error at the best degree", ylim=(0, None))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.1%}")
    label_lines(ax)
    return figure


def draw_boundaries(table):
    """One column per kind of noise, one row per machine: rows, the Bayes curve, what is learnt."""
    kinds, methods = (list(dict.fromkeys(table[name])) for name in ("variant", "method"))
    machines = [method for method in methods if method != "ridge"]
    figure, axes = new_figure(
        len(machines), len(kinds), panel=(3.0, 2.9), squeeze=False, sharex=True, sharey=True
    )
    for axes_row, method in zip(axes, machines, strict=True):
        for ax, kind in zip(axes_row, kinds, strict=True):
            part = table[(table["variant"] == kind) & (table["method"] == method)]
            rows = part[part["kind"] == "row"]
            _rows(ax, rows["x1"], rows["x2"], rows["value"], size=3)
            beside = [*(m for m in methods if m == "ridge" and method == "FPC"), method]
            for learnt in beside:
                _boundary(ax, table[(table["variant"] == kind) & (table["method"] == learnt)])
            _noisy_region(ax, kind)
            ax.plot(CURVE, fpc_bayes_curve(CURVE), color="#222222", lw=1.2)
            error = part["test_error"].iloc[0]
            ax.set_title(f"{method}, {kind}: {100 * error:.1f} %", fontsize=8)
            _square(ax)
    for ax in axes[:-1].ravel():
        ax.set_xlabel("")
    for ax in axes[:, 1:].ravel():
        ax.set_ylabel("")
    return figure


def _boundary(ax, part):
    """Where a machine's score is 0."""
    grid = part[part["kind"] == "score"]
    scores = grid.pivot_table(index="x2", columns="x1", values="value")
    method = part["method"].iloc[0]
    broad = {"linewidths": 6.0, "alpha": 0.45} if method == "ridge" else {"linewidths": 2.0}
    ax.contour(
        scores.columns, scores.index, scores, levels=[0.0], colors=[method_colour(method)], **broad
    )


def _noisy_region(ax, kind):
    """The edges of the band around the curve that wrong labels lie in, or outside of."""
    width = NOISES.get(kind, {}).get("width")
    for side in (-1, 1) if width else ():
        ax.plot(CURVE, fpc_bayes_curve(CURVE) + side * width, color=QUIET, lw=1.0, ls="dotted")


def draw_noise(table):
    """Errors against the share of wrong labels: a column per kind of noise."""
    kinds = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(
        2, len(kinds), panel=(3.3, 2.5), sharey="row", sharex="col", squeeze=False
    )
    for column, kind in zip(axes.T, kinds, strict=True):
        part = table[table["variant"] == kind]
        widths = list(dict.fromkeys(part["width"]))
        for ax, error in zip(column, ("test_error", "train_error"), strict=True):
            for method, rows in ridge_below(part):
                for width, style in zip(widths, STYLES, strict=False):
                    means = rows[rows["width"] == width].groupby("ratio")[["noise_level", error]]
                    means = means.mean()
                    label = method if width == widths[-1] else "_"
                    ax.plot(means["noise_level"], means[error], label=label,
                            **_dotted(method, ls=style))  # fmt: skip
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
                axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ends = [0.0, part["noise_level"].max()]
        column[1].plot(ends, ends, color=QUIET, lw=0.9, zorder=1, label="_equal")
        styled = ", ".join(f"{w:g} {STYLES[i]}" for i, w in enumerate(widths))
        widths_said = f"\nwidth {styled}" if len(widths) > 1 else "\n"
        column[0].set_title(f"Noise {kind}{widths_said}", fontsize=8)
        column[1].set_xlabel("share of wrong labels")
    axes[0, 0].set_ylabel("test error")
    axes[1, 0].set_ylabel("training error")
    for ax in axes.ravel():
        label_lines(ax)
    return figure


def _dotted(method, **more):
    """The look of a machine whose every value is marked; ridge stays a broad line."""
    return look(method, **({} if method == "ridge" else {"marker": "o", "ms": 3}), **more)


def _rows(ax, x1, x2, labels, size):
    for label, colour in ((-1, BLUE), (1, RED)):
        side = labels == label
        ax.scatter(x1[side], x2[side], s=size, color=colour, linewidths=0, alpha=0.55)


def _square(ax):
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)
