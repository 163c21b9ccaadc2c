"""How little a kernel machine and a linear machine on a factor of its matrix differ."""

import numpy as np

from kernlab.lab.plots.style import QUIET, new_figure

COLOURS = {"Cholesky": "#0062B0", "eigenvectors": "#CC3311", "square root": "#009E73"}
MARKERS = {"Cholesky": "o", "eigenvectors": "s", "square root": "^"}
SMALLEST = 1e-16


def draw_differences(table):
    """Largest difference of a decision and relative difference of the dual, on a log axis."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, 2, panel=(4.2, 0.42 * len(names) + 1.5), sharey=True)
    for ax, column, title in zip(
        axes,
        ("decision_difference", "dual_difference"),
        ("Decisions on new points", "Dual objective"),
        strict=True,
    ):
        for kind, rows in table.groupby("variant", sort=False):
            heights = [names.index(name) for name in rows["dataset"]]
            offset = 0.22 * (list(COLOURS).index(kind) - 1)
            ax.scatter(
                np.maximum(rows[column], SMALLEST),
                np.array(heights) + offset,
                color=COLOURS[kind],
                marker=MARKERS[kind],
                s=34,
                label=kind,
                zorder=3,
            )
        ax.set(xscale="log", xlim=(SMALLEST / 3, 1e1), title=title)
        ax.axvline(1.0, color=QUIET, lw=0.8, ls="dashed")
        ax.set_xticks([1e-16, 1e-12, 1e-8, 1e-4, 1])
        ax.grid(axis="y", visible=False)
    axes[0].set(
        yticks=range(len(names)),
        yticklabels=names,
        ylim=(len(names) - 0.4, -0.6),
        xlabel="largest difference (the margin is 1)",
    )
    axes[1].set_xlabel("relative difference")
    axes[1].legend(loc="center", title="factor F", handletextpad=0.2)
    return figure
