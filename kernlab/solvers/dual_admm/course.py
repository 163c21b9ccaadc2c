"""The course of ADMM on the dual: the shift beta, the steps, when each problem is done."""

import time
from dataclasses import replace

import numpy as np

from kernlab.solvers.dual_admm.outcome import intercept_of, relative_gaps
from kernlab.solvers.dual_admm.step import Anderson, Map

BETAS = ("adaptive", "auto")
CRITERIA = ("gap", "residuals")
FIRST_BETA = 1.0
BALANCE_AT = (10, 20, 40, 80, 160, 320, 640, 1280)  # steps after which beta may change
UNBALANCED = 2.0
LARGEST_CHANGE = 10.0
STEPS_BETWEEN_CHECKS = 10
SAFETY = 1.05  # beta is kept by this factor above the bound for convergence
RAISED = 2.0
TINY = np.finfo(float).tiny


def paper_beta(n_rows):
    """Section 3.3: 100, or 1000 above 100,000 rows, or 10,000 above 1,000,000."""
    return 1e2 if n_rows <= 1e5 else 1e3 if n_rows <= 1e6 else 1e4


class Course:
    """All problems on their way: their v, the shift, and what is known of each.

    `reached` is the figure last measured of each by the criterion, `steps` how many it has made,
    `traces` their course.
    """

    def __init__(self, approximation, problems, beta, relaxation, criterion, began, callback):
        self._approximation, self._problems = approximation, problems
        self._operator = approximation.operator()
        n, p = problems.labels.shape
        if self._operator.shape[0] != n:
            raise ValueError(f"a kernel matrix of {self._operator.shape[0]} rows, but {n} labels")
        self._adaptive = isinstance(beta, str) and beta == "adaptive"
        self._relaxation = relaxation
        self._criterion, self._began, self._callback = criterion, began, callback
        self._definite_from = np.inf  # shifts from here on are known to make K~ definite
        self._set_beta(self._first_beta(beta, n))
        self._v, self._betas = np.zeros((n, p)), np.full(p, self._map.beta)
        self.steps, self.reached = np.zeros(p, dtype=int), np.full(p, np.inf)
        self.traces = [[] for _ in range(p)]

    @property
    def z(self):
        """The dual variables, inside their box; each problem's with the beta it ended with."""
        return self._problems.settle(self._v, self._betas)

    # ------------------------------------------------------------------------------ beta
    def _first_beta(self, beta, n):
        if isinstance(beta, str):
            if beta not in BETAS:
                raise ValueError(f"beta={beta!r} is not a number nor one of {', '.join(BETAS)}")
            return self._raised(FIRST_BETA if self._adaptive else paper_beta(n))
        if not (np.isfinite(beta) and beta > 0):
            raise ValueError(f"beta must be a positive number, not {beta!r}")
        if not self._converges(beta):
            raise ValueError(
                f"ADMM does not converge at beta={beta:g}, because K~ has an eigenvalue near or "
                f"below -beta / 2: take beta={self._raised(beta):g} or more, beta='auto' or "
                "'adaptive', or a tighter rel_tol, with which K~ comes closer to K"
            )
        return float(beta)

    def _converges(self, beta):
        """Whether beta > -2 lambda_min(K~), with a margin."""
        shift = 0.5 * beta / SAFETY
        if shift < self._definite_from and self._approximation.is_definite(shift):
            self._definite_from = shift
        return shift >= self._definite_from

    def _raised(self, beta):
        """The smallest multiple of beta by a power of two at which the iteration converges."""
        while not self._converges(beta):
            beta *= RAISED
        return float(beta)

    def _set_beta(self, beta):
        problems = self._problems
        factor = self._approximation.shifted(beta)
        self._map = Map(factor, beta, self._relaxation, problems.intercept, len(problems.labels))

    def _balance(self, step, columns):
        """Change beta where x comes to z and the multipliers come to rest at different speeds."""
        beta, v = self._map.beta, self._v[:, columns]
        z = self._problems.part(columns).settle(v, beta)
        mu = beta * (z - v)
        apart, moving = self._residuals(step, z, mu)
        ratio = float(np.exp(0.5 * np.mean(np.log(apart / moving))))
        if 1.0 / UNBALANCED < ratio < UNBALANCED:
            return False
        new = self._raised(beta * float(np.clip(ratio, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE)))
        if new == beta:
            return False
        self._set_beta(new)
        self._v[:, columns], self._betas[columns] = z - mu / new, new
        return True

    def _residuals(self, step, z, mu):
        """The primal and the dual residual, relative to what they are differences of."""
        apart = _relative(step.x - z, np.maximum(_lengths(step.x), _lengths(z)))
        return apart, _relative(self._map.beta * (z - step.z), _lengths(mu))

    # ------------------------------------------------------------------------- iterating
    def begin_from(self, start):
        """Dual variables to begin from, with the multipliers that belong to them."""
        if start is None:
            return
        z = np.asarray(start, dtype=np.float64)
        z = z[:, None] if z.ndim == 1 else z
        if z.shape != self._v.shape or not np.all(np.isfinite(z)):
            raise ValueError(
                f"start must be finite dual variables of shape {self._v.shape}, not {z.shape}"
            )
        problems = self._problems
        z = np.clip(z, 0.0, problems.loss.upper(problems.costs))
        scores = np.asarray(self._operator @ (z * problems.labels), dtype=np.float64)
        for j, labels in enumerate(problems.labels.T):
            b = intercept_of(problems, j, z[:, j], scores[:, j])
            mu = labels * (scores[:, j] + b) - 1.0
            self._v[:, j] = z[:, j] - mu / self._map.beta

    def run(self, tol, max_iter, acceleration):
        """Up to `max_iter` steps; with a tolerance each problem leaves when it has reached it."""
        columns = np.arange(self._v.shape[1])
        memories = [Anderson(acceleration) for _ in columns]
        for number in range(1, max_iter + 1):
            before = self._v[:, columns]
            step = self._map(before, self._problems.part(columns))
            self._v[:, columns] = step.v
            self._record(number, step, columns)
            if tol is None:
                continue
            if number % STEPS_BETWEEN_CHECKS == 0 or number == max_iter:
                unfinished = self._check(step, columns) > tol
                columns, before = columns[unfinished], before[:, unfinished]
                step = _part(step, unfinished)
                if columns.size == 0:
                    return
            if self._adaptive and number in BALANCE_AT and self._balance(step, columns):
                for memory in memories:
                    memory.forget()
            elif acceleration and STEPS_BETWEEN_CHECKS <= number < max_iter:
                for k, j in enumerate(columns):
                    self._v[:, j] = memories[j].next(before[:, k], step.v[:, k])

    def _check(self, step, columns):
        """How far each problem is from its solution, by the criterion."""
        problems, v, beta = self._problems.part(columns), self._v[:, columns], self._map.beta
        z = problems.settle(v, beta)
        if self._criterion == "gap":
            self.reached[columns] = relative_gaps(self._operator, problems, z)
        else:
            self.reached[columns] = np.maximum(*self._residuals(step, z, beta * (z - v)))
        return self.reached[columns]

    def _record(self, number, step, columns):
        """A row of each trace; the residuals are the largest entries of x - z and of what the
        step has moved z by, times beta: both in units of the margin."""
        self.steps[columns] = number
        beta = self._map.beta
        z = self._problems.part(columns).settle(step.v, beta)
        primal = beta * np.abs(step.x - z).max(axis=0)
        dual = beta * np.abs(z - step.z).max(axis=0)
        for k, j in enumerate(columns):
            row = {
                "iteration": number,
                "objective": float(step.objective[k]),
                "residual": float(max(primal[k], dual[k])),
                "primal_residual": float(primal[k]),
                "dual_residual": float(dual[k]),
                "beta": beta,
                "problem": int(j),
                "seconds": time.perf_counter() - self._began,
            }
            self.traces[j].append(row)
            if self._callback is not None:
                self._callback(row)


def _part(step, columns):
    parts = {name: getattr(step, name)[:, columns] for name in ("v", "x", "z")}
    return replace(step, objective=step.objective[columns], **parts)


def _lengths(A):
    return np.sqrt(np.einsum("ij,ij->j", A, A))


def _relative(A, lengths):
    return np.maximum(_lengths(A) / np.maximum(lengths, TINY), TINY)
