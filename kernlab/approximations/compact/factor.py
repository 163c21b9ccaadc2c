"""A sparse Cholesky factor of a symmetric matrix: ordered, counted, then computed.

    A[p][:, p] = L L^T,     so  F = L[argsort(p)]  has the rows of A and  F F^T = A.

The permutation p keeps L sparse: row i of L belongs to row p[i] of A. A vector in the order of A is
therefore taken to that of L by [p] and back by [argsort(p)].

What L will look like follows from the pattern of A. Row i of L has an entry in every column on the
paths from the entries of the matrix's row up the elimination tree, until a path meets one that was
walked before: walking them all visits each entry of L once and stores none. The solution of
L x = b is zero but for the columns on the paths from the entries of b, so that a sparse right-hand
side costs the entries of L in those columns alone.
"""

import time

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.backends import ORDERINGS, NotPositiveDefinite, get_backend
from kernlab.runtime import REORDERED_SUMS, memory_limit, njit, require_memory

FACTOR_BYTES = 32  # an entry of L: in supernodes, as sparse columns, and the copy handed over


class Analysis:
    """A sparse symmetric matrix, ordered, and the entries that its factor will have, counted.

    Parameters
    ----------
    matrix : CSR
    ordering : "amd" (approximate minimum degree), "metis", "nesdis" (nested dissection) where
        built in, or "natural".
    backend : "cholmod", "superlu", or "auto" for the first that is available.
    count_to : int, default 2^62
        Counting ends at so many entries: then `is_complete` is False, and there are more.

    Attributes
    ----------
    permutation, nonzeros, is_complete, seconds; parent of each column in the elimination tree
    (-1: none).
    """

    def __init__(self, matrix, *, ordering="amd", backend="auto", count_to=2**62):
        if ordering not in ORDERINGS:
            raise ValueError(f"ordering={ordering!r} is not one of {', '.join(ORDERINGS)}")
        self.ordering, self._backend = ordering, get_backend(backend)
        began = time.perf_counter()
        # A symmetric matrix in CSR is the same one in CSC, so nothing is converted.
        self._matrix = sp.csc_matrix(
            (matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape
        )
        self.permutation, self._state = self._backend.order(self._matrix, ordering)
        self.parent, self.nonzeros, self.is_complete = self._walked(self.permutation, count_to)
        self.seconds = time.perf_counter() - began

    def _walked(self, permutation, limit=2**62):
        """The elimination tree in this order, and the entries of the factor, up to the limit."""
        matrix, inverse = self._matrix, np.argsort(permutation)
        return _walk(matrix.indptr, matrix.indices, permutation, inverse, limit)

    def factorise(self):
        """The factor, computed (`SparseFactor`)."""
        began = time.perf_counter()
        if self.nonzeros >= 2**31:
            _, self._state = self._backend.order(self._matrix, self.ordering, long=True)
        n_rows = self._matrix.shape[0]
        try:
            lower, permutation = self._backend.factor(self._matrix, self._state)
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"the sparse matrix of {n_rows:,} rows has no Cholesky factor, for it is not "
                f"positive definite ({error})"
            ) from error
        parent = self.parent
        if not np.array_equal(permutation, self.permutation):
            parent = self._walked(permutation)[0]
        seconds = {"order": self.seconds, "factor": time.perf_counter() - began}
        return SparseFactor(lower, permutation, parent, self._backend.name, self.ordering, seconds)


def factorise(matrix, *, ordering="amd", backend="auto", max_memory=None, entry_bytes=FACTOR_BYTES):
    """The Cholesky factor of a sparse symmetric matrix; refused first if it would not fit.

    `entry_bytes`: what an entry takes at the worst moment, for a caller who goes on with more.
    """
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
        parts = (self.lower.data, self.lower.indices, self.lower.indptr, self.permutation)
        return sum(part.nbytes for part in parts) + self.parent.nbytes

    def rows(self, drop=0.0):
        """F = L[argsort(p)] as CSR: its rows are those of A, and F F^T = A.

        Entries of absolute value `drop` or less are left out.
        """
        L, n = self.lower, self.lower.shape[0]
        starts = _count_rows(L.indices, L.data, self.permutation, drop)
        index_type = np.int32 if starts[-1] < 2**31 else np.int64
        columns, values = np.empty(starts[-1], index_type), np.empty(starts[-1])
        _fill_rows(
            *(L.indptr, L.indices, L.data, self.permutation, drop),
            *(starts[:-1].copy(), columns, values),
        )
        return sp.csr_matrix((values, columns, starts.astype(index_type)), shape=(n, n))

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
        """For each sparse row b, in the order of A: phi with F phi = b, the row's features.

        Entries of absolute value `drop` or less are left out.
        """
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


@njit
def _walk(starts, indices, permutation, inverse, limit):
    n = len(permutation)
    parent = np.full(n, -1, np.int64)
    last_seen = np.full(n, -1, np.int64)
    nonzeros = n
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
                column = parent[column]
        if nonzeros > limit:
            return parent, nonzeros, False
    return parent, nonzeros, True


# ------------------------------------------------------------------- L, a lower triangle in CSC
@njit
def _count_rows(indices, values, permutation, drop):
    """Where each row starts, row i of the triangle being at place permutation[i]."""
    starts = np.zeros(len(permutation) + 1, np.int64)
    for k in range(len(values)):
        starts[permutation[indices[k]] + 1] += abs(values[k]) > drop
    for row in range(len(permutation)):
        starts[row + 1] += starts[row]
    return starts


@njit
def _fill_rows(col_starts, indices, values, permutation, drop, ends, columns, out):
    for column in range(len(col_starts) - 1):
        for k in range(col_starts[column], col_starts[column + 1]):
            if abs(values[k]) > drop:
                row = permutation[indices[k]]
                columns[ends[row]] = column
                out[ends[row]] = values[k]
                ends[row] += 1


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
