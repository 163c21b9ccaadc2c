"""One step of the semismooth Newton method: where it goes, and how far.

`Problem` is the objective over x = (w, b) with its C left open, `Point` what one pass over the
data says about a place x. Because C only scales the loss, a point serves every C.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as la

from kernlab.features import Features
from kernlab.runtime import blas_threads_for
from kernlab.solvers.newton.intervals import Intervals, dual_point

FLAT = 0.1  # the unit step will do where the slope along it has fallen to this share


@dataclass(frozen=True)
class Problem:
    """1/2 |w|^2 [+ 1/2 b^2] + C sum_i c_i dist(w . x_i + b, interval_i)^2, C left open."""

    rows: Features
    intervals: Intervals
    intercept: str

    @cached_property
    def ridge(self):
        """What |x|^2 counts of each entry of x = (w, b)."""
        ridge = np.ones(self.rows.shape[1] + 1)
        ridge[-1] = 1.0 if self.intercept == "penalised" else 0.0
        return ridge

    @property
    def origin(self):
        return self.at(np.zeros(self.rows.shape[1] + 1))

    def at(self, x):
        scores, value, by_w, by_b = self.rows.evaluate(x[:-1], x[-1], *self.intervals.limits)
        by_b = 0.0 if self.intercept == "none" else by_b
        return Point(self, x, scores, value, np.append(by_w, by_b))

    def part(self, chosen):
        """The problem on some rows, with costs raised so that the sum keeps its size."""
        share = len(chosen) / self.rows.shape[0]
        intervals = self.intervals.take(chosen, 1.0 / share)
        return Problem(self.rows.take(chosen), intervals, self.intercept)


@dataclass(frozen=True)
class Point:
    """A place x, the scores there, the sum of losses and its gradient."""

    problem: Problem
    x: np.ndarray
    scores: np.ndarray
    value: float
    slope: np.ndarray

    def objective(self, C):
        return 0.5 * float(self.problem.ridge @ self.x**2) + C * self.value

    def gradient(self, C):
        return self.problem.ridge * self.x + C * self.slope

    @cached_property
    def active(self):
        """The rows outside their interval: all that the Hessian is made of."""
        intervals = self.problem.intervals
        return (intervals.residuals(self.scores) != 0.0) & (intervals.costs > 0.0)

    def dual(self, C):
        """Dual variables read off the residuals, and the bound on the optimum that they give."""
        problem = self.problem
        return dual_point(problem.rows, problem.intervals, self.scores, C, problem.intercept)


# ------------------------------------------------------------------------------- direction
def newton_direction(point, gradient, C, mu, gram=None):
    """d with |V d + gradient| <= mu |gradient|, by conjugate gradients; and the products it took.

    `gram` (see `activegram`) preconditions them with its factor; None goes without.
    """
    problem = point.problem
    precondition = np.copy if gram is None else _factor(problem, gram, C)
    left = -gradient
    towards = precondition(left)
    chosen = np.flatnonzero(point.active)
    weights = 2.0 * C * problem.intervals.costs
    d, goal = np.zeros_like(gradient), mu * float(la.norm(gradient))
    decrease, products = float(left @ towards), 0
    most = 10 * len(d) if gram is None else gram.patience
    while products < most and decrease > 0.0:
        image = _product(problem, towards, weights, chosen)
        products += 1
        curvature = float(towards @ image)
        if curvature <= 0.0:
            break
        length = decrease / curvature
        d += length * towards
        left -= length * image
        if float(la.norm(left)) <= goal:
            break
        steepest = precondition(left)
        decrease, before = float(left @ steepest), decrease
        towards = steepest + (decrease / before) * towards
    return d, products


def _product(problem, v, weights, chosen):
    """V v, over the rows chosen."""
    by_w, by_b = problem.rows.normal_product(v[:-1], v[-1], weights, chosen)
    return problem.ridge * v + np.append(by_w, 0.0 if problem.intercept == "none" else by_b)


def _factor(problem, gram, C):
    """Solves with I + 2 C G; an intercept that is left out of V stays where it is."""
    size = len(problem.ridge) - (problem.intercept == "none")
    hessian = 2.0 * C * gram.matrix[:size, :size]
    hessian[np.diag_indices(size)] += problem.ridge[:size]
    if hessian[-1, -1] == 0.0:  # a free intercept that no row pulls at
        hessian[-1, -1] = 1.0
    with blas_threads_for(size):
        try:
            factor = la.cho_factor(hessian, lower=True, check_finite=False)
        except la.LinAlgError:
            if gram.finer() is not None:
                raise
            hessian[np.diag_indices(size)] += np.finfo(float).eps * np.trace(hessian)
            factor = la.cho_factor(hessian, lower=True, check_finite=False)

    def solve(right):
        solution = np.zeros_like(right)
        solution[:size] = la.cho_solve(factor, right[:size], check_finite=False)
        return solution

    return solve


# ------------------------------------------------------------------------------------ step
def line_search(point, direction, gradient, C):
    """The next point and its step: 1 where that is nearly the best, else the best.

    (None, 0) where rounding leaves nothing to gain.
    """
    descent = float(gradient @ direction)
    if not descent < 0.0:
        return None, 0.0
    unit = point.problem.at(point.x + direction)
    if abs(float(unit.gradient(C) @ direction)) <= FLAT * abs(descent):
        return unit, 1.0
    step = best_step(point, unit.scores - point.scores, direction, C)
    moved = point.problem.at(point.x + step * direction)
    return (moved, step) if moved.objective(C) < point.objective(C) else (None, 0.0)


def best_step(point, score_change, direction, C):
    """The minimiser of the objective along `direction`, without another pass over the data.

    Scores are linear in the step, so the slope of the objective along the line is piecewise linear
    and increasing: Newton's method inside a bracket.
    """
    intervals, ridge = point.problem.intervals, point.problem.ridge
    linear, quadratic = float(ridge @ (point.x * direction)), float(ridge @ direction**2)
    squares = intervals.costs * score_change**2
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(100):
        residuals = intervals.residuals(point.scores + step * score_change)
        pulls = float((intervals.costs * residuals) @ score_change)
        slope = linear + step * quadratic + 2.0 * C * pulls
        bend = quadratic + 2.0 * C * float(squares @ (residuals != 0.0))
        if slope > 0.0:
            high = step
        else:
            low = step
        guess = step - slope / bend if bend > 0.0 else np.inf
        if not low < guess < high:
            guess = 0.5 * (low + high) if np.isfinite(high) else 2.0 * step
        if abs(guess - step) <= 1e-6 * step:
            break
        step = guess
    return step
