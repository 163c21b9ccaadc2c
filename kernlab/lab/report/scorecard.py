"""Every published number beside ours, with a status that is computed and a reason in words."""

import functools
from math import nan

import pandas as pd

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.plots.registry import finished
from kernlab.lab.published import published, published_ids
from kernlab.lab.report import reasons
from kernlab.lab.report.outputs import read_tables
from kernlab.lab.report.score import score

# Under the quick profile small data are timed beside whatever else the machine does just then.
TIMES = frozenset(("s", "ms", "min", "h"))
TIMES_LEFT_OUT = "times are not compared under the quick profile, which is no benchmark"

_NOTHING = pd.DataFrame({"row": [], "column": [], "value": []})


def scorecard(profile, out=None):
    """One row per number that the papers print: ours beside it, and what to think of the pair.

    Parameters
    ----------
    profile : str
    out : path, optional
        The folder of the results, as for the studies.

    Returns
    -------
    DataFrame
        Columns study, row, column, published, measured, unit, status ("reproduced", "better",
        "different", "not run"), reason, printed (the text in the paper) and note.
        ``attrs["problems"]`` lists in words what is wrong with the comparison itself.
    """
    tables = read_tables(profile, out)
    parts = [
        score_study(study_id, tables.get(study_id), profile, advise=True)
        for study_id in published_ids()
    ]
    problems = [problem for part in parts for problem in part.attrs.pop("problems")]
    card = pd.concat(parts, ignore_index=True)
    card.attrs = {"problems": problems}
    return card


def score_study(study_id, table, profile, *, advise=False):
    """The scorecard of one study from its table, or from None where it has left no table.

    With `advise` the reasons also say what would run a number here and now, which is not the same
    on every machine.
    """
    printed = published(study_id)
    study = STUDIES.get(study_id)
    scored, problems = _scored(study_id, study, printed, table)
    if profile == "quick":
        left_out = scored["unit"].isin(TIMES) & (scored["status"] != "not run")
        scored.loc[left_out, ["measured", "status", "reason"]] = (nan, "not run", TIMES_LEFT_OUT)
    available = _availability()

    @functools.cache
    def advice(label):
        return reasons.advice(label, study, profile, available) if advise else ""

    def reason(cell):
        if cell.reason:
            return cell.reason
        if study is None or table is None:
            return reasons.why_no_table(study, profile, available)
        why = reasons.why_no_value(cell, study, table, profile, available)
        return why + advice(cell.row)

    scored["printed"], scored["note"] = printed["printed"].to_list(), printed["note"].to_list()
    scored["reason"] = [reason(cell) for cell in scored.itertuples(index=False)]
    scored.insert(0, "study", study_id)
    scored.attrs = {"problems": problems}
    return scored


def _scored(study_id, study, printed, table):
    """The scored cells, and what is wrong with the comparison; its failure is no failure here."""
    rows = None if table is None else finished(table)
    if study is None or study.measured is None or rows is None or rows.empty:
        return score(printed, _NOTHING, {}), []
    try:
        scored = score(printed, study.measured(rows), study.tolerances)
    except Exception as error:
        problem = f"{study_id}: its comparison failed ({type(error).__name__}: {error})"
        scored = score(printed, _NOTHING, {})
        scored.loc[scored["reason"] == "", "reason"] = problem
        return scored, [problem]
    unmatched = scored.attrs["unmatched"]
    if not unmatched:
        return scored, []
    several = (
        "1 measured value has a label"
        if len(unmatched) == 1
        else (f"{len(unmatched)} measured values have labels")
    )
    first = " / ".join(map(str, unmatched[0]))
    problem = f"{study_id}: {several} that the paper's table does not have: {first}"
    return scored, [problem]


def _availability():
    """Whether a data set is at hand: True, False, or None where the name is not a data set's."""
    from kernlab.datasets import dataset_available, dataset_names

    names = set(dataset_names())

    @functools.cache
    def available(name):
        return dataset_available(name) if name in names else None

    return available
