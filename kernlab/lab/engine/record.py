"""Tables on record: finished rows of the standard and the paper profile, and what is live beside.

`figures/record/tables/ID.csv` holds the rows, each with its seconds, memory, threads, machine, code
and date; "=" stands for what the row above has, where both are of one point. `provenance.json`
beside the tables tells of the machines with their versions, and of the files of the data.
"""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.measuring import measure_point
from kernlab.lab.engine.provenance import Inputs, code_hash
from kernlab.lab.engine.rows import (
    DATA_MISSING,
    NOT_RUN,
    OK,
    TEXT,
    NoResults,
    parameter_names,
    read_table,
    table_of,
    tables_dir,
    to_frame,
)
from kernlab.lab.engine.run import get_profile
from kernlab.lab.engine.study import point_seed
from kernlab.paths import record_dir
from kernlab.runtime import format_bytes, write_whole

PROFILES = ("paper", "standard")  # whose rows go on record; the first that has a point counts
DIGITS, DIGITS_OF_SECONDS = 9, 4
RELATIVE, ABSOLUTE = 1e-4, 1e-6  # how closely a row computed again agrees with the record
STEPS = 0.25  # relatively: the order of sums decides which step is the first within a tolerance
CONVERGED = 1e-3  # gaps up to which solvers stop of themselves: rows are known as closely only, and
# so are those of solvers that say that they did not converge
_LARGEST = 2_000_000  # characters of a table
_NOT_COMPARED = re.compile(
    # Times; and how far from an optimum a solver ended, which the order of sums decides.
    r"second|time_ratio|bytes|memory|peak|threads|speed|gap|residual|^date$|^machine$|^code$|^source$"
)
_NO_DATA = re.compile(rf"^{DATA_MISSING}")
_FOLDERS = re.compile(r"(?<![\w.:/])(?:/[\w.+-]+){2,}/?")  # a record says nothing of them
_GROUP = ("dataset", "method", "variant")
AS_ABOVE = "="


def recorded(study_id):
    """The table of a study on record, or None."""
    path = record_dir() / "tables" / f"{study_id}.csv"
    if not path.is_file():
        return None
    table = table_of(_written_out(path)).assign(source="recorded")
    return to_frame(table, parameter_names(table))


def _shortened(table, columns):
    """The table as text, with `AS_ABOVE` for what the rows of a point, named by columns, share."""
    names, *rows = csv.reader(io.StringIO(table.to_csv(index=False)))
    places = [names.index(name) for name in columns if name in names]
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(names)
    for above, row in zip([None, *rows], rows, strict=False):
        if above and all(above[place] == row[place] for place in places):
            pairs = zip(above, row, strict=True)
            row = [AS_ABOVE if cell and cell == old else cell for old, cell in pairs]
        write(row)
    return text.getvalue()


def _written_out(path):
    """The text of such a table with every cell in it."""
    text, above = io.StringIO(), ()
    write = csv.writer(text).writerow
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            above = [above[i] if cell == AS_ABOVE else cell for i, cell in enumerate(row)]
            write(above)
    return text.getvalue()


def results(study, profile="quick", out=None):
    """The table of a study: what was computed here, and from the record what was not.

    Parameters
    ----------
    study : Study
    profile : {"quick", "standard", "paper"}
    out : path, optional

    Returns
    -------
    DataFrame
        As the study's own table, with the column `source`: "live" or "recorded". A point that is
        both is live. Under the quick profile, which runs some methods with smaller settings, the
        rows of such a method on a data set come from the record; under the others from here.

    Raises
    ------
    NoResults
        There is neither.
    """
    path = tables_dir(get_profile(profile).name, out) / f"{study.id}.csv"
    table = merged(study, read_table(path) if path.is_file() else None, profile)
    if table is None:
        raise NoResults(
            f"There are no results of {study.id} under the profile {profile} (looked for {path}). "
            f"Make them with: kernlab reproduce {study.catalogue_id} --profile {profile}"
        )
    return table


def merged(study, live, profile):
    """As `results`, of a table that has been read already, or None; None if there is neither."""
    known = recorded(study.id) if study.on_record else None
    live = None if live is None else live.assign(source="live")
    if live is None or known is None:
        return known if live is None else live
    names = list(dict.fromkeys([*parameter_names(live), *parameter_names(known)]))
    point, settings = [*_GROUP, "repeat", *names], [*_GROUP, *names]
    fuller, other = (known, live) if profile == "quick" else (live[live["status"] == OK], known)
    groups, wanted = set(_keys(fuller, _GROUP)), set(_keys(fuller, settings))
    pairs = zip(_keys(other, _GROUP), _keys(other, settings), strict=True)
    other = other.loc[[group not in groups or key in wanted for group, key in pairs]]
    live, known = (other, known) if profile == "quick" else (live, other)
    done = set(_keys(live[live["status"] == OK], point))
    known = known.loc[[key not in done for key in _keys(known, point)]]
    replaced = set(_keys(known[known["status"] == OK], point))
    live = live.loc[[key not in replaced for key in _keys(live, point)]]
    return to_frame([*live.to_dict("records"), *known.to_dict("records")], names)


def _keys(table, names):
    """The identities of rows as tuples of texts: 50, 50.0 and "50" are the same."""
    columns = [table[n] if n in table else [""] * len(table) for n in names]
    return [tuple(map(_as_text, values)) for values in zip(*columns, strict=True)]


def _as_text(value):
    if isinstance(value, bool | np.bool_) or value is None:
        return str(value or "")
    try:
        return "" if np.isnan(value := float(value)) else repr(value)
    except (TypeError, ValueError):
        return str(value)


def _grid_points(study):
    """All points that may be on record, by the identity of their rows; and their parameters."""
    points = [point for profile in PROFILES for point in study.grid(profile)]
    names = list(dict.fromkeys(name for point in points for name, _ in point.params))
    rows = [{"dataset": Path(p.dataset).name, "method": p.method, "variant": p.variant,
             "repeat": p.repeat, **p.parameters} for p in points]  # fmt: skip
    columns = [*_GROUP, "repeat", *names]
    keys = _keys(pd.DataFrame(rows, columns=columns), columns)
    return dict(zip(keys, points, strict=True)), columns


# ---------------------------------------------------------------------------------- keeping it
def update(study, out=None):
    """Put the finished rows of a study on record; how many points are there then.

    New rows take the place of old ones; rows of points that the study no longer has are dropped.

    Raises
    ------
    StudyError
        It has other parameters than the catalogue's, or its table is above 2 MB: such a study is
        computed where it is wanted.
    """
    if not study.on_record:
        raise StudyError(f"{study.id} has other parameters than the catalogue's: it has no record.")
    points, columns = _grid_points(study)
    told = provenance_on_record()
    entry = told["studies"].setdefault(study.id, {"data": {}})
    found = []
    for profile in PROFILES:
        path = tables_dir(profile, out) / f"{study.id}.csv"
        if path.is_file():
            found.append(read_table(path).assign(profile=profile))
            own = json.loads(path.with_suffix(".provenance.json").read_text(encoding="utf-8"))
            entry["data"] |= own["data"]
            told["machines"] |= {run["key"]: run["machine"] for run in own["runs"]}
    before = recorded(study.id)
    found += [] if before is None else [before.drop(columns="source")]
    kept = {}
    for wanted in (OK, NOT_RUN):  # capped points have their place too, where nothing better is
        for table in found:
            some = table[(table["status"] == wanted) & ~table["message"].str.contains(_NO_DATA)]
            fresh = {}
            for key, row in zip(_keys(some, columns), some.to_dict("records"), strict=True):
                if key in points and key not in kept:
                    fresh.setdefault(key, []).append({n: _rounded(n, v) for n, v in row.items()})
            kept |= fresh
    if not kept:
        return 0
    rows = [row for key in points for row in kept.get(key, ())]
    target = record_dir() / "tables" / f"{study.id}.csv"
    target.parent.mkdir(parents=True, exist_ok=True)
    table = _shortened(to_frame(rows, columns[4:]).dropna(axis="columns", how="all"), columns)
    if len(table) > _LARGEST:
        raise StudyError(
            f"{study.id} is not put on record: its table takes {format_bytes(len(table))}, more "
            f"than {format_bytes(_LARGEST)}. It is computed where it is wanted."
        )
    write_whole(target, table)
    entry["points"] = len(kept)
    write_whole(record_dir() / "provenance.json", json.dumps(told, indent=1, sort_keys=True) + "\n")
    return len(kept)


def provenance_on_record():
    """Machines, and study id -> data files and number of points, of what is on record."""
    path = record_dir() / "provenance.json"
    if path.is_file():
        return json.loads(path.read_text(encoding="utf-8"))
    return {"machines": {}, "studies": {}}


def _rounded(name, value):
    if name == "message":
        return _FOLDERS.sub("...", value)
    if not isinstance(value, float) or not np.isfinite(value):
        return value
    rounded = float(f"{value:.{DIGITS_OF_SECONDS if 'second' in name else DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


# --------------------------------------------------------------------------------- checking it
def check(studies, sample=None, seed=0, cap_seconds=60.0):
    """Compute recorded points again and compare all that is neither time nor memory.

    Parameters
    ----------
    studies : iterable of Study
    sample : int, optional
        So many points drawn at random; all by default.
    seed : int
    cap_seconds : float
        Points that took longer are left out, as are those without their data.

    Returns
    -------
    (int, list of str, list of str)
        How many points were computed; a sentence for each difference, and one for each point that
        was not begun here: a clock foretold more than its cap, or a peer is not installed.
    """
    candidates = []
    for study in studies:
        table = recorded(study.id)
        if table is None or study.by_the_clock:
            continue
        (points, columns), inputs = _grid_points(study), Inputs(study)
        read = provenance_on_record()["studies"][study.id]["data"].values()
        files = {file: digest for checksums in read for file, digest in checksums.items()}
        table = table[(table["status"] == OK) & (table["seconds"] <= cap_seconds)]
        for key, rows in table.groupby(pd.Index(_keys(table, columns), tupleize_cols=False)):
            point = points.get(key)
            if point is not None and not inputs.missing(point):
                here = inputs.checksums(point)
                if all(files.get(file, digest) == digest for file, digest in here.items()):
                    candidates.append((study, point, rows))
    if sample is not None and sample < len(candidates):
        chosen = np.random.default_rng(seed).choice(len(candidates), sample, replace=False)
        candidates = [candidates[i] for i in sorted(chosen)]
    differences, not_begun = [], []
    for study, point, rows in candidates:
        seed = point_seed(study, point)
        again = measure_point(study.measure, point, seed, 1)
        if again["status"] == NOT_RUN:
            not_begun.append(f"{study.id}, {point}: {again['message']}")
        else:
            differences += _differences(study, point, rows, again, seed)
    return len(candidates) - len(not_begun), differences, not_begun


def _differences(study, point, rows, record, seed):
    """What a point computed again has otherwise than the record, in sentences."""
    if record["status"] != OK:
        return [f"{study.id}, {point}: {record['status']}: {record['message']}"]
    if len(record["rows"]) != len(rows) or not (rows["seed"] == seed).all():
        return [f"{study.id}, {point}: other rows, or another seed, than on record"]
    texts, warned = [], rows["message"].str.contains("stopped after", na=False).any()
    for now, then in zip(record["rows"], rows.to_dict("records"), strict=True):
        gap = then.get("gap")
        most = np.inf if warned or str(then.get("converged")) == "False" else CONVERGED
        by_gap = isinstance(gap, float) and RELATIVE < gap <= most
        left_out = (*TEXT, "n_iter") if by_gap else TEXT
        for name, value in now.items():
            old = then.get(name)
            if name in left_out or _NOT_COMPARED.search(name):
                continue
            if not _agree(value, old, STEPS if name == "n_iter" else gap if by_gap else 0.0):
                texts.append(f"{study.id}, {point}: {name} is {value}, on record {old}")
    return texts


def _agree(value, old, allowed):
    """Whether two values are as close as the record's digits, or what is allowed, make them."""
    if isinstance(value, str) or isinstance(old, str) or value is None or old is None:
        return _as_text(value) == _as_text(old)
    rtol, atol = max(RELATIVE, allowed), max(ABSOLUTE, allowed)
    return bool(np.isclose(value, old, rtol=rtol, atol=atol, equal_nan=True))


def show(studies):
    """What is on record of some studies, one row each."""
    told, rows = provenance_on_record(), []
    for study in studies:
        table = recorded(study.id)
        if table is None:
            continue
        points, columns = _grid_points(study)
        done = table[table["status"] == OK]
        once = done.drop_duplicates([name for name in columns if name in done])
        machines = [told["machines"].get(key, {}) for key in dict.fromkeys(done["machine"])]
        rows.append({
            "study": study.id,
            "points": f"{len(set(_keys(done, columns)))} of {len(points)}",
            "data sets": done["dataset"].nunique(),
            "profile": ", ".join(dict.fromkeys(done["profile"])),
            "seconds": float(f"{once['seconds'].sum():.3g}"),
            "until": done["date"].max()[:10] if len(done) else "",
            "code": "as now" if (done["code"] == code_hash(study)).all() else "older",
            "machine": "; ".join(f"{m.get('processor')}, {m.get('cores')} cores" for m in machines),
        })  # fmt: skip
    return pd.DataFrame(rows)
