"""A compact kernel on fitted rows: near pairs, the sparse matrix of their values, its products.

All goes through the pairs of rows that are near each other, block by block and on all cores, each
pair evaluated once; nothing of size n^2 is touched, and beyond the matrix its upper half is held.
"""

import itertools
import sys

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from kernlab.parameters import one_of
from kernlab.rows.near import Hits, ProductSearch, measured
from kernlab.rows.products import BLAS, SPARSE_SPARSE
from kernlab.runtime import (
    REORDERED_SUMS,
    for_each_block,
    give_back_freed_memory,
    memory_limit,
    njit,
    require_memory,
    row_blocks,
    thread_count,
)

ROWS_PER_BLOCK = 1024
ENTRY_BYTES = 12  # a value and a column; 16 where columns or their number need 64 bits
SMALL = 5_000_000  # multiplications below which starting threads costs more than it saves
PLAIN_FEATURES = 3  # up to here the features themselves are the axes
N_FRONT = 8  # leading directions that screen
CANDIDATES_AT_ONCE = 256
BUFFER = 2**20  # candidates held at a time, at least
NOWHERE = -1  # the key of a new row that is in no cell nor next to one
MAX_CELL_AXES = 4
SAMPLED_QUERIES, SAMPLED_CANDIDATES = 64, 8192
# Nanoseconds of one core, measured once; only their ratios matter.
AXIS = 0.3  # a candidate's distance along one direction
CANDIDATE = 1.0  # keeping or dropping it
RUN = 10.0  # visiting one run of rows
MEASURED, MEASURED_FEATURE = 8.0, 0.15  # fetching a pair that passed the screen; for each feature
PAIR = 2.5  # a pair in a block of products, beside the products themselves


def entry_bytes(n_entries):
    """Bytes of an entry of a matrix of so many."""
    return ENTRY_BYTES if n_entries < 2**31 else 16


def require_room(n_entries, n_rows, max_memory, found, at_least=False):
    """Refuse a matrix that, with the upper half that it is made from, does not fit."""
    each = entry_bytes(n_entries)
    require_memory(
        n_entries * each + n_entries // 2 * ENTRY_BYTES,
        max_memory,
        what=f"the sparse kernel matrix of {n_rows:,} rows",
        arithmetic=f"{found}, {each} bytes each and half of them twice while it is assembled",
        way_out="Take a smaller sigma (larger gamma, or alpha: only rows nearer than 1/alpha have "
        "an entry), fewer rows, or allow more with max_memory.",
        at_least=at_least,
    )


class NearKernel:
    """A compact kernel on the rows of a search; `order` is the order of its matrix."""

    def __init__(self, search, kernel, n_rows):
        self._search, self._kernel, self._n_rows = search, kernel, n_rows
        self.order = search.order

    def matrix(self, diagonal, max_memory=None):
        """The kernel matrix in the search's order, with `diagonal` (of the rows) on its own."""
        limit = memory_limit(max_memory)  # taken now: what is free shrinks as the matrix grows
        found = np.zeros(1, np.int64)

        def upper_part(rows):
            hits = self._search.above(rows)
            self._kernel.evaluate(hits.squares)
            found[0] += len(hits.columns)
            entries = 2 * int(found[0]) + self._n_rows
            require_room(entries, self._n_rows, limit, f"{entries:,} entries found so far", True)
            return hits

        parts = for_each_block(upper_part, row_blocks(self._n_rows, ROWS_PER_BLOCK))
        matrix = symmetric(parts, self._n_rows, diagonal[self.order])
        del parts
        give_back_freed_memory()
        return matrix

    def cross(self, Z, at_equal=None):
        """The kernel between new rows and the fitted rows, both in their own order, as CSR;
        `at_equal`, of the fitted rows, is added where a new row equals one (the first)."""

        def part(rows):
            hits = self._search.around(Z[rows])
            equal = self._first_equal(hits)
            self._kernel.evaluate(hits.squares)
            if at_equal is not None:
                hits.squares[equal] += at_equal[self.order[hits.columns[equal]]]
            return hits

        hits = Hits.joined(for_each_block(part, row_blocks(Z.shape[0], ROWS_PER_BLOCK)))
        kernel = sp.csr_matrix(
            (hits.squares, self.order[hits.columns], hits.starts), shape=(Z.shape[0], self._n_rows)
        )
        kernel.sort_indices()
        return kernel

    def _first_equal(self, hits):
        """The hits at distance zero, but only the first fitted row that each new row equals."""
        equal = np.flatnonzero(hits.squares == 0.0)
        rows = np.repeat(np.arange(len(hits.counts)), hits.counts)[equal]
        by_row_and_place = np.lexsort((self.order[hits.columns[equal]], rows))
        _, first = np.unique(rows[by_row_and_place], return_index=True)
        return equal[by_row_and_place[first]]

    def decide(self, Z, dual):
        """K(Z, fitted rows) @ dual, `dual` in the order of the fitted rows."""
        vectors = in_fours(dual[self.order].reshape(len(dual), -1))
        scores = np.empty((Z.shape[0], vectors.shape[1]))

        def part(rows):
            hits = self._search.around(Z[rows])
            self._kernel.evaluate(hits.squares)
            multiply(*unsigned(hits.starts, hits.columns, hits.squares), vectors, scores[rows])

        for_each_block(part, row_blocks(Z.shape[0], ROWS_PER_BLOCK))
        return scores[:, : dual[:1].size].reshape(Z.shape[0], *dual.shape[1:])


def symmetric(parts, n_rows, diagonal):
    """U + U^T + diag(d) as CSR with sorted columns, from the rows of U in consecutive parts."""
    above = np.concatenate([part.counts for part in parts])
    below = np.zeros(n_rows, np.int64)
    for part in parts:
        below += np.bincount(part.columns, minlength=n_rows)
    starts = np.concatenate([[0], np.cumsum(above + below + 1)])
    index_type = np.int32 if starts[-1] < 2**31 else np.int64
    columns, values = np.empty(starts[-1], index_type), np.empty(starts[-1])
    part_starts = np.cumsum([0] + [len(part.counts) for part in parts])

    def write(rows):
        ends = starts[rows].copy()  # where the next entry of each row of the range goes
        last = np.searchsorted(part_starts, rows.stop)
        for part, first in zip(parts[:last], part_starts[:last], strict=True):
            _write(*part, first, rows.start, rows.stop, diagonal, ends, columns, values)

    for_each_block(write, row_blocks(n_rows, -(-n_rows // (2 * thread_count()))))
    return sp.csr_matrix((values, columns, starts.astype(index_type)), shape=(n_rows, n_rows))


@njit
def _write(counts, part_columns, part_values, first, start, stop, diagonal, ends, columns, values):
    """The entries in rows start..stop that come from a part of U; `part_values` are its squares."""
    read = 0
    for q in range(len(counts)):
        row, row_end = first + q, read + counts[q]
        if row >= stop:
            return
        if row >= start:
            # All that lies left of the diagonal was mirrored from the rows before.
            to = ends[row - start]
            columns[to], values[to] = row, diagonal[row]
            for k in range(counts[q]):
                columns[to + 1 + k] = part_columns[read + k]
                values[to + 1 + k] = part_values[read + k]
        own = part_columns[read:row_end]
        for k in range(np.searchsorted(own, start), np.searchsorted(own, stop)):
            target = own[k] - start
            to = ends[target]
            columns[to], values[to] = row, part_values[read + k]
            ends[target] = to + 1
        read = row_end


# -------------------------------------------------------------------------------- products
class SparseProduct:
    """Products with a CSR matrix, its rows dealt out evenly once."""

    def __init__(self, matrix):
        self._arrays = unsigned(matrix.indptr, matrix.indices, matrix.data)
        self._n_rows = matrix.shape[0]
        shares = np.linspace(0, matrix.indptr[-1], 4 * thread_count() + 1)[1:-1]
        cuts = np.unique([0, *np.searchsorted(matrix.indptr, shares), self._n_rows])
        self._blocks = [slice(a, b) for a, b in itertools.pairwise(cuts)]

    def __call__(self, V):
        """The matrix times V, of one axis or two."""
        vectors = in_fours(np.reshape(V, (self._n_rows, -1)))
        out = np.empty(vectors.shape)
        starts, columns, values = self._arrays

        def part(rows):
            multiply(starts[rows.start : rows.stop + 1], columns, values, vectors, out[rows])

        threads = 1 if len(values) * vectors.shape[1] < SMALL else None
        for_each_block(part, self._blocks, threads)
        return out[:, : V[:1].size].reshape(V.shape)


def in_fours(V):
    """Columns in double precision, zeros beside them: one, or a multiple of four."""
    n, k = V.shape
    padded = np.zeros((n, 1 if k == 1 else -(-k // 4) * 4))
    padded[:, :k] = V
    return padded


def unsigned(starts, columns, values):
    """The arrays of a CSR matrix as `multiply` wants them: a negative index would mean the other
    end of an array, and testing for that would take longer than the multiplication."""
    kinds = {4: np.uint32, 8: np.uint64}
    return starts.view(kinds[starts.itemsize]), columns.view(kinds[columns.itemsize]), values


def multiply(starts, columns, values, V, out):
    """Write the product of CSR rows with V (see `in_fours`) to `out`, four columns at a reading:
    reading an entry costs more than using it."""
    if V.shape[1] == 1:
        _one(starts, columns, values, V, out)
    for first in range(0, V.shape[1] - 3, 4):
        _four(starts, columns, values, V, first, out)


@njit(fastmath=REORDERED_SUMS)
def _one(starts, columns, values, V, out):
    for row in range(len(starts) - 1):
        a = 0.0
        for k in range(starts[row], starts[row + 1]):
            a += values[k] * V[columns[k], 0]
        out[row, 0] = a


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


# ------------------------------------------------------------------------ the choice of a search
def find_search(X, radius, search="auto", random_state=None, max_memory=None):
    """The search for pairs of rows of X nearer than `radius`, built: CellGrid or ProductSearch.

    Both have `order` (the rows as they stand in it), `above(rows)` (near rows behind each row of a
    slice of that order) and `around(Z)` (near rows of new rows), in `Hits`. "auto" counts the work
    of each on a sample: cells where a few directions tell near from far, else products.
    """
    one_of("auto", "cells", "products")(search, "search")
    fits = not sp.issparse(X) or 8 * X.shape[0] * X.shape[1] < memory_limit(max_memory) // 8
    if search == "products" or (search == "auto" and not fits):
        return ProductSearch(X, radius, max_memory)
    filled = X.toarray() if sp.issparse(X) else X
    front = Front(filled, random_state)
    costs = costs_of_cells(filled, radius, front, random_state)
    (n, p), multiplication = X.shape, BLAS
    if sp.issparse(X):
        multiplication = min(BLAS, SPARSE_SPARSE * (X.nnz / max(1, n * p)) ** 2)
    if search == "auto" and n / 2 * (p * multiplication + PAIR) < costs.min():
        return ProductSearch(X, radius, max_memory)
    return CellGrid(filled, radius, front, 1 + int(np.argmin(costs)))


def costs_of_cells(X, radius, front, random_state=None):
    """Nanoseconds for each row when 1, 2, ... axes are cut into cells."""
    n = X.shape[0]
    generator = np.random.default_rng(random_state)
    some = X if n <= SAMPLED_CANDIDATES else X[generator.choice(n, SAMPLED_CANDIDATES)]
    there = front(some)
    here = there[:SAMPLED_QUERIES]
    n_axes = min(there.shape[1], MAX_CELL_AXES)
    inside, shares, squares = True, [], 0.0
    for axis in range(there.shape[1]):
        apart = np.abs(there[None, :, axis] - here[:, None, axis])
        if axis < n_axes:
            # A cell and its neighbours reach 1.5 radii to either side, on average over places in
            # a cell.
            inside = inside & (apart < 1.5 * radius)
            shares.append(inside.mean())
        if not front.is_plain:
            with np.errstate(over="ignore"):  # far apart
                squares = squares + apart * apart
    work = n * np.array(shares) * (CANDIDATE + AXIS * there.shape[1])
    if not front.is_plain:
        passed = n * np.mean(squares < radius * radius)
        work += passed * (MEASURED + MEASURED_FEATURE * X.shape[1])
    return (work + RUN * 3.0 ** np.arange(n_axes)) / 2


class Front:
    """Leading directions of the rows, the widest first, and coordinates along them."""

    def __init__(self, X, random_state=0, max_rows=4096):
        n, p = X.shape
        self.is_plain = p <= PLAIN_FEATURES
        if self.is_plain:
            self._features = np.argsort(-np.ptp(X, axis=0), kind="stable")
            return
        generator = np.random.default_rng(random_state)
        sample = X[np.sort(generator.choice(n, max_rows, replace=False))] if n > max_rows else X
        self._centre = sample.mean(axis=0, dtype=np.float64)
        # Any directions will do that are orthogonal: these cost no more than a few products,
        # however many features there are.
        *_, axes = randomized_svd(sample - self._centre, min(N_FRONT, n, p), random_state=0)
        self._axes = np.ascontiguousarray(np.linalg.qr(axes.T)[0])

    def __call__(self, X):
        if self.is_plain:
            return np.ascontiguousarray(X[:, self._features], dtype=np.float64)
        return (X - self._centre) @ self._axes

    def slack(self, X):
        """How much farther apart than in truth rounding may put two rows, at the most."""
        if self.is_plain:
            return 0.0
        largest = float(np.abs(X).max(initial=0.0)) * X.shape[1]
        return 8.0 * sys.float_info.epsilon * X.shape[1] * largest


# -------------------------------------------------------------------------------------- the cells
class CellGrid:
    """The rows X sorted by cell, to find those within `radius` of each other or of new rows.

    The side of a cell is the radius, so a row's near ones are in its own cell or next to it. Rows
    are sorted by cell, the last axis fastest: 3^(g-1) contiguous runs hold all candidates in g
    axes. A few leading directions screen them, along which points are no farther apart than in
    full; the pairs that pass are measured on all features. `order` says which row stands where,
    and `n_axes` is how many of the directions are cut.
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
        """Lay out the cells. Keys number them with the last axis fastest, and an empty cell at
        either end of each axis, so that a neighbour's key never wraps around to the far side."""
        self._low = coordinates.min(axis=0)
        extent = coordinates.max(axis=0) - self._low
        most = 2 ** (60 // len(extent)) - 3
        # A little wider than the radius: rounding must not put two cells between near rows.
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
        mine = None if self._rows is None else self._rows[rows]
        return self._collect(mine, self._by_axis[:, rows], self._row_keys[rows], rows.start)

    def around(self, Z):
        """The fitted rows near each of the new rows Z."""
        Z = Z.toarray() if sp.issparse(Z) else Z
        coordinates, Z = self._front(Z), np.asarray(Z, np.float64)
        queries = np.ascontiguousarray(coordinates.T)
        return self._collect(Z, queries, self._keys(coordinates), -1)

    def _collect(self, Z, queries, keys, first_row):
        """Hits of rows Z, of which `queries` are the coordinates. Buffers hold at least what the
        screen lets pass of one row, of which few may be near: they are measured one by one."""
        n_queries, done, parts = queries.shape[1], 0, []
        counts = np.zeros(n_queries, np.int64)
        size = max(BUFFER, self._by_axis.shape[1] + CANDIDATES_AT_ONCE)
        columns, squares = np.empty(size, np.int32), np.empty(size)
        while done < n_queries or not parts:
            first = done
            found, done = _collect(
                *(queries, keys, done, first_row, self._by_axis),
                *(self._offsets, self._cell_keys, self._cell_starts),
                *(self._screen, counts, columns, squares),
            )
            hits = Hits(counts[first:done], columns[:found], squares[:found])
            if self._rows is not None:
                hits = measured(hits, Z[first:done], self._rows, self.radius)
            parts.append(Hits(hits.counts, hits.columns.copy(), hits.squares.copy()))
        return Hits.joined(parts)


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
    queries, keys, first, first_row, by_axis, offsets, cell_keys, cell_starts, screen, counts,
    columns, squares,
):  # fmt: skip
    """Hits of the queries from `first` on until the buffers are full: (hits, queries done). Fitted
    rows from `first_row` on see only the rows behind them; new rows (`first_row` -1) see all."""
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
