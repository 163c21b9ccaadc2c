"""A function called in a process of its own that may not have more memory than a hard limit.

The system enforces it: an allocation beyond the limit fails, whatever the program believes of its
own needs. The limit is on address space, which is more than what is held at any time.
"""

import pickle
import resource
import subprocess
import sys

from kernlab.lab.engine.peak import held_at_most
from kernlab.runtime import format_bytes

_SERVE = "from kernlab.lab.engine.limited import _serve; _serve()"


class LimitedCallError(RuntimeError):
    """The function failed under its limit; the text ends with what the process said."""


def call_limited(function, arguments, max_bytes):
    """(function(*arguments), the most bytes held), from a new process limited to `max_bytes`.

    The function is found by its name, so it must stand at the top level of a module.
    """
    call = pickle.dumps((function, tuple(arguments)))
    call = pickle.dumps((sys.path, int(max_bytes), call))
    done = subprocess.run([sys.executable, "-c", _SERVE], input=call, capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise LimitedCallError(
            f"{function.__name__} failed under a hard limit of {format_bytes(max_bytes)} "
            f"(exit code {done.returncode}): {' '.join(said[-3:]) or 'it said nothing'}"
        )
    return pickle.loads(done.stdout)


def _serve():
    """What the process does: set the limit, call, and write the result to standard output."""
    sys.path[:], max_bytes, call = pickle.load(sys.stdin.buffer)
    function, arguments = pickle.loads(call)
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # prints must not get among the answer
    result = function(*arguments)
    held = held_at_most()
    answers.write(pickle.dumps((result, held)))
    answers.flush()
