"""The landmark theorems: gaps beside their bounds, and gradients that fall quadratically."""

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import QUIET, dataset_marker, new_figure

LINES = {
    "bound_corrected": ("bound, corrected", "#222222", "dotted"),
    "bound_printed": ("bound, as printed", QUIET, "dashed"),
    "weight_gap": ("gap", "#CC3311", "solid"),
    "aligned_gap": ("gap, aligned", "#0062B0", "solid"),
}


def draw_bounds(table):
    """One panel per data set: both gaps and both bounds against the rank, on logarithmic axes."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, len(names), panel=(4.4, 3.4), sharey=True, squeeze=False)
    for ax, name in zip(axes.ravel(), names, strict=True):
        rows = table[table["dataset"] == name].sort_values("rank")
        for column, (label, colour, style) in LINES.items():
            ax.plot(
                rows["rank"], rows[column], color=colour, ls=style, marker="o", ms=3, label=label
            )
        ax.set(xscale="log", yscale="log", title=name, xlabel="landmarks k")
    for ax in axes.ravel():  # once all have their common limits
        label_lines(ax)
    axes[0, 0].set_ylabel("$|w - w'|^2$ and its bound")
    return figure


def draw_convergence(table):
    """Relative gradient against the Newton step, one panel per way to solve for the direction."""
    variants = list(dict.fromkeys(table["variant"]))
    titles = {
        "direct": "Direct",
        "cg": "Conjugate gradients, mu falls",
        "cg, constant mu": "Conjugate gradients, mu constant",
    }
    figure, axes = new_figure(1, len(variants), panel=(4.0, 3.2), sharey=True, squeeze=False)
    for ax, variant in zip(axes.ravel(), variants, strict=True):
        for name, rows in table[table["variant"] == variant].groupby("dataset", sort=False):
            marker = dataset_marker(name)
            ax.plot(
                rows["iteration"], rows["residual"].clip(1e-17), marker=marker, ms=4, label=name
            )
        ax.set(yscale="log", title=titles.get(variant, variant), xlabel="Newton step")
    for ax in axes.ravel():  # once all have their common limits
        label_lines(ax)
    axes[0, 0].set_ylabel("gradient, relative to the start")
    return figure
