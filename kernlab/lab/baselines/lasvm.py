"""LaSVM: sequential minimal optimisation, a row at a time (Bordes, Ertekin, Weston, Bottou 2005).

    maximise over a   sum_i a_i y_i - 1/2 sum_ij a_i a_j k(x_i, x_j)
    subject to        sum_i a_i = 0,   min(0, y_i C) <= a_i <= max(0, y_i C)

over the rows that an expansion holds. PROCESS takes a row into it and moves along the pair of rows
that it violates most; REPROCESS moves along the pair that violates most in the expansion, and drops
rows that no pair would use. After its epochs, finishing repeats such moves to the tolerance.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from kernlab.lab.baselines.kernel import DualMachine, fill_row, kernel_rows
from kernlab.runtime import REORDERED_SUMS, MemoryLimitError, format_bytes, memory_limit, njit

SEEDS = 5  # rows of each class that come first


@dataclass(eq=False, repr=False)
class LaSVM(DualMachine):
    """LaSVM: the hinge with a free intercept, online in a few epochs.

    Parameters
    ----------
    C : float
    epochs : int
        After one, as its authors advise, the dual objective may be some per cent below its optimum;
        after three or so it is LIBSVM's.
    tol : float
        The largest violation of the optimality conditions in the expansion, after finishing.
    kernel, gamma, degree, coef0 : one of LIBSVM's kernels
    max_memory : int, str or None
        Half of it is room for the kernel matrix of the expansion.
    """

    C: float = 1.0
    _: KW_ONLY
    epochs: int = 1
    tol: float = 1e-3

    def _train(self, X, y, costs, seed):
        n, rng = len(y), np.random.default_rng(seed)
        orders = [rng.permutation(n) for _ in range(self.epochs)]
        first = [orders[0][y[orders[0]] == sign][:SEEDS] for sign in (-1.0, 1.0)]
        room = min(n, int(np.sqrt(memory_limit(self.max_memory) / 8)))
        matrix = np.empty((room, room), np.float32)  # pages are taken when they are written
        bounds = np.minimum(0.0, costs * y), np.maximum(0.0, costs * y)
        order = np.concatenate([*first, *orders])
        K = kernel_rows(self.kernel_, X)
        members, a, slope = _optimise(K, y, *bounds, matrix, order, self.tol)
        if len(members) == room < n:
            raise MemoryLimitError(
                f"LaSVM holds {room:,} of {n:,} rows and may hold no more: their kernel matrix "
                f"takes {format_bytes(4 * room**2)} ({room:,}^2 x 4 bytes), half of what may be "
                "used. Allow more with max_memory, lower C, or take fewer rows."
            )
        dual = np.zeros(n)
        dual[members] = a * y[members]
        return dual, slope, self.epochs


@njit(fastmath=REORDERED_SUMS)
def _optimise(K, y, lower_of, upper_of, matrix, order, tol):
    """The rows that the expansion holds in the end, their a_i, and the intercept."""
    room = len(matrix)
    members, held, size = np.zeros(room, np.int64), np.zeros(len(y), np.bool_), 0
    state = np.zeros((4, room))  # of the members; slope_i = y_i - sum_j a_j k(x_i, x_j)
    a, slope, lower, upper = state

    def extremes(size):
        """The members of the steepest slope that may still grow, and of the least that may fall."""
        i, j = -1, -1
        for s in range(size):
            if a[s] < upper[s] and (i < 0 or slope[s] > slope[i]):
                i = s
            if a[s] > lower[s] and (j < 0 or slope[s] < slope[j]):
                j = s
        return i, j

    def move(i, j, size):
        """The best step that adds to a_i what it takes from a_j, if they violate; whether so."""
        if i < 0 or j < 0 or slope[i] - slope[j] <= tol:
            return False
        curvature = max(1e-12, matrix[i, i] + matrix[j, j] - 2.0 * matrix[i, j])
        step = min((slope[i] - slope[j]) / curvature, upper[i] - a[i], a[j] - lower[j])
        a[i] += step
        a[j] -= step
        for s in range(size):
            slope[s] -= step * (matrix[i, s] - matrix[j, s])
        return True

    for k in order:
        if held[k] or size == room:
            continue
        members[size], held[k] = k, True  # PROCESS
        row = matrix[size]
        fill_row(K, k, members, 0, size + 1, row)
        slope[size], a[size], lower[size], upper[size] = y[k], 0.0, lower_of[k], upper_of[k]
        for s in range(size):
            slope[size] -= a[s] * row[s]
            matrix[s, size] = row[s]
        i, j = extremes(size)
        size += 1
        i, j = (size - 1, j) if y[k] > 0 else (i, size - 1)
        move(i, j, size)
        i, j = extremes(size)  # REPROCESS
        if not move(i, j, size):
            continue
        i, j = extremes(size)
        top, bottom = slope[i], slope[j]
        s = 0
        while s < size:
            useless = slope[s] <= bottom if upper[s] > 0.0 else slope[s] >= top
            if a[s] == 0.0 and useless:  # the last member takes its place
                size -= 1
                held[members[s]] = False
                members[s], state[:, s] = members[size], state[:, size]
                matrix[s, :size], matrix[:size, s] = matrix[size, :size], matrix[:size, size]
                matrix[s, s] = matrix[size, size]
            else:
                s += 1
    i, j = extremes(size)
    while move(i, j, size):  # finishing
        i, j = extremes(size)
    return members[:size], a[:size], 0.5 * (slope[i] + slope[j])
