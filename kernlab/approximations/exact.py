"""The kernel matrix itself, as the measure of everything that approximates it."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import FeatureMap, KernelParameters
from kernlab.approximations.nystrom import CholeskyMap, SpectralMap
from kernlab.features import Features
from kernlab.parameters import one_of
from kernlab.rows.arrays import held_bytes
from kernlab.runtime import (
    cholesky_factor,
    eigenvalues,
    pivoted_cholesky,
    require_memory,
    row_blocks,
)

RANK_TOL = 1e-14  # the pivot, relative to the largest diagonal entry, at which a factor ends
FACTORS = ("cholesky", "eigenvectors", "root")
NEGLIGIBLE = 1e-12  # eigenvalues, relative to the largest, that M leaves out


@dataclass(eq=False, repr=False)
class ExactKernel(KernelParameters, FeatureMap):
    """The exact kernel matrix of the fitted rows: features, operator and shifted solves.

    As features it is any factor F with F F^T = K: the support vector machine with kernel K and the
    linear one on the rows of F are the same problem (Proposition 1 of the LLSVM paper, Theorem 1 of
    the LASN paper). Those of new points are F = K(x, points) M, as of the Nystrom method. They are
    in double precision whatever the rows: in single precision K would lose its definiteness.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : the kernel's (see `make_kernel`).
    factor : "cholesky", with pivoting, which stops at the numerical rank, M = L_11^-T on the
        pivots; "eigenvectors", F = V S^1/2 with K = V S V^T; or "root", K^1/2 (LLSVM, Table 1).
    max_memory : as everywhere.

    Attributes
    ----------
    matrix_ (K) and, computed when first asked for, rank_ (the number of features), pivots_ (fitted
    rows at which kernel values make features of new points), map_ (M, which does), residual_ (how
    well a Cholesky factor reproduces K).

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab.approximations import ExactKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> exact = ExactKernel(gamma=0.5)
    >>> F = exact.fit_transform(X)
    >>> bool(np.abs(F @ F.T - exact.matrix_).max() < 1e-12)
    True
    """

    _: KW_ONLY
    factor: str = "cholesky"
    max_memory: object = None

    checks: ClassVar[dict] = FeatureMap.checks | {"factor": one_of(*FACTORS)}

    def _fit(self, rows, sample_weight=None):
        n = len(rows)
        require_memory(
            5 * 8 * n * n,
            self.max_memory,
            what=f"the exact kernel matrix of {n:,} rows and its factor",
            arithmetic=f"5 x {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows, or use an approximation.",
        )
        self.X_ = rows.whole(self.max_memory).astype(np.float64, copy=False)
        with self._timed("kernel"):
            self.matrix_ = self.kernel_(self.X_)
            with np.errstate(invalid="ignore"):  # of a matrix that holds NaN
                extremes = self.matrix_.min(), self.matrix_.max()
            if not np.all(np.isfinite(extremes)):
                raise ValueError(
                    "the kernel matrix holds values that are not finite, or too large for double "
                    "precision: scale the features, or choose other kernel parameters"
                )
        self._known = {}  # what is computed when first asked for

    @property
    def nbytes(self):
        features, _, map_, _ = self._known.get("factor", (None,) * 4)
        held = (features, map_, self._known.get("corner"))
        held = sum(part.nbytes for part in held if part is not None)
        return self.matrix_.nbytes + held_bytes(self.X_) + self._bytes_of_solves + held

    def _once(self, name, compute):
        if name not in self._known:
            self._known[name] = compute()
        return self._known[name]

    @property
    def is_kernel_map(self):
        """Whether K is a matrix of inner products: without that no dual point bounds anything."""
        n, largest = len(self.matrix_), float(np.abs(self.matrix_.diagonal()).max())
        rounding = n * np.finfo(float).eps * max(largest, 1e-300)
        return self._once("semidefinite", lambda: self.is_definite(rounding))

    @property
    def kernel_is_semidefinite(self):
        return self.is_kernel_map

    def _factorised(self):
        """F, the rows that it is built on, M of eigenvectors, and the residual of a triangle."""
        return self._once("factor", self._cholesky if self.factor == "cholesky" else self._spectral)

    def _spectral(self):
        values, vectors = eigenvalues(self.matrix_)
        largest = max(float(values[-1]), np.finfo(float).tiny)
        if values[0] < -1e-8 * largest:
            raise self._not_definite(values[0])
        kept = values > NEGLIGIBLE * largest
        root, vectors = np.sqrt(values[kept]), vectors[:, kept]
        features, to_features = vectors * root, vectors / root
        if self.factor == "root":
            features, to_features = features @ vectors.T, to_features @ vectors.T
        return features, np.arange(len(features)), SpectralMap(to_features), None

    def _cholesky(self):
        """P^T K P = L L^T down to the numerical rank; L with its rows in the order of the data."""
        K = self.matrix_
        largest = max(float(np.max(np.diag(K))), np.finfo(float).tiny)
        # K is symmetric: its transpose is the column-ordered array that LAPACK wants to overwrite.
        lower, pivots, rank = pivoted_cholesky(K.T, RANK_TOL * largest)
        order, features = pivots - 1, np.zeros((len(K), rank))
        for columns in row_blocks(rank, 256):
            features[order, columns] = np.tril(lower[:, columns], -columns.start)
        # A factor that ends early without reproducing K means that K has negative eigenvalues.
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(features), 4))
        product = K @ signs
        error = np.abs(product - features @ (features.T @ signs)).max()
        residual = float(error / max(np.abs(product).max(), np.finfo(float).tiny))
        if residual > 1e-6:
            raise self._not_definite(eigenvalues(K, vectors=False)[0])
        return features, order[:rank], None, residual

    def _not_definite(self, smallest):
        return ValueError(
            f"the {type(self.kernel_).__name__} kernel matrix is not positive semidefinite on "
            f"these rows (smallest eigenvalue {smallest:.3g}), so it has no real factor: choose "
            "other kernel parameters or a positive definite kernel"
        )

    @property
    def map_(self):
        """M, which makes features of kernel values at the fitted rows `pivots_`."""
        features, pivots, map_, _ = self._factorised()
        return map_ or self._once("corner", lambda: CholeskyMap(features[pivots]))

    @property
    def rank_(self):
        return self._factorised()[0].shape[1]

    @property
    def pivots_(self):
        return self._factorised()[1]

    @property
    def residual_(self):
        return self._factorised()[3]

    def features(self, X):
        rows = self._validated_rows(X)
        return self._own_features() if self._is_fitted_on(rows) else super().features(rows)

    def _own_features(self):
        return Features(self._factorised()[0])

    def _training_features(self):
        return self._factorised()[0].copy()

    def _precision(self, rows):
        return np.dtype(np.float64)

    def _block(self, X):
        points = self.X_[self.pivots_]
        return self.map_.apply(self.kernel_(X.astype(np.float64, copy=False), points))

    def expansion(self, coefficients):
        return self.X_[self.pivots_], self.map_.fold(coefficients)

    def operator(self):
        return aslinearoperator(self.matrix_)

    def _new_shifted(self, beta):
        return ShiftedExact(self.matrix_, beta)

    def is_definite(self, beta):
        if self.kernel_.is_semidefinite:
            return beta > 0
        try:
            self._new_shifted(beta)
        except ValueError:
            return False
        return True

    def exact_product(self, V):
        return self.matrix_ @ V

    def dual_decision(self, X, coefficients, rows):
        return self._kernel_scores(self._validated_rows(X), self.X_[rows], coefficients)


class ShiftedExact:
    """The Cholesky factor of K + beta I."""

    def __init__(self, matrix, beta):
        self.beta = beta
        shifted = matrix.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += beta
        try:
            self._factor = cholesky_factor(shifted, overwrite=True)
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
