"""What gamma is: conversions from the papers' symbols, and rules that read it off the data.

In kernlab `gamma` always means exp(-gamma d^2), as in scikit-learn. The papers' other symbols are
converted at the edge: `gamma_from_sigma` for exp(-d^2 / (2 s^2)), `gamma_from_divisor` for
exp(-d^2 / g).
"""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.extmath import row_norms

from kernlab.parameters import positive, width
from kernlab.runtime import row_blocks

BLOCK_VALUES = 2**20
GAMMA_RULES = ("scale", "variance", "median", "auto")


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
    if gamma == "auto":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if gamma == "scale":
            spread = X.shape[1] * _variance_of_entries(X, sample_weight)
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
    return 1.0 / spread if spread > 0 else 1.0


def total_variance(X, sample_weight=None):
    """The mean squared distance of the rows to their mean; weighted rows count so often."""
    n = X.shape[0]
    weights = np.ones(n) if sample_weight is None else sample_weight
    total = weights.sum()
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        mean = weights @ X / total
        return max(0.0, float(weights @ row_norms(X, squared=True) / total - mean @ mean))
    # Rows less the first, then less the mean: far from the origin little else would be left than
    # rounding, and of equal rows nothing may be.
    blocks, first = row_blocks(n, BLOCK_VALUES // X.shape[1]), X[0].astype(np.float64)
    mean = sum(weights[rows] @ (X[rows] - first) for rows in blocks) / total
    squares = (weights[rows] @ np.square(X[rows] - first - mean) for rows in blocks)
    return sum(float(part.sum()) for part in squares) / total


def _variance_of_entries(X, sample_weight):
    n, p = X.shape
    weights = np.ones(n) if sample_weight is None else sample_weight
    total = p * weights.sum()
    if sp.issparse(X):
        values, weights = (
            X.data.astype(np.float64, copy=False),
            np.repeat(weights, np.diff(X.indptr)),
        )
        mean = weights @ values / total
        return max(0.0, float(weights @ np.square(values) / total - mean**2))
    blocks = row_blocks(n, BLOCK_VALUES // p)
    mean = sum((weights[rows] @ X[rows].astype(np.float64)).sum() for rows in blocks) / total
    squares = (weights[rows] @ np.square(X[rows] - mean) for rows in blocks)
    return sum(float(part.sum()) for part in squares) / total


def _median_distance(X, max_rows=1000):
    rows = np.unique(np.linspace(0, X.shape[0] - 1, max_rows).astype(int))
    X = X[rows].astype(np.float64)
    if not sp.issparse(X):
        X -= np.median(X, axis=0)  # far from the origin distances drown in rounding
    distances = euclidean_distances(X)[np.triu_indices(len(rows), k=1)]
    return float(np.median(distances)) if distances.size else 0.0
