"""Features as combinations of other features, and the combinations that are orthonormal on rows.

What has a condition number of 1e13 in its own coordinates is solved by factors of matrices that
have its square. Orthonormal on the data, the same features lose nothing. One Gram matrix shows
directions down to 1e-8 of the largest; a second one, of features that the first has evened out,
shows those below.
"""

import numpy as np
import scipy.linalg as la

from kernlab.solvers.linear.streamed import gram_matrix

SHOWN = 1e-13  # times the largest: directions below are what rounding left of features


class CombinedRows:
    """The features A mix of rows whose features are A, to be read in blocks."""

    def __init__(self, rows, mix):
        self.rows, self.mix = rows, np.ascontiguousarray(mix.T)
        self.shape = (rows.shape[0], mix.shape[1])

    def room(self, n_rows):
        return self.rows.room(n_rows), np.empty(self.shape[1] * n_rows)

    def fill(self, rows, room):
        features = self.rows.fill(rows, room[0])[: self.mix.shape[1]]
        combined = room[1][: self.shape[1] * features.shape[1]]
        combined = combined.reshape(self.shape[1], features.shape[1])
        return np.matmul(self.mix, features, out=combined)


def nearly_dependent(gram):
    """Whether features depend on each other so nearly that their Gram matrix cannot tell how."""
    length = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    if not np.all(np.isfinite(gram)):
        return False  # for the solver to refuse
    values = la.eigvalsh(gram / np.outer(length, length))
    return bool(values[0] < 10 * len(gram) * np.finfo(float).eps * values[-1])


def orthonormal_mix(rows, weights, gram):
    """S with (A S)^T W A S = I for the first features A of rows, as many as `gram` = A^T W A has.

    Directions that rounding has swallowed are left out: S may have fewer columns than rows.
    """
    values, vectors = la.eigh(gram)
    even = np.maximum(values, len(gram) * np.finfo(float).eps * values[-1])
    mix = vectors / np.sqrt(even)
    # A direction now is long unless it was too short to be seen among the others.
    values, vectors = la.eigh(gram_matrix(CombinedRows(rows, mix), weights))
    smallest = SHOWN**2 / (even[0] / even[-1]) * values[-1]
    seen = values > max(smallest, len(gram) * np.finfo(float).eps * values[-1])
    return mix @ (vectors[:, seen] / np.sqrt(values[seen]))
