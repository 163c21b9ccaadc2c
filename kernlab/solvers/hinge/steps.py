"""The steps of ADMM on the hinge loss: the linear system for u, and the closed form for v and w.

With v = prox(zeta) and w = beta (zeta - v) for zeta = A u + w_before / beta (Lemma 1), one number
per row holds both v and w: that is all that a pass over the data keeps.
"""

import numpy as np
import scipy.linalg as la

from kernlab.runtime import REORDERED_SUMS, njit

LOSS, CHANGE_V, CHANGE_W, DUAL, SCORES, MULTIPLIERS = range(6)  # sums that a pass takes
N_SUMS = 6


class LinearStep:
    """u minimising the augmented Lagrangian plus 1/2 |u - u_before|^2_alpha (eq. 10 and 13).

    (beta G + ridge + diag(alpha)) u = diag(alpha) u_before + g, by one Cholesky factor. G is the
    Gram matrix; where rounding left it indefinite, its eigenvalues below zero are taken as zero.
    """

    def __init__(self, gram, *, alpha, beta, ridge=0.0):
        self.alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(gram))
        matrix = beta * gram
        matrix[np.diag_indices_from(matrix)] += self.alpha + ridge
        try:
            self._factor = la.cho_factor(matrix, lower=True, check_finite=False)
        except la.LinAlgError:
            self._factor = la.cho_factor(self._repaired(gram, beta, ridge), lower=True)

    def _repaired(self, gram, beta, ridge):
        values, vectors = la.eigh(gram)
        floor = len(gram) * np.finfo(float).eps * max(values[-1], np.finfo(float).tiny)
        matrix = beta * (vectors * np.maximum(values, floor)) @ vectors.T
        matrix[np.diag_indices_from(matrix)] += self.alpha + ridge
        return matrix

    def __call__(self, u, g):
        """The next u, and the weights of the stored features, which are the same here."""
        u = la.cho_solve(self._factor, self.alpha * u + g, check_finite=False)
        return u, u

    def squared_norm(self, change):
        """|change|^2_alpha"""
        return float(self.alpha @ change**2)


class MixedStep:
    """The same where the features A = Q S are combinations of stored ones with Gram matrix G.

    beta A^T A + alpha I = R^T R from the QR decomposition of [sqrt(beta) L^T S; sqrt(alpha) I] with
    G = L L^T: A^T A itself, whose condition is the square of A's, is never formed.
    """

    def __init__(self, gram, mix, *, alpha, beta):
        self.alpha, self.mix = float(alpha), mix
        n = mix.shape[1]
        stacked = np.vstack([np.sqrt(beta) * _root(gram) @ mix, np.sqrt(alpha) * np.eye(n)])
        (self._R,) = la.qr(stacked, mode="r", overwrite_a=True, check_finite=False)
        self._R = self._R[:n]

    def __call__(self, u, g):
        """The next u, and the weights of the stored features."""
        right = self.alpha * u + self.mix.T @ g
        half = la.solve_triangular(self._R, right, trans="T", check_finite=False)
        u = la.solve_triangular(self._R, half, check_finite=False)
        return u, self.mix @ u

    def squared_norm(self, change):
        return self.alpha * float(change @ change)


def _root(gram):
    """A matrix whose product with itself, transposed, is the Gram matrix: L^T of G = L L^T."""
    try:
        return la.cholesky(gram, check_finite=False)
    except la.LinAlgError:  # features that depend on each other on these rows
        values, vectors = la.eigh(gram)
        return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


@njit
def prox(zeta, y, gamma):
    """The minimiser over v of max(0, 1 - y v) + gamma / 2 (v - zeta)^2 (eq. 15, a = y)."""
    margin = y * zeta
    if margin >= 1.0:
        return zeta
    if margin <= 1.0 - 1.0 / gamma:
        return zeta + y / gamma
    return y


@njit
def begin(zeta, codes, positive, beta, gamma, v, w):
    """v and w that belong to zeta."""
    for i in range(len(zeta)):
        y = 1.0 if codes[i] == positive else -1.0
        v[i] = prox(zeta[i], y, gamma)
        w[i] = beta * (zeta[i] - v[i])


@njit(fastmath=REORDERED_SUMS)
def advance(scores, zeta, codes, positive, weights, old, new, relaxation, v, w, sums):
    """From the scores A u to the next v and w of a block of rows, times their weights (eq. 14, 12).

    `old` and `new` are (beta, gamma) of zeta as it is and as it becomes. `sums` gathers the loss,
    the squared changes of v and w, sum_i a_i of the dual, |A u|^2 and |w|^2, all weighted.
    """
    weighted = len(weights) > 0
    for i in range(len(scores)):
        y = 1.0 if codes[i] == positive else -1.0
        weight = weights[i] if weighted else 1.0
        v_before = prox(zeta[i], y, old[1])
        w_before = old[0] * (zeta[i] - v_before)
        relaxed = relaxation * scores[i] + (1.0 - relaxation) * v_before
        moved = relaxed + w_before / new[0]
        v_next = prox(moved, y, new[1])
        w_next = new[0] * (moved - v_next)
        zeta[i] = moved
        v[i], w[i] = weight * v_next, weight * w_next
        sums[LOSS] += weight * max(0.0, 1.0 - y * scores[i])
        sums[CHANGE_V] += weight * (v_next - v_before) ** 2
        sums[CHANGE_W] += weight * (w_next - w_before) ** 2
        sums[DUAL] -= weight * y * w_next
        sums[SCORES] += weight * scores[i] ** 2
        sums[MULTIPLIERS] += weight * w_next**2
