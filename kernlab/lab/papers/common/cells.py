"""What is said of a table: key figures by group, and measured values under published labels."""

import numpy as np

from kernlab.lab.engine import Tolerance

SECONDS = Tolerance(relative=0.5, better="lower", reason="another machine")
GROWTH = Tolerance(absolute=0.25, better="lower", reason="the paper says the exponent in words")
FEW_LANDMARKS = 200
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def in_printed_units(cells, published):
    """Cells whose times, given in seconds, are turned into the unit that the paper prints."""
    units = {(row.row, row.column): row.unit for row in published.itertuples()}
    return [
        (row, column, value / _SECONDS.get(units.get((row, column)), 1.0), *reason)
        for row, column, value, *reason in cells
    ]


def growth_cell(table, landmarks):
    """The exponent with which the time of fitting grows in k: the mean over data sets.

    Papers say "linearly" or "quadratically" of curves. Counted from 200 landmarks on: below, what
    does not depend on k takes most of the time.
    """
    exponents = []
    for _, rows in table[table[landmarks] >= FEW_LANDMARKS].groupby("dataset"):
        means = rows.groupby(landmarks)["fit_seconds"].mean().dropna()
        if len(means) >= 3:
            exponents.append(np.polyfit(np.log(means.index), np.log(means), 1)[0])
    if exponents:
        return "training time", "exponent in k", float(np.mean(exponents))
    reason = f"it takes times on the paper's own sets, from {FEW_LANDMARKS} landmarks on"
    return "training time", "exponent in k", np.nan, reason
