"""The published values of one study beside ours, as a notebook displays them."""

from dataclasses import dataclass
from html import escape

from kernlab.published import published_ids
from kernlab.report.numbers import as_text
from kernlab.report.scorecard import TIMES_LEFT_OUT, score_study

# Units of what differs from machine to machine and from run to run.
MACHINE_UNITS = frozenset(("s", "ms", "min", "h", "MB", "GB", "bytes"))
HEADER = ("row", "column", "published", "measured", "unit", "status", "reason")
_LEFT_OUT = "not compared"
_WHY_LEFT_OUT = "seconds and bytes are left out of the quick profile"
_STYLES = {"reproduced": "#1a7f4b", "better": "#0062b0", "different": "#b3410f"}
_GREY = "#767676"


@dataclass(frozen=True)
class Comparison:
    html: str
    text: str


def compare(study, table, profile):
    """The table of published and measured values as HTML and as text.

    Under the quick profile measured seconds and bytes are left out: there the text must be the
    same on every machine, and small data would not be comparable anyway.
    """
    if study.id not in published_ids():
        text = f"{study.id}: the paper prints no numbers"
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
    return (cell.row, cell.column, theirs, measured, cell.unit, status, reason)


def _text(rows):
    lines = [HEADER, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _html(rows):
    head = "".join(f"<th>{name}</th>" for name in HEADER)
    body = "".join(f"<tr>{''.join(map(_cell, HEADER, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name, value):
    if name == "status":
        colour = _STYLES.get(value, _GREY)
        return f'<td style="color:{colour};font-weight:600;white-space:nowrap">{escape(value)}</td>'
    align = "right" if name in ("published", "measured") else "left"
    return f'<td style="text-align:{align}">{escape(value)}</td>'
