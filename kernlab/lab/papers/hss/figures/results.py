"""Figures of ADMM-HSS's results: heatmaps, tables with their null rows, and the course of steps."""

import numpy as np
from matplotlib.ticker import NullFormatter, PercentFormatter

from kernlab.lab.papers.hss.machines import BLOCKS, HSS, IDENTITY
from kernlab.lab.papers.hss.steps import CLOSE, COARSE, EXACT
from kernlab.lab.papers.hss.tables import OPTIMUM, PRINTED, TEN_STEPS, TIGHT, chosen
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import heatmap
from kernlab.lab.plots.style import new_figure
from kernlab.lab.published import published

DARK, BLUE, RED, GREEN, PURPLE, GREY, YELLOW, BROWN = (
    "#222222", "#0062B0", "#CC3311", "#009E73", "#882255", "#8C8C8C", "#B98800",
    "#6F5142",
)  # fmt: skip
KINDS = {EXACT: DARK, CLOSE: BLUE, COARSE: RED, BLOCKS: GREEN, IDENTITY: GREY}
SMALLEST_GAP = 1e-6
DOTS = {  # label -> colour, marker, filled
    r"$\tilde K = I$": (GREY, "o", True),
    "block diagonal": (GREEN, "o", True),
    "HSS, ten steps": (PURPLE, "o", True),
    "HSS, chosen on training rows": (PURPLE, "o", False),
    "HSS, converged": (RED, "D", True),
    "rel_tol 0.01, converged": (BLUE, "D", True),
    "published": (DARK, "|", True),
    "LIBSVM, published": (YELLOW, "|", True),
    "RACQP, published": (BROWN, "|", True),
}
PRINTED_IN = {"published": None, "LIBSVM, published": "hss-t2", "RACQP, published": "hss-t3"}
STAGES = {
    "compression": ("approximate_seconds", "compression time", BLUE),
    "factorisation": ("factor_seconds", "factorisation time", GREEN),
    "ADMM, one C": ("solve_seconds", "ADMM time", RED),
}


# ------------------------------------------------------------------------------- Figure 2
def draw_heatmaps(table):
    """Accuracy over C and h: a row for each data set, a column for each way to stop."""
    names = list(dict.fromkeys(table["dataset"]))
    methods = list(dict.fromkeys(table["method"]))
    figure, axes = new_figure(len(names), len(methods), panel=(4.6, 2.8), squeeze=False)
    for line, name in zip(axes, names, strict=True):
        for ax, method in zip(line, methods, strict=True):
            rows = table[(table["dataset"] == name) & (table["method"] == method)]
            percent = rows.assign(accuracy=100 * rows["test_accuracy"])
            every = 100 * table.loc[table["dataset"] == name, "test_accuracy"]
            heatmap(ax, percent, "C", "h", "accuracy", label="test accuracy (%)", best="highest",
                    values=".1f", vmin=every.min(), vmax=every.max())  # fmt: skip
            ax.set_title(f"{name}, {method}, {rows['n_train'].iloc[0]:,.0f} rows")
    return figure


# ----------------------------------------------------------------------------- Tables 2, 4, 5
def draw_accuracies(study):
    """A figure function: test accuracies of a table's machines beside the published ones."""

    def draw(table):
        names = list(dict.fromkeys(table["dataset"]))
        figure, ax = new_figure(panel=(6.0, 0.42 * len(names) + 1.6))
        found = {name: _accuracies(study, table[table["dataset"] == name]) for name in names}
        for height, name in enumerate(names):
            values = [value for value in found[name].values() if value is not None]
            ax.plot([min(values), max(values)], [height, height], color="#D5D5D5", lw=2, zorder=1)
        for label, (colour, marker, filled) in DOTS.items():
            points = [(found[n].get(label), h) for h, n in enumerate(names)]
            points = [(value, height) for value, height in points if value is not None]
            look = {"facecolors": colour if filled else "none", "edgecolors": colour}
            if marker == "|":
                look = {"color": colour, "linewidths": 2}
            if points:
                size = {"|": 130, "D": 30}.get(marker, 40 if filled else 90)
                ax.scatter(*zip(*points, strict=True), marker=marker, s=size, label=label,
                           zorder=2 if marker == "|" else 3, **look)  # fmt: skip
        _name_strips(ax, names)
        return figure

    return draw


def _name_strips(ax, names):
    """A data set's name at each strip of accuracies, and what the dots are."""
    ax.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    ax.set_xlabel("test accuracy")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)


def _accuracies(study, rows):
    """Test accuracy by label for one data set; None where there is none."""
    name, found = rows["dataset"].iloc[0], {}
    steps = rows[rows["method"] == TEN_STEPS]
    for matrix, label in (
        (IDENTITY, r"$\tilde K = I$"),
        (BLOCKS, "block diagonal"),
        (HSS, "HSS, ten steps"),
    ):
        of_matrix = steps[steps["matrix"] == matrix]
        if len(of_matrix):
            found[label] = chosen(of_matrix, "test_accuracy")["test_accuracy"]
    ours = steps[steps["matrix"] == HSS]
    if len(ours):
        found["HSS, chosen on training rows"] = chosen(ours, "cv_accuracy")["test_accuracy"]
    for form, label in ((PRINTED, "HSS, converged"), (TIGHT, "rel_tol 0.01, converged")):
        of_form = rows[(rows["method"] == OPTIMUM) & (rows["variant"] == form)]
        if len(of_form):
            found[label] = of_form["test_accuracy"].max()
    for label, source in PRINTED_IN.items():
        found[label] = _printed(source or study, name, "accuracy", 0.01)
    return found


def _printed(study, name, column, factor=1.0):
    """A published number, or None."""
    table = published(study)
    values = table[(table["row"] == name) & (table["column"] == column)]["value"].dropna()
    return factor * float(values.iloc[0]) if len(values) else None


def draw_seconds(study):
    """A figure function: seconds of the three stages, measured (dots) and published (bars)."""

    def draw(table):
        rows = table[(table["method"] == TEN_STEPS) & (table["matrix"] == HSS)]
        names = list(dict.fromkeys(rows["dataset"]))
        figure, axes = new_figure(
            1, len(STAGES), panel=(2.9, 0.34 * len(names) + 1.5), sharey=True, squeeze=False
        )
        for ax, (title, (column, printed, colour)) in zip(axes[0], STAGES.items(), strict=True):
            for height, name in enumerate(names):
                best = chosen(rows[rows["dataset"] == name], "test_accuracy")
                theirs = _printed(study, name, printed)
                if theirs is not None:
                    ends = [best[column], theirs]
                    ax.plot(ends, [height] * 2, color="#D5D5D5", lw=2, zorder=1)
                    ax.scatter([theirs], [height], marker="|", s=130, color=DARK, linewidths=2)
                ax.scatter([best[column]], [height], s=36, color=colour, zorder=3)
            ax.set(xscale="log", xlabel="seconds", title=title)
            ax.set_xlim(*_whole_decades(ax.get_xlim()))
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.grid(axis="y", visible=False)
        axes[0, 0].set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
        return figure

    return draw


def draw_table_ranks(table):
    """Mean rank on every level of the tree at the chosen h, a line for each data set."""
    steps = table[(table["method"] == TEN_STEPS) & (table["matrix"] == HSS)]
    figure, ax = new_figure(panel=(5.4, 3.2))
    for k, (name, rows) in enumerate(steps.groupby("dataset", sort=False)):
        best = chosen(rows, "test_accuracy")
        ranks = [float(rank) for rank in str(best["mean_ranks"]).split()]
        label = f"{name}, h = {best['h']:g}: error {best['sampled_error']:.0%}"
        ax.plot(range(1, len(ranks) + 1), ranks, color=f"C{k}", marker="o", ms=4, label=label)
    ax.set(xlabel="level (1: halves of the data)", ylabel="mean rank")
    ax.xaxis.get_major_locator().set_params(integer=True)
    label_lines(ax)
    return figure


def _whole_decades(limits):
    """Powers of ten around limits: a log axis within one decade would have no plain label."""
    low, high = np.log10(limits)
    return 10.0 ** np.floor(low), 10.0 ** np.ceil(high)


def draw_exact_kernel(study):
    """A figure function: accuracies for the values of C that tied, beside the published one."""

    def draw(table):
        names = list(dict.fromkeys(table["dataset"]))
        figure, ax = new_figure(panel=(6.0, 0.4 * len(names) + 1.3))
        groups = table.groupby(["variant", "C"], sort=False)
        colours = (BLUE, RED, GREEN, PURPLE, YELLOW, BROWN)
        for ((form, C), rows), colour in zip(groups, colours, strict=False):
            heights = [names.index(name) for name in rows["dataset"]]
            label = f"{form}, C = {C:g}".removeprefix(", ")
            ax.scatter(rows["test_accuracy"], heights, s=36, color=colour, label=label, zorder=3)
        printed = [(_printed(study, name, "accuracy", 0.01), h) for h, name in enumerate(names)]
        printed = [(value, height) for value, height in printed if value is not None]
        if printed:
            ax.scatter(*zip(*printed, strict=True), marker="|", s=130, color=DARK, linewidths=2,
                       label="published")  # fmt: skip
        _name_strips(ax, names)
        return figure

    return draw


# --------------------------------------------------------------------- the course of the steps
def draw_steps(table):
    """Accuracy, and the gap to the exact optimum, against the steps; a column for each case."""
    cases = list(dict.fromkeys(zip(table["dataset"], table["variant"], strict=True)))
    figure, axes = new_figure(2, len(cases), panel=(3.1, 2.5), sharex=True, squeeze=False)
    for column, (name, beta) in zip(axes.T, cases, strict=True):
        here = table[(table["dataset"] == name) & (table["variant"] == beta)]
        for kind, colour in KINDS.items():
            rows = here[(here["method"] == kind) & ~here["at_optimum"].astype(bool)]
            rows = rows.sort_values("steps")
            for ax, value in zip(column, ("test_accuracy", "exact_gap"), strict=True):
                shown = rows[value].clip(lower=SMALLEST_GAP)
                ax.plot(rows["steps"], shown, color=colour, marker="o", ms=3, label=kind)
        for ax in column:
            ax.axvline(10, color=GREY, lw=0.8, ls="dashed", zorder=1)
            ax.set_xscale("log")
        column[0].set_title(f"{name}, {beta}")
        column[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        column[1].set(yscale="log", xlabel="steps")
    axes[0, 0].set_ylabel("test accuracy")
    axes[1, 0].set_ylabel("relative gap with exact K")
    for line in axes:
        label_lines(line[-1])
    return figure
