"""Rows that say the same: equal features, label and weight, counted instead of repeated.

Equal rows have equal dual variables, so that m of them are one row with m times the weight and
m times the dual variable. A shift s that each has on its diagonal is then one of s / m:

    s sum_i beta_i^2 = s m (beta / m)^2 = (s / m) beta^2,     beta = sum_i beta_i

The optimum is the same, and the matrix has m^2 times fewer entries among them.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kernlab.rows.arrays import ArrayRows, Rows
from kernlab.runtime import for_each_block, njit


class DistinctRows(NamedTuple):
    """The first of every set of equal rows, ascending, and how many they are."""

    first: np.ndarray
    counts: np.ndarray


def distinct_rows(X, *others):
    """The distinct rows of X, together with the entries of `others` that belong to them.

    Parameters
    ----------
    X : array or CSR matrix
    *others : array
        A label, a weight, a group for each row: rows that differ there are not equal.

    Returns
    -------
    DistinctRows or None
        None where all are distinct.
    """
    tables = [ArrayRows(X)]
    if others:
        others = np.column_stack([np.asarray(values, np.float64) for values in others])
        tables.append(ArrayRows(others))
    keys = sum(_keys(table, seed) for seed, table in enumerate(tables))
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    stands_for = first[inverse]
    repeated = np.flatnonzero(stands_for != np.arange(len(stands_for)))
    pairs = repeated, stands_for[repeated]
    if not (len(repeated) and all(_agree(table, *pairs) for table in tables)):
        return None
    order = np.argsort(first)
    return DistinctRows(first[order], counts[order])


def merged_rows(X, weights=None):
    """Equal rows as one, with the sum of their weights; rows of weight zero are left out.

    Parameters
    ----------
    X : array, CSR matrix or Rows
    weights : array of n numbers that are not negative, default None
        How often each row counts; None for once.

    Returns
    -------
    (array of positions, array of weights) or None
        The first of each set of equal rows, in an order that the values of the rows alone decide:
        repeating rows, or shuffling them, changes nothing. None where there is nothing to merge.
    """
    keys = _keys(X if isinstance(X, Rows) else ArrayRows(X), 0)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if weights is None and len(first) == len(inverse):
        return None
    sums = np.bincount(inverse, weights).astype(np.float64)
    return first[sums > 0], sums[sums > 0]


def _agree(table, one, other):
    """Whether rows of one key are equal indeed, as all but one in 2^64 pairs of others are."""
    one, other = table.select(one), table.select(other)
    return all((one.block(rows) != other.block(rows)).sum() == 0 for rows in one.slices())


def _keys(table, seed):
    """A number for each row that is the same for equal rows: a sum over its features, mod 2^64."""
    seed, keys = np.uint64(seed + 1) << np.uint64(50), np.empty(len(table), np.uint64)

    def compute(rows):
        part = table.block(rows)
        if sp.issparse(part):
            _sum_stored(part.indptr, part.indices, _bits(part.data), seed, keys[rows])
        else:
            _sum_dense(_bits(part), seed, keys[rows])

    for_each_block(compute, table.slices())
    return keys


def _bits(values):
    """Numbers as patterns of bits; 0 and -0 have the same."""
    return (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)


@njit
def _mixed(bits):
    """Bits of which each depends on all (the finaliser of MurmurHash3); 0 stays 0."""
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return bits ^ (bits >> np.uint64(33))


@njit
def _factor(feature, seed):
    """An odd number of a feature's own."""
    return _mixed(np.uint64(feature) + seed) | np.uint64(1)


@njit
def _sum_dense(bits, seed, keys):
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            key += _mixed(bits[i, j]) * _factor(j, seed)
        keys[i] = key


@njit
def _sum_stored(indptr, indices, bits, seed, keys):
    for i in range(len(indptr) - 1):
        key = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            key += _mixed(bits[k]) * _factor(indices[k], seed)
        keys[i] = key
