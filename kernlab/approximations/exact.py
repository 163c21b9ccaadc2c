"""The kernel matrix itself, as the measure of everything that approximates it.

As features it is any factor F with F F^T = K: the support vector machine with kernel K and the
linear one on the rows of F are the same problem (Proposition 1 of the LLSVM paper, Theorem 1 of
the LASN paper). Features of new points are F = K(x, points) M, as of the Nystrom method:

- "cholesky": a Cholesky factor with pivoting, M = L_11^-T on the pivots. It stops at the numerical
  rank and costs n r^2 instead of the 10 n^3 of an eigendecomposition.
- "eigenvectors": F = V S^1/2 with K = V S V^T.
- "root": the symmetric root, F = V S^1/2 V^T = K^1/2 (LLSVM, Table 1).
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg as la
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import FeatureMap, held_bytes
from kernlab.approximations.nystrom import CholeskyMap, SpectralMap
from kernlab.features import Features
from kernlab.kernels import is_semidefinite
from kernlab.lapack import cholesky_factor, pivoted_cholesky
from kernlab.parameters import one_of
from kernlab.runtime import interruptible, require_memory, row_blocks

FACTORS = ("cholesky", "eigenvectors", "root")
NEGLIGIBLE = 1e-12  # eigenvalues, relative to the largest, that M leaves out


@dataclass(eq=False, repr=False)
class ExactKernel(FeatureMap):
    """The exact kernel matrix of the fitted rows: features, operator and shifted solves.

    Features are in double precision whatever the rows: in single precision K would lose its
    definiteness to rounding, and the triangle, which may be nearly singular, would make much of the
    difference.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        The kernel's (see `make_kernel`).
    factor : "cholesky", "eigenvectors" or "root", default "cholesky"
        See the module.
    rank_tol : float, default 1e-14
        The pivot, relative to the largest diagonal entry, at which the Cholesky factor ends.
    max_memory : int or str, default None

    Attributes
    ----------
    matrix_ : array of shape (n, n)
        K.
    rank_, pivots_, map_, residual_
        Computed when first asked for: the number of features; the fitted rows at which kernel
        values make features of new points, and the map that does; how well a Cholesky factor
        reproduces K.

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

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0
    factor: str = "cholesky"
    rank_tol: float = 1e-14
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
        self._known = {}  # what is computed when first asked for

    @property
    def nbytes(self):
        """Bytes held: the matrix, and those of its factors that were asked for."""
        held = self.matrix_.nbytes + held_bytes(self.X_) + self._bytes_of_solves
        return held + sum(part.nbytes for part in self._known.values())

    def _once(self, name, compute):
        if name not in self._known:
            self._known[name] = compute()
        return self._known[name]

    @property
    def is_kernel_map(self):
        """Whether K is a matrix of inner products: without that no dual point bounds anything."""

        def find():
            n = self.matrix_.shape[0]
            largest = float(np.abs(self.matrix_.diagonal()).max())
            return np.bool_(self.is_definite(n * np.finfo(float).eps * max(largest, 1e-300)))

        return bool(self._once("semidefinite", find))

    @property
    def kernel_is_semidefinite(self):
        return self.is_kernel_map

    # ------------------------------------------------------------------- features
    def _factorised(self):
        return self._once("factor", self._factorise)

    def _factorise(self):
        if self.factor == "cholesky":
            return self._cholesky()
        values, vectors = interruptible(la.eigh, self.matrix_)
        largest = max(float(values[-1]), np.finfo(float).tiny)
        if values[0] < -1e-8 * largest:
            raise self._not_definite(values[0])
        kept = values > NEGLIGIBLE * largest
        root, vectors = np.sqrt(values[kept]), vectors[:, kept]
        features, to_features = vectors * root, vectors / root
        if self.factor == "root":
            features, to_features = features @ vectors.T, to_features @ vectors.T
        return Factor(features, np.arange(len(features)), SpectralMap(to_features), None)

    def _cholesky(self):
        """P^T K P = L L^T down to the numerical rank; L with its rows in the order of the data."""
        K = self.matrix_
        largest = max(float(np.max(np.diag(K))), np.finfo(float).tiny)
        # K is symmetric: its transpose is the column-ordered array that LAPACK wants to overwrite.
        lower, pivots, rank = pivoted_cholesky(K.T, self.rank_tol * largest)
        order, features = pivots - 1, np.zeros((len(K), rank))
        for columns in row_blocks(rank, 256):
            features[order, columns] = np.tril(lower[:, columns], -columns.start)
        # A factor that ends early without reproducing K means that K has negative eigenvalues.
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(features), 4))
        product = K @ signs
        error = np.abs(product - features @ (features.T @ signs)).max()
        residual = float(error / max(np.abs(product).max(), np.finfo(float).tiny))
        if residual > 1e-6:
            raise self._not_definite(la.eigh(K, subset_by_index=[0, 0], eigvals_only=True)[0])
        return Factor(features, order[:rank], None, residual)

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
        return self._factorised().features.shape[1]

    @property
    def pivots_(self):
        return self._factorised().pivots

    @property
    def residual_(self):
        return self._factorised().residual

    def features(self, X):
        """The features of rows X as a solver takes them: of the fitted rows, the factor itself."""
        rows = self._validated_rows(X)
        return self._own_features() if self._is_fitted_on(rows) else super().features(rows)

    def _own_features(self):
        return Features(self._factorised().features)

    def _training_features(self):
        return self._factorised().features.copy()

    def _precision(self, rows):
        return np.dtype(np.float64)

    def _block(self, X):
        points = self.X_[self.pivots_]
        return self.map_.apply(self.kernel_(X.astype(np.float64, copy=False), points))

    def expansion(self, coefficients):
        return self.X_[self.pivots_], self.map_.fold(coefficients)

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
        return self._kernel_scores(self._validated_rows(X), self.X_[rows], coefficients)


class Factor(NamedTuple):
    """F with F F^T = K, the rows that it is built on, the map of eigenvectors, if it is that of
    them, and how far a Cholesky factor is from reproducing K."""

    features: np.ndarray
    pivots: np.ndarray
    map_: SpectralMap | None
    residual: float | None

    @property
    def nbytes(self):
        return self.features.nbytes + (0 if self.map_ is None else self.map_.nbytes)


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
