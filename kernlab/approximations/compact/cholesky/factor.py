"""A sparse Cholesky factor of a symmetric matrix: ordered, counted, then computed.

    A[p][:, p] = L L^T,     so  F = L[argsort(p)]  has the rows of A and  F F^T = A.

The permutation p keeps L sparse: row i of L belongs to row p[i] of A. A vector in the order of A is
therefore taken to that of L by [p] and back by [argsort(p)].
"""

import time

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact.cholesky.backends import (
    ORDERINGS,
    NotPositiveDefinite,
    get_backend,
)
from kernlab.approximations.compact.cholesky.symbolic import analyse_pattern
from kernlab.approximations.compact.cholesky.triangular import (
    rows_in_order,
    solve_lower,
    solve_lower_sparse,
    solve_upper,
)
from kernlab.runtime import memory_limit, require_memory

FACTOR_BYTES = 32  # an entry of L: in supernodes, as sparse columns, and the copy handed over


class Analysis:
    """A sparse symmetric matrix, ordered, and the entries that its factor will have, counted.

    `ordering`: "amd" (approximate minimum degree), "metis", "nesdis" (nested dissection) where
    built in, or "natural". `backend`: "cholmod", "superlu", or "auto" for the first at hand.
    Counting ends at `count_to` entries: then `is_complete` is False, and there are more.
    """

    def __init__(self, matrix, *, ordering="amd", backend="auto", count_to=2**62):
        if ordering not in ORDERINGS:
            raise ValueError(f"ordering={ordering!r} is not one of {', '.join(ORDERINGS)}")
        self.ordering, self._backend = ordering, get_backend(backend)
        began = time.perf_counter()
        # A symmetric matrix in CSR is the same one in CSC, so nothing is converted.
        self._matrix = sp.csc_matrix(
            (matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape
        )
        self.permutation, self._state = self._backend.order(self._matrix, ordering)
        self._symbolic = analyse_pattern(self._matrix, self.permutation, count_to)
        self.seconds = time.perf_counter() - began

    @property
    def nonzeros(self):
        return self._symbolic.nonzeros

    @property
    def is_complete(self):
        return self._symbolic.is_complete

    def factorise(self):
        """The factor, computed."""
        began = time.perf_counter()
        if self.nonzeros >= 2**31:
            _, self._state = self._backend.order(self._matrix, self.ordering, long=True)
        n_rows = self._matrix.shape[0]
        try:
            lower, permutation = self._backend.factor(self._matrix, self._state)
        except NotPositiveDefinite as error:
            raise NotPositiveDefinite(
                f"the sparse matrix of {n_rows:,} rows has no Cholesky factor, for it is not "
                f"positive definite ({error})"
            ) from error
        parent = self._symbolic.parent
        if not np.array_equal(permutation, self.permutation):
            parent = analyse_pattern(self._matrix, permutation).parent
        seconds = {"order": self.seconds, "factor": time.perf_counter() - began}
        return SparseFactor(lower, permutation, parent, self._backend.name, self.ordering, seconds)


def factorise(matrix, *, ordering="amd", backend="auto", max_memory=None, entry_bytes=FACTOR_BYTES):
    """The Cholesky factor of a sparse symmetric matrix; refused first if it would not fit.

    `entry_bytes`: what an entry takes at the worst moment, for a caller who goes on with more.
    """
    limit = memory_limit(max_memory)
    analysis = Analysis(matrix, ordering=ordering, backend=backend, count_to=limit // entry_bytes)
    require_memory(
        analysis.nonzeros * entry_bytes,
        limit,
        what=f"the Cholesky factor of {matrix.shape[0]:,} rows",
        arithmetic=f"{analysis.nonzeros:,} entries in the order that {ordering!r} found, "
        f"{entry_bytes} bytes each while it is computed and put to use",
        way_out="Take a smaller sigma, another ordering ('metis' fills in less where it is built "
        "in), fewer rows, allow more with max_memory, or take solver='newton', which needs no "
        "factor.",
        at_least=not analysis.is_complete,
    )
    return analysis.factorise()


class SparseFactor:
    """L and p with L L^T = A[p][:, p], and solves with them."""

    def __init__(self, lower, permutation, parent, backend, ordering, seconds):
        if not lower.has_sorted_indices:
            lower.sort_indices()
        self.lower, self.permutation, self.parent = lower, permutation, parent
        self.backend, self.ordering, self.seconds = backend, ordering, seconds

    @property
    def nonzeros(self):
        return self.lower.nnz

    @property
    def nbytes(self):
        parts = (self.lower.data, self.lower.indices, self.lower.indptr, self.permutation)
        return sum(part.nbytes for part in parts) + self.parent.nbytes

    def rows(self, drop=0.0):
        """F = L[argsort(p)] as CSR: its rows are those of A, and F F^T = A.

        Entries of absolute value `drop` or less are left out.
        """
        return rows_in_order(self.lower, self.permutation, drop)

    def sorted_rows(self, drop=0.0):
        """L itself as CSR: the rows of F in the order p."""
        return rows_in_order(self.lower, np.arange(len(self.permutation)), drop)

    def solve(self, B):
        """X with A X = B."""
        inner = solve_upper(self.lower, solve_lower(self.lower, np.asarray(B)[self.permutation]))
        X = np.empty_like(inner)
        X[self.permutation] = inner
        return X

    def combination(self, weights):
        """The combination of the rows of F that gives `weights`: x with F^T x = w (equation 42)."""
        inner = solve_upper(self.lower, weights)
        x = np.empty_like(inner)
        x[self.permutation] = inner
        return x

    def features(self, rows, drop=0.0):
        """For each sparse row b, in the order of A: phi with F phi = b, the row's features."""
        permuted = sp.csr_matrix(rows)[:, self.permutation]
        return solve_lower_sparse(self.lower, self.parent, permuted, drop)
