"""The papers' data tables as studies: what the papers print about their data, counted in the data.

One point per set of the table, loaded by the paper's own protocol (its split, scaling, columns).
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from kernlab.datasets import measured_counts
from kernlab.datasets.files import comes_with_kernlab
from kernlab.datasets.registry import get_entry, protocol_rows
from kernlab.lab.engine.base import NotRun, Point, Study, Tolerance

EXACT = Tolerance()
TAKEN = ("dataset", "message")  # columns that the engine fills in itself


def data_table(table, *, title, question, counts, columns=None, tolerances=None):
    """The study that counts again what the data table `table` prints.

    `counts` names the published columns that must agree exactly, `tolerances` others, with how
    closely; `columns` says what stands for a published column where the names differ.
    """
    tolerances = dict.fromkeys(counts, EXACT) | dict(tolerances or {})
    return Study(
        id=table,
        paper=table.split("-")[0],
        title=title,
        question=question,
        grid=partial(_grid, table),
        measure=partial(_measure, table),
        key_figures=_key_figures,
        measured=partial(_measured, list(tolerances), dict(columns or {})),
        tolerances=tolerances,
        needs=tuple(name for name, _ in protocol_rows(table)[1]),
    )


def counted(table, datasets, cells):
    """The study that counts again what the data table `table` prints, in the given cells."""

    def grid(profile):
        listed = [(name, Path(name).name) for name in datasets or ()]
        listed = listed or protocol_rows(table)[1]
        if profile == "quick" and not datasets:
            listed = [(name, row) for name, row in listed if comes_with_kernlab(get_entry(name))]
        return [Point.make(name, "counted", row=row) for name, row in listed]

    return Study(
        grid=grid,
        measure=partial(_measure, table),
        key_figures=_key_figures,
        measured=[replace(cell, row="{row}") for cell in cells],
        needs=tuple(name for name, _ in protocol_rows(table)[1]),
    )


def _grid(table, profile):
    """Every set of the table; under the quick profile those that come with kernlab."""
    listed = protocol_rows(table)[1]
    if profile == "quick":
        listed = [(name, row) for name, row in listed if comes_with_kernlab(get_entry(name))]
    return [Point.make(name, "counted", row=row) for name, row in listed]


def _measure(table, point, seed):
    """The counts of one set; a set that is not at hand says so, and nothing is downloaded."""
    paper, _ = protocol_rows(table)
    counts = measured_counts(point.dataset, paper, seed)
    if counts.pop("status") == "missing":
        raise NotRun(f"not at hand: {counts['message']}")
    return {name.replace(" ", "_"): value for name, value in counts.items() if name not in TAKEN}


def _key_figures(table):
    return {
        row.dataset: f"{row.training_rows:,.0f} training and "
        f"{'no' if pd.isna(row.test_rows) else f'{row.test_rows:,.0f}'} test rows, "
        f"{row.features:.0f} features, {row.classes:.0f} classes"
        for row in table.itertuples()
    }


def _measured(printed_columns, columns, table):
    """Counts by the published labels of row and column."""
    counted = {name: columns.get(name, name).replace(" ", "_") for name in printed_columns}
    return pd.DataFrame(
        [
            {"row": record["row"], "column": name, "value": record[count]}
            for record in table.to_dict("records")
            for name, count in counted.items()
            if pd.notna(record.get(count))
        ],
        columns=["row", "column", "value"],
    )
