"""What `kernlab reproduce` does: studies, figures, notebooks and the report, in this order."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kernlab.lab.catalogue import FIGURES, STUDIES, get_study
from kernlab.lab.engine import Study, StudyError
from kernlab.lab.engine.errors import unknown
from kernlab.lab.engine.provenance import Inputs
from kernlab.lab.engine.record import recorded, results
from kernlab.lab.engine.rows import OK
from kernlab.lab.engine.run import Run, Workers, execute
from kernlab.lab.plots.registry import draw_figures, finished
from kernlab.lab.report.notebooks.files import (
    declared_figures,
    declared_studies,
    find_notebook,
    notebook_paths,
    read_notebook,
)
from kernlab.lab.report.notebooks.run import NotebookOutcome, run_notebooks
from kernlab.lab.report.page import build_report
from kernlab.lab.report.text import as_duration, count


@dataclass(frozen=True)
class Selection:
    """What is to be done, in the order in which it will be."""

    studies: list[Study]
    notebooks: list[str]
    everything: bool


@dataclass
class StudyRun:
    """One study and the figures drawn of it so far, and what went wrong with them."""

    study: Study
    seconds: float = 0.0
    outcome: Run | None = None  # None where it could not even be run
    figures: int = 0
    errors: list[str] = field(default_factory=list)

    def __str__(self):
        if self.outcome is None:
            return f"{self.study.id}: could not be run: {self.errors[0]}"
        kept = f"{self.outcome.kept} kept from before" if self.outcome.kept else ""
        figures = count(self.figures, "figure") if self.figures else ""
        parts = ", ".join(filter(None, [self.outcome.summary(), kept, figures]))
        return f"{self.study.id}: {parts} ({self.seconds:.1f} s)"


@dataclass
class Reproduction:
    """All that was done."""

    profile: str
    studies: list[StudyRun] = field(default_factory=list)
    notebooks: list[NotebookOutcome] = field(default_factory=list)
    report: Path | None = None
    report_errors: list[str] = field(default_factory=list)

    def failures(self):
        """Everything that was asked for and not done; the run succeeded if there is nothing."""
        studies = [f"{run.study.id}: {text}" for run in self.studies for text in run.errors]
        notebooks = [outcome.error for outcome in self.notebooks if outcome.error]
        return [*studies, *notebooks, *self.report_errors]

    def __str__(self):
        """What was made, what failed, what was not run and why, in paragraphs."""
        outcomes = {run.study.id: run.outcome for run in self.studies if run.outcome}
        done = sum(outcome.finished for outcome in outcomes.values())
        points = sum(outcome.points for outcome in outcomes.values())
        figures = sum(one.figures for one in (*self.studies, *self.notebooks))
        executed = sum(not outcome.error for outcome in self.notebooks)
        notebooks = f"{executed} of {count(len(self.notebooks), 'notebook')}"
        text = f"{self.profile} profile: {done} of {points} points of {len(self.studies)} studies"
        text += f", {count(figures, 'figure')}, {notebooks}."
        missing = dict.fromkeys(name for outcome in outcomes.values() for name in outcome.missing)
        if missing:
            text += f" Data missing: kernlab data get {' '.join(missing)}"
        notes = [note for outcome in outcomes.values() for note in outcome.notes]
        notes += [f"notebook {o.name} {o.note}" for o in self.notebooks if o.note]
        not_run = [f"{name}: {text}" for name, o in outcomes.items() for text in o.not_run]
        parts = [text, *_section("Failed", self.failures()), *_section("Not run", not_run)]
        parts += _section("To note", notes)
        return "\n\n".join(parts + ([f"The report: {self.report}"] if self.report else []))


def select(names=(), parameters=None):
    """The studies and notebooks that some names mean: studies, papers, notebooks; none means all.

    A notebook is executed when it is named, or when all studies that it declares are among those
    asked for; the studies of a named notebook are run before it. With parameters (by name), which
    every named study must take, studies alone are run. Timing studies come last, when nothing else
    is at work.
    """
    if parameters:
        if not names:
            raise StudyError(
                "Name the study whose parameters these are: kernlab reproduce STUDY -p"
            )
        studies = [get_study(name, **parameters) for name in dict.fromkeys(names)]
        return Selection(_in_order(studies), [], everything=False)
    notebooks = {name: declared_studies(read_notebook(p)) for name, p in notebook_paths().items()}
    if not names:
        return Selection(_in_order(STUDIES.values()), list(notebooks), everything=True)
    papers = {}
    for study in STUDIES.values():
        papers.setdefault(study.paper, []).append(study.id)
    wanted, named = [], []
    for name in names:
        notebook = Path(name).name.removesuffix(".ipynb")
        if name in STUDIES:
            wanted.append(name)
        elif name in papers:
            wanted += papers[name]
        elif notebook in notebooks:
            named.append(notebook)
            wanted += [study for study in notebooks[notebook] if study in STUDIES]
        else:
            known = [*STUDIES, *papers, *notebooks]
            raise unknown("study, paper or notebook", name, known)
    covered = [name for name, needs in notebooks.items() if needs and set(needs) <= set(wanted)]
    chosen = [name for name in notebooks if name in named or name in covered]
    studies = [STUDIES[study_id] for study_id in dict.fromkeys(wanted)]
    return Selection(_in_order(studies), chosen, everything=False)


def _in_order(studies):
    return sorted(studies, key=lambda study: study.timing)


def listing(selection, profile):
    """What is there and what is missing of every study: rows of texts under the header's names."""
    rows = [("name", "computed", "on record", "data missing", "took", "what it is")]
    for study in selection.studies:
        points, inputs = study.grid(profile), Inputs(study)
        missing = {name for point in points for name in inputs.missing(point)}
        known = recorded(study.id) if study.on_record else None
        done, took = 0, ""
        with suppress(StudyError):  # nothing of it is there
            table = finished(results(study, profile))
            parameters = {name for point in points for name, _ in point.params}
            identity = {"dataset", "method", "variant", "repeat"} | parameters
            once = table.drop_duplicates([name for name in table if name in identity])
            done, took = (once["source"] == "live").sum(), as_duration(once["seconds"].sum())
        on_record = "" if known is None else f"{(known['status'] == OK).sum()} rows"
        told = f"{len(missing)} sets" if missing else ""
        rows.append((study.id, f"{done} of {len(points)}", on_record, told, took, study.title))
    return rows + [(name, "", "", "", "", "a notebook") for name in selection.notebooks]


def reproduce(selection, profile, *, jobs=1, scheduler=None, fresh=False, progress=True, say=print):
    """Do what was selected; nothing that fails keeps the rest from being done.

    `say` is called with a line of text whenever something has been finished. A `scheduler` has the
    workers for points of studies that are not timings.
    """
    done, shown = Reproduction(profile), _shown_by(selection.notebooks)
    with Workers(jobs, scheduler) as workers:
        settings = {"workers": workers, "fresh": fresh, "progress": progress}
        for study in selection.studies:
            run = _run_study(study, profile, named=not selection.everything, **settings)
            _draw(run, profile, lambda stem: stem not in shown)
            done.studies.append(run)
            say(str(run))
    if selection.notebooks:
        done.notebooks = run_notebooks(selection.notebooks, profile, jobs=jobs, progress=progress)
        for o in done.notebooks:
            made = "failed" if o.error else count(o.figures, "figure")
            say(f"notebook {o.name}: {made} ({o.seconds:.1f} s)")
        left = _shown_by([o.name for o in done.notebooks if o.error])
        for run in done.studies if left else ():
            _draw(run, profile, left.__contains__)
    try:
        done.report = build_report(profile)
    except Exception as error:
        done.report_errors = [f"the report: {type(error).__name__}: {error}"]
    return done


def _shown_by(notebooks):
    """The figures that notebooks draw, which need not be drawn before."""
    declared = (declared_figures(read_notebook(find_notebook(name))) for name in notebooks)
    return {stem for stems in declared for stem in stems}


def _run_study(study, profile, named, **settings):
    run, started = StudyRun(study), time.perf_counter()
    try:
        run.outcome = execute(study, profile, **settings)
    except Exception as error:  # a grid that cannot be made, say
        known = isinstance(error, StudyError)
        run.errors = [str(error) if known else f"{type(error).__name__}: {error}"]
        return run
    shortcoming = run.outcome.shortcoming(profile, named=named)
    run.errors = [*run.outcome.failed] or ([shortcoming] if shortcoming else [])
    run.seconds = time.perf_counter() - started
    return run


def _draw(run, profile, wanted):
    """Draw those figures of a study whose names are `wanted`; without a finished row there is
    nothing to draw."""
    specs = [spec for spec in FIGURES.get(run.study.catalogue_id, []) if wanted(spec.stem)]
    if run.outcome is None or not specs:
        return
    table, started = results(run.study, profile), time.perf_counter()
    if not len(finished(table)):
        return
    try:
        run.figures += len(draw_figures(specs, table, profile, study=run.study.id))
    except ExceptionGroup as failures:
        run.figures += len(specs) - len(failures.exceptions)
        run.errors += [f"figure: {_first_line(error)}" for error in failures.exceptions]
    run.seconds += time.perf_counter() - started


def _section(title, texts, most=20):
    if not texts:
        return []
    lines = [f"  {text}" for text in texts[:most]]
    lines += [f"  ... and {len(texts) - most} more, in the tables"] if len(texts) > most else []
    return ["\n".join([f"{title} ({len(texts)}):", *lines])]


def _first_line(error):
    notes = getattr(error, "__notes__", [])
    return " ".join([f"{type(error).__name__}: {error}".splitlines()[0], *notes])
