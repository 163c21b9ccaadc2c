"""What is said of a table: key figures by group, and measured values under published labels."""

from string import Formatter

import numpy as np

from kernlab.lab.engine import Tolerance

SECONDS = Tolerance(relative=0.5, better="lower", reason="another machine")
GROWTH = Tolerance(absolute=0.25, better="lower", reason="the paper says the exponent in words")
FEW_LANDMARKS = 200
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def figures_by(label, text, where=None):
    """Key figures: for each combination of the label's {places} what `text` says of its rows.

    Parameters
    ----------
    label : str
        Such as "{dataset}, h = {h:g}", filled in from columns; what is empty is left out.
    text : callable or str
        Rows -> text, or a template that the last row fills in.
    where : callable, optional
        Table -> which rows count.
    """
    places = [name for _, name, *_ in Formatter().parse(label) if name]

    def key_figures(table):
        rows = table if where is None else table[where(table)]
        figures = {}
        for values, group in rows.groupby(places, sort=False):
            filled = label.format(**dict(zip(places, values, strict=True)))
            told = text(group) if callable(text) else text.format(**group.iloc[-1])
            figures[filled.replace(", ,", ",").removesuffix(", ")] = told
        return figures

    return key_figures


def of_printed_rows(cells, published):
    """The cells whose row the paper prints: a set that stands in for another answers to none."""
    rows = set(published["row"])
    return [cell for cell in cells if cell[0] in rows]


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
