"""Figures of hierarchical compression: singular values, clustering, errors and ranks."""

import numpy as np
from matplotlib.ticker import NullFormatter

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import QUIET, new_figure

DARK = "#222222"
MODE_COLOURS = {"fast": "#0062B0", "paper": "#CC3311"}
MODE_NAMES = {"fast": "near and far columns", "paper": "neighbours only"}
SMALLEST_ERROR = 1e-10
_RAMP = ("#440154", "#414487", "#2A788E", "#22A884", "#6A9C26", "#B98800", "#CC3311")


def ramp(count):
    """Colours for `count` ordered values, from dark to light."""
    return [_RAMP[round(i)] for i in np.linspace(0, len(_RAMP) - 1, count)]


def draw_singular_values(table):
    """Decay for every h, and the matrix in two orders."""
    figure, (decay, *pictures) = new_figure(1, 3, panel=(3.5, 3.2), width_ratios=[1.5, 1, 1])
    values = table[table["method"] == "singular values"]
    widths = sorted(values["h"].unique())
    for h, colour in zip(widths, ramp(len(widths)), strict=True):
        rows = values[values["h"] == h]
        decay.plot(rows["place"], rows["singular_value"], color=colour, label=f"h = {h:g}")
    decay.set(yscale="log", ylim=(1e-10, 2), xlabel="$i / n$", title="Singular values / largest")
    decay.set_xlim(0, 1)
    label_lines(decay)
    shown = table[table["method"] == "picture"]
    for ax, (order, rows) in zip(pictures, shown.groupby("variant", sort=False), strict=False):
        side = int(rows["block_row"].max()) + 1
        picture = rows.sort_values(["block_row", "block_column"])["value"].to_numpy()
        ax.imshow(picture.reshape(side, side), cmap="Greys", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], title=order.capitalize())
        ax.grid(visible=False)
        row = rows.iloc[0]
        ax.set_xlabel(f"off-diagonal block: rank {row['off_diagonal_rank']:.0f}", fontsize=8)
    return figure


def draw_errors(table):
    """The sampled error against rel_tol, in both modes, a panel per data set."""
    cases = list(dict.fromkeys(zip(table["dataset"], table["h"], strict=True)))
    figure, axes = new_figure(1, len(cases), panel=(3.6, 3.2), sharey=True, squeeze=False)
    whole = table[table["level_of_level"] == 0]
    for ax, (name, h) in zip(axes.ravel(), cases, strict=True):
        here = whole[(whole["dataset"] == name) & (whole["h"] == h)]
        for mode, colour in MODE_COLOURS.items():
            rows = here[here["method"] == mode].sort_values("rel_tol")
            errors = rows["sampled_error"].clip(lower=SMALLEST_ERROR)
            ax.plot(rows["rel_tol"], errors, color=colour, marker="o", ms=4, label=MODE_NAMES[mode])
        ends = np.array([here["rel_tol"].min(), here["rel_tol"].max()])
        ax.plot(ends, ends, color=QUIET, ls="dashed", lw=1, label="_guide")
        ax.set(xscale="log", yscale="log", xlabel="rel_tol", title=f"{name}, h = {h:g}")
        ax.invert_xaxis()
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("sampled relative error")
    axes[0, 0].legend(loc="lower left")
    return figure


def draw_ranks(table):
    """Mean rank of the bases on every level, a line per tolerance, a panel per data set."""
    rows = table[(table["method"] == "fast") & (table["level_of_level"] > 0)]
    cases = list(dict.fromkeys(zip(rows["dataset"], rows["h"], strict=True)))
    figure, axes = new_figure(1, len(cases), panel=(3.6, 3.2), squeeze=False)
    for ax, (name, h) in zip(axes.ravel(), cases, strict=True):
        here = rows[(rows["dataset"] == name) & (rows["h"] == h)]
        tolerances = sorted(here["rel_tol"].unique(), reverse=True)
        for tolerance, colour in zip(tolerances, ramp(len(tolerances)), strict=True):
            levels = here[here["rel_tol"] == tolerance].sort_values("level_of_level")
            ax.plot(
                levels["level_of_level"],
                levels["mean_rank_of_level"],
                color=colour,
                marker="o",
                ms=4,
                label=f"rel_tol {tolerance:g}",
            )
        ax.set(xlabel="level (1: halves of the data)", title=f"{name}, h = {h:g}")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        label_lines(ax)
    axes[0, 0].set_ylabel("mean rank")
    return figure
