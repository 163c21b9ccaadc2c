"""Where the kernel should end, from the rows alone: no labels, so nothing is fitted to a test.

Two rules of the literature that the thesis reviews (Section 4), both for the parameter alpha, the
kernel being zero beyond the distance 1 / alpha:

- the quantile rule: take the largest support that keeps a given sparsity, 1 / alpha being a
  quantile of the distances between rows;
- the trade-off (eq. 41): maximise A(alpha) + beta S(alpha), with A the similarity to the Gaussian
  kernel matrix (eq. 39) and S the sparsity (eq. 40).

All are computed from a sample of the pairs.
"""

import math

import numpy as np

from kernlab.approximations.compact.profile import Profile
from kernlab.approximations.compact.sampling import distances_from, sample_rows
from kernlab.bandwidth import positive, resolve_gamma

NEAR_ROWS = 200  # what "quantile" leaves a row at the most
EXAMPLE_SPARSITY = 0.75  # of Section 4: "if only 25 % of the nonzero entries can be stored"
SAMPLED_ROWS = 1000  # of the trade-off, whose sums run over all pairs of them


def default_sparsity(n_rows):
    """At most `NEAR_ROWS` near rows a row, the example of Section 4, and a near row a row."""
    one_near_row = 1.0 - 2.0 / n_rows
    return max(0.0, min(max(EXAMPLE_SPARSITY, 1.0 - NEAR_ROWS / n_rows), one_near_row))


def settle_bandwidths(X, gamma, alpha, l, *, sparsity=None, trade_off=1.0, random_state=None):
    """Numbers for gamma and alpha, from numbers and rules."""
    if gamma == "quantile":
        sparsity = default_sparsity(X.shape[0]) if sparsity is None else sparsity
        radius = radius_by_quantile(X, sparsity, random_state)
        gamma = 4.5 / radius**2 if radius > 0.0 else 1.0  # 3 sigma = radius
    gamma = resolve_gamma(gamma, X)
    sigma = 1.0 / math.sqrt(2.0 * gamma)
    if alpha is None:
        return gamma, 1.0 / (3.0 * sigma)
    if alpha == "trade-off":
        return gamma, alpha_by_trade_off(X, sigma, l, trade_off, random_state=random_state)
    return gamma, positive(alpha, "alpha")


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
    sigma = positive(sigma, "sigma")
    alphas = np.array([positive(alpha, "alpha") for alpha in np.atleast_1d(alphas)])
    distances, shares = _pairs(X, random_state)
    gaussian = np.exp(-(distances**2) / (2.0 * sigma**2))
    n = X.shape[0]
    similarity, sparsity = np.empty(len(alphas)), np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        values = distances**2
        Profile(alpha, 1.0 / (2.0 * sigma**2), float(l), (1.0,)).evaluate(values)
        # The diagonal is 1 in both matrices; pairs stand for the share of n^2 that they sample.
        inner = 1.0 / n + shares * float(values @ gaussian)
        norms = [1.0 / n + shares * float(v @ v) for v in (values, gaussian)]
        similarity[k] = inner / np.sqrt(norms[0] * norms[1])
        sparsity[k] = shares * np.count_nonzero(distances * alpha >= 1.0)
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


def _at_least_two(X):
    n = X.shape[0]
    if n < 2:
        raise ValueError(f"n_samples={n}: no pair of rows to measure a distance of")
    return n


def _pairs(X, random_state):
    """Distances of pairs of different rows, and the share of all n^2 that each stands for."""
    n = _at_least_two(X)
    rows = sample_rows(X, random_state, n_pairs=SAMPLED_ROWS * n)[:SAMPLED_ROWS]
    sample = X[rows]
    m = len(rows)
    distances = np.concatenate(list(distances_from(sample, np.arange(m))))
    pairs = distances[np.triu_indices(m, k=1)]
    return pairs, (1.0 - 1.0 / n) / len(pairs)
