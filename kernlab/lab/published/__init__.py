"""The papers' printed numbers as data, so that each of our results can stand beside theirs.

``published("lasn-t4")`` is one table of one paper as a tidy DataFrame, a number a row, with the
columns row, column, value, unit, note and printed. README.md beside this file says what the labels
mean; index.toml names what there is.
"""

import tomllib
from difflib import get_close_matches
from functools import cache
from pathlib import Path

COLUMNS = ("row", "column", "value", "unit", "note", "printed")
SETTING, RECOMMENDED = "setting", "recommended"
"""Row labels of what a paper chose rather than measured: repeats, grids; what a figure advises."""
KINDS = ("result", "setting", "data", "quotation", "none")
"""A result; a choice or a constant; a count of a data set; another's number; no number at all."""
_QUOTED = ("taken by the authors from", "from the source of the data")

_FOLDER = Path(__file__).parent

__all__ = [
    "COLUMNS",
    "KINDS",
    "RECOMMENDED",
    "SETTING",
    "UnknownIdError",
    "kinds",
    "published",
    "published_all",
    "published_ids",
]


class UnknownIdError(LookupError):
    """No printed numbers are kept under this id."""


def published_ids():
    """The ids of all tables and figures whose numbers are here, in the papers' order."""
    return [id for id in _index() if id not in ("papers", "links")]


def published(id):
    """The numbers that a paper prints in one table, or states about one figure.

    Parameters
    ----------
    id : str
        As in the catalogue of studies, such as "lasn-t4" (a table) or "fpc-f6" (a figure).

    Returns
    -------
    DataFrame
        ``value`` is a float, NaN where no number is printed and ``note`` says why; the other
        columns are strings. ``attrs`` holds id, title, caption, paper, reference, link, source and
        kinds (of each number one of `KINDS`).
    """
    if id not in published_ids():
        raise UnknownIdError(_unknown(id))
    frame = _read(id).copy()
    entry = _index()[id]
    paper = id.split("-")[0]
    frame.attrs = {
        "id": id,
        "title": entry["title"],
        "caption": entry["caption"],
        "paper": paper,
        "reference": _index()["papers"][paper],
        "link": _index()["links"][paper],
        "source": entry["source"],
        "kinds": [_kind(cell, entry) for cell in frame.itertuples()],
    }
    return frame


def kinds(id):
    """What each number of a table is: a list of `KINDS`, in the table's order."""
    return published(id).attrs["kinds"]


def _kind(cell, entry):
    if cell.value != cell.value:
        return "none"
    if cell.row in (SETTING, RECOMMENDED) or cell.column in entry.get("settings", ()):
        return "setting"
    if any(part.startswith(_QUOTED) for part in cell.note.split("; ")):
        return "quotation"
    return (
        "quotation" if cell.column in entry.get("said_again", ()) else entry.get("kind", "result")
    )


def published_all():
    """All printed numbers in one DataFrame, whose first column ``study`` holds the id."""
    import pandas as pd

    return pd.concat([_read(id).assign(study=id) for id in published_ids()], ignore_index=True)[
        ["study", *COLUMNS]
    ]


@cache
def _index():
    return tomllib.loads((_FOLDER / "index.toml").read_text(encoding="utf-8"))


@cache
def _read(id):
    # pandas is loaded on first use: the command line imports this module to complete ids.
    import pandas as pd

    # Cells such as "" and "-" are print, not missing data: pandas must not interpret them.
    frame = pd.read_csv(_FOLDER / f"{id}.csv", dtype=str, na_filter=False, encoding="utf-8")
    frame["value"] = [float(value) if value else float("nan") for value in frame["value"]]
    return frame


def _unknown(id):
    ids = published_ids()
    near = get_close_matches(str(id), ids, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"No printed numbers are kept under {id!r}.{hint} Available: {', '.join(ids)}."
