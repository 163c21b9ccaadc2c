"""Tables as text for a terminal."""

import pandas as pd

from kernlab.report.numbers import as_duration, as_size, as_text

_SECONDS = "_seconds"


def align(rows, header):
    """Rows of texts as lines with aligned columns."""
    lines = [list(map(str, header)), *[list(map(str, row)) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def timing_table(table):
    """A timing study's table for reading: the median over repeats, and from what to what.

    Columns that are empty throughout are left out.
    """
    measured = [c for c in table if c.endswith(_SECONDS) or c.endswith("_accuracy")]
    measured += [c for c in ("peak_bytes",) if c in table]
    start, end = list(table).index("method"), list(table).index("seed")
    parameters = list(table)[start + 1 : end]
    keys = ["dataset", "variant", "method", *parameters]
    rows = []
    for key, group in table.groupby(keys, sort=False, dropna=False):
        finished = group[group["status"] == "ok"]
        cells = [as_text(k) if isinstance(k, int | float) else str(k) for k in key]
        cells += [_median(finished[name], name) for name in measured]
        messages = group["message"][group["status"] != "ok"]
        rows.append([*cells, messages.iloc[0] if len(messages) else "ok"])
    header = [*keys, *measured, "status"]
    kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return align([[row[i] for i in kept] for row in rows], [header[i] for i in kept])


def _median(values, name):
    values = values.dropna()
    if values.empty:
        return ""
    form = as_duration if name.endswith(_SECONDS) else as_size if "bytes" in name else as_text
    middle, low, high = (float(f(values)) for f in (pd.Series.median, min, max))
    return form(middle) if low == high else f"{form(middle)} ({form(low)} to {form(high)})"
