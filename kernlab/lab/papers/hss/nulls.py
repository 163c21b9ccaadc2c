"""What hierarchical compression is judged against: K~ = I, and K~ block diagonal.

The first knows nothing of the kernel; the second knows it within the leaves of the tree. Where a
machine trained on either decides as well as one trained on K~, compression has added nothing.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import Approximation
from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import kernel_product


def block_diagonal(**parameters):
    """The HSS approximation with all ranks 0: the diagonal blocks of its leaves alone."""
    return HSSKernel(**parameters | {"max_rank": 0, "approximate_neighbors": 0})


class DiagonalKernel(Approximation):
    """The diagonal of the kernel matrix: for a Gaussian kernel the identity.

    Training sees nothing else; new points are decided with the exact kernel, as by all others.
    """

    is_kernel_map = False

    def __init__(self, kernel="rbf", *, gamma="scale", degree=3, coef0=1.0, max_memory=None):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_memory = max_memory

    def _fit(self, rows, sample_weight=None):
        self.X_ = rows.whole(self.max_memory)
        self.diagonal_ = np.asarray(self.kernel_.diag(self.X_), dtype=np.float64)

    rank_ = 0

    @property
    def nbytes(self):
        return self.diagonal_.nbytes

    def operator(self):
        """K~ as a SciPy LinearOperator."""
        return aslinearoperator(sp.diags_array(self.diagonal_))

    def shifted(self, beta):
        """Solves with K~ + beta I, which are divisions."""
        return ShiftedDiagonal(self.diagonal_ + beta)

    def is_definite(self, beta):
        return bool(np.all(self.diagonal_ + beta > 0))

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        X = self._validated(X)
        return kernel_product(self.kernel_, X, self.X_[rows], coefficients, self.max_memory)


class ShiftedDiagonal:
    """A diagonal matrix to divide by."""

    def __init__(self, diagonal):
        self.diagonal = diagonal
        self.nbytes = diagonal.nbytes

    def solve(self, B):
        """S with (K~ + beta I) S = B."""
        return (B.T / self.diagonal).T


class Lifted:
    """An approximation with `amount` added to its diagonal, which lifts all its eigenvalues."""

    def __init__(self, approximation, amount):
        self.approximation, self.amount = approximation, amount
        self.is_kernel_map = approximation.is_kernel_map

    def operator(self):
        """K~ + amount I as a SciPy LinearOperator."""
        inner = self.approximation.operator()
        return inner + self.amount * aslinearoperator(sp.eye_array(inner.shape[0]))

    def shifted(self, beta):
        """Solves with K~ + (amount + beta) I."""
        return self.approximation.shifted(self.amount + beta)

    def is_definite(self, beta):
        return self.approximation.is_definite(self.amount + beta)
