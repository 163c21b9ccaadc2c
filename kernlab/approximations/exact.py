"""The kernel matrix itself, as the measure of everything that approximates it.

As features it is any factor F with F F^T = K: the support vector machine with kernel K and the
linear one on the rows of F are the same problem (Proposition 1 of the LLSVM paper, Theorem 1 of
the LASN paper). The factor here is a Cholesky factor with pivoting, which stops at the numerical
rank and costs n r^2 instead of the 10 n^3 of an eigendecomposition.
"""

import time

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from kernlab.approximations.base import Approximation
from kernlab.kernels import kernel_product
from kernlab.memory import require_memory


class ExactKernel(Approximation):
    """The exact kernel matrix of the fitted rows: features, operator and shifted solves.

    Parameters: the kernel's (see `make_kernel`), `rank_tol`, the pivot relative to the largest
    diagonal entry at which the factor ends, and `max_memory` in bytes or as "4GB".
    Fitted: `matrix_` (K), `pivots_` (the rows that the factor is built on), `rank_`,
    `features_` (the factor, rows in the order of the data), `residual_` (the largest entry of
    |K v - F F^T v| for random signs v, relative to |K v|).
    """

    capabilities = ("features", "operator", "shifted")

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
            3 * 8 * n * n,
            self.max_memory,
            what=f"the exact kernel matrix of {n:,} rows and its factor",
            arithmetic=f"3 x {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows, or use an approximation.",
        )
        began = time.perf_counter()
        self.X_ = X
        self.matrix_ = self.kernel_(X).astype(np.float64, copy=False)
        self.timings_["kernel"] = time.perf_counter() - began
        self._factors = {}

    @property
    def nbytes(self):
        """Bytes held: the matrix, and its factors so far."""
        factors = sum(factor.nbytes for factor in self._factors.values())
        return self.matrix_.nbytes + factors + self._feature_bytes()

    def _feature_bytes(self):
        return self.features_.nbytes if "_features" in self.__dict__ else 0

    # ------------------------------------------------------------------- features
    def _factorise(self):
        """P^T K P = L L^T down to the numerical rank, computed when first asked for."""
        if "_features" in self.__dict__:
            return
        began = time.perf_counter()
        largest = max(float(np.max(np.diag(self.matrix_))), np.finfo(float).tiny)
        lower, pivots, rank, info = la.lapack.dpstrf(
            self.matrix_, lower=1, tol=self.rank_tol * largest
        )
        if info < 0:
            raise ValueError("the kernel matrix holds values that are not finite")
        order = pivots - 1
        features = np.zeros((len(order), rank))
        features[order] = np.tril(lower[:, :rank])
        self._check_definite(features)
        self._features, self._pivots = features, order[:rank]
        self._pivot_factor = features[order[:rank]]
        self.timings_["factor"] = time.perf_counter() - began

    def _check_definite(self, features):
        """A factor that ends early without reproducing K means that K has negative eigenvalues."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(features), 4))
        product = self.matrix_ @ signs
        error = np.abs(product - features @ (features.T @ signs)).max()
        self.residual_ = float(error / max(np.abs(product).max(), np.finfo(float).tiny))
        if self.residual_ > 1e-6:
            smallest = la.eigh(self.matrix_, subset_by_index=[0, 0], eigvals_only=True)[0]
            raise ValueError(
                f"the {type(self.kernel_).__name__} kernel matrix is not positive semidefinite on "
                f"these rows (smallest eigenvalue {smallest:.3g}), so it has no real factor: "
                "choose other kernel parameters or a positive definite kernel"
            )

    @property
    def features_(self):
        self._factorise()
        return self._features

    @property
    def pivots_(self):
        self._factorise()
        return self._pivots

    @property
    def rank_(self):
        return self.features_.shape[1]

    def fit_transform(self, X, y=None):
        return self.fit(X).features_.copy()

    def transform(self, X):
        """Features of new points: L_11^{-1} K(pivots, x), which gives F on the fitted rows."""
        X = self._validated(X)
        values = self.kernel_(X, self.X_[self.pivots_])
        return la.solve_triangular(self._pivot_factor, values.T, lower=True, check_finite=False).T

    def expansion(self, coefficients):
        pivots = self.pivots_
        weights = la.solve_triangular(self._pivot_factor, coefficients, lower=True, trans="T")
        return self.X_[pivots], weights

    # ---------------------------------------------------------- operator and solves
    def operator(self) -> LinearOperator:
        """K as a LinearOperator."""
        return aslinearoperator(self.matrix_)

    def shifted(self, beta):
        """Solves with K + beta I, by one Cholesky factor that is kept per beta."""
        if beta not in self._factors:
            self._factors[beta] = ShiftedExact(self.matrix_, beta)
        return self._factors[beta]

    def dual_decision(self, X, coefficients):
        """Scores of new points from one coefficient per fitted row; rows of zeros are skipped."""
        X = self._validated(X)
        coefficients = np.asarray(coefficients)
        used = np.flatnonzero(coefficients.reshape(len(coefficients), -1).any(axis=1))
        if used.size == 0:
            return np.zeros((X.shape[0], *coefficients.shape[1:]))
        return kernel_product(self.kernel_, X, self.X_[used], coefficients[used], self.max_memory)


class ShiftedExact:
    """The Cholesky factor of K + beta I."""

    def __init__(self, matrix, beta):
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
