"""The verdict on one number: ours beside the one that a paper prints.

A verdict is computed from the two numbers and the tolerance that the study states for that column,
and from nothing else. Nobody enters one.
"""

import math
import re

import pandas as pd

from kernlab.lab.engine import Tolerance
from kernlab.lab.report.numbers import as_text

STATUSES = ("reproduced", "better", "different", "not run")
COLUMNS = ("row", "column", "published", "measured", "unit", "status", "reason")

EXACT = Tolerance()


def score(published, measured, tolerances):
    """Set measured numbers beside published ones and judge each pair.

    Parameters
    ----------
    published : DataFrame
        Columns row, column, value, unit and, optionally, printed, as `published` returns them. A
        number counts as known to the digits that are printed: what rounds to it reproduces it.
    measured : DataFrame
        Columns row, column, value, with the published labels, and optionally reason: why a value is
        missing, or differs. Rows that are absent count as not run.
    tolerances : mapping
        From column label to `Tolerance`. A column without one has to agree exactly.

    Returns
    -------
    DataFrame
        One row per published number, in their order: row, column, published, measured, unit, status
        and reason. The reason of "not run" is empty where the measured table gives none.
        ``attrs["unmatched"]`` lists the (row, column) of measured values that no published number
        answers to.
    """
    ours = _by_cell(measured)
    rows = []
    for cell in published.itertuples(index=False):
        value, reason = ours.pop((cell.row, cell.column), (math.nan, ""))
        rounding = rounding_of(getattr(cell, "printed", ""), cell.value)
        status, why = judge(cell.value, value, tolerances.get(cell.column, EXACT), rounding)
        if status in ("different", "better") and reason:
            why = f"{why}. {reason}"
        rows.append((cell.row, cell.column, cell.value, value, cell.unit, status, why or reason))
    scored = pd.DataFrame(rows, columns=list(COLUMNS))
    scored.attrs["unmatched"] = sorted(ours)
    return scored


def rounding_of(printed, value):
    """Half a unit of the last digit that is printed after the point; 0 where none is."""
    numbers = re.findall(r"\d[\d,]*\.\d+", str(printed))
    digits = [len(n.rpartition(".")[2]) for n in numbers if float(n.replace(",", "")) == value]
    return 0.5 * 10.0 ** -max(digits) if digits else 0.0


def judge(published, measured, tolerance, rounding=0.0):
    """The status of one pair of numbers, and the reason in words."""
    if not math.isfinite(published):
        return "not run", "the paper prints no number here"
    if math.isnan(measured):
        return "not run", ""
    if math.isinf(measured):
        return "not run", "the measured value is not finite"
    difference = measured - published
    allowed = max(tolerance.absolute, tolerance.relative * abs(published), rounding)
    if Tolerance(absolute=allowed).accepts(published, measured):
        if difference == 0:
            return "reproduced", "equal"
        return "reproduced", f"{as_text(abs(difference), 3)} apart, {_said(allowed)}"
    if tolerance.improves(published, measured):
        return "better", f"{_direction(difference)}, and {tolerance.better} is better"
    return "different", f"{_direction(difference)}; {_said(allowed)}"


def _direction(difference):
    return f"{as_text(abs(difference), 3)} {'higher' if difference > 0 else 'lower'}"


def _said(allowed):
    return f"{as_text(allowed, 3)} allowed" if allowed else "no difference allowed"


def _by_cell(measured):
    """Measured values and reasons by (row, column); the same cell twice is a mistake."""
    missing = [name for name in ("row", "column", "value") if name not in measured]
    if missing:
        raise ValueError(
            f"a measured table has the columns row, column, value; {', '.join(missing)} is missing"
        )
    cells = {}
    reasons = measured["reason"] if "reason" in measured else [""] * len(measured)
    for row, column, value, reason in zip(
        measured["row"], measured["column"], measured["value"], reasons, strict=True
    ):
        if (row, column) in cells:
            raise ValueError(
                f"the measured table has two values for row {row!r}, column {column!r}"
            )
        cells[row, column] = float(value), reason if isinstance(reason, str) else ""
    return cells
