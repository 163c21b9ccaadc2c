"""Why a published number has no measured one beside it: the first cause that can be found."""

from kernlab.plots import finished
from kernlab.published import SETTING
from kernlab.report.numbers import as_text
from kernlab.studies.measuring import NOT_RUN, OK
from kernlab.studies.profiles import get_profile

_MESSAGE_LENGTH = 160


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
        return f"data set not at hand: {', '.join(missing)}"
    if not _points(study, profile):
        return f"the {profile} profile has no point of this study"
    return f"the study has not been run under the {profile} profile"


def why_no_value(cell, study, table, profile, available):
    """The reason where a study's table exists but gives no value for one published number.

    Parameters
    ----------
    cell : object with attributes row and column
        The labels of the published number.
    study : Study
    table : DataFrame
        All rows of the study, also those that failed or were not run.
    profile, available
        As in `why_no_table`.
    """
    if cell.row == SETTING:
        return "a choice of the paper, not a result"
    if study.measured is None:
        return "the study does not set its results beside this table"
    dataset = _dataset_of(cell.row, study, table, profile, available)
    if dataset is None:
        return _of_the_whole_table(table)
    troubled = table[(table["dataset"] == dataset) & (table["status"] != OK)]
    troubled = _of_the_method(troubled, cell.column)
    if len(troubled):
        return _message(troubled.iloc[0])
    if not any(point.dataset == dataset for point in _points(study, profile)):
        # A profile that takes the data at hand leaves out what is not; the others never had it.
        if available(dataset) is False and not get_profile(profile).needs_all_data:
            return f"data set not at hand: {dataset}"
        return f"{dataset} is not part of the {profile} profile"
    if not (table["dataset"] == dataset).any():
        return f"the study has not been run on {dataset}"
    return "the study does not measure this"


def _dataset_of(label, study, table, profile, available):
    """The data set that a row label names, or None."""
    known = {point.dataset for point in _points(study, profile)} | set(table["dataset"])
    if label in known or available(label) is not None:
        return label
    return None


def _of_the_method(rows, column):
    """The rows of the method that a column label names; all rows where it names none of them."""
    label = column.casefold()
    named = [name for name in rows["method"].unique() if name and name.casefold() in label]
    return rows[rows["method"] == max(named, key=len)] if named else rows


def _of_the_whole_table(table):
    troubled = len(table) - len(finished(table))
    if troubled:
        first = table[table["status"] != OK].iloc[0]
        share = f"{as_text(troubled)} of {as_text(len(table))} rows have no result"
        return f"{share}, the first: {_message(first)}"
    return "the study does not measure this"


def _message(row):
    message = " ".join(str(row["message"]).split()) or "no message"
    if len(message) > _MESSAGE_LENGTH:
        message = message[: _MESSAGE_LENGTH - 1] + "…"
    return message if row["status"] == NOT_RUN else f"{row['status']}: {message}"


def _points(study, profile):
    """The points of a study's grid; none where the grid cannot be made here."""
    try:
        return study.grid(profile)
    except Exception:
        return []
