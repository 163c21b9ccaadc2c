"""One point, measured: whatever happens comes back as a record, never as an exception."""

import random
import time
import traceback
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from kernlab.datasets import DataNotFound
from kernlab.lab.engine.errors import NotRun
from kernlab.lab.engine.memory import peak_memory
from kernlab.lab.engine.processes import exactly
from kernlab.lab.engine.rows import ENGINES_OWN, FAILED, NOT_RUN, OK
from kernlab.lab.engine.study import plain_scalar
from kernlab.runtime import MemoryLimitError

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


def _attempt(measure, point, seed):
    try:
        return {"status": OK, "rows": _tidy(measure(point, seed), point)}
    except (NotRun, MemoryLimitError) as error:
        return failure(str(error), NOT_RUN)
    except DataNotFound as error:
        return failure(str(error), NOT_RUN, missing=[point.dataset])
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
