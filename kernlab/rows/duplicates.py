"""Rows that say the same: equal features, label and weight, counted instead of repeated.

Equal rows have equal dual variables, so that m of them are one row with m times the weight and
m times the dual variable. A shift s that each has on its diagonal is then one of s / m:

    s sum_i beta_i^2 = s m (beta / m)^2 = (s / m) beta^2,     beta = sum_i beta_i

The optimum is the same, and the matrix has m^2 times fewer entries among them.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class DistinctRows(NamedTuple):
    """The first of every set of equal rows, ascending, and how many they are."""

    first: np.ndarray
    counts: np.ndarray


def distinct_rows(X, *others):
    """The distinct rows of X, with the entries of the `others` that belong to them.

    None where all are distinct.
    """
    keys = _keys(X)
    for number, values in enumerate(others):
        keys ^= _mixed(_bits(np.asarray(values, np.float64))) * np.uint64(2 * number + 3)
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == len(keys) or not _agree(X, others, first[inverse]):
        return None
    order = np.argsort(first)
    return DistinctRows(first[order], counts[order])


def _agree(X, others, stands_for):
    """Whether rows of one key are equal indeed, as all but one in 2^64 pairs of others are."""
    repeated = np.flatnonzero(stands_for != np.arange(len(stands_for)))
    pairs = [(values[repeated], values[stands_for[repeated]]) for values in (X, *others)]
    return all((a != b).sum() == 0 for a, b in pairs)


def _keys(X):
    """A number for each row that is the same for equal rows: a sum over its features."""
    random = np.random.default_rng(0).integers(1, 2**63, X.shape[1], dtype=np.uint64)
    odd = 2 * random + np.uint64(1)
    if not sp.issparse(X):
        keys = np.zeros(X.shape[0], np.uint64)
        for feature in range(X.shape[1]):
            keys += _mixed(_bits(X[:, feature])) * odd[feature]
        return keys
    X = sp.csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    sums = np.cumsum(_mixed(_bits(X.data)) * odd[X.indices], dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, np.uint64), sums])  # modulo 2^64, as differences are
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]


def _bits(values):
    """Numbers as patterns of bits; 0 and -0 have the same."""
    values = np.asarray(values, np.float64) + 0.0
    return values.view(np.uint64)


def _mixed(bits):
    """Bits of which each depends on all (the finaliser of MurmurHash3); 0 stays 0."""
    for constant in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(constant)
    return bits ^ (bits >> np.uint64(33))
