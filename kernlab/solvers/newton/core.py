"""Newton's method for support vector machines with a squared loss, in any space.

    minimise over u, b   f = 1/2 |u|^2 [+ 1/2 b^2] + C sum_i c_i dist(s_i, [low_i, high_i])^2
                         s_i = <u, x_i> + b

f has a continuous gradient whose slope jumps where a row enters its interval; an element of its
generalised Hessian is V = I + 2 C sum c_i x_i x_i^T over the rows outside their interval. The dual,
whose variables a_i are 2 C c_i times the way that s_i has to go to its interval, is

    maximise over a      sum_i (low_i a_i where a_i > 0, high_i a_i where a_i < 0)
                         - 1/2 |sum_i a_i x_i|^2 [- 1/2 (sum_i a_i)^2] - sum_i a_i^2 / (4 C c_i)
    subject to           sum_i a_i = 0 where b is free

with u = sum_i a_i x_i at the optimum; for labels, a_i is a row's dual variable times its label.
"""

from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType

import numpy as np

from kernlab.parameters import not_negative
from kernlab.solvers.problems import SolverResult, Trace, observed_order, signs


@dataclass(frozen=True)
class Intervals:
    """Where the score of each row should be, and what a row counts."""

    low: np.ndarray
    high: np.ndarray
    costs: np.ndarray

    @property
    def of_labels(self):
        """Whether no interval ends on both sides: then its open side is the row's label."""
        return not np.any(np.isfinite(self.low) & np.isfinite(self.high))

    @property
    def limits(self):
        return self.low, self.high, self.costs

    def residuals(self, scores):
        """How far above (positive) or below (negative) its interval each score is."""
        return scores - np.minimum(np.maximum(scores, self.low), self.high)

    def take(self, rows, scale=1.0):
        return Intervals(self.low[rows], self.high[rows], scale * self.costs[rows])


def intervals_for(loss, y, costs, epsilon=0.1):
    """The intervals of a loss: labels -1 and 1 for "squared_hinge", else targets."""
    if loss == "squared_hinge":
        y = signs(y, len(costs))
        return Intervals(np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0), costs)
    if loss == "squared_epsilon_insensitive":
        epsilon = not_negative(epsilon, "epsilon")
        y = np.asarray(y, dtype=np.float64)
        if y.shape != costs.shape:
            raise ValueError(f"{len(costs)} rows of features, but targets of shape {y.shape}")
        if not np.all(np.isfinite(y)):
            raise ValueError("the targets hold values that are not finite")
        return Intervals(y - epsilon, y + epsilon, costs)
    raise ValueError(
        f"loss={loss!r} is not one of squared_hinge, squared_epsilon_insensitive: Newton's method "
        "needs a loss with a continuous slope"
    )


class Iteration:
    """Newton's iteration for one column of labels, which goes on from one C to the next.

    A subclass adds the space, as generators that yield what they want multiplied (see `together`):
    `violation(C)` of the optimality conditions at `point`; `is_proven(C, proof)`, whether it is as
    good as that says; `direction(C, violation)`, or None, and what it cost; `moved(direction,
    step)`, the point there; `stuck(C, proof)`, the point to go on from, or whether that is good.
    And, as functions, `along(direction, unit)`: by how much the scores change, <u, d> and <d, d>;
    `suffices(unit, direction, descent, C)`: whether the unit step will do.
    """

    rounding = 0.0  # of the objective, which may go up by so much, relatively
    no_cost = MappingProxyType({"products": 0})

    def __init__(self, intervals, number, callback):
        self.intervals, self.number, self.callback = intervals, number, callback
        self.trace, self.notes, self.steps_left = Trace(callback), [], 0

    def iterate(self, C, tol, proof):
        """Steps for one C until the violation is at most `tol`; whether that was reached."""
        step, cost = 0.0, self.no_cost
        while True:
            violation = yield from self.violation(C)
            self._record(C, violation, step, cost)
            if violation <= tol and (yield from self.is_proven(C, proof)):
                return True
            if self.steps_left == 0:
                return False
            moved, step = None, 0.0
            direction, cost = yield from self.direction(C, violation)
            if direction is not None:
                moved, step = yield from self._line_search(direction, C)
            if moved is None:
                moved = yield from self.stuck(C, proof)
                if isinstance(moved, bool):
                    return moved
            self.point = moved
            self.steps_left -= 1

    def _line_search(self, direction, C):
        """The next point and its step; (None, 0) where rounding leaves nothing to gain."""
        point = self.point
        descent = point.slope_along(direction, C)
        if not descent < 0.0:
            return None, 0.0
        unit = yield from self.moved(direction, 1.0)
        if self.suffices(unit, direction, descent, C):
            return unit, 1.0
        step = self.best_step(direction, unit, C)
        moved = yield from self.moved(direction, step)
        least = point.objective(C) * (1.0 + self.rounding)
        return (moved, step) if moved.objective(C) < least else (None, 0.0)

    def best_step(self, direction, unit, C):
        """The step to the lowest point along the direction, where `unit` is at step 1."""
        along = self.along(direction, unit)
        return best_step(self.intervals, self.point.scores, C, *along)

    def n_active(self):
        """The number of rows outside their interval."""
        return int(np.count_nonzero(self.point.active))

    def _record(self, C, violation, step, cost):
        rows = self.trace.rows
        before = [row["residual"] for row in rows if row["C"] == C]
        self.trace.add(
            len(rows), self.point.objective(C), violation, C=C, problem=self.number,
            active=self.n_active(), step=step, **cost, order=observed_order([*before, violation]),
        )  # fmt: skip


def best_step(intervals, scores, C, changes, linear, quadratic):
    """The minimiser over t > 0 of the objective, which is t linear + t^2 / 2 quadratic and the
    losses at scores + t changes: no other pass over the data.

    Its slope is piecewise linear and increasing: Newton's method inside a bracket.
    """
    squares = intervals.costs * changes**2
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(100):
        residuals = intervals.residuals(scores + step * changes)
        slope = linear + step * quadratic + 2.0 * C * float(intervals.costs * residuals @ changes)
        bend = quadratic + 2.0 * C * float(squares @ (residuals != 0.0))
        low, high = (low, step) if slope > 0.0 else (step, high)
        guess = step - slope / bend if bend > 0.0 else np.inf
        if not low < guess < high:
            guess = 0.5 * (low + high) if np.isfinite(high) else 2.0 * step
        if abs(guess - step) <= 1e-6 * step:
            break
        step = guess
    return step


def at_once(function):
    """A function as a generator that wants nothing multiplied."""

    @wraps(function)
    def generator(*arguments):
        return function(*arguments)
        yield

    return generator


def together(generators, multiply=None):
    """What the generators return, run side by side: each yields v and is sent the product with it,
    which `multiply` takes for the vectors of all that wait, as columns."""
    returned, waiting, sent = [None] * len(generators), {}, dict.fromkeys(range(len(generators)))
    while sent:
        for number, image in sent.items():
            try:
                waiting[number] = generators[number].send(image)
            except StopIteration as finished:
                returned[number] = finished.value
        if not waiting:
            break
        images = multiply(np.stack(list(waiting.values()), axis=1))
        sent = {n: np.ascontiguousarray(v) for n, v in zip(waiting, images.T, strict=True)}
        waiting = {}
    return returned


def checked_start(start, size, wanted, what, padded=False):
    """Coefficients and intercept to begin from, given or a result's, `padded` by zeros or not."""
    is_result = isinstance(start, SolverResult)
    u, b = (start.coefficients, start.intercept) if is_result else start
    u = np.array(u, dtype=np.float64)
    if padded and is_result and len(u) < size:
        u = np.pad(u, (0, size - len(u)))
    if u.shape != (size,) or not (np.all(np.isfinite(u)) and np.isfinite(b)):
        raise ValueError(f"start must be {wanted}: {size} finite {what} and an intercept")
    return u, float(b)
