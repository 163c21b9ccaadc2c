"""A sparse Cholesky factor of a symmetric matrix: ordered, counted, then computed.

    A[p][:, p] = L L^T,     so  F = L[argsort(p)]  has the rows of A and  F F^T = A.

A backend orders a matrix by its pattern (`order`: the permutation p, and what goes on from there)
and factorises it (`factor`: L in CSC, and p); in between the entries of L are counted, and the
operations.
"""

import importlib
import os
import signal
import sys
import threading
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spilu, splu

from kernlab.approximations.compact import cholmod
from kernlab.parameters import entry_of, one_of
from kernlab.rows.arrays import held_bytes
from kernlab.runtime import (
    REORDERED_SUMS,
    Stopwatch,
    interruptible,
    memory_limit,
    njit,
    require_memory,
    thread_count,
)

LONG = 4e10  # operations of each thread: some two seconds
FACTOR_BYTES = 32  # an entry of L: in supernodes, as sparse columns, and the copy handed over
ORDERINGS = ("amd", "metis", "nesdis", "natural")
SYMMETRIC = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}

_processes_of_cholmod = set()  # in which it has run; a forked one inherits those of its parents


class NotPositiveDefinite(ValueError):  # noqa: N818 - it says what the matrix is
    """The matrix has no Cholesky factor."""


class Analysis:
    """A sparse symmetric matrix, ordered, and the entries that its factor will have, counted.

    Parameters
    ----------
    matrix : CSR
    ordering : "amd" (approximate minimum degree), "metis", "nesdis" (nested dissection) where
        built in, or "natural".
    backend : "cholmod", "superlu", or "auto" for the first that is available.
    count_to : counting ends at so many entries; `is_complete` says whether there are more.

    Attributes
    ----------
    permutation, nonzeros, operations (multiplications and additions of the factor), is_complete,
    seconds, parent (of columns in the elimination tree, or -1)
    """

    def __init__(self, matrix, *, ordering="amd", backend="auto", count_to=2**62):
        one_of(*ORDERINGS)(ordering, "ordering")
        self.ordering, self._backend = ordering, get_backend(backend)
        began = time.perf_counter()
        # A symmetric matrix in CSR is the same one in CSC, so nothing is converted.
        parts = (matrix.data, matrix.indices, matrix.indptr)
        self._matrix = sp.csc_matrix(parts, shape=matrix.shape)
        self.permutation = self._backend.order(self._matrix, ordering)
        found = self._walked(self.permutation, count_to)
        self.parent, self.nonzeros, self.operations, self.is_complete = found
        self.seconds = time.perf_counter() - began

    def _walked(self, permutation, limit=2**62):
        """The elimination tree in this order, and the entries and operations of the factor, up to
        the limit."""
        matrix, inverse = self._matrix, np.argsort(permutation)
        return interruptible(_walk, matrix.indptr, matrix.indices, permutation, inverse, limit)

    def factorise(self):
        """The factor, computed (`SparseFactor`)."""
        watch = Stopwatch()
        n_rows, is_long = self._matrix.shape[0], self.operations > LONG * thread_count()
        try:
            with watch.stage("factor"):
                lower, permutation = self._backend.factor(self._matrix, self.permutation, is_long)
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"the sparse matrix of {n_rows:,} rows has no Cholesky factor, for it is not "
                f"positive definite ({error})"
            ) from error
        parent = self.parent
        if not np.array_equal(permutation, self.permutation):
            parent = self._walked(permutation)[0]
        seconds = {"order": self.seconds, "factor": watch.total}
        return SparseFactor(lower, permutation, parent, self._backend.name, self.ordering, seconds)


def factorise(matrix, *, ordering="amd", backend="auto", max_memory=None, entry_bytes=FACTOR_BYTES):
    """The Cholesky factor of a sparse symmetric matrix; refused first if it would not fit, with
    `entry_bytes` an entry at the worst moment."""
    limit = memory_limit(max_memory)
    analysis = Analysis(matrix, ordering=ordering, backend=backend, count_to=limit // entry_bytes)
    require_memory(
        analysis.nonzeros * entry_bytes,
        limit,
        what=f"the Cholesky factor of {matrix.shape[0]:,} rows",
        arithmetic=f"{analysis.nonzeros:,} entries in the order that {ordering!r} found, "
        f"{entry_bytes} bytes each while it is computed and put to use",
        way_out="Take a smaller sigma, another ordering ('metis' fills in less where it is built "
        "in), fewer rows, allow more with max_memory, or take solver='newton', which needs no "
        "factor.",
        at_least=not analysis.is_complete,
    )
    return analysis.factorise()


class SparseFactor:
    """L and p with L L^T = A[p][:, p], and solves with them."""

    def __init__(self, lower, permutation, parent, backend, ordering, seconds):
        if not lower.has_sorted_indices:
            lower.sort_indices()
        self.lower, self.permutation, self.parent = lower, permutation, parent
        self.backend, self.ordering, self.seconds = backend, ordering, seconds

    @property
    def nonzeros(self):
        return self.lower.nnz

    @property
    def nbytes(self):
        return held_bytes(self.lower) + self.permutation.nbytes + self.parent.nbytes

    def rows(self, drop=0.0):
        """F = L[argsort(p)] as CSR, without entries of absolute value `drop` or less."""
        L, kept = self.lower, np.abs(self.lower.data) > drop
        starts = np.append(0, np.cumsum(kept))[L.indptr]
        parts = L.data[kept], self.permutation[L.indices[kept]], starts
        return sp.csc_matrix(parts, shape=L.shape).tocsr()

    def solve(self, B):
        """X with A X = B, B dense, of one axis or two."""
        inner = np.array(np.asarray(B)[self.permutation], np.float64, order="C")
        _forward(*self._columns, inner.reshape(len(inner), -1))
        return self.combination(inner)

    def combination(self, weights):
        """The combination of the rows of F that gives `weights`: x with F^T x = w (equation 42)."""
        inner = np.array(weights, np.float64, order="C")
        _backward(*self._columns, inner.reshape(len(inner), -1))
        x = np.empty_like(inner)
        x[self.permutation] = inner
        return x

    def features(self, rows, drop=0.0):
        """For each sparse row b, in the order of A: phi with F phi = b, the row's features, without
        entries of absolute value `drop` or less."""
        permuted = sp.csr_matrix(rows)[:, self.permutation]
        starts, columns, values = _forward_sparse(
            *self._columns,
            np.asarray(self.parent, np.int64),
            *(permuted.indptr, permuted.indices, permuted.data, drop),
        )
        return sp.csr_matrix((values, columns, starts), shape=permuted.shape)

    @property
    def _columns(self):
        return self.lower.indptr, self.lower.indices, self.lower.data


class Cholmod:
    """CHOLMOD through scikit-sparse: AMD, and METIS and nested dissection where built in."""

    name = "cholmod"

    def __init__(self, module):
        self._module = module

    def order(self, matrix, ordering):
        module = self._module
        is_04 = cholmod.is_04(module)
        invalid = module.CholmodInvalidError if is_04 else module.CholmodInvalidInputError
        try:
            return interruptible(cholmod.order, module, matrix, ordering)
        except (module.CholmodNotInstalledError, invalid) as error:
            raise _not_built_in(ordering) from error

    def factor(self, matrix, permutation, is_long=False):
        """L and p; of a factor that takes long by a process of its own, which Ctrl-C ends."""
        half = _lower_half(matrix, permutation)
        try:
            if is_long and _hears_ctrl_c():
                lower, order = cholmod.by_a_process(half)
            else:
                _processes_of_cholmod.add(os.getpid())
                lower, order = interruptible(cholmod.lower_factor, self._module, half)
            return lower, permutation[order]
        except self._module.CholmodNotPositiveDefiniteError as error:
            raise NotPositiveDefinite(str(error)) from error


def _hears_ctrl_c():
    """Whether Ctrl-C raises an exception here: in the main thread, unless it is ignored."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and callable(signal.getsignal(signal.SIGINT)) and bool(sys.executable)


def _lower_half(matrix, permutation):
    """The lower half, as CSC, of a symmetric matrix whose rows are put in this order."""
    data, indices, starts = matrix.data, matrix.indices, matrix.indptr
    places = permutation, np.argsort(permutation)
    # Numba makes arrays of what it found, where Ctrl-C would become an error of the interpreter's.
    parts = interruptible(_lower_parts, data, indices, starts, *places)
    half = sp.csc_matrix(matrix.shape)
    half.data, half.indices, half.indptr = parts
    return half


class SuperLU:
    """SciPy's SuperLU in symmetric mode, always there, slower: L D L^T read off its L and U;
    minimum degree on A + A^T."""

    name = "superlu"

    def order(self, matrix, ordering):
        """SuperLU orders only when it factorises: an incomplete factor of the pattern, with next to
        nothing off the diagonal, drops all of it at once and costs no more than the ordering."""
        if ordering == "natural":
            return np.arange(matrix.shape[0])
        if ordering != "amd":
            raise _not_built_in(ordering)
        pattern = sp.csc_matrix(matrix, copy=True)
        pattern.data[:] = 1e-30
        pattern.setdiag(1.0)
        incomplete = interruptible(
            spilu, pattern, drop_tol=1e-3, fill_factor=2.0, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC
        )
        return np.argsort(incomplete.perm_c).astype(np.int64)

    def factor(self, matrix, permutation, is_long=False):
        permuted = sp.csc_matrix(matrix)[permutation][:, permutation]
        try:
            lu = interruptible(splu, permuted, permc_spec="NATURAL", **SYMMETRIC)
        except RuntimeError as error:
            raise NotPositiveDefinite(str(error)) from error
        pivots = lu.U.diagonal()
        if not (np.array_equal(lu.perm_r, lu.perm_c) and np.all(pivots > 0)):
            raise NotPositiveDefinite("a pivot is not positive")
        lower = lu.L.tocsc()
        lower.data *= np.repeat(np.sqrt(pivots), np.diff(lower.indptr))
        lower.sort_indices()
        return lower, permutation[np.argsort(lu.perm_c)]


def _not_built_in(ordering):
    return ValueError(
        f"ordering={ordering!r} is not built into the Cholesky library that is installed: take "
        "'amd' or 'natural'"
    )


def _cholmod():
    """CHOLMOD where it can be loaded and used, or why not: its threads do not survive a fork, and
    the forked process would wait for them for ever."""
    if _processes_of_cholmod and os.getpid() not in _processes_of_cholmod:
        return (
            "cannot run in a process forked from one in which it has run, for its threads are not "
            "there: start processes with 'spawn' or 'forkserver' (joblib's loky does), or take "
            "backend='superlu'"
        )
    try:
        return Cholmod(importlib.import_module("sksparse.cholmod"))
    except ImportError:
        return (
            "needs scikit-sparse, which is not installed or cannot be loaded: install it (with "
            "SuiteSparse), or take backend='superlu', which comes with SciPy"
        )


BACKENDS = {"cholmod": _cholmod, "superlu": SuperLU}


def available_backends():
    """The backends that work here, the preferred one first."""
    return [name for name, make in BACKENDS.items() if not isinstance(make(), str)]


def get_backend(name="auto"):
    """A backend by name; "auto" is the preferred one."""
    if name == "auto":
        name = available_backends()[0]
    backend = entry_of(BACKENDS, name, "backend")()
    if isinstance(backend, str):
        raise ValueError(f"backend={name!r} {backend}")
    return backend


# ------------------------------------------------------------------------------ compiled loops
@njit
def _walk(starts, indices, permutation, inverse, limit):
    """The elimination tree (each column's parent), and the entries of L, counted: row i has one in
    every column on the paths from the entries of the matrix's row up the tree. A column of m takes
    m^2 operations, of which its entry k brings 2 k - 1."""
    n = len(permutation)
    parent = np.full(n, -1, np.int64)
    last_seen = np.full(n, -1, np.int64)
    entries = np.ones(n, np.int64)
    nonzeros, operations = n, float(n)
    for row in range(n):
        last_seen[row] = row
        original = permutation[row]
        for k in range(starts[original], starts[original + 1]):
            column = inverse[indices[k]]
            while column < row and last_seen[column] != row:
                if parent[column] < 0:
                    parent[column] = row
                last_seen[column] = row
                nonzeros += 1
                entries[column] += 1
                operations += 2 * entries[column] - 1
                column = parent[column]
        if nonzeros > limit:
            return parent, nonzeros, operations, False
    return parent, nonzeros, operations, True


@njit
def _lower_parts(data, indices, starts, permutation, inverse):
    """Values, rows and starts of the columns of the lower half of A[p][:, p]."""
    out_starts = np.zeros_like(starts)
    for column, original in enumerate(permutation):
        out_starts[column + 1] = out_starts[column]
        for k in range(starts[original], starts[original + 1]):
            out_starts[column + 1] += inverse[indices[k]] >= column
    values, rows = np.empty(out_starts[-1], data.dtype), np.empty(out_starts[-1], indices.dtype)
    end = 0
    for column, original in enumerate(permutation):
        for k in range(starts[original], starts[original + 1]):
            if inverse[indices[k]] >= column:
                values[end], rows[end] = data[k], inverse[indices[k]]
                end += 1
    return values, rows, out_starts


@njit(fastmath=REORDERED_SUMS)
def _forward(starts, indices, values, X):
    for column in range(len(starts) - 1):
        first = starts[column]  # the diagonal
        for c in range(X.shape[1]):
            X[column, c] /= values[first]
        for k in range(first + 1, starts[column + 1]):
            for c in range(X.shape[1]):
                X[indices[k], c] -= values[k] * X[column, c]


@njit(fastmath=REORDERED_SUMS)
def _backward(starts, indices, values, X):
    for column in range(len(starts) - 2, -1, -1):
        first = starts[column]
        for k in range(first + 1, starts[column + 1]):
            for c in range(X.shape[1]):
                X[column, c] -= values[k] * X[indices[k], c]
        for c in range(X.shape[1]):
            X[column, c] /= values[first]


@njit(fastmath=REORDERED_SUMS)
def _forward_sparse(starts, indices, values, parent, b_starts, b_columns, b_values, drop):
    """L^-1 b of sparse b: zero but for the columns on the paths from the entries of b."""
    n, n_rows = len(parent), len(b_starts) - 1
    x = np.zeros(n)
    seen = np.full(n, -1, np.int64)
    reach = np.empty(n, np.int64)
    out_starts = np.zeros(n_rows + 1, np.int64)
    out_columns = np.empty(max(1024, 4 * len(b_values)), np.int64)
    out_values = np.empty(len(out_columns))
    for row in range(n_rows):
        size = 0
        for k in range(b_starts[row], b_starts[row + 1]):
            column = b_columns[k]
            x[column] = b_values[k]
            while column >= 0 and seen[column] != row:
                seen[column] = row
                reach[size] = column
                size += 1
                column = parent[column]
        ordered = np.sort(reach[:size])  # a parent comes after its children
        begin = out_starts[row]
        if begin + size > len(out_columns):
            out_columns = _grown(out_columns, begin + size)
            out_values = _grown(out_values, begin + size)
        end = begin
        for place in range(size):
            column = ordered[place]
            first = starts[column]
            solved = x[column] / values[first]
            x[column] = 0.0
            for k in range(first + 1, starts[column + 1]):
                x[indices[k]] -= values[k] * solved
            if abs(solved) > drop:
                out_columns[end] = column
                out_values[end] = solved
                end += 1
        out_starts[row + 1] = end
    total = out_starts[n_rows]
    return out_starts, out_columns[:total].copy(), out_values[:total].copy()


@njit
def _grown(array, at_least):
    larger = np.empty(max(2 * len(array), at_least), array.dtype)
    larger[: len(array)] = array
    return larger
