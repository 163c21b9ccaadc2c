"""From pairs of near rows to the sparse kernel matrix in CSR, each pair evaluated once.

Blocks of rows are searched on all cores; each gives its part of the strict upper triangle. Then the
whole matrix is laid out, and every range of its rows is written by one core: a row's own pairs, and
mirrored those of the rows before it. Nothing of size n^2 is touched, and the memory needed beyond
the matrix is its upper half.
"""

import numpy as np
import scipy.sparse as sp

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


def entry_bytes(n_entries):
    return ENTRY_BYTES if n_entries < 2**31 else 16


def assembly_bytes(n_entries):
    """What the matrix and its upper half take while the one is made from the other."""
    return n_entries * entry_bytes(n_entries) + n_entries // 2 * ENTRY_BYTES


def assemble(upper_part, n_rows, diagonal, max_memory=None):
    """The kernel matrix, with the array `diagonal` on its diagonal.

    `upper_part(rows)` gives the entries behind the diagonal in a slice of rows, as Hits with the
    kernel's values for squares.
    """
    limit = memory_limit(max_memory)  # settled now: what is free shrinks as the matrix grows
    found = np.zeros(1, np.int64)

    def counted(rows):
        hits = upper_part(rows)
        found[0] += len(hits.columns)
        _refuse_beyond(2 * int(found[0]) + n_rows, n_rows, limit)
        return hits

    blocks = row_blocks(n_rows, ROWS_PER_BLOCK)
    return symmetric(for_each_block(counted, blocks), n_rows, diagonal)


def _refuse_beyond(n_entries, n_rows, max_memory):
    require_memory(
        assembly_bytes(n_entries),
        max_memory,
        what=f"the sparse kernel matrix of {n_rows:,} rows",
        arithmetic=f"{n_entries:,} entries found so far, {entry_bytes(n_entries)} bytes each and "
        "half of them twice while it is assembled",
        way_out=WAY_OUT,
        at_least=True,
    )


WAY_OUT = (
    "Take a smaller sigma (larger gamma, or alpha: only rows nearer than 1/alpha have an entry), "
    "fewer rows, or allow more with max_memory."
)


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
