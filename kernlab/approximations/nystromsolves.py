"""Products and solves with the Nystrom approximation of the kernel matrix of the fitted rows.

K~ = F F^T has k columns' worth of rank, so (Woodbury)

    (F F^T + beta I)^-1 B = (B - F (F^T F + beta I)^-1 F^T B) / beta

for one Gram matrix, k by k, and one Cholesky factor of that for each beta.
"""

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator

from kernlab.kernels import kernel_product
from kernlab.runtime import row_blocks

ROWS_AT_ONCE = 8192


class NystromSolves:
    """What `Nystrom` offers on the rows that it was fitted on; features are formed when asked."""

    def operator(self):
        """K~ = F F^T of the fitted rows as a SciPy LinearOperator."""
        return GramOperator(self._own_features())

    def shifted(self, beta):
        """Solves with K~ + beta I; the factor of the beta asked for last is kept."""
        if self._shifted is None or self._shifted.beta != beta:
            features = self._own_features()
            if self._gram is None:
                self._gram = _gram(features)
            self._shifted = ShiftedGram(features, self._gram, beta)
        return self._shifted

    def exact_product(self, V):
        """K V with the exact kernel matrix of the fitted rows, streamed."""
        if self._rows is None:
            raise ValueError("the fitted rows are not stored with a Nystrom map: fit it again")
        return kernel_product(self.kernel_, self._rows, self._rows, V, self.max_memory)

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K~(X, fitted rows) @ coefficients, over the rows named only."""
        features = self._own_features()[rows]
        return self.decision(X, _down(features, np.asarray(coefficients, dtype=np.float64)))

    def _remember(self, X):
        """The rows that products and solves are about; their features are not formed yet."""
        self._rows, self._features, self._gram, self._shifted = X, None, None, None

    def _own_features(self):
        if self._features is None:
            if self._rows is None:
                raise ValueError("the fitted rows are not stored with a Nystrom map: fit it again")
            self._features = self.transform(self._rows)
        return self._features

    def __getstate__(self):
        """Rows are left out of what is stored; features, if they were asked for, are not."""
        return {**super().__getstate__(), "_rows": None}

    @property
    def _bytes_of_solves(self):
        held = (getattr(self, name, None) for name in ("_features", "_gram", "_shifted"))
        return sum(part.nbytes for part in held if part is not None)


class GramOperator(LinearOperator):
    """F F^T."""

    def __init__(self, features):
        super().__init__(np.dtype(np.float64), (len(features),) * 2)
        self._features = features

    def _matmat(self, V):
        return _up(self._features, _down(self._features, V))

    _matvec = _matmat

    def _adjoint(self):
        return self

    _transpose = _adjoint


class ShiftedGram:
    """Solves with F F^T + beta I."""

    def __init__(self, features, gram, beta):
        if not beta > 0:
            raise ValueError(f"F F^T + beta I has an inverse for positive beta only, not {beta!r}")
        self.beta, self._features = beta, features
        shifted = gram.copy()
        shifted[np.diag_indices_from(shifted)] += beta
        self._factor = la.cho_factor(shifted, lower=True, overwrite_a=True)

    @property
    def nbytes(self):
        return self._factor[0].nbytes

    def solve(self, B):
        """S with (F F^T + beta I) S = B; what rounding leaves of B is solved for once more."""
        B = np.asarray(B, dtype=np.float64)
        S = self._once(B)
        left = B - self.beta * S - _up(self._features, _down(self._features, S))
        return S + self._once(left)

    def _once(self, B):
        return (B - _up(self._features, la.cho_solve(self._factor, _down(self._features, B)))) / (
            self.beta
        )


def _gram(features):
    """F^T F, in double precision whatever the features'."""
    gram = np.zeros((features.shape[1],) * 2)
    for rows in row_blocks(len(features), ROWS_AT_ONCE):
        some = features[rows].astype(np.float64, copy=False)
        gram += some.T @ some
    return gram


def _down(features, B):
    """F^T B"""
    down = np.zeros((features.shape[1], *B.shape[1:]))
    for rows in row_blocks(len(features), ROWS_AT_ONCE):
        down += features[rows].astype(np.float64, copy=False).T @ B[rows]
    return down


def _up(features, V):
    """F V"""
    up = np.empty((len(features), *V.shape[1:]))
    for rows in row_blocks(len(features), ROWS_AT_ONCE):
        up[rows] = features[rows].astype(np.float64, copy=False) @ V
    return up
