"""Whether anyone watches: a progress bar in a saved output helps nobody."""

import os
import sys


def wants_progress():
    """Whether anyone watches: not in a notebook that is executed without a front end.

    A bar there would end up in the saved output. Jupyter's server names the session of a notebook
    that a person has opened; KERNLAB_PROGRESS=0 or 1 decides otherwise.
    """
    chosen = os.environ.get("KERNLAB_PROGRESS")
    if chosen:
        return chosen != "0"
    return not _in_kernel() or "JPY_SESSION_NAME" in os.environ or "VSCODE_PID" in os.environ


def bar_options(wanted=True):
    """Options of a tqdm bar: it comes after two seconds, goes when done, and not for nobody.

    tqdm itself shows nothing where it does not write to a terminal, so neither in a notebook: there
    the bar is asked for, if a person has opened it.
    """
    asked_for = _in_kernel() or os.environ.get("KERNLAB_PROGRESS")
    hidden = not wants_progress() if asked_for else None
    return {"delay": 2, "leave": False, "disable": hidden if wanted else True}


def _in_kernel():
    return "ipykernel" in sys.modules and "JPY_PARENT_PID" in os.environ
