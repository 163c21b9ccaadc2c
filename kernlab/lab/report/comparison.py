"""The published values of one study beside ours, as a notebook displays them."""

from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from kernlab.lab.published import published_ids
from kernlab.lab.report.numbers import as_text
from kernlab.lab.report.reasons import gathered
from kernlab.lab.report.scorecard import TIMES_LEFT_OUT, score_study

# Units of what differs from machine to machine and from run to run.
MACHINE_UNITS = frozenset(("s", "ms", "min", "h", "MB", "GB", "bytes"))
_LEFT_OUT = "not compared"
_ALONE = (_LEFT_OUT, "not run")
_WHY_LEFT_OUT = "seconds and bytes are left out of the quick profile"
_STYLES = {"reproduced": "#1a7f4b", "better": "#0062b0", "different": "#b3410f"}
_GREY = "#767676"


class Row(NamedTuple):
    """One published number and ours, as text."""

    row: str
    column: str
    published: str
    measured: str
    unit: str
    status: str
    reason: str


HEADER = Row._fields


@dataclass(frozen=True)
class Comparison:
    html: str
    text: str


def compare(study, table, profile):
    """The table of published and measured values as HTML and as text.

    Published numbers that have none of ours beside them are counted below the table by their
    reasons; the HTML unfolds them. Under the quick profile measured seconds and bytes are left
    out: there the text must be the same on every machine, and small data would not be comparable
    anyway.
    """
    if study.id not in published_ids():
        why = (
            "the paper prints no numbers"
            if study.on_record
            else "its parameters are not the paper's"
        )
        text = f"{study.id}: {why}"
        return Comparison(f"<p>{escape(text)}</p>", text)
    card = score_study(study.id, table, profile)
    rows = [_row(cell, profile) for cell in card.itertuples(index=False)]
    return Comparison(_html(rows), _text(rows))


def _row(cell, profile):
    measured, status, reason = as_text(cell.measured), cell.status, cell.reason
    computed = status != "not run" or reason == TIMES_LEFT_OUT
    if profile == "quick" and cell.unit in MACHINE_UNITS and computed:
        measured, status, reason = "", _LEFT_OUT, _WHY_LEFT_OUT
    theirs = as_text(cell.published) or cell.printed
    return Row(cell.row, cell.column, theirs, measured, cell.unit, status, reason)


def _parted(rows):
    """The rows that compare something, and the others by their reasons."""
    compared = [row for row in rows if row.status not in _ALONE]
    alone = [row for row in rows if row.status in _ALONE]
    places = gathered([row.reason for row in alone])
    return compared, {reason: [alone[i] for i in found] for reason, found in places.items()}


def _heading(groups):
    numbers = sum(map(len, groups.values()))
    return f"{numbers} published number{'s' if numbers > 1 else ''} without one of ours"


def _text(rows):
    compared, groups = _parted(rows)
    lines = [HEADER, *compared] if compared else []
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))] if lines else []
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    if groups:
        text += [""] * bool(text) + [f"{_heading(groups)}:"]
        text += [f"  {len(found):4d}  {reason}" for reason, found in groups.items()]
    return "\n".join(text)


def _html(rows):
    compared, groups = _parted(rows)
    html = _table(HEADER, compared) if compared else ""
    if groups:
        html += f"<p>{_heading(groups)}:</p>"
    for reason, found in groups.items():
        short = [(row.row, row.column, row.published, row.unit) for row in found]
        unfolded = _table(("row", "column", "published", "unit"), short)
        html += f"<details><summary>{len(found)}: {escape(reason)}</summary>{unfolded}</details>"
    return html


def _table(header, rows):
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, header, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name, value):
    if name == "status":
        colour = _STYLES.get(value, _GREY)
        return f'<td style="color:{colour};font-weight:600;white-space:nowrap">{escape(value)}</td>'
    align = "right" if name in ("published", "measured") else "left"
    return f'<td style="text-align:{align}">{escape(value)}</td>'
