"""The iteration of ADMM on the dual, for many problems at once that share the kernel matrix.

Over-relaxed ADMM is a map of one vector v per problem, whose fixed point is the solution:

    z = prox(v),    mu = beta (z - v)                     the copy of x in its box, its multiplier
    x = argmin of the augmented Lagrangian at (z, mu)     one solve with K~ + beta I   (eq. 5)
    v <- v + relaxation (x - z)

With relaxation 1 this is a step of the paper's Algorithm 2. Labels enter as signs only: the solve
is for s = Y x with K~ + beta I, the same for all problems, which so are columns of one right-hand
side. Anderson's acceleration replaces v by the combination of the last few steps whose residuals
nearly cancel, and goes back to the plain step where that did not help.
"""

from dataclasses import dataclass, replace

import numpy as np

REJECTED_GROWTH = 2.0  # a residual that grows by more undoes an accelerated step
RIDGE = 1e-10


@dataclass(frozen=True)
class Problems:
    """Binary problems in columns: labels, costs C_i, loss and intercept."""

    labels: np.ndarray
    costs: np.ndarray
    loss: object
    intercept: str

    def part(self, columns):
        return replace(self, labels=self.labels[:, columns], costs=self.costs[:, columns])

    def settle(self, v, beta):
        """prox(v): inside the box, and drawn to zero by the squared hinge's a_i^2 / (4 C_i)."""
        z = np.maximum(v, 0.0)
        if self.loss.curvature:
            return z * (beta * self.costs / (beta * self.costs + 2.0 * self.loss.curvature))
        return np.minimum(z, self.costs, out=z)


@dataclass(frozen=True)
class Step:
    """Where a step leads (`v`), its x, and the z it began from."""

    v: np.ndarray
    x: np.ndarray
    z: np.ndarray
    objective: np.ndarray  # of the dual, at x


class Map:
    """v -> v, for the problems given, with the factor of K~ + beta I."""

    def __init__(self, factor, beta, relaxation, intercept, n_rows):
        self._factor, self.beta, self._relaxation = factor, beta, relaxation
        self._of_ones = np.asarray(factor.solve(np.ones(n_rows)), dtype=np.float64)
        total = float(self._of_ones.sum())
        # What takes the mean out of s (e^T s = 0), or prices it (an intercept that is penalised).
        self._divisor = {"free": total, "penalised": 1.0 + total, "none": np.inf}[intercept]

    def __call__(self, v, problems):
        z = problems.settle(v, self.beta)
        q = (2.0 * self.beta) * z
        q -= self.beta * v
        q += 1.0  # e + mu + beta z
        x = np.asarray(self._factor.solve(problems.labels * q), dtype=np.float64)
        x -= self._of_ones[:, None] * (x.sum(axis=0) / self._divisor)
        x *= problems.labels
        # The system just solved has x^T Y K~ Y x (+ b^2) ready.
        quadratic = np.einsum("ij,ij->j", x, q) - self.beta * np.einsum("ij,ij->j", x, x)
        objective = x.sum(axis=0) - 0.5 * quadratic
        if problems.loss.curvature:
            weighted = np.divide(x * x, problems.costs, where=problems.costs > 0, out=0.0 * x)
            objective -= problems.loss.curvature * weighted.sum(axis=0)
        return Step(v + self._relaxation * (x - z), x, z, objective)


class Anderson:
    """Anderson's acceleration of one fixed-point iteration, with a memory of a few steps."""

    def __init__(self, memory):
        self._memory = memory
        self.forget()

    def forget(self):
        self._moves, self._changes, self._last, self._plain = [], [], None, None

    def next(self, v, plain):
        """Where to go from v, when the plain step leads to `plain`."""
        residual = plain - v
        length = float(np.linalg.norm(residual))
        if self._plain is not None and length > REJECTED_GROWTH * self._plain[1]:
            back = self._plain[0]
            self.forget()
            return back
        if self._last is not None:
            self._moves.append(v - self._last[0])
            self._changes.append(residual - self._last[1])
            del self._moves[: -self._memory], self._changes[: -self._memory]
        self._last, self._plain = (v, residual), None
        if not self._changes:
            return plain
        changes = np.stack(self._changes)
        gram = changes @ changes.T
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) + np.finfo(float).tiny
        weights = np.linalg.solve(gram, changes @ residual)
        self._plain = (plain, length)
        return plain - weights @ changes - weights @ np.stack(self._moves)
