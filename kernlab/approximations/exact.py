"""The kernel matrix itself, as the measure of everything that approximates it.

As features it is any factor F with F F^T = K: the support vector machine with kernel K and the
linear one on the rows of F are the same problem (Proposition 1 of the LLSVM paper, Theorem 1 of
the LASN paper). The factor here is a Cholesky factor with pivoting, which stops at the numerical
rank and costs n r^2 instead of the 10 n^3 of an eigendecomposition.
"""

from functools import cached_property

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import FeatureMap
from kernlab.kernels import is_semidefinite, kernel_product
from kernlab.runtime import require_memory


class ExactKernel(FeatureMap):
    """The exact kernel matrix of the fitted rows: features, operator and shifted solves.

    Parameters: the kernel's (see `make_kernel`), `rank_tol`, the pivot relative to the largest
    diagonal entry at which the factor ends, and `max_memory` in bytes or as "4GB".
    Fitted: `matrix_` (K); and, computed when first asked for, `rank_`, `pivots_` (the rows that
    the factor is built on) and `residual_` (how well the factor reproduces K).
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        rank_tol=1e-14,
        max_memory=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank_tol = rank_tol
        self.max_memory = max_memory

    def _fit(self, X):
        n = X.shape[0]
        require_memory(
            5 * 8 * n * n,
            self.max_memory,
            what=f"the exact kernel matrix of {n:,} rows and its factor",
            arithmetic=f"5 x {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows, or use an approximation.",
        )
        # In single precision K would lose its definiteness to rounding, and the triangle, which may
        # be all but singular, would make much of the difference.
        self.X_ = X.astype(np.float64, copy=False)
        with self._timed("kernel"):
            self.matrix_ = self.kernel_(self.X_)
        self._factor = PivotedCholesky(self.matrix_, self.rank_tol, type(self.kernel_).__name__)
        self._semidefinite = None

    @property
    def nbytes(self):
        """Bytes held: the matrix, and those of its factors that were asked for."""
        shifted = self._shifted.nbytes if self._shifted is not None else 0
        return self.matrix_.nbytes + self._factor.nbytes + shifted

    @property
    def is_kernel_map(self):
        """Whether K is a matrix of inner products: without that no dual point bounds anything."""
        if self._semidefinite is None:
            n = self.matrix_.shape[0]
            largest = float(np.abs(self.matrix_.diagonal()).max())
            self._semidefinite = self.is_definite(n * np.finfo(float).eps * max(largest, 1e-300))
        return self._semidefinite

    @property
    def kernel_is_semidefinite(self):
        return self.is_kernel_map

    # ------------------------------------------------------------------- features
    @property
    def rank_(self):
        return len(self._factor.pivots)

    @property
    def pivots_(self):
        return self._factor.pivots

    @property
    def residual_(self):
        return self._factor.residual

    def _training_features(self):
        """The factor itself: no kernel value is computed twice."""
        return self._factor.features

    def _precision(self, X):
        return np.dtype(np.float64)

    def _block(self, X):
        """L_11^{-1} K(pivots, x), which gives F on the fitted rows."""
        values = self.kernel_(X.astype(np.float64, copy=False), self.X_[self.pivots_])
        return la.solve_triangular(self._factor.corner, values.T, lower=True, check_finite=False).T

    def expansion(self, coefficients):
        weights = la.solve_triangular(self._factor.corner, coefficients, lower=True, trans="T")
        return self.X_[self.pivots_], weights

    # ---------------------------------------------------------- operator and solves
    def operator(self):
        """K as a SciPy LinearOperator."""
        return aslinearoperator(self.matrix_)

    def shifted(self, beta):
        """Solves with K + beta I; the Cholesky factor of the beta asked for last is kept."""
        if self._shifted is None or self._shifted.beta != beta:
            self._shifted = None
            self._shifted = ShiftedExact(self.matrix_, beta)
        return self._shifted

    def is_definite(self, beta):
        """Whether K + beta I is positive definite."""
        if is_semidefinite(self.kernel_):
            return beta > 0
        try:
            ShiftedExact(self.matrix_, beta)
        except ValueError:
            return False
        return True

    def exact_product(self, V):
        """K V."""
        return self.matrix_ @ V

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        X = self._validated(X)
        if len(rows) == 0:
            return np.zeros((X.shape[0], *np.shape(coefficients)[1:]))
        return kernel_product(self.kernel_, X, self.X_[rows], coefficients, self.max_memory)


class PivotedCholesky:
    """P^T K P = L L^T down to the numerical rank; computed when first asked for.

    `features` is L with its rows in the order of the data, `pivots` the rows it is built on,
    `corner` the triangle of these rows, `residual` the largest entry of |K v - F F^T v| for a few
    vectors v of random signs, relative to the largest of |K v|.
    """

    def __init__(self, matrix, rank_tol, kernel_name):
        self._matrix, self._rank_tol, self._kernel_name = matrix, rank_tol, kernel_name

    @cached_property
    def _parts(self):
        largest = max(float(np.max(np.diag(self._matrix))), np.finfo(float).tiny)
        # K is symmetric: its transpose is the column-ordered array that LAPACK wants to overwrite.
        lower, pivots, rank, _ = la.lapack.dpstrf(
            self._matrix.T, lower=1, tol=self._rank_tol * largest
        )
        order = pivots - 1
        features = np.zeros((len(order), rank))
        features[order] = np.tril(lower[:, :rank])
        residual = self._checked_residual(features)
        return features, order[:rank], residual

    def _checked_residual(self, features):
        """A factor that ends early without reproducing K means that K has negative eigenvalues."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(features), 4))
        product = self._matrix @ signs
        error = np.abs(product - features @ (features.T @ signs)).max()
        residual = float(error / max(np.abs(product).max(), np.finfo(float).tiny))
        if residual > 1e-6:
            smallest = la.eigh(self._matrix, subset_by_index=[0, 0], eigvals_only=True)[0]
            raise ValueError(
                f"the {self._kernel_name} kernel matrix is not positive semidefinite on these rows "
                f"(smallest eigenvalue {smallest:.3g}), so it has no real factor: choose other "
                "kernel parameters or a positive definite kernel"
            )
        return residual

    features = property(lambda self: self._parts[0])
    pivots = property(lambda self: self._parts[1])
    residual = property(lambda self: self._parts[2])

    @property
    def corner(self):
        return self.features[self.pivots]

    @property
    def nbytes(self):
        return self._parts[0].nbytes if "_parts" in self.__dict__ else 0


class ShiftedExact:
    """The Cholesky factor of K + beta I."""

    def __init__(self, matrix, beta):
        self.beta = beta
        shifted = matrix.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += beta
        try:
            self._factor = la.cho_factor(shifted, lower=True, overwrite_a=True)
        except la.LinAlgError:
            raise ValueError(
                f"K + beta I is not positive definite at beta={beta:g}: raise beta above minus the "
                "smallest eigenvalue of K"
            ) from None

    @property
    def nbytes(self):
        return self._factor[0].nbytes

    def solve(self, B):
        """S with (K + beta I) S = B."""
        return la.cho_solve(self._factor, B)
