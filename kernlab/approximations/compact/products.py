"""Products of a sparse matrix with a few vectors at once, on all cores.

Reading an entry costs more than using it, so several columns share one reading. The indices are
looked at as unsigned numbers: a negative index would mean the other end of the array, and testing
for that would take longer than the multiplication.
"""

import itertools

import numpy as np
from scipy.sparse.linalg import LinearOperator

from kernlab.runtime import REORDERED_SUMS, for_each_block, njit, thread_count

SMALL = 5_000_000  # multiplications below which starting threads costs more than it saves


class SparseProduct:
    """Products with a CSR matrix, its rows dealt out evenly once."""

    def __init__(self, matrix):
        self._arrays = unsigned(matrix.indptr, matrix.indices, matrix.data)
        self._n_rows = matrix.shape[0]
        shares = np.linspace(0, matrix.indptr[-1], 4 * thread_count() + 1)[1:-1]
        cuts = np.unique([0, *np.searchsorted(matrix.indptr, shares), self._n_rows])
        self._blocks = [slice(a, b) for a, b in itertools.pairwise(cuts)]

    def __call__(self, V):
        """The matrix times the columns of V."""
        V = np.ascontiguousarray(V, dtype=np.float64)
        out = np.empty((self._n_rows, V.shape[1]))
        starts, columns, values = self._arrays

        def part(rows):
            multiply(starts[rows.start : rows.stop + 1], columns, values, V, out[rows])

        threads = 1 if len(values) * V.shape[1] < SMALL else None
        for_each_block(part, self._blocks, threads)
        return out


class SparseOperator(LinearOperator):
    """Products with a symmetric matrix whose row k belongs to entry `order[k]` of the vectors."""

    def __init__(self, product, order):
        super().__init__(np.float64, (len(order), len(order)))
        self._product, self._order = product, order

    def _matmat(self, V):
        result = np.empty(V.shape)
        result[self._order] = self._product(V[self._order])
        return result

    def _matvec(self, v):
        return self._matmat(np.reshape(v, (-1, 1)))

    def _adjoint(self):
        return self


def unsigned(starts, columns, values):
    """The arrays of a CSR matrix as `multiply` wants them; nothing is copied."""
    kinds = {4: np.uint32, 8: np.uint64}
    return starts.view(kinds[starts.itemsize]), columns.view(kinds[columns.itemsize]), values


def multiply(starts, columns, values, V, out):
    """Write the product of CSR rows with V to `out`, up to four columns at a reading."""
    n_vectors, first = V.shape[1], 0
    while first < n_vectors:
        left = n_vectors - first
        width = 4 if left >= 4 else 3 if left == 3 else 1
        _PRODUCTS[width](starts, columns, values, V, first, out)
        first += width


@njit(fastmath=REORDERED_SUMS)
def _one(starts, columns, values, V, first, out):
    for row in range(len(starts) - 1):
        a = 0.0
        for k in range(starts[row], starts[row + 1]):
            a += values[k] * V[columns[k], first]
        out[row, first] = a


@njit(fastmath=REORDERED_SUMS)
def _three(starts, columns, values, V, first, out):
    for row in range(len(starts) - 1):
        a, b, c = 0.0, 0.0, 0.0
        for k in range(starts[row], starts[row + 1]):
            value, column = values[k], columns[k]
            a += value * V[column, first]
            b += value * V[column, first + 1]
            c += value * V[column, first + 2]
        out[row, first], out[row, first + 1], out[row, first + 2] = a, b, c


@njit(fastmath=REORDERED_SUMS)
def _four(starts, columns, values, V, first, out):
    for row in range(len(starts) - 1):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(starts[row], starts[row + 1]):
            value, column = values[k], columns[k]
            a += value * V[column, first]
            b += value * V[column, first + 1]
            c += value * V[column, first + 2]
            d += value * V[column, first + 3]
        out[row, first], out[row, first + 1] = a, b
        out[row, first + 2], out[row, first + 3] = c, d


_PRODUCTS = {1: _one, 3: _three, 4: _four}
