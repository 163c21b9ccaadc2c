"""Kernel functions, evaluated in blocks on all cores, and rules for their width.

In kernlab `gamma` always means exp(-gamma d^2), as in scikit-learn; the papers' other symbols are
converted at the edge by `gamma_from_sigma` and `gamma_from_divisor`.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.utils.extmath import row_norms

from kernlab.parameters import GAMMA_RULES, positive, width
from kernlab.rows.near import ProductSearch
from kernlab.rows.products import (
    RightRows,
    gaussian_exponents,
    inner_products,
    prepare_right,
    result_type,
)
from kernlab.runtime import REORDERED_SUMS, for_each_block, memory_limit, njit, row_blocks

OTHER_NAMES = {"poly": "polynomial", "gaussian": "rbf", "tanh": "sigmoid"}
BLOCK_VALUES = 2**20
TILE_COLUMNS = 4096
CACHE_BYTES = 2**21  # a tile of values that stays in the cache that the cores share
CACHED_ROWS = 4096  # of such a tile at most, so that all cores have some


@dataclass(frozen=True)
class Kernel:
    """A kernel function: `k(X, Y)` is the dense block of values on all pairs of rows."""

    sees_distances: ClassVar[bool] = False  # whether |x - z| alone decides the value
    # Whether it is known to give semidefinite matrices on any rows; others may.
    is_semidefinite: ClassVar[bool] = False

    @classmethod
    def made(cls, X=None, sample_weight=None, **given):
        """With numbers for its parameters, those given or by rules for the rows X."""
        own = {field.name: given[field.name] for field in fields(cls)}
        if "gamma" in own:
            own["gamma"] = resolve_gamma(own["gamma"], X, sample_weight)
        return cls(**own)

    def __call__(self, X, Y=None):
        same = Y is None or Y is X
        Y = X if same else Y
        block = np.empty((X.shape[0], Y.shape[0]), dtype=result_type(X, Y))
        self.against(X, Y)(X, block)
        if same:
            np.fill_diagonal(block, self.diag(X))
        return block

    def against(self, X, Y):
        """A function of rows of the kind and density of X and an array of shape (rows, rows of Y),
        which it fills on all cores; what Y alone decides is computed once."""
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"rows of {X.shape[1]} and of {Y.shape[1]} features cannot be compared"
            )
        right, dtype = self._prepare(X, Y), result_type(X, Y)
        in_cache = CACHE_BYTES // max(1, dtype.itemsize * Y.shape[0])

        def fill(rows, out):
            def fill_some(part):
                if out.dtype == dtype:
                    self._fill(rows[part], right, out[part])
                    return
                values = np.empty(out[part].shape, dtype)
                self._fill(rows[part], right, values)
                with np.errstate(over="ignore"):  # infinite values are refused where they are used
                    out[part] = values

            blocks = row_blocks(len(out), min(max(in_cache, 32), CACHED_ROWS))
            for_each_block(fill_some, blocks)

        return fill

    def _prepare(self, X, Y):
        """What is computed once for all blocks of left-hand rows."""
        return prepare_right(X, Y)

    def _fill(self, X, right, out):
        """Write the values on all pairs of rows to `out`."""
        raise TypeError(f"{type(self).__name__} does not evaluate blocks")

    def diag(self, X):
        """The values k(x, x)."""
        return np.ones(X.shape[0], dtype=result_type(X, X))

    def single_roundings(self, points):
        """How many roundings of single precision a value at one of these points is off, about;
        infinitely many where that is not known."""
        return np.inf

    def frequencies(self, generator, shape):
        """Draws of w, of whose waves cos(w . (x - z)) the kernel is the mean; None for others."""


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x . z, and the base of what else is a function of inner products"""

    is_semidefinite: ClassVar[bool] = True

    def _fill(self, X, right, out):
        inner_products(X, right, out)
        self._of_products(out)

    def diag(self, X):
        products = row_norms(X.astype(result_type(X, X), copy=False), squared=True)
        self._of_products(products)
        return products

    def _of_products(self, values):
        """Replace inner products by the kernel's values."""


@dataclass(frozen=True)
class RBF(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2)"""

    gamma: float
    sees_distances: ClassVar[bool] = True
    is_semidefinite: ClassVar[bool] = True

    def _prepare(self, X, Y):
        return prepare_right(X, Y, gamma=self.gamma)

    def _fill(self, X, right, out):
        gaussian_exponents(X, right, out)
        np.exp(out, out=out)

    def single_roundings(self, points):
        centred = points if sp.issparse(points) else points - points.mean(axis=0)
        return 4.0 * self.gamma * float(row_norms(centred, squared=True).max())

    def frequencies(self, generator, shape):
        return generator.normal(scale=np.sqrt(2.0 * self.gamma), size=shape)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|_1), the distance being the sum of absolute differences"""

    gamma: float
    is_semidefinite: ClassVar[bool] = True

    def _prepare(self, X, Y):
        return RightRows(Y, None, fill_left=False)

    def frequencies(self, generator, shape):
        return self.gamma * generator.standard_cauchy(shape)

    def _fill(self, X, right, out):
        Y = right.rows
        if sp.issparse(X) != sp.issparse(Y):
            X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
        with np.errstate(over="ignore"):  # exp(-inf) is 0
            np.exp(-self.gamma * manhattan_distances(X, Y), out=out, casting="same_kind")


@dataclass(frozen=True)
class Polynomial(Linear):
    """k(x, z) = (gamma x . z + coef0)^degree"""

    gamma: float
    degree: int = 3
    coef0: float = 1.0

    @property
    def is_semidefinite(self):
        return self.coef0 >= 0 and float(self.degree).is_integer()

    @np.errstate(over="ignore", invalid="ignore")
    def _of_products(self, values):
        values *= self.gamma
        values += self.coef0
        np.power(values, self.degree, out=values)


@dataclass(frozen=True)
class Sigmoid(Linear):
    """k(x, z) = tanh(gamma x . z + coef0), the "neural network" kernel; not positive definite"""

    gamma: float
    coef0: float = 1.0
    is_semidefinite: ClassVar[bool] = False

    def _of_products(self, values):
        values *= self.gamma
        values += self.coef0
        np.tanh(values, out=values)


@dataclass(frozen=True)
class Compact(Kernel):
    """k(x, z) = (1 - alpha d)_+^l exp(-gamma d^2), zero from the distance d = 1 / alpha on

    Positive definite in p dimensions where l >= floor(p/2) + 1 (Askey). The sparse Cholesky
    paper takes alpha = 1 / (3 sigma). Distances are those of differences, the same in every path.
    """

    gamma: float
    alpha: float
    l: float
    sees_distances: ClassVar[bool] = True

    @classmethod
    def made(cls, X=None, sample_weight=None, *, gamma, alpha, l, **others):
        gamma = resolve_gamma(gamma, X, sample_weight)
        if l is None and X is None:
            raise ValueError("kernel='compact' takes its exponent l from the data: pass X, or l")
        # 1 / (3 sigma) by default.
        alpha = math.sqrt(2.0 * gamma) / 3.0 if alpha is None else positive(alpha, "alpha")
        return cls(gamma, alpha, askey_exponent(X.shape[1]) if l is None else l)

    @property
    def radius(self):
        """The distance from which on the kernel is zero."""
        return 1.0 / self.alpha

    def evaluate(self, squares):
        """Replace squared distances, an array in double precision, by the kernel's values."""
        _compact_values(squares, self.alpha, self.gamma, float(self.l))

    def _prepare(self, X, Y):
        return ProductSearch(Y, self.radius)

    def _fill(self, X, right, out):
        hits = right.around(X)
        self.evaluate(hits.squares)
        out[...] = 0.0
        out[np.repeat(np.arange(len(hits.counts)), hits.counts), hits.columns] = hits.squares


@njit(fastmath=REORDERED_SUMS)
def _compact_values(squares, alpha, gamma, exponent):
    whole = int(exponent)
    is_whole = whole == exponent and whole <= 1024
    for k in range(len(squares)):
        square = squares[k]
        rest = max(1.0 - alpha * math.sqrt(square), 0.0)
        if is_whole:
            value, power, left = 1.0, rest, whole
            while left:
                if left & 1:
                    value *= power
                power *= power
                left >>= 1
        else:
            value = rest**exponent
        squares[k] = value * math.exp(-gamma * square)


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's own function of two blocks of rows, `function(X, Y) -> values`."""

    function: Callable

    def _prepare(self, X, Y):
        return RightRows(Y, None, fill_left=False)

    def _fill(self, X, right, out):
        block = np.asarray(self.function(X, right.rows))
        if block.shape != out.shape:
            raise ValueError(
                f"the kernel function returned an array of shape {block.shape} "
                f"for {out.shape[0]} and {out.shape[1]} rows; it must be {out.shape}"
            )
        out[...] = block

    def diag(self, X):
        values = [np.asarray(self.function(X[i : i + 1], X[i : i + 1])) for i in range(X.shape[0])]
        return np.array(values, dtype=result_type(X, X)).reshape(-1)


KERNELS = {
    "linear": Linear,
    "rbf": RBF,
    "laplacian": Laplacian,
    "polynomial": Polynomial,
    "sigmoid": Sigmoid,
    "compact": Compact,
}


def askey_exponent(n_features):
    """The smallest integer l for which the compact kernel is positive definite (Askey's rule)."""
    return n_features // 2 + 1


def make_kernel(
    kernel="rbf",
    *,
    gamma="scale",
    degree=3,
    coef0=1.0,
    alpha=None,
    l=None,
    X=None,
    sample_weight=None,
):
    """The kernel named (or a Kernel, or a function of two blocks of rows), with numbers for its
    parameters; rules for gamma and l look at the rows X, weighted by `sample_weight`."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Custom(kernel)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        kernel = str(kernel)
        meant = OTHER_NAMES.get(kernel)
        hint = f"; take {meant!r}" if meant else ""
        names = ", ".join(KERNELS)
        raise ValueError(f"kernel={kernel!r} is not callable nor one of {names}{hint}")
    given = {"gamma": gamma, "degree": degree, "coef0": coef0, "alpha": alpha, "l": l}
    return KERNELS[kernel].made(X, sample_weight, **given)


# ---------------------------------------------------------- products in blocks
def kernel_product(kernel, X, Y, V, max_memory=None):
    """K(X, Y) V, tile by tile: kernel values are used while they are in the cache, never stored."""
    V = np.asarray(V)
    dtype = result_type(X, Y)
    result = np.zeros((X.shape[0], *V.shape[1:]), dtype=np.result_type(V, dtype))
    tile = min(CACHE_BYTES, memory_limit(max_memory) // 16) // dtype.itemsize
    width = max(1, min(Y.shape[0], TILE_COLUMNS, tile))
    for columns in row_blocks(Y.shape[0], width):
        right = kernel._prepare(X, Y[columns])

        def add(rows, columns=columns, right=right):
            values = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=dtype)
            kernel._fill(X[rows], right, values)
            result[rows] += values @ V[columns]

        for_each_block(add, row_blocks(X.shape[0], max(1, tile // width)))
    return result


# ---------------------------------------------------------- gamma
def gamma_from_sigma(sigma, name="sigma"):
    """The gamma of exp(-d^2 / (2 sigma^2)); `name` is what an error calls the width."""
    return 1.0 / (2.0 * width(sigma, name) ** 2)


def gamma_from_divisor(divisor):
    """The gamma of exp(-d^2 / divisor), which is how the LASN paper writes its kernel."""
    return 1.0 / positive(divisor, "divisor")


def resolve_gamma(gamma, X, sample_weight=None):
    """A number for gamma: itself, or by a rule from the rows of X.

    `sample_weight` says how often each row counts in the rules for variances.
    "scale": 1 / (features * variance of all entries), scikit-learn's default;
    "variance": 1 / total variance, the mean squared distance to the mean (LASN's Table 1);
    "median": 1 / (2 m^2) with m the median distance between rows (of at most 1,000, evenly taken);
    "auto": 1 / features.
    Where all rows are equal every rule gives 1.
    """
    if not isinstance(gamma, str):
        return float(positive(gamma, "gamma"))
    if gamma in GAMMA_RULES and X is None:
        raise ValueError(f"gamma={gamma!r} is a rule on the data: pass X, or a number for gamma")
    if gamma == "auto":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if gamma == "scale":
            spread = X.shape[1] * _variance(X, sample_weight, by_feature=False)
        elif gamma == "variance":
            spread = total_variance(X, sample_weight)
        elif gamma == "median":
            spread = 2.0 * _median_distance(X) ** 2
        else:
            raise ValueError(f"gamma={gamma!r} is not a number nor one of {', '.join(GAMMA_RULES)}")
    if not np.isfinite(spread):
        raise ValueError(
            f"the rows are too large for the rule {gamma!r}: their squares are infinite in double "
            "precision. Scale the features, or give a number instead of the rule"
        )
    if 0.0 < spread < sys.float_info.min:
        raise ValueError(
            f"the rows are too small for the rule {gamma!r}: their squares are next to zero in "
            "double precision. Scale the features, or give a number instead of the rule"
        )
    return 1.0 / spread if spread > 0 else 1.0


def total_variance(X, sample_weight=None):
    """The mean squared distance of the rows to their mean; weighted rows count so often."""
    return _variance(X, sample_weight, by_feature=True)


def _variance(X, sample_weight, by_feature):
    """The variance of all entries or, `by_feature`, the sum of those of the features."""
    n, p = X.shape
    weights = np.ones(n) if sample_weight is None else sample_weight
    total, pooled = weights.sum() * (1 if by_feature else p), np.asarray if by_feature else np.sum
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        mean = pooled(weights @ X) / total
        squares = float(weights @ row_norms(X, squared=True))
        return max(0.0, squares / total - float(np.vdot(mean, mean)))
    # Rows less the first, then less the mean: far from the origin little else would be left than
    # rounding, and of equal rows nothing may be.
    blocks, first = row_blocks(n, BLOCK_VALUES // p), X[0].astype(np.float64) * by_feature
    mean = pooled(sum(weights[rows] @ (X[rows] - first) for rows in blocks)) / total
    squares = (weights[rows] @ np.square(X[rows] - first - mean) for rows in blocks)
    return sum(float(part.sum()) for part in squares) / total


def _median_distance(X, max_rows=1000):
    rows = np.unique(np.linspace(0, X.shape[0] - 1, max_rows).astype(int))
    X = X[rows].astype(np.float64)
    if not sp.issparse(X):
        X -= np.median(X, axis=0)  # far from the origin distances drown in rounding
    distances = euclidean_distances(X)[np.triu_indices(len(rows), k=1)]
    return float(np.median(distances)) if distances.size else 0.0
