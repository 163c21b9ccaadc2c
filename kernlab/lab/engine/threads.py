"""Computing with a stated number of threads, whatever library does the work."""

import os
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from kernlab.runtime import thread_count

# Read by libraries when they are first loaded, and by processes started from here.
THREAD_VARIABLES = (
    "KERNLAB_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def threads_for(study):
    """Threads that each point of a study gets: all there are for timings, else one."""
    return thread_count() if study.timing else 1


@contextmanager
def exactly(threads):
    """Hold BLAS, OpenMP, numba and kernlab's own threads at this number inside the block."""
    # Loaded here so that the limit reaches it; if numba were first loaded inside the block it
    # would keep the limit as its largest number of threads for the rest of the process.
    import numba

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


@contextmanager
def environment(changes):
    """Environment variables set inside the block, and as they were after it."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
