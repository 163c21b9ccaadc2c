"""What a run has to do: which points are there already, which will not be run, which are left."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.fingerprint import library_fingerprint, study_fingerprint
from kernlab.lab.engine.inputs import Inputs
from kernlab.lab.engine.measuring import NOT_RUN, OK, failure
from kernlab.lab.engine.seeds import point_seed
from kernlab.lab.engine.study import Point
from kernlab.lab.engine.table import ENGINES_OWN
from kernlab.lab.engine.threads import threads_for

_FROM_RECORD = ("peak_bytes", "threads", "seconds", "peak_note", "status", "message")


@dataclass
class Plan:
    """The points of a grid in order, a record for each that has one, and the work left."""

    points: list[Point]
    records: dict[int, dict[str, Any]]  # by position in the grid
    todo: list[int]  # positions in the grid
    expected_seconds: dict[int, float | None]  # of the points to do
    parameter_names: list[str]
    stamp: dict[str, Any]  # what a new record says about its code
    seeds: list[int]
    inputs: Inputs
    kept: int = 0
    kept_from_older_library: int = 0
    computed: int = 0

    def complete(self, position, measured):
        """The record of a measured point, with what tells later whether it still serves."""
        point = self.points[position]
        identity = {"point": describe(point), "seed": self.seeds[position]}
        return {**identity, **self.stamp, "data": self.inputs.checksums(point), **measured}

    def add(self, position, record):
        self.records[position] = record
        self.computed += 1

    def rows(self, study):
        """The rows of the table, in the order of the grid; points still to do have none."""
        return [
            {
                "study": study.id,
                "variant": point.variant,
                "dataset": Path(point.dataset).name,
                "method": point.method,
                **dict(point.params),
                "seed": seed,
                "repeat": point.repeat,
                **measured,
                **{name: record[name] for name in _FROM_RECORD if name in record},
            }
            for position, (point, seed) in enumerate(zip(self.points, self.seeds, strict=True))
            if (record := self.records.get(position))
            for measured in record["rows"]
        ]

    def messages(self, status):
        """One text for each point of this status."""
        return [
            f"{self.points[position]}: {record['message']}"
            for position, record in sorted(self.records.items())
            if record["status"] == status
        ]


def make_plan(study, profile, records, cap_seconds=None):
    """Compare a study's grid with the records on disk.

    A record serves as long as the code of its study, its seed, the files of its data and, for
    timings, its number of threads are still those of today; under a profile that follows the
    library, all numerical code too. Of several that serve the latest counts. Failed points are
    tried again.
    """
    points = list(study.grid(profile.name))
    _check_grid(study, points)
    inputs = Inputs(study)
    stamp = {"study_code": study_fingerprint(study), "library_code": library_fingerprint()}
    plan = Plan(
        points=points,
        records={},
        todo=[],
        expected_seconds={},
        parameter_names=list(dict.fromkeys(name for p in points for name, _ in p.params)),
        stamp=stamp,
        seeds=[point_seed(study, point) for point in points],
        inputs=inputs,
    )
    usable = {}
    for record in records:
        if _serves(record, study, profile, stamp):
            usable[point_key(record["point"]), record["seed"]] = record
    cap = profile.cap_seconds if cap_seconds is None else cap_seconds
    cap = math.inf if cap is None else cap
    for position, point in enumerate(points):
        record = usable.get((point_key(describe(point)), plan.seeds[position]))
        if record is not None and record["data"] == inputs.checksums(point):
            plan.records[position] = record
            plan.kept += 1
            plan.kept_from_older_library += record["library_code"] != stamp["library_code"]
            continue
        refusal, expected = _before_running(study, point, inputs.missing(point), cap)
        if refusal is not None:
            plan.records[position] = refusal
        else:
            plan.todo.append(position)
            plan.expected_seconds[position] = expected
    return plan


def describe(point):
    """A point as it is written into a record."""
    return {
        "dataset": point.dataset,
        "method": point.method,
        "variant": point.variant,
        "repeat": point.repeat,
        "params": dict(point.params),
    }


def point_key(described):
    """The identity of a point as text: the same after a round trip through a file."""
    return json.dumps(described, sort_keys=True)


def _serves(record, study, profile, stamp):
    return (
        record.get("status") == OK
        and "data" in record
        and record.get("study_code") == stamp["study_code"]
        and (not study.timing or record.get("threads") == threads_for(study))
        and (not profile.follows_library or record.get("library_code") == stamp["library_code"])
    )


def _check_grid(study, points):
    seen = set()
    for point in points:
        key = point_key(describe(point))
        if key in seen:
            raise StudyError(f"The grid of {study.id} holds a point twice: {point}")
        seen.add(key)
        taken = ENGINES_OWN & dict(point.params).keys()
        if taken:
            raise StudyError(
                f"A parameter of {study.id} is called {', '.join(sorted(taken))}, as is a column "
                "that the engine fills in; call it otherwise."
            )


def _before_running(study, point, missing, cap):
    """(record, None) for a point that will not be run, else (None, predicted seconds)."""
    if missing:
        return failure(missing, NOT_RUN, missing_data=True), None
    if study.predict_seconds is None:
        return None, None
    try:
        expected = study.predict_seconds(point)
    except Exception as error:
        return failure(f"predict_seconds: {type(error).__name__}: {error}"), None
    if expected is not None and expected > cap:
        return failure(f"predicted {_round(expected)} s, not run", NOT_RUN), None
    return None, expected


def _round(seconds):
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"
