"""Features that a solver reads a block at a time, on all cores, in as many passes as it needs.

A block has one row per feature, so that a feature's values lie side by side. Whatever has `shape`,
`room(n_rows)` (arrays for blocks of so many rows) and `fill(rows, room)` (the block itself) can be
read so; it may also have `gram_sum()`, an object with `add(block, weights)`, `merge(other)` and
`matrix()` that knows a faster way to the Gram matrix. Arrays are wrapped in `ArrayRows`.
"""

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.runtime import bar_options, for_each_block, row_blocks, thread_count

PASS_BYTES = 2**21  # a block of features in a pass: half a second-level cache is not too much
GRAM_BYTES = 2**23  # larger: matrix products like long rows
VALUES_WORTH_A_BAR = 2**29
VALUES_PER_THREAD = 2**17  # below this, starting a thread costs more than it brings


class ArrayRows:
    """A feature matrix, dense or CSR, as rows to be read in blocks; the last feature may be 1."""

    def __init__(self, F, constant=False):
        self.F = sp.csr_matrix(F) if sp.issparse(F) else np.asarray(F)
        if self.F.ndim != 2:
            raise ValueError(f"features must be a matrix, not an array of {self.F.ndim} axes")
        self.constant = constant
        self.shape = (self.F.shape[0], self.F.shape[1] + constant)

    def room(self, n_rows):
        return np.ones((self.shape[1], n_rows))

    def fill(self, rows, room):
        part = self.F[rows]
        part = part.toarray() if sp.issparse(part) else part
        if self.constant or part.dtype != np.float64:
            block = room[:, : len(part)]
            block[: self.F.shape[1]] = part.T
            return block
        return part.T


class SyrkSum:
    """Adds up F^T W F from blocks of features, by BLAS in place."""

    def __init__(self, n_features):
        self.gram = np.zeros((n_features, n_features), order="F")

    def add(self, block, weights):
        """Take in a block of features; `weights`: one per row of the data, or None."""
        if weights is not None:
            block = block * np.sqrt(weights)
        rows = block.T  # BLAS wants columns side by side
        order = {"a": rows, "trans": 1} if rows.flags.f_contiguous else {"a": block, "trans": 0}
        self.gram = la.blas.dsyrk(1.0, beta=1.0, c=self.gram, lower=1, overwrite_c=1, **order)

    def merge(self, other):
        """Take in what another has added up."""
        self.gram += other.gram

    def matrix(self):
        return np.tril(self.gram) + np.tril(self.gram, -1).T


def gram_sum(rows):
    """What adds up the Gram matrix of these rows: their own way, if they have one."""
    own = rows.gram_sum() if hasattr(rows, "gram_sum") else None
    return SyrkSum(rows.shape[1]) if own is None else own


def gram_matrix(rows, weights=None):
    """The Gram matrix of all features, rows weighted, in one pass."""

    def use(total, block, features):
        total.add(features, None if weights is None else weights[block])

    first, *others = read(rows, lambda: gram_sum(rows), use, GRAM_BYTES, "Gram matrix")
    for other in others:
        first.merge(other)
    return first.matrix()


def read(rows, state, use, block_bytes, what):
    """Call use(state, rows, block) for every block of features, on all threads.

    Every thread reads a stretch of the rows with a `state()` of its own; returned are the states,
    in the order of the stretches. A bar named `what` appears when it takes more than two seconds
    and somebody is watching.
    """
    m, n = rows.shape
    step = int(np.clip(block_bytes // (8 * max(1, n)), 32, 4096))
    threads = max(1, min(thread_count(), m * n // VALUES_PER_THREAD))
    with _bar(m, m * n, what) as bar:

        def work(stretch):
            mine, room = state(), rows.room(min(step, m))
            for start in range(stretch.start, stretch.stop, step):
                block = slice(start, min(start + step, stretch.stop))
                use(mine, block, rows.fill(block, room))
                bar.update(block.stop - block.start)
            return mine

        return for_each_block(work, row_blocks(m, -(-m // threads)))


def _bar(n_rows, n_values, what):
    """A progress bar for passes that may take long; many passes take microseconds."""
    options = bar_options(wanted=n_values >= VALUES_WORTH_A_BAR)
    return tqdm(total=n_rows, desc=what, unit=" rows", unit_scale=True, **options)
