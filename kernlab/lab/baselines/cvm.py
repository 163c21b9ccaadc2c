"""Core vector machine: a minimum enclosing ball of a few rows (Tsang, Kwok and Cheung 2005).

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b))^2

Its dual over the simplex asks for the smallest ball around points z_i of which z_i . z_j = Z_ij =
y_i y_j (k(x_i, x_j) + 1) + [i = j] / (2C): the squared radius is r^2 = Z_ii - a'Za. The ball of a
core set is enlarged by the farthest of 59 random rows as long as that lies outside (1 + eps) times
its radius. Without the constraint to the simplex, which only scales, dual variables of the core set
are found by coordinate descent, the steepest first, and a row is outside where

    1 - y_i f(x_i) > tau,   tau = (eps + eps^2 / 2) r^2 / (a'Za)
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from kernlab.lab.baselines.kernel import DualMachine, fill_row, kernel_rows
from kernlab.runtime import REORDERED_SUMS, memory_limit, njit
from kernlab.solvers.problems import SQUARED_HINGE

SAMPLES = 59  # with 95 % probability the farthest of them is among the farthest 5 % of all
SHRINK = 0.7  # of tau, where nothing in a sample is outside; it begins here, too


@dataclass(eq=False, repr=False)
class CVM(DualMachine):
    """Core vector machine: squared hinge with a penalised intercept, on a core set of rows.

    Parameters
    ----------
    C : float
        Of the squared hinge; the authors' program takes twice as much.
    eps : float
        At the end all rows lie within 1 + eps times the radius: none is passed over then. The dual
        objective D is within the share 4 eps r^2 D of its optimum.
    kernel, gamma, degree, coef0 : one of LIBSVM's kernels
    max_memory : int, str or None
        Half of it is room for kernel values between rows and core set.
    """

    C: float = 1.0
    _: KW_ONLY
    eps: float = 1e-6

    loss, intercept = "squared_hinge", "penalised"

    def _train(self, X, y, costs, seed):
        n, ridge = len(y), SQUARED_HINGE.dual_diagonal(costs)
        diagonal = np.asarray(self.kernel_.diag(X), np.float64) + 1.0 + ridge
        room = int(np.clip(memory_limit(self.max_memory) // (8 * n), 1, n))
        kept = np.empty((n, room), np.float32)
        rng, K = np.random.default_rng(seed), kernel_rows(self.kernel_, X)
        core, found, n_iter = _grow(K, y, ridge, diagonal, kept, self.eps, rng)
        dual = np.zeros(n)
        dual[core] = found
        return dual, float(dual @ y), n_iter


@njit(fastmath=REORDERED_SUMS)
def _grow(K, y, ridge, diagonal, kept, eps, rng):
    """Enlarge the core set until no row is outside; it, its dual variables, and samples drawn."""
    n, room = kept.shape
    core, inside = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    lengths, spare = np.zeros(n, np.int64), np.empty(n, np.float32)
    # In the order of the core set; the gradient is y_i f(x_i) + dual_i / (2C) - 1.
    signs, dual, gradient = np.zeros(n), np.zeros(n), np.zeros(n)

    def row_of(i, size):
        """Kernel values between row i and the core set: kept, or computed where they are not."""
        stored = min(size, room)
        if lengths[i] < stored:
            fill_row(K, i, core, lengths[i], stored, kept[i])
            lengths[i] = stored
        if size == stored:
            return kept[i]
        spare[:stored] = kept[i]
        fill_row(K, i, core, stored, size, spare)
        return spare

    def outside_of(i, size):
        """1 - y_i f(x_i), or nothing for a row of the core set."""
        if inside[i]:
            return 0.0
        row, score = row_of(i, size), 0.0
        for t in range(size):
            score += dual[t] * signs[t] * (row[t] + 1.0)
        return 1.0 - y[i] * score

    def solve(size, tol):
        """Coordinate descent, until no condition of optimality is further off."""
        p = 0
        while p >= 0:
            worst, p = tol, -1
            for t in range(size):
                slope = abs(gradient[t])
                if slope > worst and (gradient[t] < 0.0 or dual[t] > 0.0):
                    worst, p = slope, t
            if p >= 0:
                i = core[p]
                step = max(-dual[p], -gradient[p] / diagonal[i])
                row, signed = row_of(i, size), step * y[i]
                for t in range(size):
                    gradient[t] += signed * signs[t] * (row[t] + 1.0)
                dual[p] += step
                gradient[p] += step * ridge[i]

    def add(i, outside, size, tau):
        core[size], signs[size], inside[i] = i, y[i], True
        gradient[size] = -outside
        solve(size + 1, tau)
        return size + 1

    size, tau, n_iter = 0, SHRINK, 0
    while True:
        n_iter += 1
        far, farthest = -1, tau
        for _ in range(SAMPLES):
            i = rng.integers(0, n)
            outside = outside_of(i, size)
            if outside > farthest:
                far, farthest = i, outside
        if far >= 0:
            size = add(far, farthest, size, tau)
            continue
        found = dual[:size]
        centre = found @ (gradient[:size] + 1.0) / found.sum() ** 2  # a'Za on the simplex
        smallest = (eps + 0.5 * eps**2) * (diagonal.max() - centre) / centre
        if tau > smallest:
            tau = max(smallest, SHRINK * tau)
            solve(size, 0.5 * tau)
            continue
        before = size
        for i in range(n):
            outside = outside_of(i, size)
            if outside > tau:
                size = add(i, outside, size, tau)
        if size == before:
            return core[:size], dual[:size], n_iter
