"""What the cells of a notebook call: the story is in the notebook, the work is here.

    from kernlab.lab import notebook as nb
    nb.begin(PROFILE, "10_llsvm")
    table = nb.run("llsvm-t3", datasets=DATASETS, repeats=REPEATS)
    nb.show("llsvm-t3", "error-time", table)
    nb.key_figures("llsvm-t3", table)
    nb.compare("llsvm-t3", table)
    nb.finish()

A study is given by its id, with parameters of which None is the profile's choice, or as what its
function returns. What was not computed here comes from the record, marked in the column `source`.

All that is displayed under the quick profile is the same on every machine, so that the committed
notebooks can be compared with what the code gives today: seconds and bytes are left out of it.
"""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from IPython import get_ipython
from IPython.display import Markdown, display

from kernlab.lab.catalogue import FIGURES, get_study
from kernlab.lab.engine.errors import unknown
from kernlab.lab.engine.record import results
from kernlab.lab.engine.rows import tables_dir
from kernlab.lab.engine.run import Run, execute, get_profile
from kernlab.lab.plots.registry import draw_figures, finished
from kernlab.lab.plots.style import small_picture
from kernlab.lab.report import scoring
from kernlab.lab.report.notebooks import files
from kernlab.lab.report.notebooks.files import NotebookError
from kernlab.lab.report.text import count
from kernlab.paths import notebooks_dir, output_dir

_WAIT_SECONDS = 900  # for another notebook that computes the same study just now


@dataclass
class _Session:
    profile: str
    name: str
    own: object  # the notebook's file as it was read, or None
    studies: dict[str, Run] = field(default_factory=dict)
    figures: list[str] = field(default_factory=list)
    variants: dict[str, object] = field(default_factory=dict)  # as last run, by the catalogue's id

    def study(self, study):
        """A study, with the parameters that it was last run with where it is given by its id."""
        known = isinstance(study, str) and study in self.variants
        return self.variants[study] if known else get_study(study)


_session = None


def begin(profile, notebook):
    """Open a notebook's run: which profile, and the notebook's own name.

    Parameters that its parameters cell does not have are refused: papermill would only warn. Lists
    that came as text, as papermill's -p gives them, become lists.
    """
    global _session
    get_profile(profile)
    named = os.environ.get(files.NOTEBOOK_VARIABLE)
    path = Path(named) if named else notebooks_dir() / f"{notebook}.ipynb"
    own = files.read_notebook(path) if path.is_file() else None
    _session = _Session(profile, notebook, own)
    _check_parameters(set(files.parameter_names(own)) if own else set())


def _check_parameters(declared):
    shell = get_ipython()
    if shell is None or not declared:
        return
    given = {name for name in shell.user_ns if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)}
    for name in sorted(given - declared):
        raise unknown("parameter of this notebook", name, sorted(declared))
    for name in declared & given:
        value = shell.user_ns[name]
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                shell.user_ns[name] = json.loads(value)
            except ValueError:
                raise NotebookError(f"{name}={value!r} is no list: write e.g. '[10, 20]'") from None


def run(study, *, jobs=None, **parameters):
    """The table of a study; what of it is missing is computed first.

    Parameters
    ----------
    study : str or Study
    jobs : int, optional
        Processes; under the quick profile the notebook's own by default, else one of its own.
    **parameters
        Of the study, where it is given by its id; None is the profile's choice. Later calls that
        name the id mean the study with these parameters.
    """
    session = _require_session()
    study = get_study(study, **parameters)
    jobs = (0 if session.profile == "quick" else 1) if jobs is None else jobs
    outcome = execute(study, session.profile, jobs=jobs, wait_seconds=_WAIT_SECONDS)
    session.studies[study.id] = outcome
    session.variants[study.catalogue_id] = study
    if session.profile != "quick":
        for note in outcome.notes:
            display(Markdown(f"*{note}*"))
    if outcome.failed:
        print(_failed(study.id, outcome))
    if outcome.not_run:
        print(f"{study.id}: {outcome.summary()}")
    return results(study, session.profile)


def _failed(study_id, outcome):
    failed = count(len(set(outcome.failed)), "point")
    return f"{study_id}: {failed} failed, the first: {outcome.failed[0]}"


def show(study, figure, table):
    """Draw a figure of a study, keep it as PNG and SVG, and display it under its caption."""
    session = _require_session()
    study = session.study(study)
    specs = {spec.name: spec for spec in FIGURES.get(study.catalogue_id, ())}
    if figure not in specs:
        raise unknown(f"figure of {study.catalogue_id}", figure, specs)
    spec = specs[figure]
    (png,) = draw_figures([spec], table, session.profile, study=study.id)
    session.figures.append(f"{study.id}-{spec.name}")
    display(Markdown(spec.caption.strip()))
    picture = png.read_bytes()
    pixels = int.from_bytes(picture[16:20])  # the width, from the file's header
    display(
        {"image/png": small_picture(picture), "text/plain": f"<Figure {spec.stem}>"},
        raw=True,
        # Shown at 100 dots per inch, so that a screen of high resolution has pixels to spare.
        metadata={files.FIGURE_KEY: spec.stem, "image/png": {"width": round(pixels / 1.6)}},
    )


def key_figures(study, table):
    """Print a study's key figures, rounded: the text that tells whether its numbers are right."""
    study = _require_session().study(study)
    rows = finished(table)
    if rows.empty:
        print(f"{study.id}: no finished rows")
        return
    lines = {str(label): str(text) for label, text in study.key_figures(rows).items()}
    width = max(map(len, lines), default=0)
    print("\n".join(f"{label:<{width}}  {text}".rstrip() for label, text in lines.items()))


def compare(study, table):
    """Display the published values beside ours, each with its status and the reason."""
    session = _require_session()
    display(scoring.compare(session.study(study), table, session.profile), raw=True)


def finish():
    """Check that all that the notebook declares was made, and say how much of it is there."""
    session = _require_session()
    own = session.own
    studies = files.declared_studies(own) if own else ()
    figures = files.declared_figures(own) if own else ()
    run = {id.partition("@")[0] for id in session.studies}
    shown = {re.sub("@[0-9a-f]{6}", "", name) for name in session.figures}
    problems = [
        *(f"study {name} was declared but not run" for name in studies if name not in run),
        *(f"figure {name} was declared but not shown" for name in figures if name not in shown),
        *_missing_files(session),
        *(_failed(study, outcome) for study, outcome in session.studies.items() if outcome.failed),
    ]
    if problems:
        raise NotebookError(f"{session.name} is not complete: " + "; ".join(sorted(problems)))
    made = f"{count(len(session.studies), 'study')}, "
    made += count(len(set(session.figures)), "figure")
    outcomes = session.studies.values()
    done, points = (sum(getattr(o, n) for o in outcomes) for n in ("finished", "points"))
    missing = dict.fromkeys(name for outcome in outcomes for name in outcome.missing)
    extent = f"{done} of {points} points computed" if done < points else "complete"
    extent += f"; data missing: kernlab data get {' '.join(missing)}" if missing else ""
    print(f"{session.name}: {made}, profile {session.profile}: {extent}")


def _require_session():
    if _session is None:
        raise NotebookError(
            "The notebook has not begun: run its cells from the top; one of the first calls "
            "begin(PROFILE, name)."
        )
    return _session


def _missing_files(session):
    figures = output_dir(session.profile) / "figures"
    tables = tables_dir(session.profile)
    wanted = [figures / f"{stem}.{kind}" for stem in session.figures for kind in ("png", "svg")]
    wanted += [tables / f"{study}.csv" for study in session.studies]
    return [f"{path.name} is missing" for path in wanted if not path.is_file()]
