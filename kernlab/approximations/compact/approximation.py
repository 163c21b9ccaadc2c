"""The sparse kernel: a kernel of compact support and its matrix, with or without its factor."""

import math
import sys
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.base import FeatureMap, smallest_eigenvalue, symmetric_operator
from kernlab.approximations.compact.assembly import (
    NearKernel,
    SparseProduct,
    find_search,
    require_room,
)
from kernlab.approximations.compact.factor import (
    BACKENDS,
    FACTOR_BYTES,
    ORDERINGS,
    Analysis,
    NotPositiveDefinite,
    factorise,
)
from kernlab.features import Features
from kernlab.kernels import Compact, askey_exponent, gamma_from_sigma, resolve_gamma
from kernlab.parameters import one_of, positive, width
from kernlab.rows.arrays import held_bytes
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import Stopwatch, levels_to_the_user, row_blocks, single_blas_thread

LEAST_SEEN = 0.01  # of the others together, beside the 1 of a row itself
FEATURE_BYTES = 52  # an entry of L and of F, and of LIBLINEAR's copies of F
NEAR_ROWS = 200  # what "quantile" leaves a row at the most
EXAMPLE_SPARSITY = 0.75  # of Section 4: "if only 25 % of the nonzero entries can be stored"
SAMPLED_PAIRS = 2**20
BLOCK_PAIRS = 2**20  # of which distances are held
SAMPLED_ROWS = 1000  # of the trade-off, whose sums run over all pairs of them


class NearlyDiagonalWarning(UserWarning):
    """A sparse kernel matrix whose rows hardly see each other."""


def shifts_of_rows(value, name):
    """Numbers that are not negative, as an array: one for all rows, or one for each."""
    shifts = np.asarray(value)
    is_number = shifts.ndim < 2 and shifts.dtype.kind in "uif"
    if not (is_number and np.all((shifts >= 0) & (shifts < np.inf))):
        raise ValueError(
            f"{name} must be a number that is not negative, or one for each row, not {value!r}"
        )
    return shifts.astype(np.float64)


def gershgorin_radii(matrix):
    """The sum of the absolute values off the diagonal, for each row (Theorem 3.2 of the thesis)."""
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    return sums - np.abs(matrix.diagonal())


@dataclass(eq=False, repr=False)
class CompactKernel(FeatureMap):
    """A sparse kernel matrix: as features by its Cholesky factor, as operator, in shifted solves.

    k(x, z) = (1 - alpha d)_+^l exp(-gamma d^2) (thesis, equation 38): K~ = K + shift I holds the
    pairs nearer than 1 / alpha and nothing else. As features it is the thesis' Cholesky factor,
    F F^T = K~; as an operator it is itself, and nothing fills in. Both are kept in orders of their
    own; whatever is given and got is in the order of the fitted rows.

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
        "ordering": one_of(*ORDERINGS),
        "backend": one_of("auto", *BACKENDS),
        "shift": shifts_of_rows,
    }

    def count_rows(self, counts):
        """Let each row stand for so many equal ones: its shift is then 1 / count of theirs (see
        `kernlab.rows.products`)."""
        if np.ndim(self.shift):
            raise ValueError(
                f"shift must be one number where equal rows are taken as one, not {self.shift!r}"
            )
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
        rules = {n: getattr(self, n) for n in ("sparsity", "trade_off", "random_state")}
        return resolve_kernel(X, self.gamma, self.alpha, self.l, **rules)

    def _fit(self, rows, sample_weight=None):
        X = rows.whole(self.max_memory)
        n, radius = X.shape[0], self.kernel_.radius
        self._shift = self._shifts(n)
        self._factors, self._analysis = {}, None  # computed when they are first used
        self._how = {"ordering": self.ordering, "backend": self.backend}
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
        with np.errstate(over="ignore", invalid="ignore"):
            others = float(np.mean(self._product(np.ones(n))) - 1.0 - np.mean(self._shift))
        if others < LEAST_SEEN:
            warnings.warn(
                "the kernel matrix is nearly diagonal: what a row sees of all others together is "
                f"{others:.0e} of what it sees of itself, so that hardly more than the intercept "
                "decides new rows. Sparse kernels suit rows of few features: raise sigma, lower "
                "sparsity, set a smaller l, or take LASN.",
                NearlyDiagonalWarning,
                stacklevel=levels_to_the_user(),
            )

    def _shifts(self, n_rows):
        """The shift of each row."""
        shifts = shifts_of_rows(self.shift, "shift")
        if shifts.shape not in ((), (n_rows,)):
            raise ValueError(
                f"shift must be a number, or one for each row: {n_rows}, not {len(shifts)}"
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
            stacklevel=levels_to_the_user(),
        )

    def _smallest_eigenvalue(self):
        """About that of K, without a shift."""
        return smallest_eigenvalue(self._product, self.rank_) - float(self._shift.max())

    @property
    def matrix_(self):
        """K + shift I as CSR, in the order of the fitted rows (a copy)."""
        place = np.argsort(self._near.order)
        return self._matrix[place][:, place].sorted_indices()

    @property
    def sparsity_(self):
        """The share of zeros in the kernel matrix."""
        return 1.0 - self._matrix.nnz / self.rank_**2

    @property
    def rank_(self):
        return self._matrix.shape[0]

    @property
    def nbytes(self):
        return held_bytes(self._matrix) + sum(factor.nbytes for factor in self._factors.values())

    def operator(self):
        return symmetric_operator(self._product, self.rank_, order=self._near.order)

    def is_definite(self, beta):
        """Whether K + (shift + beta) I is positive definite: by the exponent, or by a factor."""
        if self.smallest_eigenvalue_ is None:
            return beta > 0
        try:
            self._computed_factor(beta, FACTOR_BYTES)
        except NotPositiveDefinite:
            return False
        return True

    def shifted(self, beta, entry_bytes=FACTOR_BYTES):
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
                room = {"max_memory": self.max_memory, "entry_bytes": entry_bytes}
                factor = factorise(matrix, **room, **self._how)
            factor.permutation = self._near.order[factor.permutation]
            self.timings_ |= factor.seconds
            self._factors[beta] = factor
        return self._factors[beta]

    def _analysed(self):
        """The matrix, ordered and the entries of its factor counted."""
        self._analysis = self._analysis or Analysis(self._matrix, **self._how)
        return self._analysis

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

    def fit_transform(self, X, y=None):
        return self.fit(X)._training_features()

    def _training_features(self):
        factor = self.shifted(0.0, FEATURE_BYTES)
        with self._timed("features"):
            return factor.rows(self.drop)

    def features(self, X):
        rows = self._validated_rows(X)
        if not self._is_fitted_on(rows):
            return Features(self.transform(rows))
        product = self.operator().matvec if self.drop > 0 else None
        return Features(
            self._training_features(), dual_of=self.dual_from_weights, kernel_product=product
        )

    def transform(self, X):
        """Features of rows, sparse: phi(x) with F phi(x) = K(fitted rows, x). A row that equals a
        fitted row (of several, the first) has its features: the shift belongs to a row."""
        kernel = self._near.cross(self._validated(X), self._shift)
        return self.factor_.features(kernel, self.drop)

    def dual_from_weights(self, weights):
        return self.factor_.combination(np.asarray(weights, np.float64))

    def decision(self, X, coefficients):
        return self._near.decide(self._validated(X), self.dual_from_weights(coefficients))

    def dual_decision(self, X, coefficients, rows):
        coefficients = np.asarray(coefficients, np.float64)
        dual = np.zeros((self.rank_, *coefficients.shape[1:]))
        dual[rows] = coefficients
        return self._near.decide(self._validated(X), dual)


# ------------------------------------------------------------------- where the kernel should end
# From the rows alone: all is computed from a few rows compared with all rows.
def resolve_kernel(X, gamma, alpha, l, *, sparsity=None, trade_off=1.0, random_state=None):
    """The kernel on the rows X, its gamma, alpha and l numbers or rules (see `CompactKernel`)."""
    if isinstance(l, str):
        if l not in ("askey", "askey-odd"):
            raise ValueError(f"l={l!r} is neither a number nor 'askey' nor 'askey-odd'")
        l = askey_exponent(X.shape[1]) | (l == "askey-odd")
    else:
        l = int(l) if positive(l, "l") == int(l) else float(l)
    if isinstance(gamma, str) and gamma == "quantile":
        sparsity = default_sparsity(X.shape[0]) if sparsity is None else sparsity
        radius = radius_by_quantile(X, sparsity, random_state)
        gamma = 4.5 / radius**2 if radius > 0.0 else 1.0  # 3 sigma = radius
    gamma = resolve_gamma(gamma, X)
    sigma = positive(1.0 / math.sqrt(min(2.0 * gamma, sys.float_info.max)), "sigma")
    if alpha is None:
        return Compact(gamma, 1.0 / (3.0 * sigma), l)
    if isinstance(alpha, str) and alpha == "trade-off":
        alpha = alpha_by_trade_off(X, sigma, l, trade_off, random_state=random_state)
    return Compact(gamma, width(alpha, "alpha"), l)


def default_sparsity(n_rows):
    """At most `NEAR_ROWS` near rows a row, the example of Section 4, and a near row a row."""
    one_near_row = 1.0 - 2.0 / n_rows
    return max(0.0, min(max(EXAMPLE_SPARSITY, 1.0 - NEAR_ROWS / n_rows), one_near_row))


def radius_by_quantile(X, sparsity, random_state=None):
    """The largest 1 / alpha at which a share `sparsity` of the kernel matrix is zero."""
    n = _at_least_two(X)
    if not 0.0 <= sparsity < 1.0:
        raise ValueError(f"sparsity must lie in [0, 1), not {sparsity!r}")
    share = ((1.0 - sparsity) * n - 1.0) / (n - 1)  # of the pairs of two rows
    if share <= 0.0:
        raise ValueError(
            f"a kernel matrix of {n:,} rows has at most the sparsity {1 - 1 / n:.6f}, for its "
            f"diagonal is not zero: {sparsity!r} cannot be had"
        )
    sample, shortest = sample_rows(X, random_state), np.empty(0)
    pairs = len(sample) * (n - 1)  # a row and itself are no pair
    rank = min(int(share * pairs), pairs - 1)
    for block in distances_from(X, sample, to_itself=np.inf):
        shortest = np.append(shortest, block)
        if len(shortest) > rank + 1:
            shortest.partition(rank)
            shortest = shortest[: rank + 1].copy()
    return float(shortest.max())


def similarity_and_sparsity(X, sigma, alphas, l, random_state=None):
    """A(alpha) and S(alpha) of equations 39 and 40, for each alpha, from a sample of the rows."""
    gamma = gamma_from_sigma(sigma)
    alphas = np.array([width(alpha, "alpha") for alpha in np.atleast_1d(alphas)])
    distances, share = _pairs(X, random_state)
    gaussian = np.exp(-gamma * distances**2)
    # The diagonal is 1 in both matrices; pairs stand for the share of n^2 that they sample.
    diagonal = 1.0 / X.shape[0]
    similarity, sparsity = np.empty(len(alphas)), np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        values = distances**2
        Compact(gamma, alpha, l).evaluate(values)
        norms = [diagonal + share * float(v @ v) for v in (values, gaussian)]
        inner = diagonal + share * float(values @ gaussian)
        similarity[k] = inner / np.sqrt(norms[0] * norms[1])
        sparsity[k] = share * np.count_nonzero(distances * alpha >= 1.0)
    return similarity, sparsity


def alpha_by_trade_off(X, sigma, l, beta=1.0, n_alphas=100, random_state=None):
    """The alpha that maximises A(alpha) + beta S(alpha) (equation 41), 1 / alpha being distances;
    of equal values the largest, whose matrix has the fewest entries."""
    beta = positive(beta, "beta")
    distances, _ = _pairs(X, random_state)
    distances = distances[distances > 0]
    if distances.size == 0:
        raise ValueError("all rows are equal: no distance to choose alpha from")
    supports = np.quantile(distances, np.linspace(0.0, 1.0, n_alphas))
    # Beyond the largest distance nothing is zero, but the similarity still grows.
    beyond = np.geomspace(1.0 + 1e-9, 1e4, n_alphas // 4) * supports[-1]
    alphas = 1.0 / np.unique(np.append(supports, beyond))
    similarity, sparsity = similarity_and_sparsity(X, sigma, alphas, l, random_state)
    merit = similarity + beta * sparsity
    return float(alphas[np.flatnonzero(merit >= merit.max() - 1e-12)].max())


# ----------------------------------------------------------------------- a few rows for all pairs
def sample_rows(X, random_state=None, n_pairs=SAMPLED_PAIRS):
    """A few rows to compare with all rows, so that about `n_pairs` distances are computed."""
    n = X.shape[0]
    size = int(np.clip(n_pairs // n, 32, 1024))
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))


def distances_from(X, sample, to_itself=0.0):
    """Yield distances from the sampled rows to all rows, in blocks."""
    X = X.astype(np.float64, copy=False)
    right = prepare_right(X, X, distances=True)
    for part in row_blocks(len(sample), min(32, BLOCK_PAIRS // X.shape[0])):
        rows = sample[part]
        squares = np.empty((len(rows), X.shape[0]))
        squared_distances(X[rows], right, squares)
        squares[np.arange(len(rows)), rows] = to_itself
        yield np.sqrt(squares, out=squares)


def _pairs(X, random_state):
    """Distances of pairs of different rows, and the share of all n^2 that each stands for."""
    n = _at_least_two(X)
    rows = sample_rows(X, random_state, n_pairs=SAMPLED_ROWS * n)[:SAMPLED_ROWS]
    distances = np.concatenate(list(distances_from(X[rows], np.arange(len(rows)))))
    pairs = distances[np.triu_indices(len(rows), k=1)]
    return pairs, (1.0 - 1.0 / n) / len(pairs)


def _at_least_two(X):
    n = X.shape[0]
    if n < 2:
        raise ValueError(f"n_samples={n}: no pair of rows to measure a distance of")
    return n


@dataclass(frozen=True)
class Prediction:
    """The entries that the kernel matrix will have, with the standard error of the sample."""

    entries: int
    error: int
    n_rows: int

    @property
    def per_row(self):
        return self.entries / self.n_rows

    def refuse_beyond(self, max_memory):
        """Refuse what cannot fit, before the search: twice the standard error is in its favour."""
        entries = max(self.n_rows, self.entries - 2 * self.error)
        found = f"about {self.entries:,} entries predicted from a sample, {self.per_row:,.0f} a row"
        if self.error:
            found += f", less twice the standard error of {self.error:,}"
        require_room(entries, self.n_rows, max_memory, found, at_least=self.error > 0)


def predict_entries(X, radius, random_state=None):
    """How many entries the matrix of pairs nearer than `radius` will have, from a sample."""
    sample, n = sample_rows(X, random_state), X.shape[0]
    blocks = distances_from(X, sample)
    near = np.concatenate([np.count_nonzero(block < radius, axis=1) for block in blocks])
    others = near - 1.0  # a row is near itself
    exact = len(sample) == n or len(sample) < 2
    error = 0.0 if exact else n * others.std(ddof=1) / np.sqrt(len(sample))
    return Prediction(round(n + n * others.mean()), round(error), n)
