"""The scorecard: every published number beside ours, a status that is computed, and a reason.

A verdict is computed from the two numbers and the tolerance that the study states for the column,
and from nothing else. Nobody enters one.
"""

import functools
import math
import re
import tomllib
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd

from kernlab.datasets import DataError, dataset_available, dataset_names, is_bundled, protocol_rows
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import StudyError, Tolerance
from kernlab.lab.engine.record import provenance_on_record, recorded
from kernlab.lab.engine.rows import DATA_MISSING, NOT_RUN, OK
from kernlab.lab.plots.registry import finished
from kernlab.lab.published import KINDS, published, published_ids
from kernlab.lab.report.outputs import read_tables
from kernlab.lab.report.text import align, as_text

HEADER = ("row", "column", "published", "measured", "unit", "status", "from", "reason")
# Units of what differs from machine to machine and from run to run.
MACHINE_UNITS = frozenset(("s", "ms", "min", "h", "MB", "GB", "bytes"))
_LEFT_OUT = "seconds and bytes of the quick profile are not compared"
_STYLES = {"reproduced": "#1a7f4b", "better": "#0062b0", "different": "#b3410f"}
_NAMES_A_SET = ("data set not available", "data not found")
JUDGED = ("reproduced", "better", "different")
NO_DATA, CAPPED, NOT_LIKE, MISSING = "without data", "over its cap", "not comparable", "not run"
STATUSES = (*JUDGED, NO_DATA, CAPPED, NOT_LIKE, MISSING)
TIMES = frozenset(("s", "ms", "min", "h"))
TIMES_LEFT_OUT = "times measured beside other work are not compared, and none is on record"
_OF_CLOCKS = re.compile(r"\btime\b|speed-up")  # ratios and exponents of times are times as well
EXACT = Tolerance()
COLUMNS = (
    *("row", "column", "published", "measured", "unit", "status", "source", "tolerance", "reason"),
)
_CAPS = re.compile(r"^predicted|^ended after|may be used")  # the messages of what cost too much
_MESSAGE_LENGTH = 160
_QUOTED = ("taken by the authors from", "from the source of the data")
_NONE = pd.DataFrame({"row": [], "column": [], "value": [], "reason": [], "source": []})


def scorecard(profile, out=None, tables=None, *, local=True):
    """One row per number that the papers print: ours beside it, and what to think of the pair.

    Parameters
    ----------
    profile : str
    out : path, optional
        The folder of the results, as for the studies.
    tables : mapping, optional
        The tables by study id, where they have been read already.
    local : bool
        Data sets that are neither on record nor come with kernlab count where they are found here;
        without it the card is the same on every machine.

    Returns
    -------
    DataFrame
        Columns study, kind (of `published.KINDS`), row, column, published, measured, unit, status,
        source ("live", "recorded", "both"), tolerance, reason, printed (the text in the paper) and
        note. ``attrs["problems"]`` lists in words what is wrong with the comparison itself.
    """
    tables = read_tables(profile, out) if tables is None else tables
    parts = [score_study(id, tables.get(id), profile, local=local) for id in published_ids()]
    problems = [problem for part in parts for problem in part.attrs.pop("problems")]
    card = pd.concat(parts, ignore_index=True)
    card.attrs = {"problems": problems}
    return card


def tally(card):
    """How many numbers of each kind have each status: a table, kinds down, statuses across."""
    counts = pd.crosstab(card["kind"], card["status"])
    return counts.reindex(index=KINDS, columns=STATUSES, fill_value=0)


def score_study(study_id, table, profile, *, local=True, own_times=True):
    """The scorecard of one study from its table, or from None where it has left no table.

    Without `own_times` the times are those on record, which are the same on every machine.
    """
    printed, study = published(study_id), STUDIES.get(study_id)
    values, problems = _NONE, []
    rows = None if table is None else finished(table)
    if study is not None and study.measured is not None and rows is not None and len(rows):
        try:
            values = _measured(study, rows, printed, own_times and study.timing)
            score(printed, values, study.tolerances)  # its labels are checked as well
        except Exception as error:  # a comparison that fails is no failure of the report
            problems = [f"{study_id}: its comparison failed ({type(error).__name__}: {error})"]
            values = _NONE
    scored = score(printed, values, study.tolerances if study else {})
    if unmatched := scored.attrs["unmatched"]:
        several = f"{len(unmatched)} measured values have labels that the paper's table has not"
        problems.append(f"{study_id}: {several}, the first: {' / '.join(map(str, unmatched[0]))}")
    scored.insert(0, "kind", printed.attrs.get("kinds", "result"))
    scored.insert(0, "study", study_id)
    scored["printed"], scored["note"] = printed["printed"].to_list(), printed["note"].to_list()
    look = _Look(study, table, profile, problems, local)
    told = []
    for cell in scored.itertuples(index=False):
        if cell.status == "different":
            told.append((cell.status, "; ".join([cell.reason, *explanations(cell)])))
        else:
            judged = cell.status in JUDGED
            told.append((cell.status, cell.reason) if judged else tuple(look.why(cell)))
    scored["status"], scored["reason"] = ([pair[i] for pair in told] for i in (0, 1))
    scored.attrs = {"problems": problems}
    return scored


def explanations(cell):
    """The sentences that say why a number differs, each supported by a run."""
    return [
        entry["text"]
        for entry in _explanations().get(cell.study, ())
        if fnmatchcase(cell.row, entry.get("row", "*"))
        and fnmatchcase(cell.column, entry.get("column", "*"))
    ]


@functools.cache
def _explanations():
    path = Path(__file__).with_name("explanations.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


# -------------------------------------------------------------------------- what was measured
def _measured(study, rows, printed, own_times):
    """The measured values with their source.

    Other values may be means over repeats of which some are recorded. Those of times would be of
    two machines: a time is measured here, alone on the machine as timing studies are, or recorded.
    """
    live = rows["source"] == "live" if "source" in rows else pd.Series(True, rows.index)
    values = study.measured(rows).assign(source="recorded")
    if not live.any():
        return values
    alone = {"live": _safely(study, rows[live]), "recorded": _safely(study, rows[~live])}
    cells = {of: _by_cell(found) for of, found in alone.items()}
    values["source"] = [
        next((of for of, found in cells.items() if _same(found.get(cell[:2]), cell[2])), "both")
        for cell in values[["row", "column", "value"]].itertuples(index=False, name=None)
    ]
    timed = {
        (cell.row, cell.column)
        for cell in printed.itertuples()
        if cell.unit in TIMES or _OF_CLOCKS.search(f"{cell.row} {cell.column}")
    }

    def is_time(found):
        cells = zip(found["row"], found["column"], strict=True)
        return np.array([cell in timed for cell in cells], dtype=bool)

    known, own = recorded(study.id), alone["live"].assign(source="live")
    known = _NONE if known is None else _safely(study, finished(known)).assign(source="recorded")
    own = own[is_time(own)] if own_times else _NONE
    left = values[is_time(values)].assign(value=math.nan, reason=TIMES_LEFT_OUT, source="")
    told = pd.concat([own[own["value"].notna()], known[is_time(known)], own, left])
    told = told.drop_duplicates(["row", "column"])
    return pd.concat([values[~is_time(values)], told], ignore_index=True)


def _safely(study, rows):
    """What some of the rows give; nothing where the comparison needs the others too."""
    try:
        return study.measured(rows) if len(rows) else _NONE
    except Exception:  # of a comparison that indexes rows which this part does not have
        return _NONE


def _same(found, value):
    return found is not None and (found[0] == value or (math.isnan(found[0]) and math.isnan(value)))


def score(printed, measured, tolerances):
    """Set measured numbers beside published ones and judge each pair.

    Parameters
    ----------
    printed : DataFrame
        Columns row, column, value, unit and, optionally, printed, as `published` returns them. A
        number counts as known to the digits that are printed: what rounds to it reproduces it.
    measured : DataFrame
        Columns row, column, value, with the published labels, and optionally reason: why a value is
        missing, or differs; and source. Rows that are absent count as not run.
    tolerances : mapping
        From column label to `Tolerance`. A column without one has to agree exactly.

    Returns
    -------
    DataFrame
        One row per published number, in their order: row, column, published, measured, unit,
        status, source, tolerance and reason. The reason is empty where a number is not run and the
        measured table does not say why. ``attrs["unmatched"]`` lists the (row, column) of measured
        values that no published number answers to.
    """
    ours, rows = _by_cell(measured), []
    spreads = {(cell.row, cell.column): cell.value for cell in printed.itertuples()}
    for cell in printed.itertuples(index=False):
        value, said, source = ours.pop((cell.row, cell.column), (math.nan, "", ""))
        tolerance = tolerances.get(cell.column, EXACT)
        spread = spreads.get((cell.row, f"{cell.column} sd"), 0.0)
        rounding = rounding_of(getattr(cell, "printed", ""), cell.value)
        status, why = judge(cell.value, value, tolerance, rounding, spread)
        if status in ("different", "better") and said:
            why = f"{why}. {said}"
        source = source if status in JUDGED else ""
        rows.append((cell.row, cell.column, cell.value, value, cell.unit, status, source,
                     str(tolerance), why or said))  # fmt: skip
    scored = pd.DataFrame(rows, columns=list(COLUMNS))
    scored.attrs["unmatched"] = sorted(ours)
    return scored


def rounding_of(printed, value):
    """Half a unit of the last digit that is printed after the point; 0 where none is."""
    numbers = re.findall(r"\d[\d,]*\.\d+", str(printed))
    digits = [len(n.rpartition(".")[2]) for n in numbers if float(n.replace(",", "")) == value]
    return 0.5 * 10.0 ** -max(digits) if digits else 0.0


def judge(published, measured, tolerance, rounding=0.0, spread=0.0):
    """The status of one pair of numbers, and the reason in words.

    `spread` is the standard deviation that the paper prints beside its number.
    """
    if not math.isfinite(published):
        return MISSING, "the paper prints no number here"
    if math.isnan(measured):
        return MISSING, ""
    if math.isinf(measured):
        return MISSING, "the measured value is not finite"
    difference = measured - published
    spread = 0.0 if math.isnan(spread) else spread
    allowed = max(tolerance.absolute, tolerance.relative * abs(published), rounding,
                  tolerance.spreads * spread)  # fmt: skip
    said = f"{as_text(allowed, 3)} allowed" if allowed else "no difference allowed"
    if Tolerance(absolute=allowed).accepts(published, measured):
        apart = f"{as_text(abs(difference), 3)} apart, {said}" if difference else "equal"
        return "reproduced", apart
    apart = f"{as_text(abs(difference), 3)} {'higher' if difference > 0 else 'lower'}"
    if tolerance.improves(published, measured):
        return "better", f"{apart}, and {tolerance.better} is better"
    return "different", f"{apart}; {said}"


def _by_cell(measured):
    """Value, reason and source by (row, column); the same cell twice is a mistake."""
    missing = [name for name in ("row", "column", "value") if name not in measured]
    if missing:
        text = ", ".join(missing)
        raise ValueError(f"a measured table has the columns row, column, value; {text} is missing")
    cells = {}
    told = measured.reindex(columns=["row", "column", "value", "reason", "source"])
    for row, column, value, *texts in told.itertuples(index=False):
        if (row, column) in cells:
            text = f"the measured table has two values for row {row!r}, column {column!r}"
            raise ValueError(text)
        cells[row, column] = float(value), *(t if isinstance(t, str) else "" for t in texts)
    return cells


# --------------------------------------------------------------- why there is no measured value
def available_sets(local=True):
    """A function: name of a data set -> whether it is on record, comes along, or is found here.

    None where the name is not a data set's.
    """
    names, studies = set(dataset_names()), provenance_on_record()["studies"].values()
    known = {name for entry in studies for name in entry["data"]}

    @functools.cache
    def available(name):
        if name not in names:
            return None
        return name in known or (dataset_available(name) if local else is_bundled(name))

    return available


class _Look:
    """Looks for the first cause why a number of one study has no measured one beside it."""

    def __init__(self, study, table, profile, problems, local):
        self.study, self.table, self.profile, self.problems = study, table, profile, problems
        self.available = available_sets(local)

    def why(self, cell):
        """Status and reason."""
        if not math.isfinite(cell.published):
            return MISSING, cell.reason
        if cell.kind == "setting":
            return MISSING, "a choice of the paper, not a result"
        if self.study is None:
            return MISSING, "no study of it yet"
        if self.problems and cell.reason == "":
            return MISSING, self.problems[0]
        if cell.reason:
            status = MISSING if cell.reason == TIMES_LEFT_OUT else NOT_LIKE
            return status, cell.reason
        if self.study.measured is None:
            return NOT_LIKE, "said of a figure in words: the study draws it and measures no number"
        dataset = self._dataset_of(cell.row)
        if self.table is not None and dataset is not None:
            troubled = self.table[(self.table["dataset"] == dataset) & (self.table["status"] != OK)]
            if method := self._method_of(cell.column, troubled):
                troubled = troubled[troubled["method"] == method]
            if len(troubled):
                return _outcome(troubled.iloc[0])
        elif self.table is not None:
            troubled = self.table[self.table["status"] != OK]
            if len(troubled):
                status, text = _outcome(troubled.iloc[0])
                share = f"{len(troubled)} of {len(self.table)} rows have no result"
                return status, f"{share}, the first: {text}"
        wanted = [dataset] if dataset is not None else self.study.needs or self._sets()
        if missing := [name for name in wanted if self.available(name) is False]:
            return NO_DATA, f"data set not available: {', '.join(missing)}"
        quoted = next((p for p in cell.note.split("; ") if p.startswith(_QUOTED)), "")
        if quoted and (self.table is None or self._method_of(cell.column, self.table) is None):
            return NOT_LIKE, f"a number that the paper quotes: {quoted}"
        if self.table is not None and (dataset is None or (self.table["dataset"] == dataset).any()):
            return MISSING, "the study does not measure this"
        command = f"kernlab reproduce {self.study.id} --profile standard"
        profile = "" if self.profile == "standard" else f" under the {self.profile} profile"
        return MISSING, f"not computed{profile} and not on record: {command}"

    def _dataset_of(self, label):
        """The data set that a row label names, or None."""
        run = label.partition(" (")[0]  # of "covtype (l = 29)", one of several runs
        known = set() if self.table is None else set(self.table["dataset"])
        named = [label, run, *_sets_of(self.study.paper, run)]
        for name in named:
            if name in known:
                return name
        return next((name for name in named[::-1] if self.available(name) is not None), None)

    def _sets(self):
        """The data sets of the study's own grid; none where the grid cannot be made here."""
        try:
            return sorted({point.dataset for point in self.study.grid("standard")})
        except Exception:  # a study of a reader's own may fail here; running it tells of that
            return []

    @staticmethod
    def _method_of(column, rows):
        label = column.casefold()
        named = [name for name in rows["method"].unique() if name and name.casefold() in label]
        return max(named, key=len, default=None)


@functools.cache
def _sets_of(paper, label):
    """The data sets that a paper's tables call so: its covtype is our covtype-2."""
    try:
        return tuple(name for name, row in protocol_rows(paper)[1] if row == label)
    except DataError:
        return ()


def _outcome(row):
    """Status and reason of a row without a result."""
    message = " ".join(str(row["message"]).split()) or "no message"
    if len(message) > _MESSAGE_LENGTH:
        message = message[: _MESSAGE_LENGTH - 1] + "…"
    if row["status"] != NOT_RUN:
        return MISSING, f"{row['status']}: {message}"
    if DATA_MISSING in message:
        return NO_DATA, message
    return (CAPPED if _CAPS.search(str(row["message"])) else MISSING), message


# ---------------------------------------------------------------------- as a notebook displays them
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
    own = profile != "quick"
    card = score_study(study.id, table, profile, local=own, own_times=own)
    if not own:
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


def changed(card, folder):
    """The results that another run has otherwise, with its columns `measured_then`, `status_then`.

    Otherwise means another status, or, times apart, a value that differs by more than 1e-4 of it.
    `folder` is that of the other run's report, which holds its scorecard.csv.
    """
    path, key = Path(folder) / "scorecard.csv", ["study", "row", "column"]
    if not path.is_file():
        raise StudyError(f"{path} does not exist: name the folder of another run's report.")
    then = pd.read_csv(path, keep_default_na=False, na_values={"measured": [""]})
    both = card[card["kind"] == "result"].merge(
        then[[*key, "measured", "status"]], on=key, how="left", suffixes=("", "_then")
    )
    alike = np.isclose(both["measured"], both["measured_then"], 1e-4, 1e-12, equal_nan=True)
    alike |= both["unit"].isin(TIMES)
    return both[~alike | (both["status"] != both["status_then"].fillna(""))]


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
