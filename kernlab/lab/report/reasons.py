"""Why a published number has no measured one beside it: the first cause that can be found."""

import functools

from kernlab.datasets import DataError, protocol_rows
from kernlab.lab.engine.rows import NOT_RUN, OK
from kernlab.lab.engine.run import PROFILES, get_profile
from kernlab.lab.plots.registry import finished
from kernlab.lab.published import SETTING
from kernlab.lab.report.numbers import as_text

_MESSAGE_LENGTH = 160
_QUOTED = ("taken by the authors from", "from the source of the data")
_SAID = "the paper says so of a figure: the study draws the figure and gives no such number"
_NOT_AT_HAND, _NOT_PART = "data set not at hand", "not part of the"
RECOMMENDED = "recommended"  # row label of what a paper concludes from a figure


def why_no_table(study, profile, available):
    """The reason where a study has left no table under this profile.

    Parameters
    ----------
    study : Study or None
        None where the workbench has no study of this id.
    profile : str
    available : callable
        Name of a data set -> True, False, or None where the name is not a data set's.
    """
    if study is None:
        return "no study of it yet"
    missing = [name for name in study.needs if available(name) is False]
    if missing:
        return f"{_NOT_AT_HAND}: {', '.join(missing)}"
    if not _sets(study.grid, profile):
        return f"the {profile} profile has no point of this study"
    return f"the study has not been run under the {profile} profile"


def why_no_value(cell, study, table, profile, available):
    """The reason where a study's table exists but gives no value for one published number.

    Parameters
    ----------
    cell : object with attributes row, column and note
        The labels of the published number, and what its table notes about it.
    study : Study
    table : DataFrame
        All rows of the study, also those that failed or were not run.
    profile, available
        As in `why_no_table`.
    """
    if cell.row == SETTING:
        return "a choice of the paper, not a result"
    if cell.row == RECOMMENDED:
        return "a choice that the paper draws from its figure: the study's figure shows the grounds"
    if study.measured is None:
        said = str(getattr(cell, "note", "")).startswith("text, ")
        return _SAID if said else "the study does not set its results beside this table"
    dataset = _dataset_of(cell.row, study, table, profile, available)
    if dataset is None and table.empty:
        return f"the {profile} profile has no point of this study"
    if dataset is None:
        return _of_the_whole_table(cell, table)
    troubled = table[(table["dataset"] == dataset) & (table["status"] != OK)]
    troubled = _of_the_method(troubled, cell.column)
    if len(troubled):
        return _message(troubled.iloc[0])
    if dataset not in _sets(study.grid, profile):
        # A profile that takes the data at hand leaves out what is not; the others never had it.
        if available(dataset) is False and not get_profile(profile).needs_all_data:
            return f"{_NOT_AT_HAND}: {dataset}"
        return f"{_NOT_PART} {profile} profile: {dataset}"
    if not (table["dataset"] == dataset).any():
        return f"the study has not been run on {dataset}"
    method = _method_of(cell.column, table)
    if method and not ((table["dataset"] == dataset) & (table["method"] == method)).any():
        return f"the {profile} profile does not run {method} on {dataset}"
    return _not_measured(cell)


def gathered(reasons):
    """The different reasons in order, those that differ in the data set only as one.

    Returns
    -------
    dict
        From the text of each to the positions of its reasons.
    """
    places, names = {}, {}
    for i, reason in enumerate(reasons):
        kind, _, name = reason.rpartition(": ")
        if not kind.startswith((_NOT_AT_HAND, _NOT_PART)):
            kind, name = reason, ""
        places.setdefault(kind, []).append(i)
        names.setdefault(kind, {})[name] = None
    return {
        kind + (f": {', '.join(names[kind])}" if "" not in names[kind] else ""): found
        for kind, found in places.items()
    }


def advice(label, study, profile, available):
    """Which profile would run a data set that this one leaves out, and what it takes; or ""."""
    run = label.partition(" (")[0]
    names = [run, *_sets_of(study.paper, run)]
    if not _sets(study.grid, profile).isdisjoint(names):
        return ""
    for other in list(PROFILES)[list(PROFILES).index(profile) + 1 :]:
        name = next((name for name in names if name in _sets(study.grid, other)), None)
        if name is None:
            continue
        fetch = f", after kernlab data get {name}" if available(name) is False else ""
        return f"; {other} runs it{fetch}"
    return ""


def _not_measured(cell):
    """Why a study that ran gives no such number: it is another's, or nobody measures it."""
    note = str(getattr(cell, "note", ""))
    quoted = next((part for part in note.split("; ") if part.startswith(_QUOTED)), "")
    return (
        f"a number that the paper quotes: {quoted}" if quoted else "the study does not measure this"
    )


def _dataset_of(label, study, table, profile, available):
    """The data set that a row label names, or None."""
    known = _sets(study.grid, profile) | set(table["dataset"])
    if label in known:
        return label
    run = label.partition(" (")[0]  # of "covtype (l = 29)", one of several runs
    named = [name for name in _sets_of(study.paper, run) if name in known]
    if named:
        return named[0]
    return next((name for name in (label, run) if available(name) is not None), None)


@functools.cache
def _sets_of(paper, label):
    """The data sets that a paper's tables call so: its covtype is our covtype-2."""
    try:
        return tuple(name for name, row in protocol_rows(paper)[1] if row == label)
    except DataError:
        return ()


def _of_the_method(rows, column):
    """The rows of the method that a column label names; all rows where it names none of them."""
    method = _method_of(column, rows)
    return rows[rows["method"] == method] if method else rows


def _method_of(column, rows):
    """The method of some rows that a column label names, or None."""
    label = column.casefold()
    named = [name for name in rows["method"].unique() if name and name.casefold() in label]
    return max(named, key=len, default=None)


def _of_the_whole_table(cell, table):
    troubled = len(table) - len(finished(table))
    if troubled:
        first = table[table["status"] != OK].iloc[0]
        share = f"{as_text(troubled)} of {as_text(len(table))} rows have no result"
        return f"{share}, the first: {_message(first)}"
    return _not_measured(cell)


def _message(row):
    message = " ".join(str(row["message"]).split()) or "no message"
    if len(message) > _MESSAGE_LENGTH:
        message = message[: _MESSAGE_LENGTH - 1] + "…"
    return message if row["status"] == NOT_RUN else f"{row['status']}: {message}"


@functools.lru_cache
def _sets(grid, profile):
    """The data sets of a study's grid; none where the grid cannot be made here."""
    try:
        return frozenset(point.dataset for point in grid(profile))
    except Exception:
        return frozenset()
