"""A compact kernel on fitted rows: its sparse matrix, its values at new rows, and their scores.

All go through the pairs of rows that are near each other, block by block and on all cores, each
pair evaluated once; nothing of size n^2 is touched. Each block of rows gives its part of the strict
upper triangle. Then the whole matrix is laid out in CSR, and every range of its rows is written by
one core: a row's own pairs, and mirrored those of the rows before it. The memory needed beyond the
matrix is its upper half. Scores of new rows never hold more of the kernel than a block of it.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.products import multiply, unsigned
from kernlab.rows.near import Hits
from kernlab.runtime import (
    for_each_block,
    memory_limit,
    njit,
    require_memory,
    row_blocks,
    thread_count,
)

ROWS_PER_BLOCK = 1024
ENTRY_BYTES = 12  # a value and a column; 16 where columns or their number need 64 bits
WAY_OUT = (
    "Take a smaller sigma (larger gamma, or alpha: only rows nearer than 1/alpha have an entry), "
    "fewer rows, or allow more with max_memory."
)


def entry_bytes(n_entries):
    """Bytes of an entry of a matrix of so many."""
    return ENTRY_BYTES if n_entries < 2**31 else 16


def assembly_bytes(n_entries):
    """What the matrix and its upper half take while the one is made from the other."""
    return n_entries * entry_bytes(n_entries) + n_entries // 2 * ENTRY_BYTES


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
            self._refuse_beyond(2 * int(found[0]) + self._n_rows, limit)
            return hits

        parts = for_each_block(upper_part, row_blocks(self._n_rows, ROWS_PER_BLOCK))
        return symmetric(parts, self._n_rows, diagonal[self.order])

    def _refuse_beyond(self, n_entries, max_memory):
        require_memory(
            assembly_bytes(n_entries),
            max_memory,
            what=f"the sparse kernel matrix of {self._n_rows:,} rows",
            arithmetic=f"{n_entries:,} entries found so far, {entry_bytes(n_entries)} bytes each "
            "and half of them twice while it is assembled",
            way_out=WAY_OUT,
            at_least=True,
        )

    def cross(self, Z, at_equal=None):
        """The kernel between new rows and the fitted rows, both in their own order, as CSR.

        `at_equal`, of the fitted rows, is added where a new row equals one, the first that it
        equals.
        """

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
        sorted_dual = np.ascontiguousarray(dual[self.order]).reshape(len(dual), -1)
        scores = np.empty((Z.shape[0], sorted_dual.shape[1]))

        def part(rows):
            hits = self._search.around(Z[rows])
            self._kernel.evaluate(hits.squares)
            multiply(*unsigned(hits.starts, hits.columns, hits.squares), sorted_dual, scores[rows])

        for_each_block(part, row_blocks(Z.shape[0], ROWS_PER_BLOCK))
        return scores.reshape(Z.shape[0], *dual.shape[1:])


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
