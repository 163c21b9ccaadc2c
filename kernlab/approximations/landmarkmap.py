"""From kernel values at points to features: F = K(x, points) M.

A map is linear, so weights w of the features are weights M w of the kernel values (`fold`), and
gradients come back through M^T (`unfold`): whoever needs scores and gradients only never has to
form the features.
"""

from functools import cached_property

import numpy as np
import scipy.linalg as la

from kernlab.lapack import pivoted_cholesky
from kernlab.runtime import blas_threads_for, interruptible


class CholeskyMap:
    """M = L^-T, K_ll = L L^T: triangular, so the first features need the first landmarks only."""

    is_nested = True

    def __init__(self, lower):
        self.lower = np.asfortranarray(lower)
        self.n_landmarks = self.n_features = len(lower)
        self.nbytes = self.lower.nbytes

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_in_single"}

    @cached_property
    def _in_single(self):
        return self.lower.astype(np.float32)

    def _factor(self, dtype):
        return self._in_single if dtype == np.float32 else self.lower

    def apply(self, values):
        """The features of rows of kernel values, which are overwritten."""
        lower = self._factor(values.dtype)
        # L F^T = K_lr; a row-ordered array is its transpose's column-ordered one, as BLAS wants it.
        solve = la.blas.get_blas_funcs("trsm", (values,))
        return solve(1.0, lower, values.T, lower=1, overwrite_b=1).T

    def fold(self, weights):
        return self._solved(weights, 1)

    def unfold(self, gradient):
        return self._solved(gradient, 0)

    def _solved(self, right, trans):
        """L^-1 or L^-T times one column or several, in the precision of these."""
        lower = self._factor(right.dtype)
        if right.ndim > 1:
            return la.solve_triangular(lower, right, lower=True, trans=trans, check_finite=False)
        return la.blas.get_blas_funcs("trsv", (lower,))(lower, right, lower=1, trans=trans)

    def leading(self, n_features):
        return CholeskyMap(self.lower[:n_features, :n_features])


class SpectralMap:
    """M = V S^-1/2, from the spectral decomposition K_ll = V S V^T."""

    is_nested = False

    def __init__(self, matrix):
        self.matrix = np.ascontiguousarray(matrix)
        self.n_landmarks, self.n_features = matrix.shape
        self.nbytes = self.matrix.nbytes

    def apply(self, values):
        return values @ self.matrix.astype(values.dtype, copy=False)

    def fold(self, weights):
        return self.matrix @ weights

    def unfold(self, gradient):
        return self.matrix.T @ gradient


def cholesky_map(K, floor):
    """The landmarks that add more than `floor` to those before them, in order, and their map.

    None where K has negative eigenvalues.
    """
    with blas_threads_for(len(K)):
        lower, pivots, rank = pivoted_cholesky(K, floor)
    order = pivots - 1
    lower = np.tril(lower)[:, :rank]
    left = K[np.ix_(order[rank:], order[rank:])] - lower[rank:] @ lower[rank:].T
    # What is left of a definite matrix has entries no larger than its diagonal.
    if rank == 0 or np.abs(left).max(initial=0.0) > 10 * floor:
        return None
    return order[:rank], CholeskyMap(lower[:rank])


def spectral_map(K, floor, *, replace):
    """The map with eigenvalues below `floor` replaced by it (LLSVM) or left out (LASN).

    Also the number of eigenvalues above. None where K has negative eigenvalues.
    """
    with blas_threads_for(len(K)):
        values, vectors = interruptible(la.eigh, K)
    above = int(np.sum(values >= floor))
    if above == 0 or values[0] < -10 * floor:
        return None
    values, vectors = values[::-1], vectors[:, ::-1]
    if replace:
        return above, SpectralMap(vectors / np.sqrt(np.maximum(values, floor)))
    return above, SpectralMap(vectors[:, :above] / np.sqrt(values[:above]))
