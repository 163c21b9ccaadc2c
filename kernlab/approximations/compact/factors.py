"""Cholesky factors of a kernel matrix, with more or less on its diagonal."""

import scipy.sparse as sp

from kernlab.approximations.compact.cholesky import FACTOR_BYTES, Analysis, factorise


class Factors:
    """Factors of the matrix, whose rows stand in `order`; permutations are those of the data.

    What ordering and factorising take is added to `timings`.
    """

    def __init__(self, matrix, order, timings, *, ordering, backend, max_memory):
        self._matrix, self._order, self._timings = matrix, order, timings
        self._how = {"ordering": ordering, "backend": backend}
        self._max_memory = max_memory
        self._factors, self._analyses = {}, []

    def factor(self, beta, entry_bytes=FACTOR_BYTES):
        """The factor of the matrix + beta I (`SparseFactor`): the last is kept, and that of the
        matrix itself."""
        if beta not in self._factors:
            self._factors = {b: factor for b, factor in self._factors.items() if b == 0.0}
            matrix = self._matrix
            if beta:
                matrix = (matrix + beta * sp.identity(matrix.shape[0], format="csr")).tocsr()
            factor = factorise(
                matrix, max_memory=self._max_memory, entry_bytes=entry_bytes, **self._how
            )
            factor.permutation = self._order[factor.permutation]
            self._timings |= factor.seconds
            self._factors[beta] = factor
        return self._factors[beta]

    @property
    def permutation(self):
        """The permutation of the matrix's factor, for which it need not be computed."""
        if 0.0 in self._factors:
            return self._factors[0.0].permutation
        return self._order[self._analysis().permutation]

    @property
    def nonzeros(self):
        """The entries of the matrix's factor, for which it need not be computed."""
        return (self._factors.get(0.0) or self._analysis()).nonzeros

    def _analysis(self):
        if not self._analyses:
            self._analyses.append(Analysis(self._matrix, **self._how))
        return self._analyses[0]

    @property
    def nbytes(self):
        return sum(factor.nbytes for factor in self._factors.values())
