"""All pairs of rows within a radius, by blocked distance products: for rows of many dimensions.

Where no few directions tell near from far, nothing beats computing all inner products, block by
block, with BLAS (or with sparse products): n^2 p operations at the processor's full speed and one
block of distances in memory. The blocks screen; pairs that pass are settled exactly.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.approximations.compact.hits import Hits, settle
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import njit

BLOCK_BYTES = 2**23
NO_ROW = -1  # the place of new rows among the fitted ones


class ProductSearch:
    """The rows X in their own order, to find those within `radius` of each other or of new rows."""

    def __init__(self, X, radius):
        self.radius = float(radius)
        self.order = np.arange(X.shape[0])
        self._rows = _settled(X)
        self._right = prepare_right(self._rows, self._rows, distances=True)

    def above(self, rows):
        """The near rows behind each of the rows of a slice: each pair once."""
        behind = self._right.from_row(rows.start)
        return self._near(self._rows[rows], behind, rows.start, above=True)

    def around(self, Z):
        """The fitted rows near each of the new rows Z."""
        if sp.issparse(self._rows) != sp.issparse(Z):
            Z = sp.csr_matrix(Z) if sp.issparse(self._rows) else Z.toarray()
        return self._near(_settled(Z), self._right, 0, above=False)

    def _near(self, Z, right, first_column, above):
        n_columns = right.rows.shape[0]
        step = max(1, BLOCK_BYTES // (8 * n_columns))
        parts = []
        for start in range(0, Z.shape[0], step):
            block = Z[start : start + step]
            squares = np.empty((block.shape[0], n_columns))
            squared_distances(block, right, squares)
            counts = np.empty(block.shape[0], np.int64)
            limit = self._screen(block, right)
            # The first of the columns is the first of the rows: row q sees the columns after q.
            own = start if above else NO_ROW
            found = _below(squares, limit, own, counts, first_column)
            parts.append(settle(Hits(counts, *found), block, self._rows, self.radius))
        return Hits(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _screen(self, block, right):
        """A limit that no near pair exceeds although |x|^2 + |z|^2 - 2 x . z is rounded."""
        moved = block if right.shift is None else block - right.shift
        largest = float(row_norms(moved, squared=True).max()) + float(right.norms.max())
        return self.radius**2 + 4.0 * np.finfo(float).eps * (block.shape[1] + 16) * largest


def _settled(X):
    """In double precision and, where sparse, with sorted features."""
    X = X.astype(np.float64, copy=False)
    return X.sorted_indices() if sp.issparse(X) else X


@njit
def _below(squares, limit, own, counts, first_column):
    n_rows, n_columns = squares.shape
    total = 0
    for q in range(n_rows):
        count = 0
        for column in range(0 if own == NO_ROW else own + q + 1, n_columns):
            count += squares[q, column] < limit
        counts[q] = count
        total += count
    columns, found = np.empty(total, np.int32), 0
    for q in range(n_rows):
        for column in range(0 if own == NO_ROW else own + q + 1, n_columns):
            if squares[q, column] < limit:
                columns[found] = first_column + column
                found += 1
    return columns, np.empty(total)
