"""What a sparse Cholesky factor will look like, from the pattern of the matrix alone.

Row i of the factor has an entry in every column on the paths from the entries of the matrix's row
up the elimination tree, until a path meets one that was walked before. Walking them all visits each
entry of the factor once and stores none.
"""

from typing import NamedTuple

import numpy as np

from kernlab.runtime import njit


class Symbolic(NamedTuple):
    """`parent` of each column in the elimination tree (-1: none), `nonzeros` of the factor.

    Where `is_complete` is False the walk was ended at the limit: there are more.
    """

    parent: np.ndarray
    nonzeros: int
    is_complete: bool


def analyse_pattern(matrix, permutation, limit=2**62):
    """The elimination tree of matrix[p][:, p] and the entries of its factor, counted to `limit`."""
    permutation = np.asarray(permutation, np.int64)
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return Symbolic(*_walk(matrix.indptr, matrix.indices, permutation, inverse, limit))


@njit
def _walk(starts, indices, permutation, inverse, limit):
    n = len(permutation)
    parent = np.full(n, -1, np.int64)
    last_seen = np.full(n, -1, np.int64)
    nonzeros = n
    for row in range(n):
        last_seen[row] = row
        original = permutation[row]
        for k in range(starts[original], starts[original + 1]):
            column = inverse[indices[k]]
            while column < row and last_seen[column] != row:
                if parent[column] < 0:
                    parent[column] = row
                last_seen[column] = row
                nonzeros += 1
                column = parent[column]
        if nonzeros > limit:
            return parent, nonzeros, False
    return parent, nonzeros, True
