"""Figures of which data, and which scaling, a sparse kernel suits."""

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from kernlab.lab.papers.sparse.suited import SUITED, losses
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import QUIET, dataset_marker, new_figure

SCALINGS = {
    "none": ("as it is", "#222222"),
    "unit": ("[0, 1]", "#0062B0"),
    "symmetric": ("[−1, 1]", "#009E73"),
    "standard": ("unit variance", "#B98800"),
}
RULES = {"askey-odd": "l by Askey's rule", "3": "l = 3"}


def draw_scaling(table):
    """The share of entries under each scaling, one line per set, the printed one as a ring."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, ax = new_figure(panel=(6.0, 0.45 * len(names) + 1.3))
    for height, name in enumerate(names):
        rows = table[table["dataset"] == name]
        shares = 1.0 - rows["sparsity"]
        ax.plot([shares.min(), shares.max()], [height] * 2, color="#D5D5D5", lw=2, zorder=1)
        for scaling, share in zip(rows["variant"], shares, strict=True):
            text, colour = SCALINGS[scaling]
            label = text if height == 0 else None
            ax.scatter(share, height, color=colour, s=30, zorder=3, label=label, linewidths=0)
        ax.scatter(
            1.0 - rows["printed_sparsity"].iloc[0], height, s=130, facecolors="none",
            edgecolors="#CC3311", linewidths=1.6, zorder=2, label=None if height else "printed",
        )  # fmt: skip
    ax.set(
        xscale="log",
        yticks=range(len(names)),
        yticklabels=names,
        ylim=(len(names) - 0.4, -0.6),
        xlabel="share of entries in the kernel matrix",
    )
    ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_suited(table):
    """Accuracy against the Gaussian kernel's by density, for both rules; predicted densities."""
    rows = losses(table)
    names = list(dict.fromkeys(rows["dataset"]))
    colours = dict(zip(names, _ramp(rows, names), strict=True))
    figure, axes = new_figure(1, 3, panel=(4.5, 3.6))
    for ax, (rule, title) in zip(axes, RULES.items(), strict=False):
        for name in names:
            part = rows[(rows["dataset"] == name) & (rows["variant"] == rule)]
            part = part.sort_values("density")
            ax.plot(
                part["density"], -100 * part["loss"], color=colours[name], ms=4,
                marker=dataset_marker(name), markeredgewidth=0,
                label=f"{name} ({part['n_features'].iloc[0]:.0f})",
            )  # fmt: skip
        ax.axhspan(-100 * SUITED, 100 * SUITED, color="#E6F2EC", zorder=0)
        ax.set(title=title, xlabel="share of entries that is kept")
        _percent_log(ax.xaxis, ax.set_xscale)
    low = min(ax.get_ylim()[0] for ax in axes[:2])
    for ax in axes[:2]:
        ax.set_ylim(low, 6.0)
    axes[0].set_ylabel("points above the Gaussian kernel")
    for ax in axes[:2]:
        label_lines(ax)
    _draw_predicted(axes[2], rows, colours)
    return figure


def _draw_predicted(ax, rows, colours):
    for name, part in rows.groupby("dataset", sort=False):
        ax.scatter(
            part["predicted_density"], part["measured_density"], s=34, color=colours[name],
            marker=dataset_marker(name), linewidths=0,
        )  # fmt: skip
    low, high = rows["measured_density"].min(), rows["measured_density"].max()
    ax.plot([low, high], [low, high], color=QUIET, lw=0.8, zorder=1)
    ax.set(title="density, predicted and found", xlabel="predicted from a few rows")
    _percent_log(ax.xaxis, ax.set_xscale)
    _percent_log(ax.yaxis, ax.set_yscale)


def _percent_log(axis, set_scale):
    set_scale("log")
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axis.set_minor_formatter(NullFormatter())


def _ramp(rows, names):
    """From green to red by the number of features."""
    features = rows.groupby("dataset")["n_features"].first()
    places = features.rank(method="first").loc[names].to_numpy() - 1
    ends = np.array([[0, 158, 115], [185, 136, 0], [204, 51, 17], [110, 30, 60]]) / 255
    steps = places / max(1, len(names) - 1) * (len(ends) - 1)
    return [
        tuple(np.array([np.interp(step, range(len(ends)), ends[:, c]) for c in range(3)]))
        for step in steps
    ]
