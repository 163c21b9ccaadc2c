"""Executing notebooks without a front end: with papermill, by this very Python, from anywhere."""

import tempfile
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass

from tqdm import tqdm

from kernlab.lab.engine.processes import Ended, Processes
from kernlab.lab.engine.run import get_profile
from kernlab.lab.report.notebooks import files
from kernlab.lab.report.notebooks.files import NotebookError
from kernlab.lab.report.notebooks.html import write_html
from kernlab.paths import output_dir
from kernlab.runtime import bar_options, environment

_START_SECONDS = 120


@dataclass(frozen=True)
class NotebookOutcome:
    """What became of one notebook; `error` is empty when all went well."""

    name: str
    seconds: float
    figures: int = 0
    error: str = ""
    note: str = ""


def run_notebooks(names, profile="quick", *, jobs=1, progress=True):
    """Execute notebooks into `output_dir(profile)/notebooks`, each with an HTML copy.

    One that fails does not keep the others from running: each has an outcome.

    Parameters
    ----------
    names : sequence of str
        Names of notebooks, or paths to them.
    profile : str
        Given to the notebook as its parameter PROFILE.
    jobs : int
        How many run at the same time, each in a process of its own.
    progress : bool

    Returns
    -------
    list of NotebookOutcome
        In the order of the names.
    """
    calls = [(files.find_notebook(name), profile) for name in names]
    bar = {"desc": "notebooks", "total": len(calls), **bar_options(progress)}
    # papermill changes the working directory of its process, so threads would not do.
    if jobs == 1 or len(calls) < 2:
        return [_outcome(*call) for call in tqdm(calls, **bar)]
    outcomes = {}
    with (
        Processes(min(jobs, len(calls))) as processes,
        closing(processes.run(_outcome, calls)) as done,
    ):
        for number, outcome in tqdm(done, **bar):
            if isinstance(outcome, Ended):
                name = calls[number][0].stem
                error = f"{name}: its process died ({outcome.why})"
                outcome = NotebookOutcome(name, outcome.seconds, error=error)
            outcomes[number] = outcome
    return [outcomes[number] for number in range(len(calls))]


def _outcome(path, profile):
    started = time.perf_counter()
    copy = output_dir(profile) / "notebooks" / f"{path.stem}.html"
    copy.unlink(missing_ok=True)  # that of an earlier run would look like this one's
    nb, error, note = None, "", ""
    try:
        nb = execute_notebook(path, copy.with_suffix(".ipynb"), profile)
        write_html(nb, copy)
    except NotebookError as failed:
        error = str(failed)
    except Exception as failed:  # of papermill, nbconvert or the disk
        error = f"{path.stem}: {type(failed).__name__}: {failed}"
    seconds, cap = time.perf_counter() - started, get_profile(profile).notebook_cap_seconds
    if not error and cap is not None and seconds > cap:
        note = f"took {seconds:.0f} s; at most {cap:.0f} s are wanted"
    figures = 0 if error else len(files.shown_figures(nb))
    return NotebookOutcome(path.stem, seconds, figures, error, note)


def execute_notebook(path, target, profile=None):
    """Execute one notebook and write it with its outputs; return it as it was written.

    Parameters
    ----------
    path, target : Path
    profile : str, optional
        Takes the place of what the notebook's PROFILE says.

    Raises
    ------
    NotebookError
        Before anything runs: no parameters cell. After: a cell that failed (the notebook is written
        up to there), fewer figures than declared.
    """
    import papermill
    from nbclient.exceptions import CellControlSignal, DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    nb = files.read_notebook(path)
    if not (positions := files.tagged(nb, "parameters")):
        raise NotebookError(
            f"{path.stem} has no parameters cell. Tag the cell that sets PROFILE with 'parameters'."
        )
    parameters = {"PROFILE": profile} if profile else {}
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _surroundings(path):
            executed = papermill.execute_notebook(
                path,
                target,
                parameters,
                kernel_name="python3",
                language="python",
                resources={"metadata": {"path": str(path.parent)}},
                store_widget_state=False,
                start_timeout=_START_SECONDS,
                progress_bar=False,
            )
    except PapermillExecutionError as error:
        raise NotebookError(_cell_failure(path, positions[0], bool(parameters), error)) from error
    except (DeadKernelError, CellControlSignal) as error:
        first = (str(error).splitlines() or [""])[0]
        raise NotebookError(f"{path.stem}: its kernel died. {first}".strip()) from error
    _check_figures(path, nb, executed)
    return executed


@contextmanager
def _surroundings(path):
    """Environment variables for the kernel: no home folder is needed, no settings of a user act."""
    with tempfile.TemporaryDirectory(prefix="kernlab-") as private:
        settings = {
            files.NOTEBOOK_VARIABLE: str(path),
            "KERNLAB_PROGRESS": "0",
            # The kernel called python3 is then this Python's, whatever else is installed where.
            "JUPYTER_PREFER_ENV_PATH": "1",
            "JUPYTER_PATH": "",
            "IPYTHONDIR": private,
            "JUPYTER_RUNTIME_DIR": private,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # a warning of the kernel's that concerns nobody
        }
        with environment(settings):
            yield


def _cell_failure(path, parameters_position, injected, error):
    """Where a notebook failed and why, in one line; cells are counted from 1 as in the file."""
    shift = injected and error.cell_index > parameters_position
    number = error.cell_index + 1 - int(shift)
    first = (error.evalue.strip().splitlines() or [""])[0]
    return f"{path.stem}, cell {number}: {error.ename}: {first}"


def _check_figures(path, nb, executed):
    declared, shown = files.declared_figures(nb), files.shown_figures(executed)
    missing = [name for name in declared if name not in shown]
    if missing:
        made = len(declared) - len(missing)
        raise NotebookError(
            f"{path.stem} made {made} of the {len(declared)} figures that it declares; "
            f"missing: {', '.join(missing)}"
        )
