"""The data sets of a paper by size."""

import math

from matplotlib.ticker import LogLocator, NullFormatter

from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import QUIET, dataset_marker, new_figure


def draw_sizes(table):
    """One line per data set, by training rows; the features stand at its end."""
    rows = table.sort_values("training_rows", kind="stable").reset_index(drop=True)
    figure, ax = new_figure(panel=(6.0, 0.24 * len(rows) + 1.1))
    low = 10 ** math.floor(math.log10(rows["training_rows"].min() / 1.5))
    high = 10 ** math.ceil(math.log10(rows["training_rows"].max() * 1.5))
    for height, row in rows.iterrows():
        ax.plot([low, row["training_rows"]], [height, height], color="#D5D5D5", lw=1, zorder=1)
        ax.scatter(
            row["training_rows"],
            height,
            marker=dataset_marker(row["dataset"]),
            s=40,
            color="#0062B0",
            zorder=3,
        )
        ax.annotate(
            f"{row['features']:,.0f} features",
            (1.01, height),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=7,
            color=QUIET,
        )
    ax.set(xscale="log", xlim=(low, high), xlabel="training rows")
    ax.set(yticks=range(len(rows)), yticklabels=rows["dataset"], ylim=(-0.7, len(rows) - 0.3))
    ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(axis="y", visible=False)
    return figure


def sizes_figure(study, paper):
    """The figure of a data table."""
    return FigureSpec(
        study,
        "sizes",
        f"Training rows (logarithmic axis) and features of the data sets of {paper} that are at "
        "hand. The kernel matrix has the square of the rows as entries.",
        draw_sizes,
    )
