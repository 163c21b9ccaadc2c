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

On features (LASN's Algorithm 1) step 3 finds d with |V d + gradient| <= mu |gradient|, where mu is
min(eta_0, eta_1 |gradient| / |gradient at zero|), by conjugate gradients: plain ("cg", the
paper's), or preconditioned by the factor of V itself ("direct") or of a matrix near it ("grouped";
see `preconditioners`). A random part of the rows, or where they are few the first features, is
solved first, and a large C is approached through smaller ones.
"""

import time
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, singledispatch, wraps
from types import MappingProxyType

import numpy as np
import scipy.linalg as la

from kernlab.features import Features, as_features, warn_of_slow_passes
from kernlab.parameters import check_parameters, one_of
from kernlab.runtime import memory_limit, on_single_blas_thread
from kernlab.solvers.certificates import balanced
from kernlab.solvers.newton.preconditioners import (
    BY_GROUPS,
    PRECONDITIONERS,
    VALUE,
    WITHOUT_FACTORS,
    Unpreconditioned,
    cheapest,
    newton_direction,
    operations_of_factors,
    require_room,
)
from kernlab.solvers.problems import (
    Call,
    Intervals,
    SolverResult,
    Trace,
    common_call,
    intervals_for,
    observed_order,
    row_costs,
    start_values,
    warn_unless_converged,
)

ETA = (0.1, 1.0)  # eta_0 and eta_1 of Algorithm 1
ETA_GROUPED = (0.3, np.inf)  # more steps of fewer products each
SAMPLE_SHARE = 8  # rows per row of the sample that is solved first
FEATURE_SHARE, FEWEST_FEATURES = 4, 50  # features per feature of those solved first
PLENTY = 8  # rows per feature from which on a random part of the rows is the better start
FIRST_STEPS = 15
EASY_C = 10.0  # for rows of length one: up to here the iteration may begin anywhere
GROWTH = 10.0  # of C on the way to a large one
FLAT = 0.1  # the unit step will do where the slope along it has fallen to this share
FAR = 10.0  # steps from which on the rounding of scores at step 1 would be seen
ROUNDING_ALLOWED = 1e-2  # of scores, in units of the margin
CERTAIN = 1e-7  # of the objective: what values in single precision may move it by
LOOSE = (1e-2, 1e-1)  # tolerances of solutions that are only a start
DEAR = 100  # products that factors cost, from which on it is tried without, for few rows:
FEW = 4  # per feature. Of many rows products cost as much, and a large C needs more of them


@on_single_blas_thread
@common_call(tol=1e-6, max_iter=200)
def solve_newton(
    F,
    y,
    *,
    given,
    C,
    loss="squared_hinge",
    intercept="free",
    gap_tol=1e-4,
    method="auto",
    eta=None,
    epsilon=0.1,
    warm_up=True,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(w . x_i + b, y_i) over w [and b].

    Parameters
    ----------
    F, C, intercept, sample_weight, callback : see `kernlab.solvers.problems`.
    y : labels -1 and 1, or targets for loss="squared_epsilon_insensitive"; one column or several.
    loss : "squared_hinge" or "squared_epsilon_insensitive".
    tol : bound on the gradient relative to the gradient at zero, the KKT residual reported; None
        for 1e-6.
    gap_tol : bound on the duality gap relative to the objective.
    max_iter : steps for one C; None for 200.
    method : "direct", "grouped" (for features at landmarks), "cg", or "auto", the quickest by
        prediction; the result's message tells of "grouped".
    eta : (eta_0, eta_1) of step 3; None for (0.1, 1), and for (0.3, inf) with "grouped".
    epsilon : of the loss of targets.
    warm_up : whether to begin on the first features, or on a random part of the rows.
    random_state : of that part; None draws as 0 does.
    start : (w, b), or a result with as many features or fewer (the first), instead of a warm-up.
    max_memory : for the k x k matrices of "direct" and "grouped", which "auto" leaves where they
        have no room, and for features that are formed in blocks; the values of F are the caller's.

    Returns
    -------
    SolverResult, or lists of them. The trace has the gradient (`residual`), its observed order of
    convergence, the rows by which G changed (`work`) and the products with V. Dual variables of
    labels are not negative; those of targets are the a_i of `core`.
    """
    rows, tol, max_iter = as_features(F), given.tol, given.max_iter
    call = Call(y, C, given.start, on_cluster=True)
    check_parameters({"gap_tol": gap_tol, "intercept": intercept})
    one_of("auto", *PRECONDITIONERS)(method, "method")
    iteration_for = problems_on(rows, (loss, epsilon, intercept), (method, eta), given, call)
    families = []
    for number, begin in enumerate(call.starts):
        began = time.perf_counter()
        iteration = iteration_for(number)
        if begin is not None:
            w, b = checked_start(begin, rows.shape[1], "(w, b)", "weights", padded=True)
            x = np.append(w, 0.0 if intercept == "none" else b)
            iteration.point = iteration.problem.at(x)
        elif warm_up:
            C_ = min(call.costs[0], iteration.solved_for)
            iteration.begin_on_samples(C_, given.generator)
        families.append([])
        for C_ in call.costs:
            result = iteration.solve(C_, tol, gap_tol, max_iter, began)
            if iteration.is_misled(C_):
                iteration = iteration.in_double()
                result = iteration.solve(C_, tol, gap_tol, max_iter, began, result)
            figure = (
                f"a relative duality gap of {result.relative_gap:.2e} and a gradient relative to "
                "its start of"
            )
            advice = "Raise max_iter, lower C, or scale the features."
            warn_unless_converged(result, figure, result.kkt_residual, tol, advice)
            families[-1].append(result)
            began = time.perf_counter()
    return call.arranged(families)


@singledispatch
def problems_on(rows, problem, way, given, call):
    """What gives the iteration for each of the call's columns by its number, on these features.

    `problem` : loss, epsilon and intercept; `way` : method and eta.
    """
    rows = rows.kept(given.max_memory) if rows.map_ is None else rows
    rows.squared_norms, rows.A  # noqa: B018  computed before the clock starts
    warn_of_slow_passes(rows, given.max_memory)
    if way[0] == "grouped" and rows.map_ is None:
        raise ValueError("method='grouped' takes features at landmarks only: take 'direct' or 'cg'")
    (loss, epsilon, intercept), told = problem, (given.callback, given.max_memory)
    weights = row_costs(1.0, rows.shape[0], given.sample_weight)
    # The first features are gathered once for all columns, and for one not kept beyond their use.
    leading = cache(partial(rows.leading, kept=True)) if len(call.columns) > 1 else None

    def iteration_for(number):
        intervals = intervals_for(loss, call.columns[number], weights, epsilon)
        problem = Problem(rows, intervals, intercept)
        return FeatureIteration(problem, *way, number, *told, leading)

    return iteration_for


# ------------------------------------------------------------------------------- in any space
class Iteration:
    """Newton's iteration for one column of labels, which goes on from one C to the next.

    A subclass adds the space, as generators that yield what they want multiplied (see `together`):
    `violation(C)` of the optimality conditions at `point`; `is_proven(C, proof)`, whether it is as
    good as that says; `direction(C, violation)`, or None, and what it cost; `moved(direction,
    step, unit)`, the point there, by means of that at step 1 where it is known; `stuck(C, proof)`,
    the point to go on from, or whether that is good. And, as functions, `along(direction, unit)`:
    by how much the scores change, <u, d> and <d, d>; `suffices(unit, direction, descent, C)`:
    whether the unit step will do.
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
        moved = yield from self.moved(direction, step, unit)
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

    def of_result(result):
        missing = max(0, size - len(result.coefficients)) if padded else 0
        return np.pad(result.coefficients, (0, missing)), result.intercept

    u, b = start_values(start, of_result)
    u = np.array(u, dtype=np.float64)
    if u.shape != (size,) or not (np.all(np.isfinite(u)) and np.isfinite(b)):
        raise ValueError(f"start must be {wanted}: {size} finite {what} and an intercept")
    return u, float(b)


# -------------------------------------------------------------------------------- on features
@dataclass(frozen=True)
class Problem:
    """The objective over x = (w, b) on some rows, its C left open: a point serves every C."""

    rows: Features
    intervals: Intervals
    intercept: str

    @cached_property
    def ridge(self):
        """What |x|^2 counts of each entry of x = (w, b)."""
        ridge = np.ones(self.rows.shape[1] + 1)
        ridge[-1] = 1.0 if self.intercept == "penalised" else 0.0
        return ridge

    def at(self, x):
        scores, value, by_w, by_b = self.rows.evaluate(x[:-1], x[-1], *self.intervals.limits)
        by_b = 0.0 if self.intercept == "none" else by_b
        return Point(self, x, scores, value, np.append(by_w, by_b))

    def at_scores(self, x, scores):
        """The point where scores are known: only the active rows are read."""
        costs, residuals = self.intervals.costs, self.intervals.residuals(scores)
        pulled = 2.0 * costs * residuals
        by_b = 0.0 if self.intercept == "none" else pulled.sum()
        slope = np.append(self.rows.rdot(pulled), by_b)
        return Point(self, x, scores, float((costs * residuals) @ residuals), slope)

    def hessian_product(self, v, C, rows, dtype=np.float64):
        """V v, over the active rows named, with sums in `dtype`."""
        costs = 2.0 * C * self.intervals.costs
        by_w, by_b = self.rows.normal_product(v[:-1], v[-1], costs, rows, dtype)
        return self.ridge * v + np.append(by_w, 0.0 if self.intercept == "none" else by_b)

    @property
    def size(self):
        """What all rows count, and the sum of their squared lengths."""
        costs = self.intervals.costs
        return float(costs.sum()), float(costs @ self.rows.squared_norms)

    def in_double(self):
        """The problem on rows of higher precision."""
        return replace(self, rows=self.rows.in_double)

    def part(self, n_rows, generator):
        """The problem on random rows, with costs raised so that the sum keeps its size."""
        chosen = np.sort(generator.choice(self.rows.shape[0], n_rows, replace=False))
        share = len(chosen) / self.rows.shape[0]
        intervals = self.intervals.take(chosen, 1.0 / share)
        return Problem(self.rows.take(chosen), intervals, self.intercept)


class Place:
    """A place x of a `problem`, with the sum of losses `value` there and its gradient `slope`."""

    def objective(self, C):
        return 0.5 * float(self.problem.ridge @ self.x**2) + C * float(self.value)

    def gradient(self, C):
        return self.problem.ridge * self.x + C * self.slope

    def slope_along(self, direction, C):
        return float(self.gradient(C) @ direction)


@dataclass(frozen=True)
class Point(Place):
    """A place where the scores of all rows are known."""

    problem: Problem
    x: np.ndarray
    scores: np.ndarray
    value: float
    slope: np.ndarray

    @cached_property
    def active(self):
        """The rows outside their interval: all that the Hessian is made of."""
        intervals = self.problem.intervals
        return (intervals.residuals(self.scores) != 0.0) & (intervals.costs > 0.0)

    def dual(self, C):
        """Dual variables read off the residuals, which are exact in the limit, and the bound on
        the optimum that they give."""
        intervals, intercept = self.problem.intervals, self.problem.intercept
        a = -2.0 * C * intervals.costs * intervals.residuals(self.scores)
        a = balanced(a) if intercept == "free" else a
        live = np.flatnonzero(a)
        some, costs = a[live], intervals.costs[live]
        linear = np.where(some > 0, intervals.low[live], intervals.high[live]) @ some
        # Without a balance to keep, sum_i a_i x_i is what the gradient is made of.
        pulled = -C * self.slope[:-1] if intercept != "free" else self.problem.rows.rdot(some, live)
        quadratic = float(pulled @ pulled) + (some.sum() ** 2 if intercept == "penalised" else 0.0)
        bound = float(linear - 0.5 * quadratic - 0.25 * float((some / (C * costs)) @ some))
        return np.abs(a) if intervals.of_labels else a, bound


class FeatureIteration(Iteration):
    """Newton's iteration over x = (w, b), with the Gram matrix of the active rows."""

    no_cost = MappingProxyType({"work": 0, "products": 0})
    most_sampled, may_begin_on_features = 2**62, True

    def __init__(
        self, problem, method, eta, number=0, callback=None, max_memory=None, leading=None
    ):
        super().__init__(problem.intervals, number, callback)
        self.leading = leading or partial(problem.rows.leading, kept=True)
        self.problem, self.eta, self.preconditioner = problem, eta, None
        self.asked = self.method = method
        self.max_memory = max_memory
        self.origin = self.point = problem.at(np.zeros(problem.rows.shape[1] + 1))
        if not (np.isfinite(self.origin.value) and np.all(np.isfinite(self.origin.slope))):
            raise ValueError("the features hold values that are not finite")
        total, lengths = problem.size
        self.solved_for = EASY_C * total / lengths if lengths > 0 else np.inf

    def begin_on_samples(self, C, generator):
        """Move to the solution on a random part of the rows or, where that would have few rows per
        feature, for the first features; itself begun on less."""
        n, k = self.problem.rows.shape
        size = min(n // SAMPLE_SHARE, self.most_sampled)
        if self.may_begin_on_features and self.problem.rows.map_ is not None:
            rows, few = self.problem.rows, k // FEATURE_SHARE
            room = memory_limit(self.max_memory) - (rows.A.nbytes if rows.is_kept else 0)
            size = min(size, max(0, room) // (k * rows.precision.itemsize))
            has_room = rows.is_nested and n * few * rows.precision.itemsize <= room
            if size < PLENTY * k and few >= FEWEST_FEATURES and has_room:
                problem = replace(self.problem, rows=self.leading(few))
                self.begin_on(self._part(problem), C, generator)
                return
        if size >= max(2 * k, 1000):
            self.begin_on(self._part(self.problem.part(size, generator)), C, generator)

    def _part(self, problem):
        return FeatureIteration(problem, self.asked, self.eta, max_memory=self.max_memory)

    def begin_on(self, part, C, generator):
        """Move to the solution of the iteration on a part of the rows or features."""
        part.begin_on_samples(C, generator)
        part.steps_left = FIRST_STEPS
        together([part.iterate(C, *LOOSE)])
        n, few = part.problem.rows.shape
        k = self.problem.rows.shape[1]
        what = f"{n:,} rows" if few == k else f"{few:,} features"
        self.notes += [
            note for note in part.notes if note not in (*self.notes, BY_GROUPS, WITHOUT_FACTORS)
        ]
        self.notes.append(f"began with {FIRST_STEPS - part.steps_left} steps on {what}")
        w = np.pad(part.point.x[:-1], (0, k - few))
        self.point = self.problem.at(np.append(w, part.point.x[-1]))

    def in_double(self):
        """The same iteration on rows of higher precision, from the same place."""
        problem, told = self.problem.in_double(), (self.number, self.callback, self.max_memory)
        other = type(self)(problem, self.method, self.eta, *told)
        other.point, other.solved_for = problem.at(self.point.x), self.solved_for
        # Rows of another precision hardly change what preconditions.
        other.asked, other.preconditioner = self.asked, self.preconditioner
        other.notes = [*self.notes, "went on in double precision"]
        return other

    def is_misled(self, C):
        """Whether values in single precision keep the objective from being that of the decisions.

        Their errors mostly have random signs, and cancel in the sum over many rows. Where they do
        not (of rows that are all nearly as far from a landmark, say), some of the rows show it.
        """
        rows, point = self.problem.rows, self.point
        if rows.rounding(point.x[:-1]) > ROUNDING_ALLOWED:
            return True
        some, off = rows.misread(point.x[:-1])
        if not len(some):
            return False
        intervals, scores = self.intervals.take(some), point.scores[some]
        change = intervals.residuals(scores - off) ** 2 - intervals.residuals(scores) ** 2
        change *= C * intervals.costs
        share = len(point.scores) / len(some)
        by_chance = 3.0 * share * np.sqrt(len(some)) * change.std() if share > 1.0 else 0.0
        return share * abs(change.sum()) > CERTAIN * point.objective(C) + by_chance

    def solve(self, C, tol, gap_tol, max_iter, began, before=None):
        """The result for one C, from where the iteration stands; `before` was in single
        precision."""
        self.trace, self.steps_left = Trace(self.callback, began), max_iter
        if before is not None:
            self.trace.rows, self.steps_left = list(before.trace), max_iter - before.n_iter
        # Far above what has been solved many rows enter and leave in turns; nearby, few do.
        while GROWTH * self.solved_for < C:
            self.solved_for *= GROWTH
            together([self.iterate(self.solved_for, *LOOSE)])
        self.solved_for = C
        (converged,) = together([self.iterate(C, tol, gap_tol)])
        point, (dual, bound) = self.point, self.point.dual(C)
        return SolverResult(
            coefficients=point.x[:-1].copy(),
            intercept=float(point.x[-1]),
            objective=point.objective(C),
            dual_objective=bound,
            dual_variables=dual,
            kkt_residual=self._relative_gradient(C),
            n_iter=max_iter - self.steps_left,
            converged=converged,
            solver="newton",
            seconds=time.perf_counter() - began,
            trace=tuple(self.trace.rows),
            message="; ".join(self.notes),
        )

    # ------------------------------------------------------------------------------ the steps
    def _relative_gradient(self, C):
        at_zero = max(float(la.norm(self.origin.gradient(C))), np.finfo(float).tiny)
        return float(la.norm(self.point.gradient(C))) / at_zero

    violation = at_once(_relative_gradient)

    def _gap_is_below(self, C, gap_tol):
        """Relative to the objective; where that vanishes, to rounding of the objective at zero."""
        objective = self.point.objective(C)
        rounding = np.finfo(float).eps * self.origin.objective(C)
        return bool(objective - self.point.dual(C)[1] <= gap_tol * objective + rounding)

    is_proven = at_once(_gap_is_below)

    def _choose(self):
        """The method, and what preconditions."""
        rows, costs = self.problem.rows, self.intervals.costs
        if self.method == "auto":
            self.method = cheapest(rows, np.count_nonzero(self.point.active), self.max_memory)
        elif self.method != "cg":
            require_room(rows.shape[1], self.max_memory)
        kind = PRECONDITIONERS[self.method]
        near = kind and kind(rows, costs)
        if self.asked == "auto" and self.method == "direct":
            n_active = max(1, np.count_nonzero(self.point.active))
            value = max(1.0, VALUE * rows.value_cost * n_active * rows.shape[1])
            affordable = int(operations_of_factors(n_active, rows.shape[1]) / value)
            if affordable > DEAR and rows.shape[0] <= FEW * rows.shape[1]:
                near = Unpreconditioned(rows, costs, affordable)
        self.preconditioner = near
        if near is not None and near.note not in (None, *self.notes):
            self.notes.append(near.note)

    @at_once
    def direction(self, C, residual):
        """Step 3; another preconditioner where this one is no help."""
        if self.method == "auto" or (self.preconditioner is None and self.method != "cg"):
            self._choose()
        eta_0, eta_1 = self.eta or (ETA_GROUPED if self.method == "grouped" else ETA)
        mu, gradient, work = min(eta_0, eta_1 * residual), self.point.gradient(C), 0
        while True:
            near = self.preconditioner
            work += 0 if near is None else near.update(self.point.active)
            finer = None if near is None else near.finer()
            try:
                direction, products = newton_direction(self.point, gradient, C, mu, near)
                if near is not None:
                    near.products = products
                if finer is None or products < near.most_products:
                    return direction, {"work": work, "products": products}
            except la.LinAlgError:  # rounding has cost it its definiteness
                pass
            self.preconditioner = finer

    @at_once
    def moved(self, direction, step, unit=None):
        x = self.point.x + step * direction
        if unit is None or step > FAR:
            return self.problem.at(x)
        changes = unit.scores - self.point.scores
        return self.problem.at_scores(x, self.point.scores + step * changes)

    def suffices(self, unit, direction, descent, C):
        return abs(unit.slope_along(direction, C)) <= FLAT * abs(descent)

    def along(self, direction, unit):
        weighted = self.problem.ridge * direction
        changes = unit.scores - self.point.scores
        return changes, float(weighted @ self.point.x), float(weighted @ direction)

    def _stopped(self, C, gap_tol):
        """Directions from means of groups may gain nothing long before the optimum: those of G
        itself are tried then. Where they were, rounding is what leaves no decrease."""
        is_good = self._gap_is_below(C, gap_tol)
        near = self.preconditioner
        finer = None if is_good or near is None or near.is_exact else near.finer()
        if finer is not None:
            self.preconditioner = finer
            return self.point
        self.notes.append("stopped where rounding leaves no decrease")
        return is_good

    stuck = at_once(_stopped)
