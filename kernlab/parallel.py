"""Work over blocks of rows on all cores, with the matrix products inside on one thread each.

NumPy's element-wise functions use one core; run on blocks that stay in the cache, from several
Python threads (NumPy releases the interpreter lock), they use them all.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache, wraps

from threadpoolctl import ThreadpoolController

ONE_THREAD_SIZE = 1200

_this_thread = threading.local()


@cache
def _controller():
    # Of BLAS alone: OpenMP's limits belong to a thread, and are not for another to restore.
    return ThreadpoolController().select(user_api="blas")


class _BlasLimits:
    """Limits of BLAS threads, which hold for the whole process, asked for by several threads.

    Contexts of several threads end in any order, so none may restore what it found: that may be
    the limit of another, which would then stay for good. The latest of the limits still asked for
    is in force, and the last context to end restores what the first found.
    """

    def __init__(self):
        # Entered again by a thread that holds it, when garbage collection ends a context there.
        self._lock = threading.RLock()
        self._asked, self._found = [], None

    @contextmanager
    def at(self, threads):
        mine = [threads]  # a list, so as to be told from the equal limit of another context
        with self._lock:
            self._asked.append(mine)
            self._settle()
        try:
            yield
        finally:
            with self._lock:
                self._asked = [limit for limit in self._asked if limit is not mine]
                self._settle()

    def _settle(self):
        if self._asked:
            limited = _controller().limit(limits=self._asked[-1][0], user_api="blas")
            self._found = self._found or limited
        elif self._found:
            self._found.restore_original_limits()
            self._found = None


_blas_limits = _BlasLimits()


def thread_count():
    """Threads that kernlab may use: as many as the machine has cores, unless the environment says.

    KERNLAB_NUM_THREADS comes first, then OMP_NUM_THREADS, then OPENBLAS_NUM_THREADS.
    """
    for name in ("KERNLAB_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def single_blas_thread():
    """A context in which each matrix product runs on one thread, for many small ones in a row."""
    return _blas_limits.at(1)


def blas_threads_for(size):
    """A context inside that of `single_blas_thread`: all threads for one matrix that is worth them.

    Up to ONE_THREAD_SIZE one thread has computed a factor before a second has woken up.
    """
    if size <= ONE_THREAD_SIZE:
        return nullcontext()
    return _blas_limits.at(thread_count())


def on_single_blas_thread(function):
    """`function` with its matrix products on one thread each, so that its blocks have the others.

    NumPy and SciPy each bring a BLAS whose threads wait actively for more work. A function that
    calls both in turns, on small matrices or long vectors, waits for the cores that one of them
    still holds many times longer than it computes.
    """

    @wraps(function)
    def limited(*arguments, **named):
        with single_blas_thread():
            return function(*arguments, **named)

    return limited


def row_blocks(n_rows, rows_per_block):
    """Slices that cover `n_rows` rows in order."""
    step = max(1, int(rows_per_block))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def for_each_block(function, blocks, threads=None):
    """Call `function(block)` for every block, on all threads; results in the order of the blocks.

    The function must write to places of its own. Its BLAS calls run on one thread each while
    several blocks are under way. A function that itself works through blocks, a kernel say, does
    so on its one thread: the outer blocks keep the cores busy.
    """
    threads = min(threads or thread_count(), len(blocks))
    if threads <= 1 or getattr(_this_thread, "works_on_a_block", False):
        return [function(block) for block in blocks]
    with (
        single_blas_thread(),
        ThreadPoolExecutor(threads, initializer=_mark_this_thread) as pool,
    ):
        return list(pool.map(function, blocks))


def _mark_this_thread():
    _this_thread.works_on_a_block = True


def computed_ahead(function, items):
    """Yield `function(item)` for every item, computing the next while the caller uses this one.

    The function works on one thread of its own; the matrix products of both take one thread each.
    """
    items = list(items)
    with (
        single_blas_thread(),
        ThreadPoolExecutor(1, initializer=_mark_this_thread) as pool,
    ):
        coming = None
        for position in range(len(items) + 1):
            ready = coming
            if position < len(items):
                coming = pool.submit(function, items[position])
            if ready is not None:
                yield ready.result()
