"""Running a study: compute what is missing, keep each point as it finishes, leave a tidy table."""

import warnings
from contextlib import closing
from dataclasses import dataclass

import pandas as pd

from kernlab.lab.engine.measuring import FAILED, NOT_RUN, OK, measure_point
from kernlab.lab.engine.plan import make_plan
from kernlab.lab.engine.profiles import get_profile
from kernlab.lab.engine.progress import Progress
from kernlab.lab.engine.provenance import RunLog
from kernlab.lab.engine.store import NoResults, RowStore, tables_dir
from kernlab.lab.engine.table import read_table, to_frame, write_table
from kernlab.lab.engine.threads import threads_for
from kernlab.lab.engine.workers import WorkerPools


class StudyWarning(UserWarning):
    """Something about a study's rows that a reader of the table should know."""


@dataclass
class Outcome:
    """What a run left: the table, and how it came about."""

    study: object
    table: pd.DataFrame
    computed: int
    kept: int
    failed: list[str]  # one text per point
    not_run: list[str]
    missing_data: int  # how many of those not run lacked their data
    notes: list[str]

    def shortcoming(self, profile_name):
        """Why not all was done that the profile asks for, or "" if it was.

        A point that would pass the profile's cap is not asked for; one without its data is, unless
        the profile is content with the data at hand. A study with no finished row was not done,
        unless its grid is empty under the profile.
        """
        if self.failed:
            return f"{len(self.failed)} points failed"
        if self.missing_data and get_profile(profile_name).needs_all_data:
            return f"{self.missing_data} points lack their data"
        if not self.table.empty and not (self.table["status"] == OK).any():
            return "not one point was run"
        return ""


def run_study(
    study, profile="quick", *, jobs=1, out=None, fresh=False, progress=True, cap_seconds=None
):
    """Compute what a study's table still lacks, and return the table.

    Parameters
    ----------
    study : Study
    profile : {"quick", "standard", "paper"}
    jobs : int
        Processes for studies that are not timings. With 1, everything runs in this process.
    out : path, optional
        The folder that takes the place of figures/; see `kernlab.paths.output_dir`.
    fresh : bool
        Discard what was computed before.
    progress : bool
    cap_seconds : float, optional
        Replaces the profile's cap on the predicted seconds of a point; `math.inf` for none.

    Returns
    -------
    DataFrame
        One row per point, failed ones and those not run included: see `status` and `message`.
    """
    outcome = execute(
        study,
        profile,
        jobs=jobs,
        out=out,
        fresh=fresh,
        progress=progress,
        cap_seconds=cap_seconds,
    )
    for note in outcome.notes:
        warnings.warn(note, StudyWarning, stacklevel=2)
    return outcome.table


def results(study, profile="quick", out=None):
    """The table of a study as it was last written; nothing is computed."""
    path = tables_dir(profile, out) / f"{study.id}.csv"
    if not path.exists():
        raise NoResults(
            f"There are no results of {study.id} under the profile {profile} (looked for {path}). "
            f"Make them with: kernlab reproduce {study.id} --profile {profile}"
        )
    return read_table(path)


def execute(
    study,
    profile="quick",
    *,
    jobs=1,
    out=None,
    fresh=False,
    progress=True,
    cap_seconds=None,
    wait_seconds=0.0,
    pools=None,
):
    """As `run_study`, with the whole outcome; `pools` shares processes with other studies.

    `wait_seconds` is how long to wait for another process that runs the same study.
    """
    profile = get_profile(profile)
    with RowStore(study.id, tables_dir(profile.name, out), wait_seconds) as store:
        if fresh:
            store.discard()
        plan = make_plan(study, profile, store.load(), cap_seconds)
        log = RunLog(study, profile, plan, jobs)
        try:
            _compute(study, plan, store, jobs, pools, progress)
        finally:  # after Ctrl-C too: the table then holds what is finished
            rows = plan.rows(study)
            write_table(to_frame(rows, plan.parameter_names), store.table_path)
            log.write(store.provenance_path)
        return Outcome(
            study=study,
            # Read back, so that a run and a later look at its results see the very same table.
            table=read_table(store.table_path),
            computed=plan.computed,
            kept=plan.kept,
            failed=plan.messages(FAILED),
            not_run=plan.messages(NOT_RUN),
            missing_data=sum(bool(r.get("missing_data")) for r in plan.records.values()),
            notes=log.notes(),
        )


def _compute(study, plan, store, jobs, pools, progress):
    weights = [plan.expected_seconds[position] for position in plan.todo]
    with (
        Progress(study.id, weights, progress) as bar,
        closing(_measured(study, plan, jobs, pools)) as measured,
    ):
        for position, record in measured:
            record = plan.complete(position, record)
            store.append(record)
            plan.add(position, record)
            bar.finished(plan.points[position], plan.expected_seconds[position])


def _measured(study, plan, jobs, pools):
    """Yield (position in the grid, record) for every point that is to be computed."""
    tasks = [(plan.points[position], plan.seeds[position]) for position in plan.todo]
    if pools is None and jobs == 1:
        threads = threads_for(study)
        for position, (point, seed) in zip(plan.todo, tasks, strict=True):
            yield position, measure_point(study.measure, point, seed, threads)
    elif pools is None:
        with WorkerPools(jobs) as own_pools:
            yield from _measured(study, plan, jobs, own_pools)
    else:
        with closing(pools.measure(study, tasks)) as finished:
            for number, record in finished:
                yield plan.todo[number], record
