"""FPC's simulations drawn: the toy, tolerances, parameters, degrees, centres, noise."""

import numpy as np
from matplotlib.ticker import PercentFormatter

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.plots.labels import label_lines
from kernlab.plots.marks import band
from kernlab.plots.style import QUIET, method_colour, new_figure

BLUE, RED = "#0062B0", "#CC3311"
CURVE = np.linspace(0.0, 1.0, 200)


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
    colour = method_colour("FPC")
    band(left, rows, "exponent", "test_error", label="FPC, test", colour=colour)
    band(left, rows, "exponent", "train_error", label="FPC, training", colour=colour, ls="dotted")
    for method in ("ridge", "hinge optimum"):
        level = table[table["method"] == method]["test_error"].mean()
        ends = [rows["exponent"].min(), rows["exponent"].max()]
        left.plot(
            ends, [level, level], color=method_colour(method), lw=1.0, label=f"{method}, test"
        )
    left.set(xlabel=r"$\gamma$ (tolerance $10^{-\gamma}$)", title="Error", yscale="log")
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    label_lines(left)
    band(right, rows, "exponent", "n_iter", colour=colour)
    right.axvline(3.301, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    right.annotate(" 5e-4", (3.301, 1.05), fontsize=7.5, color=QUIET)
    right.set(xlabel=r"$\gamma$ (tolerance $10^{-\gamma}$)", title="Iterations", yscale="log")
    return figure


def draw_parameter(table, name, symbol):
    """Training and test error against alpha or beta."""
    figure, ax = new_figure(panel=(5.0, 3.3))
    rows, colour = table[table[name].notna()], method_colour("FPC")
    band(ax, rows, name, "test_error", label="FPC, test", colour=colour, marker="o", ms=3)
    band(ax, rows, name, "train_error", label="FPC, training", colour=colour, ls="dotted")
    ends = [rows[name].min(), rows[name].max()]
    for method in ("ridge", "hinge optimum"):
        level = table[table["method"] == method]["test_error"].mean()
        ax.plot(ends, [level, level], color=method_colour(method), lw=1.0, label=f"{method}, test")
    ax.set(xscale="log", yscale="log", xlabel=symbol, ylabel="error")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    label_lines(ax)
    return figure


def draw_degrees(table):
    """Test and training error against the degree."""
    figure, axes = new_figure(1, 2, panel=(4.4, 3.3), sharey=True)
    titles = {"test_error": "Test error", "train_error": "Training error"}
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for method, rows in _ridge_below(table):
            band(ax, rows, "degree", column, label=method, **_look(method))
        ax.set(title=title, xlabel="degree s", yscale="log")
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    for ax in axes:
        label_lines(ax)
    return figure


def draw_schemes(table):
    """Test error against the number of rows, by how the centres were chosen."""
    figure, ax = new_figure(panel=(5.0, 3.3))
    for place, (scheme, rows) in enumerate(table.groupby("variant", sort=False)):
        band(ax, rows, "rows", "test_error", label=scheme, colour=f"C{place}", marker="o", ms=3)
    ax.set(xlabel="training rows", ylabel="test error at the best degree", ylim=(0, None))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    label_lines(ax)
    return figure


def draw_boundaries(table):
    """One column per kind of noise, one row per machine: rows, the Bayes curve, what is learnt."""
    kinds, methods = (list(dict.fromkeys(table[name])) for name in ("variant", "method"))
    figure, axes = new_figure(
        len(methods), len(kinds), panel=(3.2, 3.1), squeeze=False, sharex=True, sharey=True
    )
    for axes_row, method in zip(axes, methods, strict=True):
        for ax, kind in zip(axes_row, kinds, strict=True):
            part = table[(table["variant"] == kind) & (table["method"] == method)]
            rows, grid = part[part["kind"] == "row"], part[part["kind"] == "score"]
            _rows(ax, rows["x1"], rows["x2"], rows["value"], size=3)
            scores = grid.pivot_table(index="x2", columns="x1", values="value")
            ax.contour(
                scores.columns, scores.index, scores, levels=[0.0], colors=[method_colour(method)],
                linewidths=2.0,
            )  # fmt: skip
            ax.plot(CURVE, fpc_bayes_curve(CURVE), color="#222222", lw=1.2)
            error = part["test_error"].iloc[0]
            ax.set_title(f"{method}, {kind}: {100 * error:.1f} %", fontsize=8)
            _square(ax)
    for ax in axes[:-1].ravel():
        ax.set_xlabel("")
    for ax in axes[:, 1:].ravel():
        ax.set_ylabel("")
    return figure


def draw_noise(table):
    """Errors against the share of wrong labels: one panel per kind of noise."""
    kinds = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(1, len(kinds), panel=(3.6, 3.2), sharey=True, squeeze=False)
    for ax, kind in zip(axes.ravel(), kinds, strict=True):
        part = table[table["variant"] == kind]
        part = part[part["width"] == part["width"].iloc[0]]
        for method, rows in _ridge_below(part):
            means = rows.groupby("ratio")[["noise_level", "train_error", "test_error"]].mean()
            look = _look(method)
            look["color"] = look.pop("colour")
            ax.plot(means["noise_level"], means["test_error"], label=method, **look)
            ax.plot(means["noise_level"], means["train_error"], color=look["color"], ls="dotted")
        ax.set(title=f"Noise {kind}", xlabel="share of wrong labels")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[0, 0].set_ylabel("error (dotted: training)")
    for ax in axes.ravel():
        label_lines(ax)
    return figure


def _ridge_below(table):
    """(method, its rows), ridge regression first: FPC lies on it, and both should be seen."""
    groups = table.groupby("method", sort=False)
    return sorted(groups, key=lambda pair: pair[0] != "ridge")


def _look(method):
    broad = {"lw": 5.0, "alpha": 0.45} if method == "ridge" else {"marker": "o", "ms": 3}
    return {"colour": method_colour(method), **broad}


def _rows(ax, x1, x2, labels, size):
    for label, colour in ((-1, BLUE), (1, RED)):
        side = labels == label
        ax.scatter(x1[side], x2[side], s=size, color=colour, linewidths=0, alpha=0.55)


def _square(ax):
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)
