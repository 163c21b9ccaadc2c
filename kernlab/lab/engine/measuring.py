"""One point, measured: whatever happens comes back as a record, never as an exception."""

import random
import re
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pandas as pd
import psutil
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits

from kernlab.datasets import DataNotFound
from kernlab.lab.engine.errors import NotRun
from kernlab.lab.engine.rows import DATA_MISSING, ENGINES_OWN, FAILED, NOT_RUN, OK
from kernlab.lab.engine.study import plain_scalar
from kernlab.runtime import MemoryLimitError, environment, format_bytes

# Read by libraries when they are first loaded, and by processes started from here.
THREAD_VARIABLES = (
    "KERNLAB_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_MESSAGE_LENGTH = 400
_UNINTERESTING = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning)


def measure_point(measure, point, seed, threads):
    """What a point's measurement gave: status, message, rows, seconds, memory.

    A point that cannot be run as things are (its data is missing, it would pass the memory limit,
    the study says so) is "not run"; any other exception makes it "failed". Warnings become the
    message of a point that went well.
    """
    with exactly(threads), warnings.catch_warnings(record=True) as caught, peak_memory() as peak:
        warnings.simplefilter("always")
        # For code that draws from a global generator although it should not.
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the legacy generator is the one that is global
        started = time.perf_counter()
        record = _attempt(measure, point, seed)
        record["seconds"] = time.perf_counter() - started
    record |= {"threads": threads, "peak_bytes": peak.bytes_added, "peak_note": peak.note}
    if record["status"] == OK:
        said = (w for w in caught if not issubclass(w.category, _UNINTERESTING))
        record["message"] = _shorten("; ".join(dict.fromkeys(str(w.message) for w in said)))
    return record


def failure(message, status=FAILED, **more):
    """The record of a point without a measurement."""
    return {"status": status, "message": _shorten(message), "rows": [{}], **more}


def without_data(names, what=DATA_MISSING):
    """The record of a point whose data sets are not there; it says nothing of this machine."""
    text = f"{what}: {', '.join(names)} (kernlab data get {' '.join(names)})"
    return failure(text, NOT_RUN, missing=list(names))


def _attempt(measure, point, seed):
    try:
        return {"status": OK, "rows": _tidy(measure(point, seed), point)}
    except (NotRun, MemoryLimitError) as error:
        return failure(str(error), NOT_RUN)
    except DataNotFound:  # its files were there: of a part, such as the published test rows
        return without_data([point.dataset], f"part of the {DATA_MISSING}")
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return failure(text, traceback=traceback.format_exc(limit=-20))


def _tidy(measured, point):
    """The measured columns as a list of rows of plain scalars."""
    if isinstance(measured, pd.DataFrame):
        measured = _finished(measured)
    rows = [measured] if isinstance(measured, Mapping) else list(measured)
    if not rows:
        raise ValueError("measure returned no row")
    tidy = []
    for row in rows:
        taken = ENGINES_OWN.intersection(row) | dict(point.params).keys() & row.keys()
        if taken:
            raise ValueError(
                f"measure returned {', '.join(sorted(taken))}: the engine fills in such columns "
                "and the point's parameters itself; call it otherwise"
            )
        tidy.append({str(name): plain_scalar(value, name) for name, value in row.items()})
    return tidy


def _finished(table):
    """The rows of a sweep's table that went well; if none did, the first failure."""
    if "status" in table:
        failed = table[table["status"] != OK]
        if len(failed) and len(failed) == len(table):
            raise RuntimeError(failed["message"].iloc[0])
        for message in failed["message"]:
            warnings.warn(f"a row of the sweep failed: {message}", stacklevel=2)
        table = table[table["status"] == OK]
    rows = table.drop(columns=list(ENGINES_OWN), errors="ignore").to_dict("records")
    return [{name: value for name, value in row.items() if not pd.isna(value)} for row in rows]


def _shorten(text):
    text = " ".join(text.split())
    return text if len(text) <= _MESSAGE_LENGTH else text[: _MESSAGE_LENGTH - 1] + "…"


# -------------------------------------------------------------------------------- threads
@contextmanager
def exactly(threads):
    """Hold BLAS, OpenMP, numba and kernlab's own threads at this number inside the block."""
    numba_before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        with (
            environment(dict.fromkeys(THREAD_VARIABLES, str(threads))),
            threadpool_limits(limits=threads),
        ):
            yield
    finally:
        numba.set_num_threads(numba_before)


# --------------------------------------------------------------------------------- memory
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
UPPER_BOUND = "at most: the process had grown larger before this point"


@contextmanager
def peak_memory():
    """Measure the most memory that a block holds above what the process held before it.

    What it gives has `bytes_added` and a `note` when the block ends.

    Linux lets a process reset the mark of its own largest size, so each block has its own. Where
    that is not allowed the mark of the whole life serves; it is exact if the block raised it, and
    an upper bound, noted as one, if it did not.
    """
    peak, reset = SimpleNamespace(bytes_added=None, note=""), True
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        reset = False
    mark_before, held_before = most_held(reset), psutil.Process().memory_info().rss
    try:
        yield peak
    finally:
        mark_after = most_held(reset)
        peak.bytes_added = max(0, mark_after - held_before)
        if not reset and mark_after <= mark_before:
            peak.note = UPPER_BOUND


def most_held(since_reset=True):
    """The most bytes that this process has held, since its mark was reset or in its whole life."""
    if since_reset and _STATUS.is_file():
        found = re.search(r"^VmHWM:\s*(\d+)", _STATUS.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


# ----------------------------------------------------------------------------- a hard limit
class LimitedCallError(RuntimeError):
    """The function failed under its limit; the text ends with its error."""


def call_limited(function, arguments, max_bytes=None):
    """(function(*arguments), the most bytes held), from a new process limited to `max_bytes`.

    The system enforces the limit, of address space: an allocation beyond it fails, whatever the
    program believes of its needs. The function must stand at the top level of a module.
    """
    with ProcessPoolExecutor(1, initializer=_limit, initargs=(max_bytes,)) as process:
        call = process.submit(_with_bytes, function, arguments)
        if error := call.exception():
            limit = f" under a hard limit of {format_bytes(max_bytes)}" if max_bytes else ""
            text = f"{function.__name__} failed{limit}: {type(error).__name__}: {error}"
            raise LimitedCallError(text) from error
        return call.result()


def _limit(max_bytes):
    if max_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (int(max_bytes), int(max_bytes)))


def _with_bytes(function, arguments):
    # Since its own program began: a system's account counts its parent's.
    return function(*arguments), most_held()
