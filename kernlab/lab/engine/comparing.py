"""What a study says of its table: key figures, and the cells that stand beside a paper's.

Declared by columns; a study whose paper prints something else writes a function of its table.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kernlab.datasets import row_labels
from kernlab.lab.published import published

ENOUGH_REPEATS = 5  # for a standard deviation
COLUMNS = ("row", "column", "value", "reason")


@dataclass(frozen=True)
class Tolerance:
    """When a measured number reproduces a published one, and in which direction it is better.

    Parameters
    ----------
    absolute, relative : float
        It reproduces when it is within `absolute`, or within `relative` times the published size.
    better : {"neither", "higher", "lower"}
    reason : str
        Why so much: the paper's own spread, its last digit, its repeats.
    """

    absolute: float = 0.0
    relative: float = 0.0
    better: str = "neither"
    reason: str = ""

    def __post_init__(self):
        if self.better not in ("higher", "lower", "neither"):
            raise ValueError(f"better={self.better!r}: say 'higher', 'lower' or 'neither'")
        if self.absolute < 0 or self.relative < 0:
            raise ValueError("a tolerance cannot be negative")

    def accepts(self, published, measured):
        """Whether the measured number counts as the published one."""
        # A little more keeps 93.8 within 0.1 of 93.7 in binary arithmetic.
        allowed = max(self.absolute, self.relative * abs(published))
        return abs(measured - published) <= allowed * (1 + 1e-9) + 1e-12 * abs(published)

    def improves(self, published, measured):
        """Whether the measured number lies on the better side of the published one."""
        if self.better == "higher":
            return measured > published
        return self.better == "lower" and measured < published


class Templates(dict):
    """Tolerances by the label of a column, whose {places} match anything."""

    def get(self, label, default=None):
        if label in self:
            return self[label]
        matching = (found for template, found in self.items() if _pattern(template)(label))
        return next(matching, default)


def _pattern(template):
    return re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(template))).fullmatch


@dataclass(frozen=True)
class Cell:
    """A column that a paper prints, and how it is measured.

    Parameters
    ----------
    label : str
        The published column. {dataset}, {method}, {variant} and columns of the table are filled
        in: one value for each of their combinations.
    column : str
        The measured column.
    tolerance : Tolerance
    scale : float
        What the mean is multiplied by: 100 for per cent.
    statistic : str
        "mean", "median", "max", ... of the rows; "std" needs five repeats.
    where : callable, optional
        Table -> which rows count.
    row : str
        The published row, filled in likewise. Data sets go by the names that the paper gives them;
        rows that it does not print are left out.
    """

    label: str
    column: str
    tolerance: Tolerance = Tolerance()
    scale: float = 1.0
    statistic: str = "mean"
    where: Callable | None = None
    row: str = "{dataset}"


@dataclass(frozen=True)
class Comparison:
    """Some cells beside the published table of this id: a table -> row, column, value, reason."""

    id: str
    cells: tuple[Cell, ...]

    def __call__(self, table):
        printed, labels = set(published(self.id)["row"]), row_labels(self.id)
        found = []
        for cell in self.cells:
            rows = table if cell.where is None else table[cell.where(table)]
            if cell.column not in rows:
                continue
            names = list(dict.fromkeys(re.findall(r"\{(\w+)\}", cell.row + cell.label)))
            groups = rows.groupby(names, sort=False) if names else [((), rows)]
            for values, group in groups:
                filled = dict(zip(names, values, strict=True))
                filled |= {"dataset": labels.get(filled.get("dataset"), filled.get("dataset"))}
                row, label = cell.row.format(**filled), cell.label.format(**filled)
                values = cell.scale * group[cell.column].dropna()
                if row in printed and cell.statistic == "std":
                    found.append(spread_cell(row, label, values))
                elif row in printed and len(values):
                    found.append((row, label, float(values.agg(cell.statistic))))
        return as_cells(found)


def as_cells(cells):
    """Tuples (row, column, value[, reason]) as a table; without value and reason they are dropped.

    The reason says why a value is missing, or why it differs.
    """
    table = pd.DataFrame([(*cell, "")[:4] for cell in cells], columns=list(COLUMNS))
    return table[table["value"].notna() | (table["reason"] != "")].reset_index(drop=True)


def spread_cell(row, column, values):
    """The standard deviation over repeats, where there are enough of them."""
    values = values.dropna()
    if len(values) >= ENOUGH_REPEATS:
        return row, column, float(values.std(ddof=1))
    several = "1 repeat gives" if len(values) == 1 else f"{len(values)} repeats give"
    return row, column, np.nan, f"{several} no standard deviation worth comparing"


def per_cent(share):
    """A share as text, with one decimal."""
    return f"{100 * share:.1f} %"


def means(*columns, by=("dataset", "method", "variant"), text=per_cent):
    """Key figures: the mean of some columns in each group, as a function of the table.

    Parameters
    ----------
    *columns : str
    by : sequence of str
        What makes a group; a column that takes one value only is left out of the label.
    text : callable
        How a mean is written: accuracies and errors in per cent.
    """

    def key_figures(table):
        names = [name for name in by if table[name].nunique() > 1] or list(by[:1])
        figures = {}
        for values, rows in table.groupby(names, sort=False):
            label = ", ".join(str(value) for value in values if value != "")
            measured = [column for column in columns if column in rows]
            found = {column: rows[column].mean() for column in measured}
            texts = [
                (f"{column.replace('_', ' ')} " if len(columns) > 1 else "") + text(mean)
                for column, mean in found.items()
                if pd.notna(mean)
            ]
            if texts:
                figures[label] = ", ".join(texts)
        return figures

    return key_figures
