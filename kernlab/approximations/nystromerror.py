"""How far the Nystrom matrix is from the kernel matrix, without forming either."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la


class NystromErrors:
    """What a Nystrom map can say about its error on any rows."""

    def point_errors(self, X):
        """How far each point's image is from the span of the landmarks, relative to its length.

        sqrt(1 - |phi(x)|^2 / k(x, x)): 0 where the landmarks explain a point, 1 where they do not.
        """
        X = self._validated(X)
        diagonal = np.maximum(np.asarray(self.kernel_.diag(X), np.float64), np.finfo(float).tiny)
        return np.sqrt(np.clip(1.0 - self._squared_norms(X) / diagonal, 0.0, 1.0))

    def error(self, X, n_sampled=1000, random_state=0):
        """How far F F^T is from K on the rows of X: a bound, and a sample (`NystromError`)."""
        X = self._validated(X)
        diagonal = np.asarray(self.kernel_.diag(X), np.float64)
        left = np.maximum(diagonal - self._squared_norms(X), 0.0)
        generator = np.random.default_rng([random_state, 1])  # not the one that drew landmarks
        sample = np.sort(generator.choice(X.shape[0], min(n_sampled, X.shape[0]), replace=False))
        K = self.kernel_(X[sample]).astype(np.float64)
        F = self.transform(X[sample]).astype(np.float64)
        return NystromError(
            trace=float(left.sum()),
            relative_trace=float(left.sum() / max(diagonal.sum(), np.finfo(float).tiny)),
            sampled=float(la.norm(K - F @ F.T) / max(la.norm(K), np.finfo(float).tiny)),
            n_sampled=len(sample),
        )

    def _squared_norms(self, X):
        norms = np.empty(X.shape[0])
        for rows in self._blocks(X.shape[0]):
            F = self.transform(X[rows])
            norms[rows] = np.einsum("ij,ij->i", F, F, dtype=np.float64)
        return norms


@dataclass(frozen=True)
class NystromError:
    """`trace` = trace(K - F F^T), which bounds the spectral and the Frobenius error;
    `relative_trace` its share of trace(K); `sampled` the relative Frobenius error on a random
    block of `n_sampled` rows and columns."""

    trace: float
    relative_trace: float
    sampled: float
    n_sampled: int
