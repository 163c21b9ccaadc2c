"""Squared losses that measure how far a score is from where it should be.

    minimise over w, b   1/2 |w|^2 [+ 1/2 b^2] + C sum_i c_i dist(s_i, [low_i, high_i])^2,
                         s_i = w . x_i + b

The squared hinge is the distance to [1, inf) or (-inf, -1], the squared epsilon-insensitive loss
of regression the distance to [t - epsilon, t + epsilon]: one problem, one algorithm. Its dual is

    maximise over a      sum_i (low_i a_i where a_i > 0, high_i a_i where a_i < 0)
                         - 1/2 |sum_i a_i x_i|^2 [- 1/2 (sum_i a_i)^2] - sum_i a_i^2 / (4 C c_i)
    subject to           sum_i a_i = 0 where b is free

and w and a belong together where w = sum_i a_i x_i and a_i = 2 C c_i times the way that s_i has to
go to its interval (for labels, a_i is the dual variable of the row times its label).
"""

from dataclasses import dataclass

import numpy as np

from kernlab.solvers.losses import signs


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
        if not (np.isfinite(epsilon) and epsilon >= 0):
            raise ValueError(f"epsilon must be a number that is not negative, not {epsilon!r}")
        y = np.asarray(y, dtype=np.float64)
        if not np.all(np.isfinite(y)):
            raise ValueError("the targets hold values that are not finite")
        return Intervals(y - epsilon, y + epsilon, costs)
    raise ValueError(
        f"loss={loss!r} is not one of squared_hinge, squared_epsilon_insensitive: Newton's method "
        "needs a loss with a continuous slope"
    )


def dual_point(rows, intervals, scores, C, intercept):
    """Dual variables read off the residuals of any scores, and the lower bound that they give.

    They are exact in the limit. With a free intercept they must add up to zero: the heavier side
    is scaled down, which keeps them feasible.
    """
    a = -2.0 * C * intervals.costs * intervals.residuals(scores)
    if intercept == "free":
        above, below = -a[a < 0].sum(), a[a > 0].sum()
        heavier, lighter = max(above, below), min(above, below)
        if heavier > 0:
            a = np.where((a < 0) == (above >= below), a * (lighter / heavier), a)
    live = np.flatnonzero(a)
    some, costs = a[live], intervals.costs[live]
    linear = np.where(some > 0, intervals.low[live], intervals.high[live]) @ some
    pulled = rows.rdot(some, live)
    quadratic = float(pulled @ pulled) + (some.sum() ** 2 if intercept == "penalised" else 0.0)
    return a, float(linear - 0.5 * quadratic - 0.25 * np.sum(some * some / costs) / C)
