"""Running a study: compute what is missing, keep each point as it finishes, leave a tidy table."""

import json
import math
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from tqdm import tqdm

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.measuring import failure, measure_point, without_data
from kernlab.lab.engine.processes import Cluster, Ended, Processes
from kernlab.lab.engine.provenance import Inputs, code_hash, machine, machine_key, today
from kernlab.lab.engine.rows import (
    ENGINES_OWN,
    FAILED,
    HOW,
    NOT_RUN,
    OK,
    RowStore,
    read_table,
    tables_dir,
    to_frame,
)
from kernlab.lab.engine.study import point_seed
from kernlab.runtime import bar_options, thread_count, write_whole

_BUSY_SHARE, _BUSY_SECONDS = 0.3, 0.2  # of the machine in use by others: timings are doubtful
_OVER_CAP = 3  # times its cap, and a point is ended


@dataclass(frozen=True)
class Profile:
    """How much to compute. What a grid holds under a profile is the study's own affair.

    Parameters
    ----------
    cap_seconds : float or None
        A point predicted to take longer is not run; one that takes three times as long is ended.
    notebook_cap_seconds : float or None
        A notebook that takes longer is reported.
    needs_all_data : bool
        Whether a data set that is not there counts as a failure.
    follows_code : bool
        Whether rows are computed again once any numerical code has changed. Where rows cost hours
        they are kept, and it is said that they come from older code.
    """

    name: str
    description: str
    cap_seconds: float | None
    notebook_cap_seconds: float | None
    needs_all_data: bool
    follows_code: bool


PROFILES = {
    profile.name: profile
    for profile in (
        Profile("quick", "data that comes with kernlab or is generated; minutes in all",
                20, 30, needs_all_data=True, follows_code=True),
        Profile("standard", "the real data found on this machine; hours in all",
                300, 1800, needs_all_data=False, follows_code=False),
        Profile("paper", "the papers' own sizes and repeats, however long it takes",
                None, None, needs_all_data=True, follows_code=False),
    )
}  # fmt: skip


def get_profile(name):
    """The profile of this name."""
    if name not in PROFILES:
        raise StudyError(f"There is no profile called {name!r}. There are: {', '.join(PROFILES)}.")
    return PROFILES[name]


class Workers:
    """The processes of a whole run: many of one thread each, and one of all threads for timings.

    They are shared by the studies of the run, which saves each study the seconds that loading the
    libraries takes. With a `scheduler` (see `Cluster`) a cluster takes the place of the many.
    """

    def __init__(self, jobs, scheduler=None):
        if jobs < 1:
            raise StudyError(f"jobs={jobs}: at least one process is needed")
        self._parallel = Cluster(scheduler) if scheduler else Processes(jobs, threads=1)
        self._timing = Processes(1, threads=thread_count())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for processes in (self._parallel, self._timing):
            processes.__exit__()

    def run(self, study, calls, limit):
        """Yield (number of the call, record or `Ended`) as points finish."""
        processes = self._timing if study.timing else self._parallel
        return processes.run(measure_point, calls, limit)


def execute(
    study,
    profile="quick",
    *,
    jobs=0,
    out=None,
    fresh=False,
    progress=True,
    cap_seconds=None,
    wait_seconds=0.0,
    workers=None,
):
    """Compute what a study's table still lacks.

    Parameters
    ----------
    study : Study
    profile : {"quick", "standard", "paper"}
    jobs : int
        Processes for studies that are not timings; with 0 everything runs in this process, where
        no point can be ended.
    out : path, optional
        The folder that takes the place of figures/; see `kernlab.paths.output_dir`.
    fresh : bool
        Discard what was computed before.
    progress : bool
    cap_seconds : float, optional
        Replaces the profile's cap on the seconds of a point; `math.inf` for none.
    wait_seconds : float
        How long to wait for another process that runs the same study.
    workers : Workers, optional
        Shared with other studies.

    Returns
    -------
    Run
    """
    if jobs < 0:
        raise StudyError(f"jobs={jobs}: at least one process is needed")
    profile = get_profile(profile)
    store = RowStore(study.id, tables_dir(profile.name, out))
    with ExitStack() as stack:
        if workers is None and jobs:
            workers = stack.enter_context(Workers(jobs))
        stack.enter_context(store.locked(wait_seconds))
        if fresh:
            store.discard()
        run = Run(study, profile, store, cap_seconds)
        try:
            run.compute(workers, progress)
        finally:  # after Ctrl-C too: the table then holds what is finished
            run.write()
        return run


def point_key(point, seed):
    """The identity of a point and its draws as text: the same after a round trip through a file."""
    return json.dumps([*asdict(point).values(), seed])


class Run:
    """The points of a grid in order, a record for each that has one, and how they came about.

    Attributes
    ----------
    table : DataFrame
    points, computed, kept : int
        Of the grid; computed now, and kept from before.
    failed, not_run : list of str
        One text per point.
    missing, lacking : list of str, int
        The data sets that were not there, and how many points lacked their data.
    notes : list of str
    """

    def __init__(self, study, profile, store, cap_seconds):
        self.study, self.profile, self.store, self._inputs = study, profile, store, Inputs(study)
        self._grid = list(study.grid(profile.name))
        self._seeds = [point_seed(study, point) for point in self._grid]
        self._keys = list(map(point_key, self._grid, self._seeds))
        self._threads = thread_count() if study.timing else 1
        cap = profile.cap_seconds if cap_seconds is None else cap_seconds
        self._cap = math.inf if cap is None else cap
        self._code, self._started, self.computed = code_hash(study), today(), 0
        self.points = len(self._grid)
        self._check_grid()
        self._plan()
        timed = study.timing and self._todo
        self._busy = psutil.cpu_percent(_BUSY_SECONDS) / 100 if timed else 0.0

    def _check_grid(self):
        twice = [key for key, count in Counter(self._keys).items() if count > 1]
        if twice:
            point = self._grid[self._keys.index(twice[0])]
            raise StudyError(f"The grid of {self.study.id} holds a point twice: {point}")
        self._names = list(dict.fromkeys(name for point in self._grid for name, _ in point.params))
        if taken := ENGINES_OWN.intersection(self._names):
            raise StudyError(
                f"A parameter of {self.study.id} is called {', '.join(sorted(taken))}, as is a "
                "column that the engine fills in; call it otherwise."
            )

    def _plan(self):
        """Compare the grid with the records on disk; of several that serve the latest counts."""
        self._records, self._todo = {}, []
        usable = {record["point"]: record for record in self.store.load() if self._serves(record)}
        for position, (point, key) in enumerate(zip(self._grid, self._keys, strict=True)):
            record = usable.get(key)
            if record is None or record["data"] != self._inputs.checksums(point):
                record = self._refused(point)
            if record is None:
                self._todo.append(position)
            else:
                self._records[position] = record
        kept = [record for record in self._records.values() if "point" in record]
        self.kept, self._older = len(kept), sum(record["code"] != self._code for record in kept)

    def _serves(self, record):
        """Whether a record still holds; failed points are tried again, ended ones are not."""
        ended = record.get("ended_after", 0.0) >= _OVER_CAP * self._cap
        return (
            "data" in record
            and (record.get("status") == OK or ended)
            and record.get("version") == self.study.version
            and (not self.study.timing or record.get("threads") == self._threads)
            and (not self.profile.follows_code or record.get("code") == self._code)
        )

    def _refused(self, point):
        """The record of a point that will not be run, or None."""
        if missing := self._inputs.missing(point):
            return without_data(missing)
        try:
            expected = self.study.predict_seconds and self.study.predict_seconds(point)
        except Exception as error:
            return failure(f"predict_seconds: {type(error).__name__}: {error}")
        if expected is not None and expected > self._cap:
            return failure(f"predicted {_round(expected)} s, not run", NOT_RUN)
        return None

    def compute(self, workers, progress):
        """Measure what is left to do; every record is on the disk before the next is begun."""
        stamp = {"code": self._code, "machine": machine_key(), "version": self.study.version}
        calls = [(self.study.measure, self._grid[i], self._seeds[i], self._threads)
                 for i in self._todo]  # fmt: skip
        limit = _OVER_CAP * self._cap if math.isfinite(self._cap) else None
        if workers is None:
            measured = ((number, measure_point(*call)) for number, call in enumerate(calls))
        else:
            measured = workers.run(self.study, calls, limit)
        bar = tqdm(total=len(calls), desc=self.study.id, unit=" points", **bar_options(progress))
        with bar, closing(measured):
            for number, record in measured:
                position = self._todo[number]
                told = {"date": today(), "data": self._inputs.checksums(self._grid[position])}
                record = {"point": self._keys[position], **stamp, **told, **_as_record(record)}
                self.store.append(record)
                self._records[position] = record
                self.computed += 1
                bar.update()

    def write(self):
        """The table and the provenance of what is there now; and what became of the points."""
        write_whole(self.store.table_path, to_frame(self._rows(), self._names).to_csv(index=False))
        try:
            runs = json.loads(self.store.provenance_path.read_text(encoding="utf-8"))["runs"]
        except (OSError, ValueError, KeyError, TypeError):  # none yet, or no readable file
            runs = []
        if self.computed:
            runs.append({
                "started": self._started, "finished": today(), "points_computed": self.computed,
                "threads_per_point": self._threads, "busy_before": self._busy,
                "code": self._code, "key": machine_key(), "machine": machine(),
            })  # fmt: skip
        statuses = Counter(record["status"] for record in self._records.values())
        read = {i: record["data"] for i, record in self._records.items() if record.get("data")}
        told = {
            "study": self.study.id,
            "title": self.study.title,
            "parameters": dict(self.study.parameters),
            "profile": asdict(self.profile),
            "points": {"in the grid": len(self._grid), **statuses},
            "data": {" and ".join(self._inputs.names(self._grid[i])): read[i] for i in read},
            "runs": runs,
        }
        text = json.dumps(told, indent=1, ensure_ascii=False, default=str)
        write_whole(self.store.provenance_path, text + "\n")
        # Read back, so that a run and a later look at its results see the very same table.
        self.table = read_table(self.store.table_path)
        texts, missing, self.lacking = {FAILED: [], NOT_RUN: [], OK: []}, {}, 0
        for position, record in sorted(self._records.items()):
            texts[record["status"]].append(f"{self._grid[position]}: {record.get('message', '')}")
            missing |= dict.fromkeys(record.get("missing", ()))
            self.lacking += "missing" in record
        self.failed, self.not_run, self.missing = texts[FAILED], texts[NOT_RUN], list(missing)

    def _rows(self):
        """The rows of the table, in the order of the grid; points still to do have none."""
        rows = []
        for position, record in sorted(self._records.items()):
            point = self._grid[position]
            about = {"study": self.study.id, "variant": point.variant, "method": point.method}
            about |= {"dataset": Path(point.dataset).name, "repeat": point.repeat}
            about |= {"seed": self._seeds[position], **point.parameters}
            how = {name: record[name] for name in ("peak_bytes", *HOW) if name in record}
            rows += [about | measured | how for measured in record["rows"]]
        return rows

    @property
    def finished(self):
        """How many points have rows."""
        return self.points - len(self.failed) - len(self.not_run)

    def summary(self):
        """How much of what was declared is there, in one line."""
        if self.finished == self.points:
            return f"all {self.points} points" if self.points else "no points under this profile"
        parts = [f"{self.finished} of {self.points} points computed"]
        parts += [f"{len(self.failed)} failed"] * bool(self.failed)
        if others := len(self.not_run) - self.lacking:
            parts.append(f"{others} not run")
        if self.missing:
            sets = f"{len(self.missing)} data set{'s'[: len(self.missing) != 1]} missing"
            parts.append(f"{sets}: kernlab data get {' '.join(self.missing)}")
        return ", ".join(parts)

    def shortcoming(self, profile_name, *, named=False):
        """Why not all was done that was asked for, or "" if it was.

        A point that would pass the profile's cap is not asked for; one without its data is, where
        the profile needs all data or the study was `named`. A study with no finished row was not
        done, unless its grid is empty under the profile.
        """
        if self.failed:
            return f"{len(self.failed)} points failed"
        if self.lacking and (named or get_profile(profile_name).needs_all_data):
            return self.summary()
        undone = self.points and not self.finished
        return f"not one point was run: {self.summary()}" if undone else ""

    @property
    def notes(self):
        """What a reader of the table should be told."""
        notes = []
        if self._older:
            notes.append(
                f"{self.study.id}: {self._older} of {len(self._grid)} points were computed before "
                "kernlab's code last changed, and kept. --fresh computes them again."
            )
        if self._busy > _BUSY_SHARE:
            notes.append(
                f"{self.study.id}: {self._busy:.0%} of the machine was busy with other work when "
                "the clock started: its timings are doubtful."
            )
        return notes


def _as_record(found):
    if not isinstance(found, Ended):
        return found
    if found.why:
        return failure(f"The process that measured it died ({found.why})")
    text = f"ended after {_round(found.seconds)} s, {_OVER_CAP} times its cap"
    return failure(text, NOT_RUN, ended_after=found.seconds, seconds=found.seconds)


def _round(seconds):
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"
