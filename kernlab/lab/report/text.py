"""Tables as text for a terminal."""

import pandas as pd

from kernlab.lab.report.numbers import as_duration, as_size, as_text

_SECONDS = "_seconds"


def align(rows, header):
    """Rows of texts as lines with aligned columns."""
    lines = [list(map(str, header)), *[list(map(str, row)) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def bench_text(study, table):
    """All rows of a bench; below, where it knows what was asked, that beside what was reached."""
    texts = [timing_table(table)]
    if study.comparison is not None and not (lines := study.comparison(table)).empty:
        texts.append(_asked_beside_reached(lines))
    return "\n\n".join(texts)


def _asked_beside_reached(lines):
    forms = {"seconds": as_duration, "roofline": as_duration, "memory": as_size}
    header = [name for name in lines if lines[name].notna().any()]
    rows = [
        [
            cell if isinstance(cell, str) else "" if pd.isna(cell) else _cell(name, cell, forms)
            for name, cell in zip(header, row, strict=True)
        ]
        for row in lines[header].itertuples(index=False)
    ]
    return align(rows, header)


def _cell(name, value, forms):
    return forms.get(name, lambda number: as_text(number, 3))(float(value))


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
