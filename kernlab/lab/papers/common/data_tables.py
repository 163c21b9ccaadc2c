"""The papers' data tables as studies: what the papers print about their data, counted in the data.

One point per set of the table, loaded by the paper's own protocol (its split, scaling, columns).
"""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from kernlab.datasets import DataNotFound, is_bundled, measured_counts, protocol_rows
from kernlab.lab.engine import Point, Study
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import QUIET, dataset_marker, new_figure

TAKEN = ("dataset", "message")  # columns that the engine fills in itself


def counted(table, datasets, cells):
    """The study that counts again what the data table `table` prints, in the given cells."""

    def grid(profile):
        listed = [(name, Path(name).name) for name in datasets or ()]
        listed = listed or protocol_rows(table)[1]
        if profile == "quick" and not datasets:
            listed = [(name, row) for name, row in listed if is_bundled(name)]
        return [Point.make(name, "counted", row=row) for name, row in listed]

    return Study(
        grid=grid,
        measure=partial(_measure, table),
        key_figures=_key_figures,
        measured=[replace(cell, row="{row}") for cell in cells],
        needs=tuple(name for name, _ in protocol_rows(table)[1]),
    )


def _measure(table, point, seed):
    """The counts of one set; one that is not there says so, and nothing is downloaded."""
    paper, _ = protocol_rows(table)
    counts = measured_counts(point.dataset, paper, seed)
    if counts.pop("status") == "missing":
        raise DataNotFound(counts["message"])
    return {name.replace(" ", "_"): value for name, value in counts.items() if name not in TAKEN}


def _key_figures(table):
    return {
        row.dataset: f"{row.training_rows:,.0f} training and "
        f"{'no' if pd.isna(row.test_rows) else f'{row.test_rows:,.0f}'} test rows, "
        f"{row.features:.0f} features, {row.classes:.0f} classes"
        for row in table.itertuples()
    }


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
        f"Training rows (logarithmic axis) and features of the data sets of {paper} found "
        "here. The kernel matrix has the square of the rows as entries.",
        draw_sizes,
    )
