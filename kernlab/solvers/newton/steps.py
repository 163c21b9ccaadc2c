"""Newton's steps on features: problem, points, the iteration, and what preconditions it.

Conjugate gradients with V = I + 2 C G, G the Gram matrix of the active rows [F_i; 1] with their
costs, are preconditioned by factors of a matrix near V, which need not be exact:

`ActiveGram` is G, changed from one Newton step to the next by the few rows that come and go. Its
factor gives the step, which one product confirms. Where there is much to multiply it is taken in
single precision, twice as fast: rounding shows as one or two products more, and where it costs
many, G is taken again in double. G costs n k^2 operations for n rows and k features.

`GroupedGram` is what G were if all active rows of a group stood at their mean: k groups, those rows
whose largest kernel value is at the same landmark, cost a pass over the rows and k^3 operations.
What it leaves out, the spread within groups, is positive semidefinite: no eigenvalue of V relative
to it is below 1, few are large, and conjugate gradients take five to ten products.

Where factors cost hundreds of products, as they do of about as many features as rows, so many are
taken without a factor first.
"""

import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np
import scipy.linalg as la

from kernlab.features import Features
from kernlab.lapack import cholesky_factor
from kernlab.runtime import blas_threads_for, memory_limit, require_memory, thread_count
from kernlab.solvers.certificates import balanced
from kernlab.solvers.newton.core import Intervals, Iteration, at_once, together
from kernlab.solvers.problems import SolverResult, Trace

ETA = (0.1, 1.0)  # eta_0 and eta_1 of Algorithm 1
ETA_GROUPED = (0.3, np.inf)  # more steps of fewer products each
SAMPLE_SHARE = 8  # rows per row of the sample that is solved first
FEATURE_SHARE, FEWEST_FEATURES = 4, 50  # features per feature of those solved first
PLENTY = 8  # rows per feature from which on a random part of the rows is the better start
FIRST_STEPS = 15
EASY_C = 10.0  # for rows of length one: up to here the iteration may begin anywhere
GROWTH = 10.0  # of C on the way to a large one
FLAT = 0.1  # the unit step will do where the slope along it has fallen to this share
BY_GROUPS = "conjugate gradients preconditioned by means of groups of rows"
WITHOUT_FACTORS = "conjugate gradients without a factor, as long as they cost less"
ROUNDING_ALLOWED = 1e-2  # of scores, in units of the margin
CERTAIN = 1e-7  # of the objective: what values in single precision may move it by
LOOSE = (1e-2, 1e-1)  # tolerances of solutions that are only a start
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MANY_VALUES = 2**21
LARGEST = 1e30  # squared lengths of features that products in single precision can hold

# A pass over a value, with sums in double or in single precision, takes as long as so many
# operations of matrix products; and this is what the methods took on covtype, a9a, w8a and ijcnn1.
VALUE, SINGLE_VALUE = 66, 50
DIRECT = {"rows": 1.1, "factors": 5 * 2 / 3, "products": 9}
GROUPED = {"factors": 2 + 2 / 3, "times": 2, "products": 50}
DEAR = 100  # products that factors cost, from which on it is tried without, for few rows:
FEW = 4  # per feature. Of many rows products cost as much, and a large C needs more of them
OVERDUE = 1.5  # means are taken again when staleness has cost so many times as much
MOST_FEATURES = {"direct": 6000, "grouped": 16_000}  # whose factors are worth their time


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
            value = VALUE * rows.value_cost * n_active * rows.shape[1]
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
    def moved(self, direction, step):
        return self.problem.at(self.point.x + step * direction)

    def suffices(self, unit, direction, descent, C):
        return abs(unit.slope_along(direction, C)) <= FLAT * abs(descent)

    def along(self, direction, unit):
        weighted = self.problem.ridge * direction
        changes = unit.scores - self.point.scores
        return changes, float(weighted @ self.point.x), float(weighted @ direction)

    def _stopped(self, C, gap_tol):
        self.notes.append("stopped where rounding leaves no decrease")
        return self._gap_is_below(C, gap_tol)

    stuck = at_once(_stopped)


def newton_direction(point, gradient, C, mu, preconditioner=None):
    """d with |V d + gradient| <= mu |gradient|, by conjugate gradients; and the products it took.

    Lengths are those of the preconditioner's inner product; None goes without.
    """
    solve, most, dtype = np.copy, 10 * len(gradient), np.float64
    if preconditioner is not None:
        solve, most = preconditioner.solver(point.problem, C), preconditioner.most_products
        dtype = preconditioner.precision_of_products
    left, chosen = -gradient, np.flatnonzero(point.active)
    towards = solve(left)
    d, products = np.zeros_like(gradient), 0
    squared = first = float(left @ towards)
    while products < most and squared > 0.0:
        image = point.problem.hessian_product(towards, C, chosen, dtype)
        products += 1
        curvature = float(towards @ image)
        if curvature <= 0.0:
            break
        length = squared / curvature
        d += length * towards
        left -= length * image
        steepest = solve(left)
        squared, before = float(left @ steepest), squared
        if squared <= mu * mu * first:
            break
        towards = steepest + (squared / before) * towards
    return d, products


# ------------------------------------------------------------------------------ preconditioners
def bytes_of_factors(k):
    """What the Gram matrix of k features, the matrix of a step and its factor take, and the sums
    of further threads."""
    return 8 * (k + 1) ** 2 * (2 + thread_count())


def require_room(k, max_memory):
    """Refuse Gram matrices that exceed max_memory."""
    require_memory(
        bytes_of_factors(k),
        max_memory,
        what=f"Newton's method with a factor for {k:,} features",
        arithmetic=f"{2 + thread_count()} x {k + 1:,}^2 x 8 bytes",
        way_out="Allow more with max_memory, take fewer features, or method='cg' without a factor.",
    )


def operations_of_factors(n_active, k):
    """What Gram matrices of so many rows of k features, and their factors, cost a solver."""
    return 2 * DIRECT["rows"] * n_active * k**2 + DIRECT["factors"] * k**3


def cheapest(rows, n_active, max_memory=None):
    """The method likely to take the least time, where so many of the rows are active: "direct",
    "grouped" or, for features of which both need too large factors, "cg"."""
    k, value = rows.shape[1], VALUE * rows.value_cost
    products = DIRECT["products"] * value * n_active * k
    costs = {"direct": operations_of_factors(n_active, k) + products}
    if rows.map_ is not None:
        costs["grouped"] = (
            GROUPED["times"] * GROUPED["factors"] * k**3
            + GROUPED["products"] * SINGLE_VALUE * rows.value_cost * n_active * k
        )
    has_room = bytes_of_factors(k) <= memory_limit(max_memory)
    possible = [name for name in costs if has_room and k <= MOST_FEATURES[name]]
    return min(possible, key=costs.get, default="cg")


class Preconditioner:
    """A matrix for G, in double precision, and solves with I + 2 C G."""

    most_products = 30  # after which a factor is no help
    precision_of_products = dtype = DOUBLE
    note = None  # what a result says of it
    products = 0  # that it took last

    def __init__(self, rows, costs):
        self.rows, self.costs = rows, costs
        self.active = np.zeros(rows.shape[0], dtype=bool)
        self.matrix = np.zeros((rows.shape[1] + 1, rows.shape[1] + 1))
        self._factor = None  # the last C, and the factor of I + 2 C G

    def _moves(self, active):
        came, went = np.flatnonzero(active & ~self.active), np.flatnonzero(self.active & ~active)
        self.active = active
        return came, went

    def finer(self):
        """What to take instead where this is no help; None if there is nothing better."""

    def solver(self, problem, C):
        """Solves with I + 2 C G; an intercept that is left out of V stays where it is."""
        size = len(problem.ridge) - (problem.intercept == "none")
        if self._factor is None or self._factor[0] != C:
            hessian = 2.0 * C * self.matrix[:size, :size]
            hessian[np.diag_indices(size)] += problem.ridge[:size]
            if hessian[-1, -1] == 0.0:  # a free intercept that no row pulls at
                hessian[-1, -1] = 1.0
            with blas_threads_for(size):
                self._factor = C, self._factored(hessian)
        factor = self._factor[1]

        def solve(right):
            solution = np.zeros_like(right)
            some = right[:size].astype(factor[0].dtype, copy=False)
            solution[:size] = la.cho_solve(factor, some, check_finite=False)
            return solution

        return solve

    def _factored(self, hessian):
        try:
            return cholesky_factor(hessian.T)  # ordered by columns, as it is copied
        except la.LinAlgError:
            if self.dtype == SINGLE:
                raise
        hessian[np.diag_indices(len(hessian))] += np.finfo(float).eps * np.trace(hessian)
        return cholesky_factor(hessian.T)


class Unpreconditioned(Preconditioner):
    """None, up to as many products in all as factors would cost."""

    note = WITHOUT_FACTORS

    def __init__(self, rows, costs, most_products):
        super().__init__(rows, costs)
        self.most_products = most_products

    def update(self, active):
        """Count what has been spent."""
        self.most_products = max(1, self.most_products - self.products)
        return 0

    def solver(self, problem, C):
        return np.copy

    def finer(self):
        return ActiveGram(self.rows, self.costs)


class ActiveGram(Preconditioner):
    """G itself."""

    def __init__(self, rows, costs, dtype=None):
        super().__init__(rows, costs)
        much = rows.precision == SINGLE or rows.shape[0] * rows.shape[1] >= MANY_VALUES
        fits = rows.squared_norms.max(initial=0.0) < LARGEST
        self.dtype = dtype or (SINGLE if much and fits else DOUBLE)

    def update(self, active):
        """Make G that of the rows `active`; returns the number of rows that were multiplied."""
        came, went = self._moves(active)
        if len(came) + len(went) > np.count_nonzero(active):
            came, went = np.flatnonzero(active), np.empty(0, dtype=int)
            self.matrix[...] = 0.0
        for rows, sign in ((came, 1.0), (went, -1.0)):
            if len(rows):
                self.rows.add_gram(self.matrix, rows, self.costs, self.dtype, sign)
                self._factor = None
        return len(came) + len(went)

    def finer(self):
        return ActiveGram(self.rows, self.costs, DOUBLE) if self.dtype == SINGLE else None


class GroupedGram(Preconditioner):
    """The Gram matrix of the means of groups of active rows, each with the costs of its rows.

    Taking it again costs k^3 operations, going on with an old one some more products: it is taken
    again when the products lost since have cost more.
    """

    most_products, note = 40, BY_GROUPS
    precision_of_products = SINGLE

    def __init__(self, rows, costs):
        super().__init__(rows, costs)
        n_groups = n_values = rows.map_.n_landmarks
        self.sums, self.totals = np.zeros((n_groups, n_values), SINGLE), np.zeros(n_groups)
        self.matrix = self.matrix.astype(SINGLE)
        self.fewest, self.lost = None, 0  # products for a step, and what staleness has added

    def _factored(self, hessian):
        try:
            return cholesky_factor(hessian.astype(SINGLE).T, overwrite=True)
        except la.LinAlgError:
            return super()._factored(hessian.astype(DOUBLE))

    def finer(self):
        """G itself, where the means of groups stand badly for their rows."""
        is_possible = self.rows.shape[1] <= MOST_FEATURES["direct"]
        return ActiveGram(self.rows, self.costs) if is_possible else None

    def update(self, active):
        """Take the means again where that pays; returns the number that were multiplied."""
        moved = self.fewest is None or not np.array_equal(active, self.active)
        if self.fewest is not None:
            self.fewest = min(self.fewest, self.products)
            self.lost += self.products - self.fewest
        k = self.rows.shape[1]
        dear = OVERDUE * GROUPED["factors"] * k**3 > self.lost * (
            SINGLE_VALUE * k * (self.rows.value_cost * np.count_nonzero(active) + 2 * k)
        )
        if self.fewest is not None and (dear or not moved):
            return 0
        came, went = self._moves(active)
        for rows, sign in ((came, 1.0), (went, -1.0)):
            self.rows.add_group_sums(self.sums, self.totals, rows, sign * self.costs)
        self.fewest, self.lost, self._factor = self.most_products, 0, None
        live = self.totals > 1e-9 * self.totals.max(initial=0.0)
        roots = np.sqrt(self.totals[live])
        means = self.rows.map_.apply(self.sums[live] / roots[:, None].astype(SINGLE))
        with blas_threads_for(k):
            self.matrix[:k, :k] = means.T @ means
        self.matrix[k, :k] = self.matrix[:k, k] = means.T @ roots.astype(SINGLE)
        self.matrix[k, k] = self.totals[live].sum()
        return len(roots)


PRECONDITIONERS = {"direct": ActiveGram, "grouped": GroupedGram, "cg": None}
