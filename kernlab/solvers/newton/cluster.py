"""Newton's steps where the rows are on a cluster: one reduction for each point.

What workers send are a few vectors and half of a matrix, k^2 numbers at most: losses at x, their
gradient, the Gram matrix of the active rows [F_i; 1], and slopes at several steps along the way
that led to x, between which the next point is chosen where the unit step will not do. A part keeps
its scores and its Gram matrix, so that only rows that come and go are multiplied; in single
precision first where there is much to multiply, and where that costs a step in double.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernlab.cluster import ClusterFeatures, Column
from kernlab.runtime import REORDERED_SUMS, njit
from kernlab.solvers.newton.core import (
    ROUNDING_ALLOWED,
    SAMPLE_SHARE,
    FeatureIteration,
    Place,
    Problem,
    at_once,
    problems_on,
)
from kernlab.solvers.newton.preconditioners import DOUBLE, MANY_VALUES, SINGLE, Preconditioner
from kernlab.solvers.problems import intervals_for

STEPS = np.array([0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 3.0, 10.0])
SLOW = 0.1  # a step of a good factor leaves less of the violation
MOVED = 0.01  # of the active rows: a step that changes more may be slow for that, once
MOST_SAMPLED = 20_000  # rows of which the client forms features


@dataclass(frozen=True)
class Setting:
    """One problem, as it is sent to the workers."""

    column: Column
    loss: str
    epsilon: float
    scale: float = 1.0  # of the costs, where rows stand for more

    def intervals(self, y, w):
        costs = self.scale * self.column.weights(y, w)
        return intervals_for(self.loss, self.column.of(y), costs, self.epsilon)


@problems_on.register
def _(rows: ClusterFeatures, problem, way, given, call):
    if way[0] not in ("auto", "direct"):
        raise ValueError(f"on a cluster steps are taken by method='direct', not {way[0]!r}")
    rows.pieces  # noqa: B018  computed before the clock starts
    loss, epsilon, intercept = problem

    def iteration_for(number):
        setting = Setting(call.columns[number], loss, epsilon)
        problem = ClusterProblem(rows, setting, intercept)
        return ClusterIteration(problem, *way, number, given.callback, given.max_memory)

    return iteration_for


class ClusterProblem:
    """The objective over x = (w, b) on the rows of a cluster; see `core.Problem`."""

    intervals = None

    def __init__(self, rows, setting, intercept):
        self.rows, self.setting, self.intercept = rows, setting, intercept
        much = rows.is_mapped and rows.shape[0] * rows.shape[1] >= MANY_VALUES
        self.precision = SINGLE if much else DOUBLE  # of products, in Gram matrices
        self.ridge = np.ones(rows.shape[1] + 1)
        self.ridge[-1] = 1.0 if intercept == "penalised" else 0.0

    @cached_property
    def size(self):
        return self.rows.pieces.sum(_size, self.setting)

    def at(self, x, before=None):
        """The point x; with `before`, also what steps from there towards x lead to."""
        gram = self.precision if x.any() else None
        sums = self.rows.pieces.sum(evaluate_part, self.setting, x, before, gram)
        return ClusterPoint(self, x, sums)

    def in_double(self):
        return ClusterProblem(self.rows.in_double, self.setting, self.intercept)

    def head(self, share):
        """The problem on the first rows of each part, one of every `share`."""
        setting = replace(self.setting, scale=share * self.setting.scale)
        return ClusterProblem(self.rows.head(share), setting, self.intercept)

    def part(self, n_rows, generator):
        """The problem on random rows, which come here."""
        features, y, w, share = self.rows.sample(n_rows, generator)
        intervals = self.setting.intervals(y, w).take(slice(None), 1.0 / share)
        return Problem(features, intervals, self.intercept)


class ClusterPoint(Place):
    """A place x, and sums over all rows there; see `evaluate_part`."""

    def __init__(self, problem, x, sums):
        self.problem, self.x = problem, x
        size = len(x)
        ends = np.cumsum([3, 6, size, len(STEPS)])
        (self.value, self.n_active, self.work), dual, slope, line, gram = np.split(sums, ends)
        self.slope, self.line_slopes = slope, line
        if problem.intercept == "none":
            self.slope = np.append(slope[:-1], 0.0)
        self._dual, self._packed = dual.reshape(3, 2), gram

    @cached_property
    def gram(self):
        """sum_i c_i [F_i; 1] [F_i; 1]^T over the active rows."""
        if not len(self._packed):
            pieces, problem = self.problem.rows.pieces, self.problem
            self._packed = pieces.sum(_gram, problem.setting, self.x, problem.precision)
        matrix = np.zeros((len(self.x),) * 2)
        matrix[np.tril_indices(len(self.x))] = self._packed
        return matrix + np.tril(matrix, -1).T

    def forget_gram(self):
        """Let it be taken again, in the problem's precision."""
        self._packed = ()
        vars(self).pop("gram", None)

    @cached_property
    def _pulled(self):
        """sum_i a_i F_i / C over the rows with a_i > 0, and over the others."""
        up = self.problem.rows.pieces.sum(_pulled_up, self.problem.setting, self.x)
        return np.stack([up, -self.slope[:-1] - up])

    def dual(self, C):
        """The bound on the optimum of dual variables read off the residuals (which stay where the
        rows are), see `core.Point.dual`."""
        (totals, linear, squares), intercept = C * self._dual, self.problem.intercept
        scales, sizes = np.ones(2), np.abs(totals)
        if intercept == "free" and sizes.max() > 0.0:
            heavier = int(sizes[1] > sizes[0])
            scales[heavier] = sizes[1 - heavier] / sizes[heavier]
            pulled = C * (scales @ self._pulled)
        else:
            pulled = -C * self.slope[:-1]
        quadratic = float(pulled @ pulled)
        if intercept == "penalised":
            quadratic += float(scales @ totals) ** 2
        return None, float(scales @ linear - 0.5 * quadratic - 0.25 * scales**2 @ squares)


class ClusterIteration(FeatureIteration):
    """Newton's iteration with the Gram matrix of all active rows."""

    most_sampled, may_begin_on_features = MOST_SAMPLED, False
    last = None  # the last C, the violation before its last step, and whether that step was slow

    def begin_on_samples(self, C, generator):
        """As on one machine; where rows are very many, then on a part of them on each worker."""
        if self.problem.rows.shape[0] < SAMPLE_SHARE**2 * MOST_SAMPLED:
            super().begin_on_samples(C, generator)
            return
        problem, limit = self.problem.head(SAMPLE_SHARE), self.max_memory
        part = ClusterIteration(problem, self.method, self.eta, max_memory=limit)
        self.begin_on(part, C, generator)
        part.problem.rows.release()

    def n_active(self):
        return int(self.point.n_active)

    def is_misled(self, C):
        return self.problem.rows.rounding(self.point.x[:-1]) > ROUNDING_ALLOWED

    @at_once
    def direction(self, C, residual):
        problem, point = self.problem, self.point
        _, before, was_slow = self.last if self.last and self.last[0] == C else (C, np.inf, False)
        slow = residual > SLOW * before
        self.last = C, residual, slow
        if slow and (was_slow or point.work < MOVED * point.n_active):
            self._multiply_in_double()
        for _ in range(2):
            try:
                hessian = _Hessian(point.gram, problem.precision)
                direction = hessian.solver(problem, C)(-point.gradient(C))
                break
            except np.linalg.LinAlgError:  # rounding has cost it its definiteness
                self._multiply_in_double()
        return direction, {"work": int(point.work), "products": 0}

    def _multiply_in_double(self):
        """Whether the Gram matrix is to be taken again for it."""
        if self.problem.precision == DOUBLE:
            return False
        self.problem.precision = DOUBLE
        self.point.forget_gram()
        return True

    @at_once
    def stuck(self, C, gap_tol):
        """Rounding may be that of single precision: then go on from here."""
        return self.point if self._multiply_in_double() else self._stopped(C, gap_tol)

    @at_once
    def moved(self, direction, step, unit=None):
        before = self.point.x if step == 1.0 else None
        return self.problem.at(self.point.x + step * direction, before)

    def best_step(self, direction, unit, C):
        """The step where the slope along the direction vanishes: between two of the steps tried, it
        is taken as a straight line."""
        weighted = self.problem.ridge * direction
        linear, quadratic = float(weighted @ self.point.x), float(weighted @ direction)
        steps = np.append(0.0, STEPS)
        slopes = linear + STEPS * quadratic + C * unit.line_slopes
        slopes = np.append(self.point.slope_along(direction, C), slopes)
        rising = np.flatnonzero(slopes >= 0.0)
        if not len(rising):
            return float(steps[-1])
        i = rising[0]
        share = slopes[i - 1] / (slopes[i - 1] - slopes[i])
        return float(steps[i - 1] + share * (steps[i] - steps[i - 1]))


class _Hessian(Preconditioner):
    """The Hessian itself, from a Gram matrix that is given."""

    def __init__(self, matrix, dtype):
        self.matrix, self.dtype, self._factor = matrix, dtype, None


# ---------------------------------------------------------------------------------- on the workers
def _known(part, setting):
    """What the last pass over this problem has left in a part; of others nothing is kept."""
    key = setting.column.number, setting.loss, setting.epsilon
    if part.known.get("key") != key:
        part.known = {"key": key, "intervals": setting.intervals(part.y, part.w)}
    return part.known


def _size(part, setting):
    costs = _known(part, setting)["intervals"].costs
    lengths = (float(costs[rows] @ F.squared_norms) for rows, F in part.chunks())
    return float(costs.sum()), sum(lengths)


def evaluate_part(part, setting, x, before, precision):
    """A part's share of a point, as one vector: its losses, the number of active rows and of those
    multiplied, sums of the dual (see `_dual_sums`), the gradient of the losses, their slopes along
    x - before at `STEPS`, and the lower half of the Gram matrix of the active rows, multiplied in
    this precision (None: without it)."""
    known = _known(part, setting)
    intervals, n = known["intervals"], len(part)
    scores, old = np.empty(n), known.get("scores")
    if before is not None and not np.array_equal(known.get("x"), before):
        old = np.empty(n)
    gram, active, taken = (known.pop(name, None) for name in ("gram", "active", "precision"))
    if gram is None or taken != precision:
        gram, active = np.zeros((len(x), len(x))), np.zeros(n, dtype=bool)
    value, work, slope, now = 0.0, 0, np.zeros(len(x)), np.empty(n, dtype=bool)
    for rows, F in part.chunks():
        limits = [values[rows] for values in intervals.limits]
        scores[rows], loss, by_w, by_b = F.evaluate(x[:-1], x[-1], *limits)
        value, slope = value + loss, slope + np.append(by_w, by_b)
        now[rows] = (scores[rows] < limits[0]) | (scores[rows] > limits[1])
        now[rows] &= limits[2] > 0.0
        if precision is not None:
            work += _update(gram, F, active[rows], now[rows], limits[2], precision, part.kept)
        if before is not None and old is not known.get("scores"):
            old[rows] = F.dot(before[:-1]) + before[-1]
    line = np.zeros(len(STEPS))
    if before is not None:
        _slopes_along(old, scores - old, *intervals.limits, STEPS, line)
    known |= {"x": x, "scores": scores}
    if precision is not None:
        known |= {"gram": gram, "active": now, "precision": precision}
    half = [] if precision is None else gram[np.tril_indices(len(x))]
    dual = np.zeros(6)
    _dual_sums(scores, *intervals.limits, dual)
    return np.concatenate([[value, np.count_nonzero(now), work], dual, slope, line, half])


def _update(gram, F, before, now, costs, precision, of_these):
    """Change a Gram matrix (`of_these` rows alone, or of others too) of the rows active before into
    that of those active now; by how many."""
    came, went = np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
    if of_these and len(came) + len(went) > np.count_nonzero(now):
        gram[...] = 0.0
        came, went = np.flatnonzero(now), came[:0]
    for rows, sign in ((came, 1.0), (went, -1.0)):
        if len(rows):
            F.add_gram(gram, rows, costs, precision, sign)
    return len(came) + len(went)


def _gram(part, setting, x, precision):
    return evaluate_part(part, setting, x, None, precision)[9 + len(x) + len(STEPS) :]


@njit
def _dual_sums(scores, low, high, costs, out):
    """Of a_i / C, those above zero and those below: sums, sums times the interval's end, and of
    squares over c_i."""
    for i in range(len(scores)):
        residual = scores[i] - min(max(scores[i], low[i]), high[i])
        if residual != 0.0:
            side, end = (0, low[i]) if residual < 0.0 else (1, high[i])
            pull = -2.0 * costs[i] * residual
            out[side] += pull
            out[2 + side] += pull * end
            out[4 + side] -= 2.0 * pull * residual


def _pulled_up(part, setting, x):
    """sum_i a_i F_i / C over the rows with a_i > 0."""
    known, total = _known(part, setting), np.zeros(len(x) - 1)
    intervals = known["intervals"]
    is_known = np.array_equal(known.get("x"), x)
    for rows, F in part.chunks():
        scores = known["scores"][rows] if is_known else F.dot(x[:-1]) + x[-1]
        below = np.minimum(scores - intervals.low[rows], 0.0)
        pulls = np.where(below < 0.0, -2.0 * intervals.costs[rows] * below, 0.0)
        total += F.rdot(pulls)
    return total


@njit(fastmath=REORDERED_SUMS)
def _slopes_along(scores, changes, low, high, costs, steps, out):
    for j in range(len(steps)):
        step, total = steps[j], 0.0
        for i in range(len(scores)):
            score = scores[i] + step * changes[i]
            total += costs[i] * (score - min(max(score, low[i]), high[i])) * changes[i]
        out[j] += 2.0 * total
