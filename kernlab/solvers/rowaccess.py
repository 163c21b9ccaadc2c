"""One compiled loop for dense and for sparse rows: `dot` and `add` know how a row is stored."""

import scipy.sparse as sp
from numba.extending import overload

from kernlab.runtime import REORDERED_SUMS, njit


def stored_rows(F):
    """The rows as compiled loops take them: one array if dense, three if CSR."""
    return (F.data, F.indices, F.indptr) if sp.issparse(F) else (F,)


def dot(rows, i, w):
    """Row i times the vector w."""
    return _dot_with_row(rows, i, w)


def add(rows, i, step, w):
    """Add step times row i to the vector w."""
    return _add_row(rows, i, step, w)


def _dot_with_row(rows, i, w):
    """Chosen by the type of `rows` when a caller is compiled."""
    raise TypeError("only compiled code may call this")


def _add_row(rows, i, step, w):
    raise TypeError("only compiled code may call this")


@overload(_dot_with_row, inline="always")
def _compile_dot(rows, i, w):
    if len(rows) == 1:

        def dense(rows, i, w):
            F = rows[0]
            total = 0.0
            for j in range(F.shape[1]):
                total += F[i, j] * w[j]
            return total

        return dense

    def sparse(rows, i, w):
        data, indices, indptr = rows
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        return total

    return sparse


@overload(_add_row, inline="always")
def _compile_add(rows, i, step, w):
    if len(rows) == 1:

        def dense(rows, i, step, w):
            F = rows[0]
            for j in range(F.shape[1]):
                w[j] += step * F[i, j]

        return dense

    def sparse(rows, i, step, w):
        data, indices, indptr = rows
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += step * data[k]

    return sparse


dot = njit(dot, fastmath=REORDERED_SUMS)
add = njit(add, fastmath=REORDERED_SUMS)
