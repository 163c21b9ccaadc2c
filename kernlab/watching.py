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
    in_kernel = "ipykernel" in sys.modules and "JPY_PARENT_PID" in os.environ
    return not in_kernel or "JPY_SESSION_NAME" in os.environ or "VSCODE_PID" in os.environ
