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
# Row labels of what a paper chose rather than measured: repeats, grids; what a figure advises.
SETTING, RECOMMENDED = "setting", "recommended"
# A result; a choice or a constant; a count of a data set; another's number; no number at all.
KINDS = ("result", "setting", "data", "quotation", "none")
_QUOTED = ("taken by the authors from", "from the source of the data")

_FOLDER = Path(__file__).parent


class UnknownIdError(LookupError):
    """No printed numbers are kept under this id."""


def published_ids():
    """The ids of all tables and figures whose numbers are here, in the papers' order."""
    return [id for id in _index() if id not in ("papers", "links")]


def published(id):
    """The numbers that a paper prints in one table, or states about one figure.

    Parameters
    ----------
    id : str, as in the catalogue of studies, such as "lasn-t4" (a table) or "fpc-f6" (a figure)

    Returns
    -------
    DataFrame
        ``value`` is a float, NaN where no number is printed and ``note`` says why; the other
        columns are strings. ``attrs`` holds id, title, caption, paper, reference, link, source and
        kinds (of each number one of `KINDS`).
    """
    ids = published_ids()
    if id not in ids:
        near = get_close_matches(str(id), ids, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UnknownIdError(
            f"No printed numbers are kept under {id!r}.{hint} Available: {', '.join(ids)}."
        )
    frame, entry, paper = _read(id).copy(), _index()[id], id.split("-")[0]
    frame.attrs = {
        "id": id,
        **{key: entry[key] for key in ("title", "caption", "source")},
        "paper": paper,
        "reference": _index()["papers"][paper],
        "link": _index()["links"][paper],
        "kinds": [_kind(cell, entry) for cell in frame.itertuples()],
    }
    return frame


def printed(id):
    """The numbers of one table as a dictionary: (row, column) -> value."""
    table = published(id).dropna(subset="value")
    return {(cell.row, cell.column): cell.value for cell in table.itertuples()}


def _kind(cell, entry):
    if cell.value != cell.value:
        return "none"
    if cell.row in (SETTING, RECOMMENDED) or cell.column in entry.get("settings", ()):
        return "setting"
    if any(part.startswith(_QUOTED) for part in cell.note.split("; ")):
        return "quotation"
    said_again = cell.column in entry.get("said_again", ())
    return "quotation" if said_again else entry.get("kind", "result")


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
