"""A compact kernel on fitted rows: its matrix, its values at new rows, and scores of new rows.

All go through the pairs of rows that are near each other, block by block and on all cores; scores
of new rows never hold more of the kernel than a block of it.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.assembly import assemble
from kernlab.approximations.compact.multiply import multiply, unsigned
from kernlab.runtime import for_each_block, row_blocks

NEW_ROWS = 1024  # in a block


class NearKernel:
    """The kernel of a profile on the rows of a search; `order` is the order of its matrix."""

    def __init__(self, search, profile, n_rows):
        self._search, self._profile, self._n_rows = search, profile, n_rows

    @property
    def order(self):
        return self._search.order

    def matrix(self, diagonal, max_memory=None):
        """The kernel matrix in the search's order, with `diagonal` (of the rows) on its own."""

        def upper_part(rows):
            hits = self._search.above(rows)
            self._profile.evaluate(hits.squares)
            return hits

        return assemble(upper_part, self._n_rows, diagonal[self.order], max_memory)

    def cross(self, Z, at_equal=None):
        """The kernel between new rows and the fitted rows, both in their own order, as CSR.

        `at_equal`, of the fitted rows, is added where a new row equals one, the first that it
        equals.
        """

        def part(rows):
            hits = self._search.around(Z[rows])
            equal = self._first_equal(hits)
            self._profile.evaluate(hits.squares)
            if at_equal is not None:
                hits.squares[equal] += at_equal[self.order[hits.columns[equal]]]
            return hits

        parts = for_each_block(part, row_blocks(Z.shape[0], NEW_ROWS))
        counts = np.concatenate([part.counts for part in parts])
        columns = np.concatenate([self.order[part.columns] for part in parts])
        values = np.concatenate([part.squares for part in parts])
        starts = np.concatenate([[0], np.cumsum(counts)])
        kernel = sp.csr_matrix((values, columns, starts), shape=(len(counts), self._n_rows))
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
            self._profile.evaluate(hits.squares)
            starts = np.concatenate([[0], np.cumsum(hits.counts)])
            multiply(*unsigned(starts, hits.columns, hits.squares), sorted_dual, scores[rows])

        for_each_block(part, row_blocks(Z.shape[0], NEW_ROWS))
        return scores.reshape(Z.shape[0], *dual.shape[1:])
