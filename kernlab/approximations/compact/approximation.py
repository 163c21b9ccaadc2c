"""The sparse kernel: a kernel of compact support and its matrix, with or without its factor.

    k(x, z) = (1 - alpha d)_+^l exp(-gamma d^2)          (thesis, equation 38)

The matrix K~ = K + shift I holds the pairs nearer than 1 / alpha and nothing else. As features it
is the thesis' Cholesky factor, F F^T = K~; as an operator it is itself, and nothing fills in.
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.base import FeatureMap, held_bytes
from kernlab.approximations.compact.assembly import (
    NearKernel,
    SparseOperator,
    SparseProduct,
    find_search,
)
from kernlab.approximations.compact.backends import BACKENDS, ORDERINGS, NotPositiveDefinite
from kernlab.approximations.compact.factor import FACTOR_BYTES, Analysis, factorise
from kernlab.approximations.compact.widths import predict_entries, resolve_kernel
from kernlab.approximations.spectrum import gershgorin_radii, smallest_eigenvalue
from kernlab.features import Features
from kernlab.kernels import GAMMA_RULES, Compact, askey_exponent
from kernlab.parameters import one_of, positive
from kernlab.runtime import Stopwatch, single_blas_thread

LEAST_SEEN = 0.01  # of the others together, beside the 1 of a row itself
FEATURE_BYTES = 52  # an entry of L and of F, and of LIBLINEAR's copies of F


class NearlyDiagonalWarning(UserWarning):
    """A sparse kernel matrix whose rows hardly see each other."""


@dataclass(eq=False, repr=False)
class CompactKernel(FeatureMap):
    """A sparse kernel matrix: as features by its Cholesky factor, as operator, in shifted solves.

    The matrix and its factor are kept in orders of their own, where near rows stand near each
    other and where the factor stays sparse. Whatever is given to `operator()`, `shifted`,
    `features` or `dual_decision`, and what they give, is in the order of the fitted rows.

    Parameters
    ----------
    kernel : "rbf" or "compact" (the same here: the Gaussian kernel made compact), or a Compact
        kernel.
    gamma : of exp(-gamma d^2), a number or a rule; `gamma_from_sigma` converts the thesis' sigma.
        "quantile" takes the largest 1 / alpha = 3 sigma that leaves the matrix as sparse as
        `sparsity` says.
    alpha : the kernel is zero beyond 1 / alpha; None for 1 / (3 sigma), as in the thesis;
        "trade-off" maximises A(alpha) + `trade_off` S(alpha) (equation 41).
    sparsity : the share of zeros that "quantile" keeps; None for at most 200 near rows a row, and
        at least 3/4 (the thesis' example).
    l : "askey", floor(p/2) + 1 for p features, which keeps the kernel positive definite;
        "askey-odd", the next odd number (what the thesis computed with); or a number.
    shift : added to the diagonal; a number, or one for each row.
    ordering, backend : of the Cholesky factor (see `Analysis`).
    drop : entries of the features, which are at most 1, that are smaller than this are left out:
        more than half of them are below 1e-8.
    search : how near pairs are found: "cells", "products", or "auto".
    random_state, max_memory : as everywhere.

    Attributes
    ----------
    kernel_, matrix_ (K + shift I), sparsity_, prediction_ (of its entries, from a sample),
    smallest_eigenvalue_ (estimated where l is below its bound, else None), and, computed when first
    used, factor_, permutation_, factor_nonzeros_, factor_sparsity_.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> kernel = CompactKernel(gamma=200.0).fit(X)
    >>> bool(kernel.sparsity_ > 0.9), kernel.operator().shape
    (True, (1000, 1000))
    """

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    alpha: object = None
    sparsity: float | None = None
    trade_off: float = 1.0
    l: object = "askey-odd"
    shift: object = 1e-4
    ordering: str = "amd"
    backend: str = "auto"
    drop: float = 1e-8
    search: str = "auto"
    random_state: object = None
    max_memory: object = None

    checks: ClassVar[dict] = {
        "gamma": (positive, (*GAMMA_RULES, "quantile")),
        "ordering": one_of(*ORDERINGS),
        "backend": one_of("auto", *BACKENDS),
    }

    # ------------------------------------------------------------------------ fitting
    def count_rows(self, counts):
        """Let each row stand for so many equal ones: its shift is then 1 / count of theirs (see
        `kernlab.rows.products`)."""
        return self.set_params(shift=self.shift / counts)

    def _make_kernel(self, X, sample_weight=None):
        if isinstance(self.kernel, Compact):
            positive(self.kernel.l, "l")
            return self.kernel
        if self.kernel not in ("rbf", "compact"):
            raise ValueError(
                f"kernel={self.kernel!r}: approximation 'compact' makes the Gaussian kernel "
                "compact, so it takes kernel='rbf' or a Compact kernel"
            )
        return resolve_kernel(
            X,
            self.gamma,
            self.alpha,
            self.l,
            sparsity=self.sparsity,
            trade_off=self.trade_off,
            random_state=self.random_state,
        )

    def _fit(self, rows, sample_weight=None):
        X = rows.whole(self.max_memory)
        n, radius = X.shape[0], self.kernel_.radius
        self._shift = self._shifts(n)
        self._factors, self._analyses = {}, []  # filled when they are first used
        with self._timed("predict"), single_blas_thread():
            self.prediction_ = predict_entries(X, radius, self.random_state)
            self.prediction_.refuse_beyond(self.max_memory)
        with self._timed("sort"), single_blas_thread():
            search = find_search(X, radius, self.search, self.random_state, self.max_memory)
            self._near = NearKernel(search, self.kernel_, n)
        with self._timed("assemble"):
            self._matrix = self._near.matrix(1.0 + self._shift, self.max_memory)
        self._product = SparseProduct(self._matrix)
        self._check_definiteness(X.shape[1])
        self._warn_if_nearly_diagonal()

    def _warn_if_nearly_diagonal(self):
        sums = self._product(np.ones((self.rank_, 1)))
        others = float(np.mean(sums) - 1.0 - np.mean(self._shift))
        if others < LEAST_SEEN:
            warnings.warn(
                "the kernel matrix is nearly diagonal: what a row sees of all others together is "
                f"{others:.0e} of what it sees of itself, so that hardly more than the intercept "
                "decides new rows. Sparse kernels suit rows of few features: raise sigma, lower "
                "sparsity, set a smaller l, or take LASN.",
                NearlyDiagonalWarning,
                stacklevel=5,
            )

    def _shifts(self, n_rows):
        """The shift of each row."""
        shifts = np.asarray(self.shift, np.float64)
        if shifts.shape not in ((), (n_rows,)) or not np.all((shifts >= 0) & (shifts < np.inf)):
            raise ValueError(
                f"shift must be a number that is not negative, or one for each row, not "
                f"{self.shift!r}"
            )
        return np.broadcast_to(shifts, n_rows)

    def _check_definiteness(self, n_features):
        """Warn, with the smallest eigenvalue, where the kernel need not be positive definite."""
        self.smallest_eigenvalue_ = None
        enough = askey_exponent(n_features)
        if self.kernel_.l >= enough:
            return
        with self._timed("smallest eigenvalue"):
            self.smallest_eigenvalue_ = self._smallest_eigenvalue()
            at_least = self._matrix.diagonal().min() - gershgorin_radii(self._matrix).max()
        proof = " (it is, by Gershgorin's circles)" if at_least > 0 else ""
        warnings.warn(
            f"the exponent {self.kernel_.l:g} is below {enough}, which a kernel of this kind needs "
            f"to be positive definite on any rows of {n_features} features. On these rows the "
            f"smallest eigenvalue of its matrix is about {self.smallest_eigenvalue_:.2g}, and "
            f"{float(self._shift.min()):g} is added to it{proof}",
            stacklevel=5,
        )

    def _smallest_eigenvalue(self):
        """About that of K, without a shift."""
        return smallest_eigenvalue(self._product, self.rank_) - float(self._shift.max())

    # ------------------------------------------------------------------------- matrix
    @property
    def matrix_(self):
        """K + shift I as CSR, in the order of the fitted rows (a copy)."""
        order = self._near.order
        moved = self._matrix[np.argsort(order)]
        moved.indices = order[moved.indices].astype(moved.indices.dtype)
        moved.has_sorted_indices = False
        moved.sort_indices()
        return moved

    @property
    def sparsity_(self):
        """The share of zeros in the kernel matrix."""
        return 1.0 - self._matrix.nnz / self.rank_**2

    @property
    def rank_(self):
        return self._matrix.shape[0]

    @property
    def nbytes(self):
        """Bytes held: the matrix, and those of its factors that were used."""
        return held_bytes(self._matrix) + sum(factor.nbytes for factor in self._factors.values())

    def operator(self):
        """K + shift I as a SciPy LinearOperator."""
        return SparseOperator(self._product, self._near.order)

    # ------------------------------------------------------------------------- factor
    def shifted(self, beta):
        """Solves with K + (shift + beta) I, by a Cholesky factor; the last one is kept."""
        return self._factor(beta)

    def is_definite(self, beta):
        """Whether K + (shift + beta) I is positive definite: by the exponent, or by a factor."""
        if self.smallest_eigenvalue_ is None:
            return beta > 0
        try:
            self._computed_factor(beta, FACTOR_BYTES)
        except NotPositiveDefinite:
            return False
        return True

    def _factor(self, beta, entry_bytes=FACTOR_BYTES):
        try:
            return self._computed_factor(beta, entry_bytes)
        except NotPositiveDefinite as error:
            smallest = self._smallest_eigenvalue()
            raise ValueError(
                f"{error}. The smallest eigenvalue of the kernel matrix is about {smallest:.2g}: "
                f"raise shift above {max(0.0, -smallest):.2g}, or l to at least "
                f"{askey_exponent(self.n_features_in_)}"
            ) from error

    def _computed_factor(self, beta, entry_bytes):
        """The factor with beta added to the diagonal: the last is kept, and that with nothing."""
        if beta not in self._factors:
            for other in [other for other in self._factors if other != 0.0]:
                del self._factors[other]
            matrix = self._matrix
            if beta:
                matrix = (matrix + beta * sp.identity(self.rank_, format="csr")).tocsr()
            with Stopwatch().stage("order and factor"):  # whose own seconds are taken over below
                factor = factorise(
                    matrix, max_memory=self.max_memory, entry_bytes=entry_bytes, **self._how
                )
            factor.permutation = self._near.order[factor.permutation]
            self.timings_ |= factor.seconds
            self._factors[beta] = factor
        return self._factors[beta]

    @property
    def _how(self):
        return {"ordering": self.ordering, "backend": self.backend}

    def _analysed(self):
        """The matrix, ordered and the entries of its factor counted."""
        if not self._analyses:
            self._analyses.append(Analysis(self._matrix, **self._how))
        return self._analyses[0]

    @property
    def factor_(self):
        """The Cholesky factor of K + shift I, computed when first used (`SparseFactor`)."""
        return self.shifted(0.0)

    @property
    def permutation_(self):
        """The order that keeps the factor sparse: its row i belongs to the fitted row p[i]."""
        if 0.0 in self._factors:
            return self._factors[0.0].permutation
        return self._near.order[self._analysed().permutation]

    @property
    def factor_nonzeros_(self):
        """The entries of the factor, which is ordered and counted for this, but not computed."""
        return (self._factors.get(0.0) or self._analysed()).nonzeros

    @property
    def factor_sparsity_(self):
        """The share of zeros in the factor, a square matrix."""
        return 1.0 - self.factor_nonzeros_ / self.rank_**2

    # ----------------------------------------------------------------------- features
    def fit_transform(self, X, y=None):
        """The features of the fitted rows: F = L[argsort(p)], with F F^T = K + shift I."""
        return self.fit(X)._training_features()

    def _training_features(self):
        factor = self._factor(0.0, FEATURE_BYTES)
        with self._timed("features"):
            return factor.rows(self.drop)

    def features(self, X):
        """The features of X as a solver takes them; of the fitted rows, those of the factor, which
        is square, so that weights have dual variables of their own."""
        rows = self._validated_rows(X)
        if not self._is_fitted_on(rows):
            return Features(self.transform(rows))
        return Features(self._training_features(), dual_of=self.dual_from_weights)

    def transform(self, X):
        """Features of rows, sparse: phi(x) with F phi(x) = K(fitted rows, x).

        A row that equals a fitted row has that row's features (of several such rows, the first's):
        the shift belongs to a row, not to a distance of zero.
        """
        kernel = self._near.cross(self._validated(X), self._shift)
        return self.factor_.features(kernel, self.drop)

    def dual_from_weights(self, weights):
        """The coefficient of each fitted row, from weights of the features (equation 42)."""
        return self.factor_.combination(np.asarray(weights, np.float64))

    # ---------------------------------------------------------------------- new points
    def decision(self, X, coefficients):
        """Scores of new rows from weights of the features, in blocks, through the sparse kernel."""
        return self._near.decide(self._validated(X), self.dual_from_weights(coefficients))

    def dual_decision(self, X, coefficients, rows):
        """Scores of new rows: K(X, fitted rows) @ coefficients, over the rows named only."""
        coefficients = np.asarray(coefficients, np.float64)
        dual = np.zeros((self.rank_, *coefficients.shape[1:]))
        dual[rows] = coefficients
        return self._near.decide(self._validated(X), dual)
