"""What stands in for a kernel matrix, and what it offers to solvers.

An approximation is a scikit-learn transformer, fitted on rows and not changed afterwards. A solver
needs one of three things of it: "features", rows F with F F^T near K where `is_kernel_map` says so;
"operator", products with K~ of the fitted rows; or "shifted", solves with K~ + beta I.
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernlab.cluster import ClusterFeatures
from kernlab.features import Features
from kernlab.kernels import kernel_product, make_kernel
from kernlab.parameters import check_parameters, positive, row_weights
from kernlab.rows import as_rows, validate_rows
from kernlab.runtime import (
    Stopwatch,
    cholesky_factor,
    for_each_block,
    memory_limit,
    require_memory,
    row_blocks,
)

KERNEL_PARAMETERS = ("gamma", "degree", "coef0")
NEEDS = ("features", "operator", "shifted")
ROWS_PER_BLOCK = 4096
BLOCK_BYTES = 2**23  # features that each thread holds at a time
SMALLEST_BLOCK = 512
DENSE_ROWS = 32  # up to here a spectrum is that of the matrix, formed
SAMPLE = 20_000  # rows that a rule for gamma sees of those that are not in memory


class Approximation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all approximations of a kernel matrix.

    A subclass writes `_fit(rows, sample_weight)`, `rank_`, `nbytes`, and those of `features`,
    `operator` and `shifted` that it has. Its first parameters are the kernel's, and one is
    `max_memory`; fitted are `kernel_`, `rank_`, `nbytes` (bytes held, without the fitted rows) and
    `timings_` (seconds by stage).
    """

    is_kernel_map = True  # whether K~ is a matrix of inner products that stands for the kernel's
    checks: ClassVar[dict] = {"degree": positive}  # of parameters, see `check_parameters`

    def fit(self, X, y=None, sample_weight=None):
        """Fit on rows.

        Parameters
        ----------
        X : rows, as `kernlab.rows.as_rows` takes them
        y : ignored
        sample_weight : array of n numbers that are not negative, default None
            How often each row counts where rows are drawn or averaged: 2 is the row twice.
        """
        rows = validate_rows(self, X)
        check_parameters(self.get_params(deep=False), **self.checks)
        self.timings_ = {}
        weights = _checked_weights(sample_weight, len(rows))
        self.kernel_ = self._make_kernel(*_for_rules(rows, weights))
        self._rows = rows
        self._fit(rows, weights)
        return self

    def _fit(self, rows, sample_weight=None):
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted")

    def _make_kernel(self, X, sample_weight=None):
        """The kernel, with parameters that follow a rule computed from rows (or a sample) X."""
        given = {n: v for n, v in self.get_params(deep=False).items() if n in KERNEL_PARAMETERS}
        return make_kernel(self.kernel, **given, X=X, sample_weight=sample_weight)

    def _validated_rows(self, X):
        """Rows to be transformed or decided on."""
        check_is_fitted(self)
        return validate_rows(self, X, reset=False)

    def _validated(self, X):
        """The same as one array or CSR matrix."""
        return self._validated_rows(X).whole(self.max_memory)

    def _fitted_rows(self):
        if self._rows is None:
            name = type(self).__name__
            raise ValueError(f"the fitted rows are not stored with {name}: fit it again")
        return self._rows

    def _is_fitted_on(self, rows):
        """Whether these are the very rows of the fit, not others of the same values."""
        mine = self._rows
        if mine is None or not (rows.in_memory and mine.in_memory):
            return rows is mine
        return rows.whole() is mine.whole()

    def __getstate__(self):
        """The fitted rows are the caller's: they are left out of what is stored."""
        return {**super().__getstate__(), "_rows": None}

    def _timed(self, stage):
        """A context whose seconds are added to those of a stage."""
        return Stopwatch(self.timings_).stage(stage)

    def share(self, found):
        """Use what approximations of the same rows have left in the dictionary `found`, and leave
        there what others can use. By default there is nothing to share."""
        return self

    @classmethod
    def offers(cls, need):
        """Whether a solver that needs "features", "operator" or "shifted" can use it."""
        return need in NEEDS and getattr(cls, need) is not getattr(Approximation, need)

    def data_for(self, need, X):
        """What a solver with this need is given, about the rows X that this was fitted on: their
        features, the operator, or this approximation itself, which offers `shifted`."""
        if not self.offers(need):
            raise self._missing(need)
        if need == "features":
            rows = as_rows(X)
            on_cluster = rows.is_distributed
            return ClusterFeatures(rows, self, self.max_memory) if on_cluster else self.features(X)
        return self.operator() if need == "operator" else self

    def dual_from_weights(self, weights):
        """The coefficient of each fitted row, from weights of the features; None where new rows
        are decided by the weights themselves."""

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
        return self.kernel_.is_semidefinite

    def is_definite(self, beta):
        """Whether K~ + beta I is positive definite: where K~ = F F^T, for every positive beta."""
        if not self.is_kernel_map:
            raise TypeError(f"{type(self).__name__} does not say whether it is definite")
        return beta > 0

    def exact_product(self, V):
        """K V with the exact kernel matrix of the fitted rows, which is never formed."""
        rows = self._fitted_rows().whole(self.max_memory)
        return kernel_product(self.kernel_, rows, rows, V, self.max_memory)

    def decision(self, X, coefficients):
        """Scores of new points from weights of the features."""
        raise self._missing("features")

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        raise self._missing("operator")

    def _kernel_scores(self, rows, points, weights):
        """K(rows, points) @ weights; rows of a file are read in blocks."""
        scores = np.zeros((len(rows), *np.shape(weights)[1:]))
        if len(weights):
            for part in [slice(0, len(rows))] if rows.in_memory else rows.slices():
                block = rows.block(part)
                scores[part] = kernel_product(self.kernel_, block, points, weights, self.max_memory)
        return scores

    def expansion(self, coefficients):
        """Points and weights with decision(X) = K(X, points) @ weights, so that machines can be
        decided together; None where there are none."""

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


@dataclass(eq=False, repr=False)
class KernelParameters:
    """The parameters of an approximation of any kernel (see `make_kernel`)."""

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0


class FeatureMap(Approximation):
    """Base of approximations by features, F F^T near K or, where not `is_kernel_map`, another.

    A subclass writes `_fit(rows, sample_weight)`, `rank_` (the number of features) and `_block(X)`,
    the features of one block of rows, which several threads call at once. Where it has a parameter
    `dtype`, that is the precision of the features; None is that of the rows.
    """

    dtype = None
    map_ = None  # where features are kernel values of landmarks times a matrix, that matrix

    def _block(self, X):
        raise NotImplementedError(f"{type(self).__name__} does not say what its features are")

    def fit(self, X, y=None, sample_weight=None):
        self._features = self._gram = self._shifted = None
        return super().fit(X, y, sample_weight)

    @classmethod
    def offers(cls, need):
        return need == "features" or (need in NEEDS and cls.is_kernel_map is not False)

    def fit_transform(self, X, y=None, sample_weight=None):
        """Fit, and give the features of the fitted rows."""
        self.fit(X, y, sample_weight)
        with self._timed("features"):
            return self._training_features()

    def transform(self, X):
        """The features of rows X, an array of shape (n, rank_), computed in blocks of rows."""
        rows = self._validated_rows(X)
        features = self._room_for(len(rows), self.rank_, self._precision(rows))

        def compute(part):
            features[part] = self._block(rows.block(part))

        for_each_block(compute, self._slices(len(rows)))
        return features

    def bytes_per_row(self, rows):
        """What `features` keep of each of these rows."""
        return self.rank_ * self._precision(rows).itemsize

    def features(self, X, n_rows=None):
        """The features of rows X as a solver takes them (`Features`): in memory where max_memory
        holds them, otherwise formed a block at a time; of the fitted rows, as training made them.
        `n_rows`: how many there are in all, where X is a part of them."""
        rows = self._validated_rows(X)
        dtype, shape = self._precision(rows), (len(rows), self.rank_)
        if dtype.itemsize * shape[0] * shape[1] > memory_limit(self.max_memory):
            return Features.formed(shape, lambda part, room: self._block(rows.block(part)), dtype)
        with self._timed("features"):
            known = self._is_fitted_on(rows)
            return Features(self._training_features() if known else self.transform(rows))

    def iter_features(self, X, rows_per_block=ROWS_PER_BLOCK):
        """Yield (slice, features of these rows) in order: never all features at once."""
        rows = self._validated_rows(X)
        for part, block in rows.blocks(rows_per_block):
            yield part, self.transform(block)

    def _training_features(self):
        """The features of the fitted rows, where a fit knows more of them than of others."""
        return self.transform(self._fitted_rows())

    def _precision(self, rows):
        return np.dtype(rows.dtype if self.dtype is None else self.dtype)

    def _slices(self, n_rows, n_columns=None):
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
        rows, weights = self._validated_rows(X), np.asarray(coefficients, dtype=np.float64)
        expanded = self.expansion(weights)
        if expanded is not None:
            return self._kernel_scores(rows, *expanded)
        scores = np.empty((len(rows), *weights.shape[1:]))

        def compute(part):
            scores[part] = self._block(rows.block(part)) @ weights

        for_each_block(compute, self._slices(len(rows)))
        return scores

    def error(self, X, n_sampled=1000, random_state=0):
        """How far F F^T is from the kernel matrix of the rows of X: |K - F F^T| / |K| in the
        Frobenius norm, on a random block of at most `n_sampled` rows and columns."""
        rows = self._validated_rows(X)
        generator = np.random.default_rng([random_state, 1])  # not the one that drew landmarks
        sample = np.sort(generator.choice(len(rows), min(n_sampled, len(rows)), replace=False))
        X = rows.take(sample)
        K = self.kernel_(X).astype(np.float64)
        F = self.transform(X)
        F = (F.toarray() if sp.issparse(F) else F).astype(np.float64, copy=False)
        return float(la.norm(K - F @ F.T) / max(la.norm(K), np.finfo(float).tiny))

    def operator(self):
        F = self._own_features()
        return symmetric_operator(lambda V: F.dot(F.rdot(V)), F.shape[0])

    def shifted(self, beta):
        if self._shifted is None or self._shifted.beta != beta:
            self._shifted = None  # the last one is kept
            self._shifted = self._new_shifted(beta)
        return self._shifted

    def _new_shifted(self, beta):
        F = self._own_features()
        self._gram = F.gram() if self._gram is None else self._gram
        return ShiftedGram(F, self._gram, beta)

    def dual_decision(self, X, coefficients, rows):
        F = self._own_features()
        return self.decision(X, F.rdot(np.asarray(coefficients, dtype=np.float64), rows))

    def _own_features(self):
        if not self.offers("operator"):
            raise self._missing("operator")
        if self._features is None:
            self._features = Features(self._training_features())
        return self._features

    @property
    def _bytes_of_solves(self):
        held = (self._features, self._gram, self._shifted)
        return sum(part.nbytes for part in held if part is not None)


def symmetric_operator(product, n_rows, dtype=np.float64, order=None):
    """A symmetric matrix known by its products as a SciPy LinearOperator; its row k belongs to the
    entry `order[k]` of vectors."""

    def apply(V):
        if order is None:
            return product(V)
        result = np.empty(V.shape, np.result_type(V.dtype, dtype))
        result[order] = product(V[order].astype(dtype, copy=False))
        return result

    names = ("matvec", "rmatvec", "matmat", "rmatmat")
    return LinearOperator((n_rows, n_rows), dtype=dtype, **dict.fromkeys(names, apply))


def largest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The largest eigenvalue of a symmetric matrix, by Lanczos' method; never above the true one
    but for rounding. `product` gives the matrix times the columns of an array of shape (n_rows, k);
    `tol` is the residual |A v - lambda v| relative to lambda."""
    if n_rows <= DENSE_ROWS:
        return float(np.linalg.eigvalsh(product(np.eye(n_rows)))[-1])

    def times(v):
        return product(np.reshape(v, (-1, 1))).ravel()

    start = np.random.default_rng(random_state).standard_normal(n_rows)
    if not times(start).any():
        return 0.0  # ARPACK has no use for a matrix of zeros
    operator = LinearOperator((n_rows, n_rows), times, dtype=np.float64)
    return float(eigsh(operator, 1, which="LA", tol=tol, v0=start, return_eigenvectors=False)[0])


def smallest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The smallest eigenvalue, to `tol` times the largest absolute one; never below the true one.

    It is what the largest eigenvalue of s I - A lacks of s, with s the largest of A: convergence
    does not depend on how small it is.
    """
    shift = max(0.0, largest_eigenvalue(product, n_rows, tol=1e-2, random_state=random_state))
    return shift - largest_eigenvalue(
        lambda V: shift * V - product(V), n_rows, tol=tol, random_state=random_state
    )


class ShiftedGram:
    """Solves with F F^T + beta I (Woodbury): (B - F (F^T F + beta I)^-1 F^T B) / beta."""

    def __init__(self, features, gram, beta):
        if not beta > 0:
            raise ValueError(f"F F^T + beta I has an inverse for positive beta only, not {beta!r}")
        self.beta, self._features = beta, features
        shifted = gram.copy()
        shifted[np.diag_indices_from(shifted)] += beta
        self._factor = cholesky_factor(shifted.T, overwrite=True)

    @property
    def nbytes(self):
        return self._factor[0].nbytes

    def solve(self, B):
        """S with (F F^T + beta I) S = B; what rounding leaves of B is solved for once more."""
        F, B = self._features, np.asarray(B, dtype=np.float64)
        S = self._once(B)
        return S + self._once(B - self.beta * S - F.dot(F.rdot(S)))

    def _once(self, B):
        F = self._features
        return (B - F.dot(la.cho_solve(self._factor, F.rdot(B), check_finite=False))) / self.beta


def _for_rules(rows, weights):
    """Rows, or a sample of those that are not in memory, from which gamma may be computed."""
    if rows.in_memory:
        return rows.whole(), weights
    size = min(SAMPLE, len(rows))
    chosen = np.sort(np.random.default_rng(0).choice(len(rows), size, replace=False))
    return rows.take(chosen), None if weights is None else weights[chosen]


def _checked_weights(sample_weight, n_rows):
    if sample_weight is None:
        return None
    weights = row_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError("all sample weights are zero: no row is left")
    return weights


def checked_points(points, n_features, dtype, name):
    """Points that a user gives instead of a rule for `name`, as an array or CSR matrix."""
    points = sp.csr_matrix(points) if sp.issparse(points) else np.asarray(points)
    if points.ndim != 2 or points.shape[0] < 1 or points.shape[1] != n_features:
        raise ValueError(
            f"{name} is an array of shape {points.shape}; it must be points of {n_features} "
            "features, one per row"
        )
    points = points.astype(dtype)
    if not np.all(np.isfinite(points.data if sp.issparse(points) else points)):
        raise ValueError(f"the {name} given hold values that are not finite")
    return points
