"""The sparse kernel: a kernel of compact support and its matrix, with or without its factor.

    k(x, z) = (1 - alpha d)_+^l exp(-gamma d^2)          (thesis, equation 38)

The matrix K~ = K + shift I holds the pairs nearer than 1 / alpha and nothing else. As features it
is the thesis' Cholesky factor, F F^T = K~; as an operator it is itself, and nothing fills in.
"""

import warnings

import numpy as np

from kernlab.approximations.base import FeatureMap
from kernlab.approximations.compact.bandwidth import settle_bandwidths
from kernlab.approximations.compact.cholesky import FACTOR_BYTES, NotPositiveDefinite
from kernlab.approximations.compact.factors import Factors
from kernlab.approximations.compact.multiply import SparseOperator, SparseProduct
from kernlab.approximations.compact.near import NearKernel
from kernlab.approximations.compact.plan import find_search
from kernlab.approximations.compact.profile import (
    check_compact,
    make_compact_kernel,
    profile_of,
    settle_exponent,
)
from kernlab.approximations.compact.sampling import predict_entries
from kernlab.approximations.compact.spectrum import gershgorin_radii, smallest_eigenvalue
from kernlab.features import Features
from kernlab.runtime import single_blas_thread

FEATURE_BYTES = 40  # an entry of L and of F, and the copy of F that LIBLINEAR makes


class CompactKernel(FeatureMap):
    """A sparse kernel matrix: as features by its Cholesky factor, as operator, in shifted solves.

    Parameters
    ----------
    kernel : "rbf" or "compact" (the same here: the Gaussian kernel made compact), or a Compact or
        Wendland kernel.
    gamma : of exp(-gamma d^2), a number or a rule; `gamma_from_sigma` converts the thesis' sigma.
        "quantile" takes the largest 1 / alpha = 3 sigma that leaves the matrix as sparse as
        `sparsity` says.
    alpha : the kernel is zero beyond 1 / alpha; None for 1 / (3 sigma), as in the thesis;
        "trade-off" maximises A(alpha) + `trade_off` S(alpha) (equation 41).
    sparsity : the share of zeros that "quantile" keeps; None for at most 200 near rows a row, and
        at least 3/4 (the thesis' example).
    l : "askey", floor(p/2) + 1 for p features, which keeps the kernel positive definite;
        "askey-odd", the next odd number (what the thesis computed with); or a number.
    taper : "askey", or "wendland-c2", "-c4", "-c6", which are smooth at the origin (l is not used).
    shift : added to the diagonal; a number, or one for each row.
    ordering, backend : of the Cholesky factor (see `factorise`).
    drop : entries of the features, which are at most 1, that are smaller than this are left out:
        more than half of them are below 1e-8.
    search : how near pairs are found: "cells", "products", or "auto".

    Fitted
    ------
    kernel_, matrix_ (K + shift I, in the order of the rows), sparsity_, prediction_ (of its
    entries, from a sample), smallest_eigenvalue_ (estimated where l is below its bound, else None),
    and, computed when first asked for, factor_, permutation_, factor_nonzeros_, factor_sparsity_.
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        alpha=None,
        sparsity=None,
        trade_off=1.0,
        l="askey-odd",
        taper="askey",
        shift=1e-4,
        ordering="amd",
        backend="auto",
        drop=1e-8,
        search="auto",
        random_state=None,
        max_memory=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.sparsity = sparsity
        self.trade_off = trade_off
        self.l = l
        self.taper = taper
        self.shift = shift
        self.ordering = ordering
        self.backend = backend
        self.drop = drop
        self.search = search
        self.random_state = random_state
        self.max_memory = max_memory

    # ------------------------------------------------------------------------ fitting
    def _make_kernel(self, X):
        if self.kernel not in ("rbf", "compact"):
            return check_compact(self.kernel)
        gamma, alpha = settle_bandwidths(
            X,
            self.gamma,
            self.alpha,
            settle_exponent(self.l, X.shape[1]),
            sparsity=self.sparsity,
            trade_off=self.trade_off,
            random_state=self.random_state,
        )
        return make_compact_kernel(gamma, alpha, self.l, self.taper, X.shape[1])

    def _fit(self, rows, sample_weight=None):
        X = rows.whole(self.max_memory)
        shifts = self._shifts(X.shape[0])
        self._profile = profile_of(self.kernel_, X.shape[1])
        radius = self._profile.radius
        with self._timed("predict"), single_blas_thread():
            self.prediction_ = predict_entries(X, radius, self.random_state)
            self.prediction_.refuse_beyond(self.max_memory)
        with self._timed("sort"), single_blas_thread():
            search = find_search(X, radius, self.search, self.random_state, self.max_memory)
            self._near = NearKernel(search, self._profile, X.shape[0])
        with self._timed("assemble"):
            self._matrix = self._near.matrix(1.0 + shifts, self.max_memory)
        self._product = SparseProduct(self._matrix)
        self._factors = Factors(
            self._matrix,
            self._near.order,
            self.timings_,
            ordering=self.ordering,
            backend=self.backend,
            max_memory=self.max_memory,
        )
        self._check_definiteness(X.shape[1])

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
        enough = self._profile.smallest_exponent
        if self._profile.exponent >= enough:
            return
        n = self._matrix.shape[0]
        with self._timed("smallest eigenvalue"):
            shifted = smallest_eigenvalue(self._product, n)
            at_least = self._matrix.diagonal().min() - gershgorin_radii(self._matrix).max()
        self.smallest_eigenvalue_ = shifted - float(np.max(self.shift))
        proof = " (it is, by Gershgorin's circles)" if at_least > 0 else ""
        warnings.warn(
            f"the exponent {self._profile.exponent:g} is below {enough}, which a kernel of this "
            f"kind needs to be positive definite on any rows of {n_features} features. On these "
            f"rows the smallest eigenvalue of its matrix is about {self.smallest_eigenvalue_:.2g}, "
            f"and {float(np.min(self.shift)):g} is added to it{proof}",
            stacklevel=4,
        )

    # ------------------------------------------------------------------------- matrix
    @property
    def matrix_(self):
        """K + shift I as CSR, in the order of the fitted rows (a copy)."""
        return _reordered(self._matrix, np.argsort(self._near.order))

    @property
    def sparsity_(self):
        """The share of zeros in the kernel matrix."""
        return 1.0 - self._matrix.nnz / self._matrix.shape[0] ** 2

    @property
    def rank_(self):
        return self._matrix.shape[0]

    @property
    def nbytes(self):
        """Bytes held: the matrix, and those of its factors that were asked for."""
        matrix = self._matrix
        held = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
        return held + self._factors.nbytes

    def operator(self):
        """K + shift I as a SciPy LinearOperator."""
        return SparseOperator(self._product, self._near.order)

    def sorted_operator(self):
        """The same with rows in the order in which they are stored, and that order.

        Near rows stand near each other there: products need not fetch vectors from all over.
        """
        order = self._near.order
        return SparseOperator(self._product, slice(None), len(order)), order

    def cross(self, X):
        """The kernel between the rows of X and the fitted rows, as CSR."""
        return self._near.cross(self._validated(X))

    # ------------------------------------------------------------------------- factor
    def shifted(self, beta):
        """Solves with K + (shift + beta) I, by a Cholesky factor; the last one is kept."""
        return self._factor(beta)

    def is_definite(self, beta):
        """Whether K + (shift + beta) I is positive definite: by the exponent, or by a factor."""
        if self.smallest_eigenvalue_ is None:
            return beta > 0
        try:
            self._factors.factor(beta)
        except NotPositiveDefinite:
            return False
        return True

    def _factor(self, beta, entry_bytes=FACTOR_BYTES):
        try:
            return self._factors.factor(beta, entry_bytes)
        except NotPositiveDefinite as error:
            smallest = smallest_eigenvalue(self._product, self._matrix.shape[0])
            smallest -= float(np.max(self.shift))
            raise ValueError(
                f"{error}. The smallest eigenvalue of the kernel matrix is about {smallest:.2g}: "
                f"raise shift above {max(0.0, -smallest):.2g}, or l to at least "
                f"{self._profile.smallest_exponent}"
            ) from error

    @property
    def factor_(self):
        """The Cholesky factor of K + shift I, computed when first asked for (`SparseFactor`)."""
        return self.shifted(0.0)

    @property
    def permutation_(self):
        """The order that keeps the factor sparse: its row i belongs to the fitted row p[i]."""
        return self._factors.permutation

    @property
    def factor_nonzeros_(self):
        """The entries of the factor, which is ordered and counted for this, but not computed."""
        return self._factors.nonzeros

    @property
    def factor_sparsity_(self):
        """The share of zeros in the factor, a square matrix."""
        return 1.0 - self.factor_nonzeros_ / self._matrix.shape[0] ** 2

    # ----------------------------------------------------------------------- features
    def _training_features(self):
        """The features of the fitted rows: F = L[argsort(p)], with F F^T = K + shift I."""
        features, order = self.sorted_features()
        return features[np.argsort(order)]

    def sorted_features(self):
        """The same in the order of the factor, where rows that share columns stand together."""
        factor = self._factor(0.0, FEATURE_BYTES)
        with self._timed("features"):
            return factor.sorted_rows(self.drop), factor.permutation

    def features(self, X):
        """The features of X as a solver takes them; of the fitted rows, those of the factor."""
        rows = self._validated_rows(X)
        known = self._is_fitted_on(rows)
        return Features(self._training_features() if known else self.transform(rows))

    def transform(self, X):
        """Features of rows, sparse: phi(x) with F phi(x) = K(fitted rows, x).

        A row that equals a fitted row has that row's features (of several such rows, the first's):
        the shift belongs to a row, not to a distance of zero.
        """
        shifts = self._shifts(self._matrix.shape[0])
        return self.factor_.features(self._near.cross(self._validated(X), shifts), self.drop)

    def dual_from_weights(self, weights):
        """The coefficient of each fitted row, from weights of the features (equation 42)."""
        return self.factor_.combination(np.asarray(weights, np.float64))

    def decision(self, X, coefficients):
        """Scores of new rows from weights of the features, in blocks, through the sparse kernel."""
        return self._near.decide(self._validated(X), self.dual_from_weights(coefficients))

    def dual_decision(self, X, coefficients, rows):
        """Scores of new rows: K(X, fitted rows) @ coefficients, over the rows named only."""
        coefficients = np.asarray(coefficients, np.float64)
        dual = np.zeros((self._matrix.shape[0], *coefficients.shape[1:]))
        dual[rows] = coefficients
        return self._near.decide(self._validated(X), dual)


def _reordered(matrix, order):
    """matrix[order][:, order] with sorted columns, `order` a permutation."""
    place = np.argsort(order)
    moved = matrix[order]
    moved.indices = place[moved.indices].astype(moved.indices.dtype)
    moved.has_sorted_indices = False
    moved.sort_indices()
    return moved
