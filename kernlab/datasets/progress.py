"""Progress bars: on standard error, for what takes more than two seconds, if anyone watches."""

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


def with_progress(items, title):
    """The same items, with a bar once they take more than two seconds."""
    from tqdm import tqdm

    return tqdm(items, desc=title, delay=2, leave=False, disable=not wants_progress())


def reading_with_progress(raw, title, size):
    """A context manager that gives the same stream, with a bar of the bytes read so far."""
    from tqdm import tqdm

    return tqdm.wrapattr(
        raw, "read", total=size, desc=title, delay=2, leave=False, disable=not wants_progress()
    )
