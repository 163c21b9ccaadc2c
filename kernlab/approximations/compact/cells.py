"""All pairs of rows within a radius, by cells: for rows that vary in few directions.

Space is cut into cells whose side is the radius, so a row's near ones are in its own cell or next
to it. Rows are sorted by cell, the last axis fastest: cells that are neighbours along the last axis
are neighbours in memory, and 3^(g-1) contiguous runs hold all candidates in g axes. Their distances
are computed with the processor's vectors, and consecutive rows of the sorted order, hence of the
kernel matrix, share what is in the cache.

With more than three features the cells lie along the principal directions of the rows, where
points are no farther apart than in full: a few directions (`N_FRONT`) screen the candidates, and
the pairs that pass are settled on all features.
"""

import itertools

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.hits import Hits, settle
from kernlab.runtime import REORDERED_SUMS, njit

PLAIN_FEATURES = 3  # up to here the features themselves are the axes
N_FRONT = 8  # principal directions that screen
CANDIDATES_AT_ONCE = 256
BUFFER = 2**20  # candidates held at a time, at least
NOWHERE = -1  # the key of a new row that is in no cell nor next to one


class Front:
    """The leading directions of the rows, the widest first, and coordinates along them."""

    def __init__(self, X, random_state=0, max_rows=4096):
        n, p = X.shape
        sample = X
        if n > max_rows:
            chosen = np.random.default_rng(random_state).choice(n, max_rows, replace=False)
            sample = X[np.sort(chosen)]
        self.is_plain = p <= PLAIN_FEATURES
        if self.is_plain:
            self.features = np.argsort(-np.ptp(X, axis=0), kind="stable")
            return
        self.centre = sample.mean(axis=0, dtype=np.float64)
        centred = sample - self.centre
        _, directions = np.linalg.eigh(centred.T @ centred)
        self.axes = np.ascontiguousarray(directions[:, ::-1][:, :N_FRONT])

    def __call__(self, X):
        if self.is_plain:
            return np.ascontiguousarray(X[:, self.features], dtype=np.float64)
        return (X - self.centre) @ self.axes

    def slack(self, X):
        """How much farther apart than in truth rounding may put two rows, at the most."""
        if self.is_plain:
            return 0.0
        largest = float(np.abs(X).max(initial=0.0)) * X.shape[1]
        return 8.0 * np.finfo(np.float64).eps * X.shape[1] * largest


class CellGrid:
    """The rows X sorted by cell, to find those within `radius` of each other or of new rows.

    `order` says which row stands where. `n_axes` is how many of the leading directions are cut.
    """

    def __init__(self, X, radius, front, n_axes):
        self.radius, self._front = float(radius), front
        coordinates = front(X)
        screen = radius + front.slack(X)
        self._screen = screen * screen
        self._cut(coordinates[:, :n_axes], screen)
        keys = self._keys(coordinates)
        self.order = np.argsort(keys, kind="stable")
        self._row_keys = keys[self.order]
        first = np.flatnonzero(np.diff(self._row_keys, prepend=NOWHERE))
        self._cell_keys = self._row_keys[first]
        self._cell_starts = np.append(first, len(keys))
        self._by_axis = np.ascontiguousarray(coordinates[self.order].T)
        self._rows = None if front.is_plain else np.asarray(X[self.order], np.float64)

    def _cut(self, coordinates, side):
        """Lay out the cells: their number along each axis, and the key of each cell.

        Keys number the cells with the last axis fastest, and with an empty cell at either end of
        each axis, so that a neighbour's key never wraps around to the far side.
        """
        self._low = coordinates.min(axis=0)
        extent = coordinates.max(axis=0) - self._low
        most = 2 ** (60 // len(extent)) - 3
        # A hair wider than the radius: rounding must not put two cells between near rows.
        self._sides = np.maximum(side * (1.0 + 1e-9), extent / most)
        self._cells = np.floor(extent / self._sides).astype(np.int64) + 1
        self._strides = np.append(np.cumprod(self._cells[:0:-1] + 2)[::-1], 1)
        steps = itertools.product((-1, 0, 1), repeat=len(extent) - 1)
        self._offsets = np.array([np.dot(step, self._strides[:-1]) for step in steps], np.int64)

    def _keys(self, coordinates):
        with np.errstate(over="ignore"):
            places = np.floor((coordinates[:, : len(self._low)] - self._low) / self._sides) + 1
        near = np.all((places >= 0) & (places <= self._cells + 1), axis=1)
        keys = np.full(len(coordinates), NOWHERE)
        keys[near] = places[near].astype(np.int64) @ self._strides
        return keys

    def above(self, rows):
        """The near rows behind each of the rows of a slice, in the sorted order: each pair once."""
        hits = self._collect(self._by_axis[:, rows], self._row_keys[rows], rows.start)
        if self._rows is None:
            return hits
        return settle(hits, self._rows[rows], self._rows, self.radius)

    def around(self, Z):
        """The fitted rows near each of the new rows Z."""
        Z = Z.toarray() if sp.issparse(Z) else Z
        coordinates = self._front(Z)
        hits = self._collect(np.ascontiguousarray(coordinates.T), self._keys(coordinates), None)
        if self._rows is None:
            return hits
        return settle(hits, np.asarray(Z, np.float64), self._rows, self.radius)

    def _collect(self, queries, keys, first_row):
        """Hits of the screen; buffers hold at least the candidates of one row."""
        n_queries, done, pieces = queries.shape[1], 0, []
        counts = np.zeros(n_queries, np.int64)
        size = max(BUFFER, self._by_axis.shape[1] + CANDIDATES_AT_ONCE)
        columns, squares = np.empty(size, np.int32), np.empty(size)
        while done < n_queries:
            found, done = _collect(
                *(queries, keys, done, -1 if first_row is None else first_row),
                *(self._by_axis, self._offsets, self._cell_keys, self._cell_starts),
                *(self._screen, counts, columns, squares),
            )
            pieces.append(Hits(counts, columns[:found].copy(), squares[:found].copy()))
        if len(pieces) == 1:
            return pieces[0]
        return Hits(
            counts,
            np.concatenate([piece.columns for piece in pieces]),
            np.concatenate([piece.squares for piece in pieces]),
        )


@njit
def _find_runs(key, offsets, cell_keys, cell_starts, run_starts, run_stops):
    """The runs of rows in the cells next to the cell `key`; how many there are."""
    n_runs = 0
    for offset in offsets:
        low = key + offset - 1
        cell = np.searchsorted(cell_keys, low)
        after = cell
        while after < len(cell_keys) and cell_keys[after] <= low + 2:
            after += 1
        if after > cell:
            run_starts[n_runs] = cell_starts[cell]
            run_stops[n_runs] = cell_starts[after]
            n_runs += 1
    return n_runs


@njit(fastmath=REORDERED_SUMS)
def _collect(
    queries,
    keys,
    first,
    first_row,
    by_axis,
    offsets,
    cell_keys,
    cell_starts,
    screen,
    counts,
    columns,
    squares,
):
    """Hits of the queries from `first` on until the buffers are full: (hits, queries done).

    Queries that are fitted rows from `first_row` on see only the rows behind them; new rows
    (`first_row` -1) see all.
    """
    n_axes, n_queries = queries.shape
    run_starts = np.empty(len(offsets), np.int64)
    run_stops = np.empty(len(offsets), np.int64)
    key, n_runs, found = NOWHERE, 0, 0
    for q in range(first, n_queries):
        if keys[q] == NOWHERE:
            continue
        if keys[q] != key:
            key = keys[q]
            n_runs = _find_runs(key, offsets, cell_keys, cell_starts, run_starts, run_stops)
        lowest = first_row + q + 1 if first_row >= 0 else 0
        candidates = 0
        for run in range(n_runs):
            candidates += max(0, run_stops[run] - max(run_starts[run], lowest))
        if found + candidates > len(columns):
            return found, q
        before = found
        for run in range(n_runs):
            for start in range(max(run_starts[run], lowest), run_stops[run], CANDIDATES_AT_ONCE):
                stop = min(start + CANDIDATES_AT_ONCE, run_stops[run])
                # Distances go where the hits will be: a hit never overtakes what is still read.
                reach = squares[found : found + stop - start]
                for axis in range(n_axes):
                    here = queries[axis, q]
                    there = by_axis[axis, start:stop]
                    if axis == 0:
                        for k in range(len(reach)):
                            reach[k] = (there[k] - here) ** 2
                    else:
                        for k in range(len(reach)):
                            reach[k] += (there[k] - here) ** 2
                kept = 0
                for k in range(len(reach)):
                    square = reach[k]
                    reach[kept] = square
                    columns[found + kept] = start + k
                    kept += square < screen
                found += kept
        counts[q] = found - before
    return found, n_queries
