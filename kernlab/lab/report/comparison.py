"""The published values of one study beside ours, as a notebook displays them."""

from html import escape

from kernlab.lab.published import published_ids
from kernlab.lab.report.scoring import JUDGED, score_study
from kernlab.lab.report.text import align, as_text

HEADER = ("row", "column", "published", "measured", "unit", "status", "from", "reason")
# Units of what differs from machine to machine and from run to run.
MACHINE_UNITS = frozenset(("s", "ms", "min", "h", "MB", "GB", "bytes"))
_LEFT_OUT = "seconds and bytes of the quick profile are not compared"
_STYLES = {"reproduced": "#1a7f4b", "better": "#0062b0", "different": "#b3410f"}
_NAMES_A_SET = ("data set not available", "data not found")


def compare(study, table, profile):
    """The table of published and measured values as HTML and as text, by MIME type.

    Published numbers that have none of ours beside them are counted below the table by their
    reasons; the HTML unfolds them. Under the quick profile seconds and bytes measured here are left
    out: there the text must be the same on every machine. Those on record are.
    """
    if study.id not in published_ids():
        own = "the paper prints no numbers", "its parameters are not the paper's"
        text = f"{study.id}: {own[not study.on_record]}"
        return {"text/html": f"<p>{escape(text)}</p>", "text/plain": text}
    card = score_study(study.id, table, profile, local=profile != "quick")
    if profile == "quick":
        here = card["unit"].isin(MACHINE_UNITS) & card["source"].isin(("live", "both"))
        card.loc[here, ["status", "reason"]] = "not comparable", _LEFT_OUT
    compared, groups = parted(card)
    cells = [
        (cell.row, cell.column, as_text(cell.published), as_text(cell.measured), cell.unit,
         cell.status, cell.source, cell.reason)
        for cell in compared.itertuples()
    ]  # fmt: skip
    numbers = sum(map(len, groups.values()))
    heading = f"{numbers} published number{'s'[: numbers != 1]} without one of ours:"
    text = [align(cells, HEADER)] if cells else []
    html = [_table(HEADER, cells)] if cells else []
    if groups:
        lines = [f"  {len(found):4d}  {reason}" for reason, found in groups.items()]
        text.append("\n".join([heading, *lines]))
        html.append(f"<p>{heading}</p>")
    for reason, found in groups.items():
        short = [
            (cell.row, cell.column, as_text(cell.published) or cell.printed, cell.unit)
            for cell in found.itertuples()
        ]
        unfolded = _table(("row", "column", "published", "unit"), short)
        summary = f"<summary>{len(found)}: {escape(reason)}</summary>"
        html.append(f"<details>{summary}{unfolded}</details>")
    return {"text/html": "".join(html), "text/plain": "\n\n".join(text)}


def parted(card):
    """The numbers that have one of ours beside them, and the others by their reasons.

    Reasons that differ in the data set only are one.
    """
    compared = card["status"].isin(JUDGED)
    places, names = {}, {}
    for i, reason in card.loc[~compared, "reason"].items():
        kind, _, name = reason.partition(" (kernlab data get")[0].rpartition(": ")
        if not kind.startswith(_NAMES_A_SET):
            kind, name = reason, ""
        places.setdefault(kind, []).append(i)
        names.setdefault(kind, {})[name] = None
    groups = {
        kind + (f": {', '.join(names[kind])}" if "" not in names[kind] else ""): card.loc[found]
        for kind, found in places.items()
    }
    return card[compared], groups


def _table(header, rows):
    head = "".join(f"<th>{name}</th>" for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, header, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name, value):
    if name == "status":
        style = f"color:{_STYLES.get(value, '#767676')};font-weight:600;white-space:nowrap"
    else:
        style = f"text-align:{'right' if name in ('published', 'measured') else 'left'}"
    return f'<td style="{style}">{escape(value)}</td>'
