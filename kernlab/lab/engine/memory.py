"""What a point adds to the memory of its process, and calls that may not have more than a limit."""

import pickle
import resource
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from kernlab.runtime import format_bytes

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
UPPER_BOUND = "at most: the process had grown larger before this point"
_SERVE = "from kernlab.lab.engine.memory import serve; serve()"


@dataclass
class Peak:
    """Filled in when the block ends."""

    bytes_added: int | None = None
    note: str = ""


@contextmanager
def peak_memory():
    """Measure the most memory that a block holds above what the process held before it.

    Linux lets a process reset the mark of its own largest size, so each block has its own. Where
    that is not allowed the mark of the whole life serves; it is exact if the block raised it, and
    an upper bound, noted as one, if it did not.
    """
    peak = Peak()
    own_mark = _reset_high_water_mark()
    mark_before = _lifetime_peak()
    held_before = psutil.Process().memory_info().rss
    try:
        yield peak
    finally:
        mark_after = _high_water_mark() if own_mark else _lifetime_peak()
        peak.bytes_added = max(0, mark_after - held_before)
        if not own_mark and mark_after <= mark_before:
            peak.note = UPPER_BOUND


def _reset_high_water_mark():
    """Ask the kernel to forget the process' largest size so far; whether it did."""
    try:
        _CLEAR_REFS.write_text("5")
        return _high_water_mark() > 0
    except (OSError, ValueError):
        return False


def _high_water_mark():
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ValueError("no VmHWM in /proc/self/status")


def _lifetime_peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# ----------------------------------------------------------------------------- a hard limit
class LimitedCallError(RuntimeError):
    """The function failed under its limit; the text ends with what the process said."""


def call_limited(function, arguments, max_bytes):
    """(function(*arguments), the most bytes held), from a new process limited to `max_bytes`.

    The system enforces the limit, of address space: an allocation beyond it fails, whatever the
    program believes of its needs. The function must stand at the top level of a module.
    """
    call = pickle.dumps((sys.path, int(max_bytes), pickle.dumps((function, tuple(arguments)))))
    done = subprocess.run([sys.executable, "-c", _SERVE], input=call, capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise LimitedCallError(
            f"{function.__name__} failed under a hard limit of {format_bytes(max_bytes)} "
            f"(exit code {done.returncode}): {' '.join(said[-3:]) or 'it said nothing'}"
        )
    return pickle.loads(done.stdout)


def serve():
    """What that process does: set the limit, call, and write the result to standard output."""
    sys.path[:], max_bytes, call = pickle.load(sys.stdin.buffer)
    function, arguments = pickle.loads(call)
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # prints must not get among the answer
    result = function(*arguments)
    try:  # since its own program began: the system's account would count its parent's
        held = _high_water_mark()
    except (OSError, ValueError):
        held = _lifetime_peak()
    answers.write(pickle.dumps((result, held)))
    answers.flush()
