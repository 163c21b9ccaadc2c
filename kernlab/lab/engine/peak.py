"""How much memory one point added to its process at the worst moment."""

import resource
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
UPPER_BOUND = "at most: the process had grown larger before this point"


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


def held_at_most():
    """The most bytes that this process has held since its program began.

    The system's account of resources would not do: a new program inherits in it what the process
    that started it held.
    """
    try:
        return _high_water_mark()
    except (OSError, ValueError):
        return _lifetime_peak()


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
