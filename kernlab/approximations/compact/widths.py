"""Where the kernel should end, and what its matrix will hold, from the rows alone: no labels.

Two rules of the literature that the thesis reviews (Section 4), both for the parameter alpha, the
kernel being zero beyond the distance 1 / alpha:

- the quantile rule: take the largest support that keeps a given sparsity, 1 / alpha being a
  quantile of the distances between rows;
- the trade-off (eq. 41): maximise A(alpha) + beta S(alpha), with A the similarity to the Gaussian
  kernel matrix (eq. 39) and S the sparsity (eq. 40).

All are computed from a few rows compared with all rows; so is the number of entries that a matrix
will have, by which it is refused before any pair is searched for.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernlab.approximations.compact.assembly import WAY_OUT, assembly_bytes, entry_bytes
from kernlab.kernels import (
    Compact,
    askey_exponent,
    gamma_from_sigma,
    positive,
    resolve_gamma,
    width,
)
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import require_memory

NEAR_ROWS = 200  # what "quantile" leaves a row at the most
EXAMPLE_SPARSITY = 0.75  # of Section 4: "if only 25 % of the nonzero entries can be stored"
SAMPLED_PAIRS = 2**20
SAMPLED_ROWS = 1000  # of the trade-off, whose sums run over all pairs of them


def resolve_exponent(l, n_features):
    """The exponent l: a number, "askey" (Askey's rule), or "askey-odd" (the thesis' listing)."""
    if l == "askey":
        return askey_exponent(n_features)
    if l == "askey-odd":
        return askey_exponent(n_features) | 1
    if isinstance(l, str):
        raise ValueError(f"l={l!r} is neither a number nor 'askey' nor 'askey-odd'")
    return int(l) if positive(l, "l") == int(l) else float(l)


def resolve_kernel(X, gamma, alpha, l, *, sparsity=None, trade_off=1.0, random_state=None):
    """The kernel on the rows X, its gamma, alpha and l numbers or rules (see `CompactKernel`)."""
    l = resolve_exponent(l, X.shape[1])
    if isinstance(gamma, str) and gamma == "quantile":
        sparsity = default_sparsity(X.shape[0]) if sparsity is None else sparsity
        radius = radius_by_quantile(X, sparsity, random_state)
        gamma = 4.5 / radius**2 if radius > 0.0 else 1.0  # 3 sigma = radius
    gamma = resolve_gamma(gamma, X)
    sigma = positive(1.0 / math.sqrt(2.0 * gamma), "sigma")
    if alpha is None:
        return Compact(gamma, 1.0 / (3.0 * sigma), l)
    if isinstance(alpha, str) and alpha == "trade-off":
        alpha = alpha_by_trade_off(X, sigma, l, trade_off, random_state=random_state)
    return Compact(gamma, width(alpha, "alpha"), l)


# -------------------------------------------------------------------------------- the rules
def default_sparsity(n_rows):
    """At most `NEAR_ROWS` near rows a row, the example of Section 4, and a near row a row."""
    one_near_row = 1.0 - 2.0 / n_rows
    return max(0.0, min(max(EXAMPLE_SPARSITY, 1.0 - NEAR_ROWS / n_rows), one_near_row))


def radius_by_quantile(X, sparsity, random_state=None):
    """The largest 1 / alpha at which a share `sparsity` of the kernel matrix is zero.

    The diagonal is never zero, which bounds the sparsity by 1 - 1/n.
    """
    n = _at_least_two(X)
    if not 0.0 <= sparsity < 1.0:
        raise ValueError(f"sparsity must lie in [0, 1), not {sparsity!r}")
    share = ((1.0 - sparsity) * n - 1.0) / (n - 1)  # of the pairs of two rows
    if share <= 0.0:
        raise ValueError(
            f"a kernel matrix of {n:,} rows has at most the sparsity {1 - 1 / n:.6f}, for its "
            f"diagonal is not zero: {sparsity!r} cannot be had"
        )
    sample = sample_rows(X, random_state)
    distances = np.concatenate(list(distances_from(X, sample)))
    distances[np.arange(len(sample)), sample] = np.inf  # a row and itself are no pair
    pairs = distances.ravel()
    rank = min(int(share * len(sample) * (n - 1)), len(pairs) - len(sample) - 1)
    return float(np.partition(pairs, rank)[rank])


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
    """The alpha that maximises A(alpha) + beta S(alpha) (equation 41), 1 / alpha being distances.

    The curve is flat where neither changes; of equal values the largest alpha is taken, whose
    matrix has the fewest entries.
    """
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


def distances_from(X, sample, rows_per_block=32):
    """Yield distances from the sampled rows to all rows, in blocks; from a row to itself 0."""
    X = X.astype(np.float64, copy=False)
    right = prepare_right(X, X, distances=True)
    for start in range(0, len(sample), rows_per_block):
        rows = sample[start : start + rows_per_block]
        squares = np.empty((len(rows), X.shape[0]))
        squared_distances(X[rows], right, squares)
        squares[np.arange(len(rows)), rows] = 0.0
        yield np.sqrt(squares, out=squares)


def _pairs(X, random_state):
    """Distances of pairs of different rows, and the share of all n^2 that each stands for."""
    n = _at_least_two(X)
    rows = sample_rows(X, random_state, n_pairs=SAMPLED_ROWS * n)[:SAMPLED_ROWS]
    m = len(rows)
    distances = np.concatenate(list(distances_from(X[rows], np.arange(m))))
    pairs = distances[np.triu_indices(m, k=1)]
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
        require_memory(
            assembly_bytes(entries),
            max_memory,
            what=f"the sparse kernel matrix of {self.n_rows:,} rows",
            arithmetic=f"about {self.entries:,} entries predicted from a sample, "
            f"{self.per_row:,.0f} a row, {entry_bytes(self.entries)} bytes each and half of them "
            "twice while it is assembled",
            way_out=WAY_OUT,
        )


def predict_entries(X, radius, random_state=None):
    """How many entries the matrix of pairs nearer than `radius` will have, from a sample."""
    sample, n = sample_rows(X, random_state), X.shape[0]
    blocks = distances_from(X, sample)
    near = np.concatenate([np.count_nonzero(block < radius, axis=1) for block in blocks])
    others = near - 1.0  # a row is near itself
    exact = len(sample) == n or len(sample) < 2
    error = 0.0 if exact else n * others.std(ddof=1) / np.sqrt(len(sample))
    return Prediction(round(n + n * others.mean()), round(error), n)
