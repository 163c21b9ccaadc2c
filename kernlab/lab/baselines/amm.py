"""Adaptive multi-hyperplane machine (Wang, Djuric, Crammer and Vucetic 2011).

    minimise over W   lambda / 2 |W|^2 + 1/n sum_i max(0, 1 + max over classes c != y_i of g_c(x_i)
                                                          - w_{y_i, z_i} . x_i)
    g_c(x) = max_j w_cj . x

by stochastic gradient descent with steps 1 / (lambda t), over as many weights per class as turn out
to be needed: each class also has weights of zero, of which one becomes another when it is moved.
Online, z_i is the best weight of the class at the time; in batches, that at the end of the epoch
before. Every so many steps the smallest weights are pruned.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from kernlab.lab.baselines.base import Baseline
from kernlab.runtime import REORDERED_SUMS, njit


@dataclass(eq=False, repr=False)
class AMM(Baseline):
    """Adaptive multi-hyperplane machine: several linear weights for each class.

    Parameters
    ----------
    regularisation : float
        lambda
    max_weights : int
        For each class.
    epochs : int
    batch : bool
        Assign rows to weights once an epoch (after a first epoch online, which is not counted).
    prune_every : int
        Steps.
    prune_below : float
        c: the squared lengths of the weights pruned add up to (c / (lambda t))^2 at most.
    """

    regularisation: float = 1e-4
    _: KW_ONLY
    max_weights: int = 20
    epochs: int = 10
    batch: bool = False
    prune_every: int = 10_000
    prune_below: float = 10.0

    def _fit(self, rows):
        rng = check_random_state(self.random_state)
        X, n, k = with_constant(rows.X), len(rows.labels), len(self.classes_)
        places = X.indices.astype(np.uint32), X.indptr.astype(np.uint64)  # never from the end
        # Weights times lambda t, which are sums of rows, those of all classes side by side.
        W, live = (
            np.zeros((X.shape[1], k * self.max_weights)),
            np.zeros((k, self.max_weights), bool),
        )
        assigned, t = np.full(n, -1), 0
        with self._clock("solve"):
            for _ in range(self.epochs + self.batch):
                given = (rows.labels, rows.weights, rng.permutation(n), assigned)
                pruned = (self.prune_every, self.prune_below**2)
                t = _descend(X.data, *places, *given, W, live, t, self.regularisation, *pruned)
                for c in range(k if self.batch else 0):
                    own = rows.labels == c
                    assigned[own] = self._of_class(X[own], W, live, c).argmax(axis=1)
        self.weights_, self.live_, self.n_iter_ = W / (self.regularisation * t), live, t

    def _of_class(self, X, W, live, c):
        """Scores of the weights of one class; where all are zero, one of them is."""
        own = slice(c * self.max_weights, (c + 1) * self.max_weights)
        used = live[c] if live[c].any() else np.arange(self.max_weights) == 0
        return np.where(used, X @ W[:, own], -np.inf)

    def _scores(self, X):
        X, every = with_constant(X), range(len(self.classes_))
        parts = [self._of_class(X, self.weights_, self.live_, c).max(axis=1) for c in every]
        return np.column_stack(parts)


def with_constant(X):
    """Sparse rows with a last feature of one."""
    return sp.hstack([sp.csr_matrix(X), np.ones((X.shape[0], 1))], format="csr")


@njit(fastmath=REORDERED_SUMS)
def _descend(
    data, indices, indptr, labels, weights, order, assigned, W, live, t, shrink, every, c2
):
    """One epoch of steps, t of them being done before; the number then done."""
    k, limit = live.shape
    scores, alive = np.zeros(k * limit), live.reshape(-1)
    chosen, best = np.zeros(k, np.int64), np.zeros(k)  # weight (-1: one of zero), and its score
    for r in order:
        scores[:] = 0.0
        for q in range(indptr[r], indptr[r + 1]):
            for s in range(k * limit):
                scores[s] += data[q] * W[indices[q], s]
        y, rival = labels[r], -1
        for c in range(k):
            chosen[c], best[c], left = -1, -np.inf, False
            for s in range(c * limit, (c + 1) * limit):
                if not alive[s]:
                    left = True
                elif scores[s] > best[c]:
                    chosen[c], best[c] = s, scores[s]
            if left and best[c] < 0.0:
                chosen[c], best[c] = -1, 0.0
            if c != y and (rival < 0 or best[c] > best[rival]):
                rival = c
        if assigned[r] >= 0 and live[y, assigned[r]]:
            chosen[y] = y * limit + assigned[r]
            best[y] = scores[chosen[y]]
        if shrink * t + best[rival] - best[y] >= 0.0:  # 1 + (w_rival - w_own) . x > 0
            for c, sign in ((y, 1.0), (rival, -1.0)):
                s = chosen[c] if chosen[c] >= 0 else c * limit + np.argmin(live[c])
                alive[s] = True
                for q in range(indptr[r], indptr[r + 1]):
                    W[indices[q], s] += sign * weights[r] * data[q]
        t += 1
        if t % every == 0:
            squares = (W * W).sum(axis=0)
            smallest = np.argsort(squares)
            few = smallest[np.cumsum(squares[smallest]) <= c2]
            alive[few] = False
            W[:, few] = 0.0
    return t
