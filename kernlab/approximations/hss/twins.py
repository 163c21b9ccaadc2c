"""Points that stand at the same place: all but one of them are left out where columns are sampled.

Equal points have equal columns. Drawn as often as they occur, they crowd out the rare points that
a basis needs to see.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import njit


def distinct_points(rows, group):
    """The positions, sorted, of the first of all equal points within each group."""
    marks = _marks(rows)
    order = np.lexsort((marks, group))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(group[order]) != 0) | (np.diff(marks[order]) != 0)
    return np.sort(order[first])


def _marks(rows):
    """A number for each row, the same for equal rows and hardly ever for others."""
    generator = np.random.default_rng(0)
    factors = generator.integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) * 2 + 1
    if sp.issparse(rows):
        return _marks_of_stored(
            rows.indptr, rows.indices, rows.data.view(_bits(rows.dtype)), factors
        )
    return _marks_of_dense(np.ascontiguousarray(rows).view(_bits(rows.dtype)), factors)


def _bits(dtype):
    return np.dtype(f"u{dtype.itemsize}")


@njit
def _mixed(bits, factor):
    value = (np.uint64(bits) + factor) * factor
    return (value ^ (value >> np.uint64(29))) * factor


@njit
def _marks_of_dense(bits, factors):
    marks = np.zeros(bits.shape[0], dtype=np.uint64)
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            if bits[i, j] != 0:
                marks[i] += _mixed(bits[i, j], factors[j])
    return marks


@njit
def _marks_of_stored(indptr, indices, bits, factors):
    marks = np.zeros(len(indptr) - 1, dtype=np.uint64)
    for i in range(len(marks)):
        for k in range(indptr[i], indptr[i + 1]):
            if bits[k] != 0:
                marks[i] += _mixed(bits[k], factors[indices[k]])
    return marks
