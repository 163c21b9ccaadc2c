"""Pairs of rows nearer than a radius: by a product that screens, then by exact differences.

|x|^2 + |z|^2 - 2 x . z is rounded: it only says which pairs are in doubt, and these are measured by
differences, so that equal rows are at distance zero and a pair at just the radius is not near.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kernlab.rows.products import exact_squares, prepare_right, squared_distances
from kernlab.runtime import REORDERED_SUMS, njit, require_memory

CHUNK = 16  # features between two looks at whether a pair is too far already
BLOCK_BYTES = 2**23


class Hits(NamedTuple):
    """The near rows of some rows, one after the other.

    Row q has the next `counts[q]` entries of `columns` (ascending) and `squares` (of distances).
    """

    counts: np.ndarray
    columns: np.ndarray
    squares: np.ndarray

    @property
    def starts(self):
        """Where each row's entries start, and where the last ones end."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @classmethod
    def joined(cls, parts):
        """The hits of consecutive rows as one."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))


class ProductSearch:
    """The rows X in their own order, to find those within `radius` of each other or of new rows."""

    def __init__(self, X, radius, max_memory=None):
        if not sp.issparse(X):
            n, p = X.shape
            require_memory(
                8 * n * p,
                max_memory,
                what=f"a copy of the {n:,} rows, centred for their distances,",
                arithmetic=f"{n:,} x {p:,} x 8 bytes",
                way_out="Allow more with max_memory.",
            )
        self.radius = float(radius)
        self.order = np.arange(X.shape[0])
        self._rows = _in_double(X)
        self._right = prepare_right(self._rows, self._rows, distances=True)

    def above(self, rows):
        """The near rows behind each of the rows of a slice: each pair once."""
        return self._near(self._rows[rows], rows.start)

    def around(self, Z):
        """The rows of X near each of the new rows Z."""
        if sp.issparse(self._rows) != sp.issparse(Z):
            Z = sp.csr_matrix(Z) if sp.issparse(self._rows) else Z.toarray()
        return self._near(_in_double(Z), None)

    def _near(self, Z, first):
        """Hits of the rows Z, which are those of X from `first` on, or new ones (None)."""
        right = self._right if first is None else self._right.from_row(first)
        n_columns, parts = right.rows.shape[0], []
        step = max(1, BLOCK_BYTES // (8 * n_columns))
        for start in range(0, max(1, Z.shape[0]), step):
            block = Z[start : start + step]
            squares = np.empty((block.shape[0], n_columns))
            norms = squared_distances(block, right, squares) if squares.size else right.norms[:0]
            limit = self._screen(norms.max(initial=0.0) + right.norms.max(initial=0.0))
            counts = np.empty(block.shape[0], np.int64)
            lowest = -1 if first is None else start  # row q of the block sees columns behind it
            columns = _below(squares, limit, lowest, first or 0, counts)
            hits = Hits(counts, columns, np.empty(len(columns)))
            parts.append(measured(hits, block, self._rows, self.radius))
        return Hits.joined(parts)

    def _screen(self, largest):
        """A limit that no near pair exceeds although |x|^2 + |z|^2 - 2 x . z is rounded, with norms
        of at most `largest` together."""
        return (
            self.radius * self.radius
            + 4.0 * np.finfo(float).eps * (self._rows.shape[1] + 16) * largest
        )


def measured(hits, queries, points, radius):
    """The hits that are nearer than `radius` in truth, with their exact squared distances.

    `hits` are those of a screen that lets pairs in doubt pass; the rows, and the points that
    `hits.columns` number, are both arrays or both CSR matrices in double precision.
    """
    counts, columns, squares = hits
    if sp.issparse(points):
        rows = np.repeat(np.arange(len(counts)), counts)
        squares = exact_squares(queries, points, rows, columns)
        near = squares < radius * radius
        counts = np.bincount(rows[near], minlength=len(counts))
        return Hits(counts, columns[near], squares[near])
    kept = _measure(queries, points, counts, columns, squares, radius * radius)
    return Hits(counts, columns[:kept], squares[:kept])


def _in_double(X):
    """In double precision and, where sparse, with sorted columns."""
    X = X.astype(np.float64, copy=False)
    return X.sorted_indices() if sp.issparse(X) else X


@njit
def _below(squares, limit, lowest, first_column, counts):
    """The columns with less than the limit; `counts` is how many they are in each row."""
    n_rows, n_columns = squares.shape
    total = 0
    for q in range(n_rows):
        count = 0
        for column in range(0 if lowest < 0 else lowest + q + 1, n_columns):
            count += not squares[q, column] >= limit  # what is not a number is in doubt
        counts[q] = count
        total += count
    columns, found = np.empty(total, np.int32), 0
    for q in range(n_rows):
        for column in range(0 if lowest < 0 else lowest + q + 1, n_columns):
            if not squares[q, column] >= limit:
                columns[found] = first_column + column
                found += 1
    return columns


@njit(fastmath=REORDERED_SUMS)
def _measure(queries, points, counts, columns, squares, limit):
    n_features = points.shape[1]
    read, kept = 0, 0
    for q in range(len(counts)):
        query = queries[q]
        before = kept
        for _ in range(counts[q]):
            column = columns[read]
            read += 1
            point = points[column]
            total = 0.0
            for start in range(0, n_features, CHUNK):
                for f in range(start, min(start + CHUNK, n_features)):
                    difference = query[f] - point[f]
                    total += difference * difference
                if total >= limit:
                    break
            if total < limit:
                columns[kept] = column
                squares[kept] = total
                kept += 1
        counts[q] = kept - before
    return kept
