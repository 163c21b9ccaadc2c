"""What stands in for a kernel matrix, and what it offers to solvers.

An approximation is fitted on rows X and does not change afterwards. It is a scikit-learn
transformer, so that it works in a user's own pipeline. A solver needs one of three things of it:

- "features": `features(X)`, rows F with F F^T near K where `is_kernel_map` says so;
- "operator": `operator()`, products with K~ of the fitted rows, a SciPy LinearOperator;
- "shifted": `shifted(beta)`, an object whose `solve(B)` solves (K~ + beta I) S = B.

`offers(need)` says which there are, and `data_for(need, X)` gives one. New points are decided by
`decision(X, coefficients)` (weights of the features) or `dual_decision(X, coefficients, rows)` (one
coefficient for each fitted row named), in blocks.

A map to features is a `FeatureMap`: it says how it is fitted, how many features it has and what
those of one block of rows are; all else follows. Its K~ = F F^T has rank k, so that (Woodbury)

    (F F^T + beta I)^-1 B = (B - F (F^T F + beta I)^-1 F^T B) / beta

for one Gram matrix, k by k, and one Cholesky factor of that for each beta.
"""

import time
from contextlib import contextmanager

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernlab.kernels import is_semidefinite, kernel_product, make_kernel
from kernlab.rows.validation import validate_data
from kernlab.runtime import for_each_block, require_memory, row_blocks

NEEDS = ("features", "operator", "shifted")
ROWS_PER_BLOCK = 4096
BLOCK_BYTES = 2**23  # features that each thread holds at a time
SMALLEST_BLOCK = 512


class Approximation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all approximations of a kernel matrix.

    A subclass writes `_fit(X)`, `rank_`, `nbytes`, and those of `features`,
    `operator` and `shifted` that it has. Its first parameters are the kernel's, and one is
    `max_memory`; fitted are `kernel_`, `rank_`, `nbytes` and `timings_` (seconds by stage).
    """

    is_kernel_map = True  # whether K~ is a matrix of inner products that stands for the kernel's

    # ------------------------------------------------------------------------ fitting
    def fit(self, X, y=None):
        """Fit on the rows of X, an array or a CSR matrix; labels are not looked at."""
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.timings_ = {}
        self.kernel_ = self._make_kernel(X)
        self._rows = X
        self._fit(X)
        return self

    def _fit(self, X):
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted")

    def _make_kernel(self, X):
        """The kernel, with parameters that follow a rule computed from the rows of X."""
        return make_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, X=X)

    def _validated(self, X):
        check_is_fitted(self)
        return validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )

    def _fitted_rows(self):
        if self._rows is None:
            raise ValueError(
                f"the fitted rows are not stored with {type(self).__name__}: fit it again"
            )
        return self._rows

    def __getstate__(self):
        """The fitted rows are the caller's: they are left out of what is stored."""
        return {**super().__getstate__(), "_rows": None}

    @contextmanager
    def _timed(self, stage):
        """Add the seconds of the `with` block to those of a stage."""
        began = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - began
            self.timings_[stage] = self.timings_.get(stage, 0.0) + passed

    def share(self, found):
        """Use what approximations of the same rows have left in the dictionary `found`, and leave
        there what others can use. By default there is nothing to share."""
        return self

    # ----------------------------------------------------------------- for solvers
    @classmethod
    def offers(cls, need):
        """Whether a solver that needs "features", "operator" or "shifted" can use it."""
        return need in NEEDS and getattr(cls, need) is not getattr(Approximation, need)

    def data_for(self, need, X):
        """What a solver with this need is given, about the rows X that this was fitted on.

        Returns
        -------
        the features of X, the operator, or this approximation itself, which offers `shifted`.
        """
        if not self.offers(need):
            raise self._missing(need)
        if need == "features":
            return self.features(X)
        return self.operator() if need == "operator" else self

    def features(self, X):
        """The features of X as a solver takes them."""
        raise self._missing("features")

    def operator(self):
        """K~ of the fitted rows as a SciPy LinearOperator."""
        raise self._missing("operator")

    def shifted(self, beta):
        """An object whose `solve(B)` gives S with (K~ + beta I) S = B."""
        raise self._missing("shifted")

    def _missing(self, need):
        offered = " and ".join(filter(self.offers, NEEDS)) or "none of what solvers need"
        return TypeError(f"{type(self).__name__} offers {offered}, not {need}")

    @property
    def kernel_is_semidefinite(self):
        """Whether the exact kernel matrix is known to be one of inner products."""
        return is_semidefinite(self.kernel_)

    def is_definite(self, beta):
        """Whether K~ + beta I is positive definite: where K~ = F F^T, for every positive beta."""
        if not self.is_kernel_map:
            raise TypeError(f"{type(self).__name__} does not say whether it is definite")
        return beta > 0

    def exact_product(self, V):
        """K V with the exact kernel matrix of the fitted rows, which is never formed."""
        rows = self._fitted_rows()
        return kernel_product(self.kernel_, rows, rows, V, self.max_memory)

    # ------------------------------------------------------------------ new points
    def decision(self, X, coefficients):
        """Scores of new points from weights of the features."""
        raise self._missing("features")

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        raise self._missing("operator")

    def expansion(self, coefficients):
        """Points and weights with decision(X) = K(X, points) @ weights; None where there are none.

        Approximations of the same kernel and points can be decided together by it.
        """

    def leading(self, rank):
        """The approximation that the first `rank` landmarks alone would give."""
        raise TypeError(f"{type(self).__name__} is not nested: a smaller one must be fitted anew")

    @property
    def _n_features_out(self):
        return self.rank_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FeatureMap(Approximation):
    """Base of approximations by features, F F^T near K or, where not `is_kernel_map`, another.

    A subclass writes `_fit(X)`, `rank_` (the number of features) and `_block(X)`,
    the features of one block of rows, which several threads call at once. Where it has a parameter
    `dtype`, that is the precision of the features; None is that of X.
    """

    dtype = None

    def _block(self, X):
        raise NotImplementedError(f"{type(self).__name__} does not say what its features are")

    def fit(self, X, y=None):
        self._features = self._gram = self._shifted = None
        return super().fit(X, y)

    @classmethod
    def offers(cls, need):
        return need == "features" or (need in NEEDS and cls.is_kernel_map is not False)

    # ------------------------------------------------------------------------- features
    def fit_transform(self, X, y=None):
        """Fit, and give the features of the fitted rows."""
        self.fit(X, y)
        with self._timed("features"):
            return self._training_features()

    def transform(self, X):
        """The features of X, an array of shape (n, rank_), computed in blocks of rows."""
        X = self._validated(X)
        features = self._room_for(X.shape[0], self.rank_, self._precision(X))

        def compute(rows):
            features[rows] = self._block(X[rows])

        for_each_block(compute, self._blocks(X.shape[0]))
        return features

    def features(self, X):
        """The features of X as a solver takes them; of the fitted rows as training made them."""
        X = self._validated(X)
        return self._training_features() if X is self._rows else self.transform(X)

    def iter_features(self, X, rows_per_block=ROWS_PER_BLOCK):
        """Yield (slice, features of X[slice]) in order: never all features at once."""
        X = self._validated(X)
        for rows in row_blocks(X.shape[0], rows_per_block):
            yield rows, self.transform(X[rows])

    def _training_features(self):
        """The features of the fitted rows, where a fit knows more of them than of others."""
        return self.transform(self._fitted_rows())

    def _precision(self, X):
        return np.dtype(X.dtype if self.dtype is None else self.dtype)

    def _blocks(self, n_rows, n_columns=None):
        n_columns = self.rank_ if n_columns is None else n_columns
        return row_blocks(n_rows, max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * max(1, n_columns))))

    def _room_for(self, n_rows, n_columns, dtype, what="features"):
        """An empty array, refused with the arithmetic where it is larger than max_memory."""
        require_memory(
            dtype.itemsize * n_rows * n_columns,
            self.max_memory,
            what=f"the {n_columns:,} {what} of {n_rows:,} rows",
            arithmetic=f"{n_rows:,} x {n_columns:,} x {dtype.itemsize} bytes",
            way_out="Allow more with max_memory, take float32 rows or fewer features, or let "
            "solver='sbm' read the features in blocks.",
        )
        return np.empty((n_rows, n_columns), dtype=dtype)

    def decision(self, X, coefficients):
        """Scores of new points from weights of the features, in blocks."""
        X, weights = self._validated(X), np.asarray(coefficients, dtype=np.float64)
        expanded = self.expansion(weights)
        if expanded is not None:
            return kernel_product(self.kernel_, X, *expanded, self.max_memory)
        scores = np.empty((X.shape[0], *weights.shape[1:]))

        def compute(rows):
            scores[rows] = self._block(X[rows]) @ weights

        for_each_block(compute, self._blocks(X.shape[0]))
        return scores

    def error(self, X, n_sampled=1000, random_state=0):
        """How far F F^T is from the kernel matrix of the rows of X.

        Returns
        -------
        float : |K - F F^T| / |K| in the Frobenius norm, on a random block of at most `n_sampled`
            rows and columns.
        """
        X = self._validated(X)
        generator = np.random.default_rng([random_state, 1])  # not the one that drew landmarks
        sample = np.sort(generator.choice(X.shape[0], min(n_sampled, X.shape[0]), replace=False))
        K = self.kernel_(X[sample]).astype(np.float64)
        F = self.transform(X[sample])
        F = (F.toarray() if sp.issparse(F) else F).astype(np.float64, copy=False)
        return float(la.norm(K - F @ F.T) / max(la.norm(K), np.finfo(float).tiny))

    # ---------------------------------------------------------- products and solves with F F^T
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

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K~(X, fitted rows) @ coefficients, over the rows named only."""
        features = self._own_features()[rows]
        return self.decision(X, _down(features, np.asarray(coefficients, dtype=np.float64)))

    def _own_features(self):
        if not self.offers("operator"):
            raise self._missing("operator")
        if self._features is None:
            self._features = self._training_features()
        return self._features

    @property
    def _bytes_of_solves(self):
        held = (self._features, self._gram, self._shifted)
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
    for rows in row_blocks(len(features), ROWS_PER_BLOCK):
        some = features[rows].astype(np.float64, copy=False)
        gram += some.T @ some
    return gram


def _down(features, B):
    """F^T B"""
    down = np.zeros((features.shape[1], *B.shape[1:]))
    for rows in row_blocks(len(features), ROWS_PER_BLOCK):
        down += features[rows].astype(np.float64, copy=False).T @ B[rows]
    return down


def _up(features, V):
    """F V"""
    up = np.empty((len(features), *V.shape[1:]))
    for rows in row_blocks(len(features), ROWS_PER_BLOCK):
        up[rows] = features[rows].astype(np.float64, copy=False) @ V
    return up


def held_bytes(rows):
    """The bytes of an array or a CSR matrix."""
    if sp.issparse(rows):
        return rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    return rows.nbytes
