"""Numbers and tables as a reader wants them: no noise digits, aligned columns."""

import itertools
import math
import re

import pandas as pd
from latex2mathml.converter import convert
from markupsafe import Markup, escape

from kernlab.lab.engine.rows import parameter_names
from kernlab.runtime import format_bytes

_SECONDS = "_seconds"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


MATH = re.compile(r"\$([^$\s](?:[^$\n]*[^$\s])?)\$")
_LETTERS = {
    r"\tilde K": "K\u0303", r"\top": "\u22a4", r"\cdot": "\u00b7", r"\alpha": "\u03b1",
    r"\beta": "\u03b2", r"\gamma": "\u03b3", r"\sigma": "\u03c3", r"\mu": "\u03bc",
    r"\eta": "\u03b7", "{": "", "}": "",
}  # fmt: skip


def with_mathml(text):
    """Text as HTML, escaped, its equations between dollar signs as MathML."""
    parts = MATH.split(text)
    parts[::2] = map(escape, parts[::2])
    parts[1::2] = map(convert, parts[1::2])
    return Markup("".join(parts))


def without_math(text):
    """Text for readers of the screen: equations in plain letters."""
    for command, letter in _LETTERS.items():
        text = MATH.sub(lambda m, c=command, x=letter: f"${m[1].replace(c, x)}$", text)
    return MATH.sub(r"\1", text)


def as_text(value, digits=5):
    """A number with a few significant digits; whole numbers in full, with thousands apart."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        text = f"{int(value):,}"
    elif 1e-4 <= abs(value) < 1e7:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = _without_zeros(f"{value:,.{places}f}")
    else:
        mantissa, _, exponent = f"{value:.{digits - 2}e}".partition("e")
        text = f"{_without_zeros(mantissa)}e{int(exponent):+d}"
    return text.replace("-", "−")


def _without_zeros(text):
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_difference(value):
    """A difference with its sign, to three digits."""
    text = as_text(value, 3)
    return f"+{text}" if text and value > 0 else text


def as_duration(seconds):
    """Seconds as a person would say them: 0.31 s, 42 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 60:
        return f"{as_text(seconds, 2)} s"
    whole = round(seconds)
    names = [*_UNITS, (1, "s")]
    for (size, name), (smaller, smaller_name) in itertools.pairwise(names):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{whole} s"


def count(number, noun):
    """So many of them: 1 study, 2 studies."""
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else several}"


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
    lines = pd.DataFrame() if study.comparison is None else study.comparison(table)
    if lines.empty:
        return timing_table(table)
    forms = {"seconds": as_duration, "roofline": as_duration, "memory": format_bytes}

    def cell(name, value):
        if isinstance(value, str) or pd.isna(value):
            return value if isinstance(value, str) else ""
        return forms.get(name, lambda number: as_text(number, 3))(float(value))

    header = [name for name in lines if lines[name].notna().any()]
    rows = [map(cell, header, row) for row in lines[header].itertuples(index=False)]
    return f"{timing_table(table)}\n\n{align(rows, header)}"


def timing_table(table):
    """A timing study's table for reading: the median over repeats, and from what to what.

    Columns that are empty throughout are left out.
    """
    measured = [c for c in table if c.endswith((_SECONDS, "_accuracy")) or c == "peak_bytes"]
    keys, rows = ["dataset", "variant", "method", *parameter_names(table)], []
    for key, group in table.groupby(keys, sort=False, dropna=False):
        done = group["status"] == "ok"
        cells = [as_text(k) if isinstance(k, int | float) else str(k) for k in key]
        cells += [_median(group.loc[done, name], name) for name in measured]
        rows.append([*cells, next(iter(group.loc[~done, "message"]), "ok")])
    header = [*keys, *measured, "status"]
    kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return align([[row[i] for i in kept] for row in rows], [header[i] for i in kept])


def _median(values, name):
    values = values.dropna()
    if values.empty:
        return ""
    form = as_duration if name.endswith(_SECONDS) else format_bytes if "bytes" in name else as_text
    middle, low, high = (float(f(values)) for f in (pd.Series.median, min, max))
    return form(middle) if low == high else f"{form(middle)} ({form(low)} to {form(high)})"
