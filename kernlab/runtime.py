"""What every computation runs on: compiled loops, threads, LAPACK, memory limits, progress.

Blocks of rows that stay in the cache are worked on by several Python threads (NumPy releases the
interpreter lock); matrix products inside run on one thread each.
"""

import contextvars
import ctypes
import os
import re
import sys
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from time import perf_counter

import numba
import numpy as np
import psutil
import scipy.linalg as la
from scipy.linalg import cython_blas, cython_lapack
from threadpoolctl import ThreadpoolController

# ---------------------------------------------------------------------------------- compiled loops
# Sums may be taken in another order and multiplications joined to additions, so that loops use
# the processor's vectors; not-a-number and infinity keep their meaning.
REORDERED_SUMS = frozenset({"reassoc", "contract", "nsz"})


def njit(function=None, *, fastmath=False):
    """Compile without the interpreter lock; keep the machine code where a folder allows it."""
    if function is None:
        return lambda function: njit(function, fastmath=fastmath)
    options = {"nogil": True, "fastmath": set(fastmath) if fastmath else False}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(**options)(function)


# ----------------------------------------------------------------------------------------- threads
ONE_THREAD_SIZE = 1200

_this_thread = threading.local()


@cache
def _controller():
    # Of BLAS alone: OpenMP's limits belong to a thread, and are not for another to restore.
    return ThreadpoolController().select(user_api="blas")


# Limits of BLAS threads hold for the whole process and are set by several threads. Their contexts
# end in any order, so none may restore what it found: that may be the limit of another, which would
# then stay for good. The latest of the limits still wanted is in force, and the last context to end
# restores what the first found. The lock is entered again by a thread that holds it, when garbage
# collection ends a context there.
_blas_lock, _blas_limits, _blas_found = threading.RLock(), [], []


@contextmanager
def _blas_threads(threads):
    mine = [threads]  # a list, so as to be told from the equal limit of another context
    try:
        with _blas_lock:
            _blas_limits.append(mine)
            _apply_blas_limits()
        yield
    finally:
        try:
            _no_longer_limit(mine)
        except BaseException:  # Ctrl-C came in its midst
            _no_longer_limit(mine)
            raise


def _no_longer_limit(mine):
    with _blas_lock:
        _blas_limits[:] = [limit for limit in _blas_limits if limit is not mine]
        _apply_blas_limits()


def _apply_blas_limits():
    # Ctrl-C may end this after any call: what is found is kept before it is changed, and forgotten
    # only when it is restored.
    if _blas_limits:
        _blas_found[:] = _blas_found or [_controller().limit(limits=None)]
        _controller().limit(limits=_blas_limits[-1][0], user_api="blas")
    elif _blas_found:
        _blas_found[0].restore_original_limits()
        _blas_found.clear()


def thread_count():
    """Threads that kernlab may use: as many as the machine has cores, unless KERNLAB_NUM_THREADS,
    OMP_NUM_THREADS or OPENBLAS_NUM_THREADS says."""
    for name in ("KERNLAB_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        value = os.environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def single_blas_thread():
    """A context in which each matrix product runs on one thread, for many small ones in a row."""
    return _blas_threads(1)


def blas_threads_for(size):
    """A context inside that of `single_blas_thread`: all threads for one matrix that is worth them,
    for up to ONE_THREAD_SIZE one has computed a factor before a second has woken up."""
    return nullcontext() if size <= ONE_THREAD_SIZE else _blas_threads(thread_count())


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


@contextmanager
def on_one_thread():
    """A context for work that has one core among others at work: a task of a cluster, say."""
    before = getattr(_this_thread, "works_on_a_block", False)
    _this_thread.works_on_a_block = True
    try:
        with single_blas_thread():
            yield
    finally:
        _this_thread.works_on_a_block = before


def row_blocks(n_rows, rows_per_block):
    """Slices that cover `n_rows` rows in order."""
    step = max(1, int(rows_per_block))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def for_each_block(function, blocks, threads=None):
    """Call `function(block)` for every block, on all threads; results in the order of the blocks.

    The function must write to places of its own. One that itself works through blocks, a kernel
    say, does so on its one thread: the outer blocks keep the cores busy.
    """
    allowed = threads or thread_count()
    threads = min(allowed, len(blocks))
    if threads <= 1 or getattr(_this_thread, "works_on_a_block", False):
        with single_blas_thread() if allowed == 1 else nullcontext():
            return [function(block) for block in blocks]
    given_up, pool = threading.Event(), _workers(threads, os.getpid())

    def work(block):
        _this_thread.given_up = given_up
        return function(block)

    with single_blas_thread():
        # Each in a context of the caller's: what it does not warn of is no warning there.
        futures = [pool.submit(contextvars.copy_context().run, work, block) for block in blocks]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C does not wait for blocks under way, nor does what follows
            given_up.set()
            _workers.cache_clear()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@cache
def _workers(threads, process):
    """Threads that wait for work; those of a process are not in another that was forked from it."""
    return ThreadPoolExecutor(threads, "kernlab", initializer=_mark_this_thread)


def _mark_this_thread(given_up=None):
    _this_thread.works_on_a_block, _this_thread.given_up = True, given_up


def end_if_given_up():
    """End the work on a block here, if whoever waited for it no longer does."""
    given_up = getattr(_this_thread, "given_up", None)
    if given_up is not None and given_up.is_set():
        raise KeyboardInterrupt


def interruptible(function, *arguments, **named):
    """What a long call into compiled code returns; Ctrl-C does not wait for its end.

    It computes on a thread of its own, while the main thread waits where signals are seen. After
    one nobody waits for the other thread, and what it finds is forgotten.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments, **named)
    outcome, context = Future(), contextvars.copy_context()

    def compute():
        try:
            outcome.set_result(context.run(function, *arguments, **named))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=compute, daemon=True).start()
    return outcome.result()


def prefetched(function, items):
    """Yield `function(item)` for every item, computing the next while the caller uses this one, on
    a thread of its own; the matrix products of both take one thread each."""
    if getattr(_this_thread, "works_on_a_block", False):
        yield from map(function, items)
        return
    coming = deque()
    with single_blas_thread(), ThreadPoolExecutor(1, initializer=_mark_this_thread) as pool:
        for item in items:
            coming.append(pool.submit(function, item))
            if len(coming) > 1:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


# ------------------------------------------------------------------------------------------ LAPACK
# SciPy's own wrappers, BLAS included, keep the interpreter lock to their end, which for matrices of
# 10,000 rows is minutes away: no other thread goes on meanwhile, and not even Ctrl-C is heard.
SOON_DONE = 2**16  # entries, whose factors take less than it takes to start a thread
REALS = {"s": ctypes.c_float, "d": ctypes.c_double}


def cholesky_factor(matrix, overwrite=False):
    """What `scipy.linalg.cho_solve` takes: (L in the lower triangle, True), in the precision given.

    With `overwrite` L takes the place of a matrix that is ordered by columns. LinAlgError says that
    the matrix is not positive definite.
    """
    factor = np.asfortranarray(matrix) if overwrite else np.array(matrix, order="F")
    n, info = ctypes.c_int(len(factor)), ctypes.c_int()
    _lapack(f"{_letter(factor)}potrf", b"L", n, factor, _leading(factor), info)
    if info.value:
        raise la.LinAlgError(f"leading minor {info.value} is not positive definite")
    return factor, True


def pivoted_cholesky(matrix, tol, dtype=np.float64):
    """P^T A P = L L^T down to pivots of at most `tol`: an array with L in its lower triangle, in
    this precision, the pivots, from 1, and the rank."""
    lower = np.array(matrix, dtype, order="F")
    letter, room = _letter(lower), np.empty(2 * len(lower), lower.dtype)
    n, rank, info = ctypes.c_int(len(lower)), ctypes.c_int(), ctypes.c_int()
    pivots, least = np.zeros(len(lower), np.intc), REALS[letter](tol)
    _lapack(f"{letter}pstrf", b"L", n, lower, _leading(lower), pivots, rank, least, room, info)
    return lower, pivots, rank.value


def eigenvalues(matrix, vectors=True):
    """The eigenvalues, ascending, of a symmetric matrix, and its eigenvectors, in its precision.

    As `scipy.linalg.eigh`, whose routine (syevr) this is; without `vectors` the values alone.
    """
    A = np.array(matrix, order="F")
    if not np.all(np.isfinite(A)):
        raise ValueError("the matrix holds values that are not finite")
    size = len(A)
    n, zero, found, info = (ctypes.c_int(value) for value in (size, 0, 0, 0))
    letter, nothing = _letter(A), ctypes.c_double(0.0)  # of either precision
    values, V = np.zeros(size, A.dtype), np.empty((size, size) if vectors else (1, 1), A.dtype, "F")
    support = np.zeros(2 * max(1, size), np.intc)
    work, iwork = np.empty(max(1, 66 * size), A.dtype), np.empty(max(1, 10 * size), np.intc)
    _lapack(
        f"{letter}syevr", b"V" if vectors else b"N", b"A", b"L", n, A, _leading(A), nothing,
        nothing, zero, zero, nothing, found, values, V, _leading(V), support, work,
        ctypes.c_int(len(work)), iwork, ctypes.c_int(len(iwork)), info,
    )  # fmt: skip
    if info.value:
        raise la.LinAlgError(f"eigenvalues were not found (syevr, info={info.value})")
    return (values, V) if vectors else values


def times_transposed_triangle(lower, matrix):
    """L^T times the first len(L) rows of a matrix ordered by columns, in their place; L stands in
    the lower triangle of `lower`."""
    sizes = (ctypes.c_int(size) for size in (len(lower), matrix.shape[1]))
    at = _leading(lower), matrix, _leading(matrix)
    _lapack("dtrmm", b"L", b"L", b"T", b"N", *sizes, ctypes.c_double(1.0), lower, *at)


def solve_triangle(lower, columns, *, from_right=False):
    """L^-1 B in the place of B, a matrix ordered by columns, or B L^-1; L stands in the lower
    triangle of `lower`, in the same precision."""
    letter = _letter(columns)
    sizes = (ctypes.c_int(size) for size in columns.shape)
    _lapack(
        f"{letter}trsm", b"R" if from_right else b"L", b"L", b"N", b"N", *sizes,
        REALS[letter](1.0), lower, _leading(lower), columns, _leading(columns),
    )  # fmt: skip
    return columns


def add_squares(total, matrix):
    """Add A A^T, of a matrix in either order, to the lower triangle of `total`, ordered by columns;
    all in double precision."""
    by_rows = matrix.flags.c_contiguous
    matrix = matrix.T if by_rows else np.asfortranarray(matrix)
    n, inner = ctypes.c_int(len(total)), ctypes.c_int(matrix.shape[0 if by_rows else 1])
    one = ctypes.c_double(1.0)
    _lapack(
        "dsyrk", b"L", b"T" if by_rows else b"N", n, inner, one, matrix, _leading(matrix), one,
        total, _leading(total),
    )  # fmt: skip


def triangle_of_squares(matrix, rows, ridge, block=64):
    """R in the upper triangle, with R^T R = A^T A + ridge^2 I, by QR factorisations in place of A,
    the first rows of a square matrix ordered by columns whose others are zero."""
    n, lead, info = len(matrix), _leading(matrix), ctypes.c_int()
    block = max(1, min(block, n))
    work = np.empty(max(1, block * n))
    m, size, width, room = (ctypes.c_int(value) for value in (rows, n, block, len(work)))
    _lapack("dgeqrf", m, size, matrix, lead, np.empty(max(1, rows)), work, room, info)
    below, blocks = np.zeros((n, n), order="F"), np.empty((block, n))
    np.einsum("ii->i", below)[:] = ridge
    _lapack("dtpqrt", size, size, size, width, matrix, lead, below, lead, blocks, width, work, info)
    return matrix


def _leading(matrix):
    """The distance of its columns, which to LAPACK is one at least, also without any."""
    return ctypes.c_int(max(1, len(matrix), matrix.strides[1] // matrix.itemsize))


def _letter(matrix):
    return {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}[matrix.dtype]


def _lapack(name, *arguments):
    places = []
    for one in arguments:
        if isinstance(one, np.ndarray):
            places.append(ctypes.c_void_p(one.ctypes.data))
        elif isinstance(one, bytes):
            places.append(ctypes.c_char_p(one))
        else:
            places.append(ctypes.byref(one))
    routine = _routine(name)

    def compute():  # holds the arrays, for it may still be at work when nobody waits for it
        routine(*places)
        return arguments

    if sum(one.size for one in arguments if isinstance(one, np.ndarray)) <= SOON_DONE:
        compute()
    else:
        interruptible(compute)


@cache
def _routine(name):
    capsule = (cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__)[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None)(pointer)


# ------------------------------------------------------------------------------------------ memory
LARGEST_AMOUNT = 2**62  # that compiled code can count
UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


class MemoryLimitError(MemoryError):
    """Something would allocate more than it may; the text gives the arithmetic and a way out."""


def parse_bytes(amount):
    """Bytes from a number, or from a text such as "4GB" or "500 MB"."""
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([KMGT]?B?)\s*", amount, re.IGNORECASE)
        unit = match and match[2].upper()
        if not match or (unit not in UNITS and unit + "B" not in UNITS):
            raise ValueError(f"max_memory={amount!r} is not an amount: write bytes or e.g. '4GB'")
        amount = float(match[1]) * UNITS.get(unit, UNITS.get(unit + "B"))
    is_number = isinstance(amount, Real) and not isinstance(amount, bool)
    if not (is_number and 0 < amount < float("inf")):
        raise ValueError(f"max_memory must be positive, not {amount!r}")
    return int(min(amount, LARGEST_AMOUNT))


def memory_limit(max_memory=None):
    """The limit in bytes: what the caller allows, or half of what the machine has left."""
    if max_memory is not None:
        return parse_bytes(max_memory)
    return min([psutil.virtual_memory().available, *memory_left_in_groups()]) // 2


def memory_left_in_groups(root="/sys/fs/cgroup", own="/proc/self/cgroup"):
    """What Linux' control groups of this process have left, where a container is limited by one."""
    for folder, (most, used, untouched) in _limited_groups(root, own):
        with suppress(OSError, ValueError, KeyError):
            left = int((folder / most).read_text()) - int((folder / used).read_text())
            stat = (folder / "memory.stat").read_text().split()
            # Pages of files that nobody has touched lately are given up when memory is short.
            yield max(0, left + int(dict(zip(stat[::2], stat[1::2], strict=True))[untouched]))


@cache  # to look for them takes a tenth of a small fit
def _limited_groups(root, own):
    """The folders of the groups that set a limit, with the names that their files have."""
    try:
        lines = Path(own).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":  # one hierarchy for all controllers
            top, names = Path(root), ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = Path(root) / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inside = top / group.lstrip("/")
        for folder in (inside, *inside.parents):
            with suppress(OSError, ValueError):  # "max" and more than there is are none
                if int((folder / names[0]).read_text()) <= psutil.virtual_memory().total:
                    found.append((folder, names))
            if folder == top:
                break
    return found


def give_back_freed_memory():
    """Hand what was freed back to the system, where the C library keeps it: of the threads that
    work on blocks each has a store of its own, which later allocations of others do not use."""
    with suppress(AttributeError, OSError, TypeError):  # another library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def format_bytes(amount):
    if amount > 1e21:  # whole numbers may be beyond what floating-point ones can be
        return "more than 1e9 TB"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.0f} bytes"


def require_memory(needed, max_memory, *, what, arithmetic, way_out, at_least=False):
    """Refuse with the arithmetic when `needed` bytes exceed the limit; nothing is allocated.

    `at_least`: counting has stopped at the limit, so that more may be needed.
    """
    limit = memory_limit(max_memory)
    if needed > limit:
        raise MemoryLimitError(
            f"{what} needs {'at least ' if at_least else ''}{format_bytes(needed)} ({arithmetic}), "
            f"but only {format_bytes(limit)} may be used. {way_out}"
        )


# ------------------------------------------------------------------- environment variables, files
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


def write_whole(path, content):
    """Write a file (bytes or text) that readers find as it was or complete, never half-written."""
    path = Path(path)
    content = content.encode() if isinstance(content, str) else content
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


# -------------------------------------------------------------------------------------------- time
_told = contextvars.ContextVar("told", default=lambda line: None)


@contextmanager
def telling(tell):
    """Inside, `tell(line)` hears when a stage begins, and what it took."""
    before = _told.set(tell)
    try:
        yield
    finally:
        _told.reset(before)


class Stopwatch:
    """The seconds that stages take, in a dict of timings.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with watch.stage("landmarks"):
    ...     pass
    >>> with watch.stage("solve"):
    ...     pass
    >>> list(watch.timings), watch.total >= sum(watch.timings.values())
    (['landmarks', 'solve'], True)
    """

    def __init__(self, timings=None):
        """Begin; stages are written to `timings`, if one is given."""
        self.timings = {} if timings is None else timings
        self._began = perf_counter()

    @contextmanager
    def stage(self, name):
        """Add the seconds inside to those of the stage."""
        began, tell = perf_counter(), _told.get()
        tell(f"{name} ...")
        try:
            yield
        finally:
            spent = perf_counter() - began
            self.timings[name] = self.timings.get(name, 0.0) + spent
        tell(f"{name}: {spent:.2f} s")

    @property
    def total(self):
        """Seconds since the watch began."""
        return perf_counter() - self._began


# ---------------------------------------------------------------------------------------- progress
def wants_progress():
    """Whether there is somebody to see it: not in a notebook that is executed without a front end,
    where it would end up in the saved output; KERNLAB_PROGRESS=0 or 1 decides otherwise."""
    chosen = os.environ.get("KERNLAB_PROGRESS")
    if chosen:
        return chosen != "0"
    return not _in_kernel() or "JPY_SESSION_NAME" in os.environ or "VSCODE_PID" in os.environ


def bar_options(wanted=True):
    """Options of a tqdm bar: it comes after two seconds, goes when done, and only for people. In a
    notebook, where tqdm itself shows nothing, it is asked for if a person has opened it."""
    asked_for = _in_kernel() or os.environ.get("KERNLAB_PROGRESS")
    hidden = not wants_progress() if asked_for else None
    return {"delay": 2, "leave": False, "disable": hidden if wanted else True}


def _in_kernel():
    return "ipykernel" in sys.modules and "JPY_PARENT_PID" in os.environ


# ---------------------------------------------------------------------------------------- warnings
def levels_to_the_user():
    """The `stacklevel` of a warning that points at whoever called kernlab."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("kernlab."):
        level, frame = level + 1, frame.f_back
    return level
