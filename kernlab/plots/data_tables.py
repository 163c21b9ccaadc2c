"""The data sets of a paper by size."""

import math

from matplotlib.ticker import NullFormatter

from kernlab.plots.registry import FigureSpec
from kernlab.plots.style import dataset_marker, new_figure


def draw_sizes(table):
    """Training rows against features, one marker per data set, named beside it."""
    figure, ax = new_figure(panel=(6.4, 3.6))
    ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel="features")
    for row in table.itertuples():
        marker = dataset_marker(row.dataset)
        ax.scatter(row.training_rows, row.features, marker=marker, s=46, color="#0062B0", zorder=3)
    ax.margins(0.12)
    ax.yaxis.set_minor_formatter(NullFormatter())
    _name_beside(ax, table)
    return figure


def _name_beside(ax, table):
    """Names beside their markers; where several share a place, one list of names stands there."""
    places = {}
    for row in table.itertuples():
        key = (round(3 * math.log10(row.training_rows)), round(4 * math.log10(row.features)))
        places.setdefault(key, []).append(row)
    for rows in places.values():
        ax.annotate(
            ", ".join(row.dataset for row in rows),
            (max(row.training_rows for row in rows), rows[0].features),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=7,
            color="#333333",
            annotation_clip=False,
        )


def sizes_figure(study, paper):
    """The figure of a data table."""
    return FigureSpec(
        study,
        "sizes",
        f"Training rows and features of the data sets of {paper} that are at hand, both on "
        "logarithmic axes. The kernel matrix has the square of the rows as entries.",
        draw_sizes,
    )
