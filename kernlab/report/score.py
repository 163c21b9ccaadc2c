"""The verdict on one number: ours beside the one that a paper prints.

A verdict is computed from the two numbers and the tolerance that the study states for that column,
and from nothing else. Nobody enters one.
"""

import math

import pandas as pd

from kernlab.report.numbers import as_text
from kernlab.studies import Tolerance

STATUSES = ("reproduced", "better", "different", "not run")
COLUMNS = ("row", "column", "published", "measured", "unit", "status", "reason")

EXACT = Tolerance()


def score(published, measured, tolerances):
    """Set measured numbers beside published ones and judge each pair.

    Parameters
    ----------
    published : DataFrame
        Columns row, column, value, unit, as `kernlab.published.published` returns them.
    measured : DataFrame
        Columns row, column, value, with the published labels, and optionally reason: why a value is
        missing. Rows that are absent count as not run.
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
        status, why = judge(cell.value, value, tolerances.get(cell.column, EXACT))
        rows.append((cell.row, cell.column, cell.value, value, cell.unit, status, why or reason))
    scored = pd.DataFrame(rows, columns=list(COLUMNS))
    scored.attrs["unmatched"] = sorted(ours)
    return scored


def judge(published, measured, tolerance):
    """The status of one pair of numbers, and the reason in words."""
    if not math.isfinite(published):
        return "not run", "the paper prints no number here"
    if math.isnan(measured):
        return "not run", ""
    if math.isinf(measured):
        return "not run", "the measured value is not finite"
    difference = measured - published
    if tolerance.accepts(published, measured):
        if difference == 0:
            return "reproduced", "equal"
        return (
            "reproduced",
            f"{as_text(abs(difference), 3)} apart, {_allowed(published, tolerance)}",
        )
    if tolerance.improves(published, measured):
        return "better", f"{_direction(difference)}, and {tolerance.better} is better"
    return "different", f"{_direction(difference)}; {_allowed(published, tolerance)}"


def _direction(difference):
    return f"{as_text(abs(difference), 3)} {'higher' if difference > 0 else 'lower'}"


def _allowed(published, tolerance):
    allowed = max(tolerance.absolute, tolerance.relative * abs(published))
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
