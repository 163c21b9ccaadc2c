"""Figures of what compact support does to the kernel matrix."""

import numpy as np
from matplotlib.ticker import PercentFormatter

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import spy
from kernlab.lab.plots.style import QUIET, new_figure

BLUE, RED, GREEN, DARK = "#0062B0", "#CC3311", "#009E73", "#222222"


def draw_limits(table):
    """Distances from the Gaussian matrix and from the identity against alpha, a panel per set."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, len(names), panel=(4.4, 3.2), sharey=True, squeeze=False)
    lines = {
        "to_gaussian": ("from the Gaussian matrix", RED),
        "to_identity": ("from the identity", BLUE),
        "sparsity": ("zeros", QUIET),
    }
    for ax, name in zip(axes.ravel(), names, strict=True):
        rows = table[table["dataset"] == name].sort_values("alpha_sigma")
        for column, (label, colour) in lines.items():
            style = "dotted" if column == "sparsity" else "solid"
            ax.plot(rows["alpha_sigma"], rows[column], color=colour, ls=style, label=label)
        ax.axvline(1 / 3, color=DARK, lw=0.8, ls="dashed", zorder=1)
        ax.annotate(r"  $\alpha = 1/(3\sigma)$", (1 / 3, 1.18), fontsize=7.5, color=DARK)
        ax.set(xscale="log", ylim=(-0.03, 1.25), title=name, xlabel=r"$\alpha\sigma$")
        label_lines(ax)
    axes[0, 0].set_ylabel("relative distance, and share of zeros")
    return figure


def draw_radii(table):
    """Sorted Gershgorin radii of both matrices, a panel for each width."""
    rows = table[table["dataset"] == table["dataset"].iloc[0]]
    factors = sorted(rows["sigma_factor"].unique())
    figure, axes = new_figure(1, len(factors), panel=(3.5, 3.0), squeeze=False)
    for ax, factor in zip(axes.ravel(), factors, strict=True):
        part = rows[rows["sigma_factor"] == factor].sort_values("place")
        ax.plot(part["place"], part["gaussian"], color=DARK, label="Gaussian")
        ax.plot(part["place"], part["compact"], color=GREEN, lw=0.9, label="sparse")
        ax.axhline(1.0, color=QUIET, lw=0.8, ls="dashed")
        first = part.iloc[0]
        ax.set_title(
            f"$\\sigma$ = {first['sigma']:.3g}: $\\lambda_{{min}}$ = "
            f"{first['smallest_eigenvalue']:.2g}"
        )
        ax.set(xlabel="rows, by Gaussian radius", yscale="log")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
        label_lines(ax)
    axes[0, 0].set_ylabel("Gershgorin radius")
    return figure


def draw_trade_off(table):
    """Similarity and sparsity against alpha, with the alphas that the rules choose."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, len(names), panel=(4.8, 3.4), sharey=True, squeeze=False)
    rules = {
        "alpha_at_beta_1": r"$\beta$ = 1",
        "alpha_of_thesis": r"$1/(3\sigma)$",
        "alpha_of_quartile": "first quartile",
    }
    for ax, name in zip(axes.ravel(), names, strict=True):
        rows = table[table["dataset"] == name].sort_values("alpha")
        ax.plot(rows["alpha"], rows["similarity"], color=RED, label="similarity A")
        ax.plot(rows["alpha"], rows["sparsity"], color=BLUE, label="sparsity S")
        both = rows["similarity"] + rows["sparsity"]
        ax.plot(rows["alpha"], both / 2, color=DARK, ls="dotted", label="(A + S) / 2")
        found = sorted((rows[column].iloc[0], text) for column, text in rules.items())
        for rank, (alpha, text) in enumerate(found):
            # The smallest is named on its left, the others on their right, one above the other.
            text, side = f"{text}: {alpha:.3g}", "left" if rank else "right"
            ax.axvline(alpha, color=QUIET, lw=0.8, ls="dashed", zorder=1)
            ax.annotate(
                text, (alpha, 1.06 + 0.08 * rank), xytext=(5 if rank else -5, 0), ha=side,
                textcoords="offset points", fontsize=7.5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        ax.set(xscale="log", ylim=(-0.03, 1.3), title=name, xlabel=r"$\alpha$")
        label_lines(ax)
    axes[0, 0].set_ylabel("similarity, and share of zeros")
    return figure


def draw_fill(table):
    """A matrix and its factor in each ordering: one pixel per block, darker where it is fuller.

    Four cases stand side by side, so that those of one matrix can be compared.
    """
    cases = list(dict.fromkeys(zip(table["dataset"], table["method"], strict=True)))
    across = min(4, len(cases))
    figure, axes = new_figure(2 * -(-len(cases) // across), across, panel=(2.5, 2.7), squeeze=False)
    for ax in axes.ravel():
        ax.set_axis_off()
    for place, (name, method) in enumerate(cases):
        rows = table[(table["dataset"] == name) & (table["method"] == method)]
        line, column = 2 * (place // across), place % across
        for ax, picture in zip(axes[line : line + 2, column], ("matrix", "factor"), strict=True):
            ax.set_axis_on()
            _draw_picture(ax, rows, picture)
            if column == 0:
                ax.set_ylabel(picture)
        axes[line, column].set_title(f"{name}, {method}", fontsize=9)
    return figure


def _draw_picture(ax, rows, picture):
    part = rows[rows["picture"] == picture]
    side = int(part[["block_row", "block_column"]].max().max()) + 1
    shares = np.zeros((side, side))
    shares[part["block_row"].astype(int), part["block_column"].astype(int)] = part["share"]
    _draw_blocks(ax, shares, picture)
    entries = part["entries_of_factor" if picture == "factor" else "entries_of_matrix"].iloc[0]
    n = part["n_train"].iloc[0]
    share = f", {entries / n**2:.1%} of $n^2$"
    ax.set_xlabel(f"{entries:,.0f} entries{share}", fontsize=7.5)


def _draw_blocks(ax, shares, picture):
    spy(ax, shares, colour=BLUE if picture == "matrix" else RED)
    ax.images[0].set_data(np.where(shares > 0, 0.3 + 0.7 * np.sqrt(shares.clip(max=1.0)), 0.0))
