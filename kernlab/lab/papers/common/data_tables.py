"""The papers' data tables as studies: what is printed about the data, counted in the data."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from kernlab.datasets import DataError, DataNotFound, get_entry, is_bundled, protocol_rows
from kernlab.datasets.load import generated_sizes, read_rows
from kernlab.datasets.registry import get_protocol
from kernlab.datasets.splits import plan_split, split_rows
from kernlab.kernels import total_variance
from kernlab.lab.engine import Cell, Point, catalogued
from kernlab.lab.plots.marks import name_rows
from kernlab.lab.plots.registry import FigureSpec
from kernlab.lab.plots.style import BLUE, QUIET, dataset_marker, new_figure

FIGURES = []
"""Those of all data tables."""


def data_table(id, title, of, question, *printed):
    """The study that counts again what a paper's data table prints, in columns or cells.

    Each set is loaded by the paper's own protocol: its split, scaling and columns. Its figure shows
    the sizes of the data sets `of` the paper.
    """
    cells = [c if isinstance(c, Cell) else Cell(c, c.replace(" ", "_")) for c in printed]

    def counted(profile, datasets=None):
        listed = [(name, Path(name).name) for name in datasets or ()]
        listed = listed or protocol_rows(id)[1]
        if profile == "quick" and not datasets:
            listed = [(name, row) for name, row in listed if is_bundled(name)]
        return [Point.make(name, "counted", row=row) for name, row in listed]

    counted.__doc__ = question
    study = catalogued(id, title)(counted)
    study.measure(
        partial(_measure, id),
        key_figures=_key_figures,
        measured=[replace(cell, row="{row}") for cell in cells],
        needs=tuple(name for name, _ in protocol_rows(id)[1]),
    )
    caption = (
        f"Training rows (logarithmic axis) and features of the data sets of {of} found here. The "
        "kernel matrix has the square of the rows as entries."
    )
    FIGURES.append(FigureSpec(id, "sizes", caption, draw_sizes))
    return study


def _measure(table, point, seed):
    """The counts of one set; one that is not there says so, and nothing is downloaded.

    The total variance is the mean squared distance of the training rows, unscaled, to their mean.
    Where only the published test file is not available, what it decides is not a number.
    """
    paper, entry = protocol_rows(table)[0], get_entry(point.dataset)
    protocol = get_protocol(paper, entry)
    try:
        rows = read_rows(entry, seed=seed, sizes=generated_sizes(entry, protocol))
        published = {"test": sum(f.rows for f in entry.copies[0].test)} if rows.test_missing else {}
        plan = plan_split(entry, protocol, None, rows.sizes | published)
        plan = replace(plan, test=0) if rows.test_missing else plan
        parts = split_rows(plan, rows.parts, seed)
    except DataNotFound:
        raise DataNotFound(f"kernlab data get {point.dataset}") from None
    except DataError as error:
        raise DataNotFound(str(error)) from error
    X, y = parts["train"]
    counts = {part: 0 if piece is None else len(piece[1]) for part, piece in parts.items()}
    found = {
        "rows": sum(counts.values()),
        "training_rows": counts["train"],
        "validation_rows": counts["valid"],
        "test_rows": counts["test"],
        "features": protocol.columns or X.shape[1],
        "classes": len(np.unique(y)),
        "total_variance": total_variance(X[:, : protocol.columns]),
    }
    positive = entry.positive if protocol.positive is None else protocol.positive
    if positive is not None:
        for part, column in (("train", "training"), ("test", "test")):
            labels = parts[part][1] if parts[part] else ()
            found[f"positive_{column}_rows"] = int(np.sum(labels == positive))
    if rows.test_missing:
        found |= dict.fromkeys(("rows", "test_rows", "positive_test_rows"), np.nan)
    return found


def _key_figures(table):
    return {
        row.dataset: f"{row.training_rows:,.0f} training and "
        f"{'no' if pd.isna(row.test_rows) else f'{row.test_rows:,.0f}'} test rows, "
        f"{row.features:.0f} features, {row.classes:.0f} classes"
        for row in table.itertuples()
    }


def draw_sizes(table):
    """One line per data set, by training rows; the features stand at its end."""
    rows = table.sort_values("training_rows", ascending=False).reset_index(drop=True)
    figure, ax = new_figure(panel=(6.0, 0.24 * len(rows) + 1.1))
    low = 10 ** math.floor(math.log10(rows["training_rows"].min() / 1.5))
    high = 10 ** math.ceil(math.log10(rows["training_rows"].max() * 1.5))
    places = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": QUIET}
    for height, row in rows.iterrows():
        ax.plot([low, row["training_rows"]], [height, height], color="#D5D5D5", lw=1, zorder=1)
        look = {"marker": dataset_marker(row["dataset"]), "s": 40, "color": BLUE, "zorder": 3}
        ax.scatter(row["training_rows"], height, **look)
        ax.annotate(f"{row['features']:,.0f} features", (1.01, height), **places)
    ax.set(xscale="log", xlim=(low, high), xlabel="training rows")
    name_rows(ax, rows["dataset"], legend=False)
    ax.xaxis.set_major_locator(LogLocator(numticks=8))
    ax.xaxis.set_minor_formatter(NullFormatter())
    return figure
