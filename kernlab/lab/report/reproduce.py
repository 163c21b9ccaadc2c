"""What `kernlab reproduce` does: studies, figures, notebooks and the report, in this order."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from kernlab.lab.catalogue import STUDIES, Outcome, Study, StudyError, execute
from kernlab.lab.engine.registry import unknown
from kernlab.lab.engine.run import Workers
from kernlab.lab.papers.figures import FIGURES, draw_all
from kernlab.lab.report.notebook_files import declared_studies, notebook_paths, read_notebook
from kernlab.lab.report.page import build_report
from kernlab.lab.report.run_notebooks import NotebookOutcome, run_notebooks


@dataclass(frozen=True)
class Selection:
    """What is to be done, in the order in which it will be."""

    studies: list[Study]
    notebooks: list[str]
    everything: bool


@dataclass
class StudyRun:
    """One study and its figures; `error` where it could not even be run."""

    study: Study
    seconds: float
    outcome: Outcome | None = None
    figures: int = 0
    error: str = ""
    figure_errors: list[str] = field(default_factory=list)

    def failures(self, profile):
        """What went wrong, one text each; none if all was done that was asked for."""
        if self.outcome is None:
            return [f"{self.study.id}: {self.error}"]
        texts = self.outcome.failed or [self.outcome.shortcoming(profile)]
        texts = [*filter(None, texts), *(f"figure: {text}" for text in self.figure_errors)]
        return [f"{self.study.id}: {text}" for text in texts]


@dataclass
class Reproduction:
    """All that was done."""

    profile: str
    studies: list[StudyRun]
    notebooks: list[NotebookOutcome]
    report: Path | None = None
    report_error: str = ""

    def failures(self):
        """Everything that was asked for and not done; the run succeeded if there is nothing."""
        studies = [text for run in self.studies for text in run.failures(self.profile)]
        notebooks = [outcome.error for outcome in self.notebooks if outcome.error]
        report = [f"the report: {self.report_error}"] if self.report_error else []
        return [*studies, *notebooks, *report]


def select(names=()):
    """The studies and notebooks that some names mean: studies, papers, notebooks; none means all.

    A notebook is executed when it is named, or when all studies that it declares are among those
    asked for; the studies of a named notebook are run before it. Timing studies come last, when
    nothing else is at work.
    """
    notebooks = {name: declared_studies(read_notebook(p)) for name, p in notebook_paths().items()}
    if not names:
        studies = list(STUDIES)
        return Selection(_in_order(studies), list(notebooks), everything=True)
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
    return Selection(_in_order(wanted), chosen, everything=False)


def reproduce(selection, profile, *, jobs=1, out=None, fresh=False, progress=True, say=print):
    """Do what was selected; nothing that fails keeps the rest from being done.

    `say` is called with a line of text whenever something has been finished.
    """
    done = Reproduction(profile, [], [])
    with Workers(jobs) as workers:
        for study in selection.studies:
            run = _run_study(study, profile, workers, out=out, fresh=fresh, progress=progress)
            done.studies.append(run)
            say(study_line(run))
    if selection.notebooks:
        done.notebooks = run_notebooks(
            selection.notebooks, profile, out=out, jobs=jobs, progress=progress
        )
        for outcome in done.notebooks:
            say(notebook_line(outcome))
    if selection.everything:
        try:
            done.report = build_report(profile, out)
        except Exception as error:
            done.report_error = f"{type(error).__name__}: {error}"
    return done


def _run_study(study, profile, workers, **settings):
    run, started = StudyRun(study, 0.0), time.perf_counter()
    try:
        run.outcome = execute(study, profile, workers=workers, **settings)
    except StudyError as error:
        run.error = str(error)
    except Exception as error:  # a grid that cannot be made, say
        run.error = f"{type(error).__name__}: {error}"
    else:
        run.figures, run.figure_errors = _draw(study, run.outcome.table, profile, settings["out"])
    run.seconds = time.perf_counter() - started
    return run


def _draw(study, table, profile, out):
    """(figures drawn, errors); a study without a finished row has nothing to draw."""
    if not (table["status"] == "ok").any():
        return 0, []
    try:
        return len(draw_all(study.id, table, profile, out)), []
    except ExceptionGroup as failures:
        errors = [_first_line(error) for error in failures.exceptions]
        return len(FIGURES[study.id]) - len(errors), errors


def _in_order(ids):
    studies = [STUDIES[study_id] for study_id in dict.fromkeys(ids)]
    return sorted(studies, key=lambda study: study.timing)


def study_line(run):
    """One line about one study."""
    if run.outcome is None:
        return f"{run.study.id}: could not be run: {run.error}"
    statuses = run.outcome.table["status"].value_counts()
    rows = ", ".join(f"{count} {status}" for status, count in statuses.items())
    if not rows:
        return f"{run.study.id}: no points under this profile"
    kept = f"{run.outcome.kept} points kept from before" if run.outcome.kept else ""
    figures = _count(run.figures, "figure") if run.figures else ""
    parts = ", ".join(filter(None, [f"rows {rows}", kept, figures]))
    return f"{run.study.id}: {parts} ({run.seconds:.1f} s)"


def notebook_line(outcome):
    """One line about one notebook."""
    if outcome.error:
        return f"notebook {outcome.name}: failed ({outcome.seconds:.1f} s)"
    return f"notebook {outcome.name}: {_count(outcome.figures, 'figure')} ({outcome.seconds:.1f} s)"


def summary(done):
    """What was made, what failed, what was not run and why: the end of a run, in paragraphs."""
    outcomes = {run.study.id: run.outcome for run in done.studies if run.outcome}
    not_run = [f"{name}: {text}" for name, o in outcomes.items() for text in o.not_run]
    notes = [note for outcome in outcomes.values() for note in outcome.notes]
    notes += [f"notebook {o.name} {o.note}" for o in done.notebooks if o.note]
    parts = [_made(done)]
    parts += _section("Failed", done.failures())
    parts += _section("Not run", not_run)
    parts += _section("To note", notes)
    if done.report:
        parts.append(f"The report: {done.report}")
    return "\n\n".join(parts)


def _made(done):
    studies = sum(run.outcome is not None for run in done.studies)
    figures = sum(run.figures for run in done.studies)
    notebooks = sum(not outcome.error for outcome in done.notebooks)
    return (
        f"Made with the {done.profile} profile: the tables of {studies} of {len(done.studies)} "
        f"studies, {_count(figures, 'figure')}, {notebooks} of {len(done.notebooks)} notebooks."
    )


def _section(title, texts, most=20):
    if not texts:
        return []
    lines = [f"  {text}" for text in texts[:most]]
    lines += [f"  ... and {len(texts) - most} more, in the tables"] if len(texts) > most else []
    return ["\n".join([f"{title} ({len(texts)}):", *lines])]


def _count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _first_line(error):
    notes = getattr(error, "__notes__", [])
    return " ".join([f"{type(error).__name__}: {error}".splitlines()[0], *notes])
