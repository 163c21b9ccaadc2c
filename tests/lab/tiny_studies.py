"""Studies small enough to test the engine with; processes of their own import them from here.

Run as a program it runs one of them, so that tests can kill a real process in the middle.
"""

import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from kernlab.lab.engine import NotRun, Point, Study, product
from kernlab.lab.engine.run import execute
from kernlab.runtime import MemoryLimitError

# Every measurement leaves its name here, so that a test can tell what was really computed.
LOG = "KERNLAB_TEST_LOG"


def run_study(study, profile="quick", **options):
    """The table of a study, what it still lacks computed."""
    return execute(study, profile, **options).table


def grid(profile):
    repeats = {"quick": 2, "standard": 3}.get(profile, 4)
    return product(("toy", "other"), ("exact", "subsample"), repeats=repeats, C=(0.1, 1, 10))


def log(point):
    if os.environ.get(LOG):
        with Path(os.environ[LOG]).open("a") as file:
            file.write(f"{point}\n")


def measure(point, seed):
    """Numbers that a change of the seed, of the threads or of the order would change."""
    log(point)
    return compute(point, seed)


def compute(point, seed):
    draws = np.random.default_rng(seed)
    A = draws.normal(size=(200, 200))
    return {
        "test_accuracy": float(np.linalg.norm(A @ A.T) * point["C"]),
        "n_iter": int(draws.integers(100)),
        "fit_seconds": 0.0,
        "careless": float(np.random.rand()),  # noqa: NPY002 - what a study should not do
    }


def slow_measure(point, seed):
    log(point)
    time.sleep(float(os.environ.get("KERNLAB_TEST_DELAY", "0.3")))
    return compute(point, seed)


def difficult_grid(profile):
    methods = ("fine", "raises", "warns", "refuses", "too much memory", "dies", "no row", "array")
    return product("toy", methods)


def difficult_measure(point, seed):
    """Everything that can go wrong, one method each."""
    match point.method:
        case "raises":
            raise ZeroDivisionError("no landmarks\nat all")
        case "warns":
            warnings.warn("gap 0.1 is above the tolerance 0.01", UserWarning, stacklevel=1)
            warnings.warn("old spelling", DeprecationWarning, stacklevel=1)
        case "refuses":
            raise NotRun("the kernel is singular here")
        case "too much memory":
            raise MemoryLimitError("K needs 8 GB")
        case "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        case "no row":
            return []
        case "array":
            return {"objective": np.zeros(3)}
        case "endless":
            time.sleep(600)
    return {"objective": 1.0}


def steps_measure(point, seed):
    return [{"iteration": i, "gradient": 2.0**-i} for i in range(point["steps"])]


def thread_measure(point, seed):
    import numba
    from threadpoolctl import threadpool_info

    from kernlab.runtime import thread_count

    blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {"blas": max(blas), "compiled": numba.get_num_threads(), "own": thread_count()}


def _study(name, measure, grid=grid, **more):
    return Study(f"tiny-{name}", "tiny", "A tiny study", "Does the engine work?", grid, measure,
                 **more)  # fmt: skip


TINY = _study("plain", measure)
SLOW = _study("slow", slow_measure)
DIFFICULT = _study("difficult", difficult_measure, difficult_grid)
STEPS = _study("steps", steps_measure, lambda profile: [Point.make("toy", "newton", steps=3)])
THREADS = _study("threads", thread_measure, lambda profile: [Point.make("toy", "any")])
TIMED = _study("timed", thread_measure, lambda profile: [Point.make("toy", "any")], timing=True)

if __name__ == "__main__":
    # Ctrl-C must reach this process even where the tests run in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    name, profile, out, jobs = sys.argv[1:]
    run_study(globals()[name], profile, out=out, jobs=int(jobs), progress=False)
