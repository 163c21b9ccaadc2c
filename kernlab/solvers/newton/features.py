"""Newton's method on features (LASN's Algorithm 1).

With the algorithm's step numbers:

  2. stop when the gradient is small relative to the gradient at zero (and the duality gap bears
     it out: at large C a small gradient alone proves little);
  3. find d with |V d + gradient| <= mu |gradient|, mu = min(eta_0, eta_1 |gradient| / |gradient at
     zero|), by conjugate gradients: plain ("cg", the paper's), or preconditioned by the factor of V
     itself ("direct") or of a matrix near it ("grouped"; see `preconditioners`). Lengths are then
     those of the preconditioner's inner product;
  4. move by the unit step or the best (`core`).

Two starts save steps. Where there are many more rows than features, a random part of the rows is
solved first. A large C is approached through smaller ones.
"""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
import scipy.linalg as la

from kernlab.features import Features, as_features, warn_of_slow_passes
from kernlab.runtime import on_single_blas_thread
from kernlab.solvers.certificates import INTERCEPTS, balanced
from kernlab.solvers.losses import row_costs
from kernlab.solvers.newton.core import Intervals, Iteration, at_once, intervals_for, together
from kernlab.solvers.newton.preconditioners import PRECONDITIONERS, cheapest, require_room
from kernlab.solvers.problems import Call, check_limits
from kernlab.solvers.result import SolverResult, warn_unless_converged

ETA = (0.1, 1.0)  # eta_0 and eta_1 of Algorithm 1
ETA_GROUPED = (0.3, np.inf)  # more steps of fewer products each
SAMPLE_SHARE = 8  # rows per row of the sample that is solved first
SAMPLE_STEPS = 15
ROUNDING_ALLOWED = 1e-2  # of scores, in units of the margin
EASY_C = 10.0  # for rows of length one: up to here the iteration may begin anywhere
GROWTH = 10.0  # of C on the way to a large one
FLAT = 0.1  # the unit step will do where the slope along it has fallen to this share
BY_GROUPS = "conjugate gradients preconditioned by means of groups of rows"
LOOSE = (1e-2, 1e-1)  # tolerances of solutions that are only a start


@on_single_blas_thread
def solve_newton(
    F,
    y,
    *,
    C,
    loss="squared_hinge",
    intercept="free",
    tol=None,
    gap_tol=1e-4,
    max_iter=None,
    method="auto",
    eta=None,
    epsilon=0.1,
    warm_up=True,
    sample_weight=None,
    random_state=None,
    start=None,
    callback=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(w . x_i + b, y_i) over w [and b].

    Parameters
    ----------
    F : array, CSR matrix or `Features` of shape (n, k).
    y : labels -1 and 1, or targets for loss="squared_epsilon_insensitive"; one column or several.
    C : a number, or an array, along which each solution is found from the one before.
    loss : "squared_hinge" or "squared_epsilon_insensitive".
    intercept : "free", "penalised" or "none".
    tol : float, default 1e-6
        Bound on the gradient relative to the gradient at zero, the KKT residual reported.
    gap_tol : float, default 1e-4
        Bound on the duality gap relative to the objective.
    max_iter : int, default 200
        Steps for one C.
    method : "direct", "grouped" (for features at landmarks), "cg", or "auto", the quickest by
        prediction; the result's message tells of "grouped".
    eta : (eta_0, eta_1) of step 3; None for (0.1, 1), and for (0.3, inf) with "grouped".
    epsilon : of the loss of targets.
    warm_up : bool, default True
        Whether to begin on a random part of the rows.
    sample_weight : array of n, default None
    random_state : of that part; None draws as 0 does.
    start : (w, b), or a result with as many features or fewer (the first), instead of a warm-up.
    callback : function of each row of the trace, as it is written.
    max_memory : for the k x k matrices of "direct" and "grouped", which "auto" leaves where they
        have no room, and for features that are formed in blocks; the values of F are the caller's.

    Returns
    -------
    SolverResult, or lists of them (see `kernlab.solvers.problems`). The trace has the gradient
    (`residual`), its observed order of convergence, the rows by which G changed (`work`) and the
    products with V. Dual variables of labels are not negative; those of targets are the a_i of
    `core`.
    """
    rows, call = as_features(F), Call(y, C, start)
    if rows.map_ is None:
        rows = rows.kept(max_memory)
    rows.squared_norms, rows.A  # noqa: B018  computed before the clock starts
    warn_of_slow_passes(rows, max_memory)
    tol, max_iter = check_limits(
        1e-6 if tol is None else tol, 200 if max_iter is None else max_iter
    )
    check_limits(gap_tol, 1, names=("gap_tol", ""))
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept={intercept!r} is not one of {', '.join(INTERCEPTS)}")
    if method not in ("auto", *PRECONDITIONERS):
        raise ValueError(f"method={method!r} is not one of auto, {', '.join(PRECONDITIONERS)}")
    if method == "grouped" and not rows.can_be_grouped:
        raise ValueError("method='grouped' takes features at landmarks only: take 'direct' or 'cg'")
    weights = row_costs(1.0, rows.shape[0], sample_weight)
    families = []
    for number, column in enumerate(call.columns):
        began = time.perf_counter()
        problem = Problem(rows, intervals_for(loss, column, weights, epsilon), intercept)
        iteration = _FeatureIteration(problem, method, eta, number, callback, max_memory)
        if call.starts[number] is not None:
            iteration.point = problem.at(_checked_start(call.starts[number], problem))
        elif warm_up:
            generator = np.random.default_rng(0 if random_state is None else random_state)
            iteration.begin_on_samples(min(call.costs[0], iteration.solved_for), generator)
        families.append([])
        for C_ in call.costs:
            result = iteration.solve(C_, tol, gap_tol, max_iter, began)
            if iteration.problem.rows.rounding(result.coefficients) > ROUNDING_ALLOWED:
                iteration = iteration.in_double()
                result = iteration.solve(C_, tol, gap_tol, max_iter, began)
            warn_unless_converged(
                result,
                figure=f"a relative duality gap of {result.relative_gap:.2e} and a gradient "
                "relative to its start of",
                reached=result.kkt_residual,
                tol=tol,
                advice="Raise max_iter, lower C, or scale the features.",
            )
            families[-1].append(result)
            began = time.perf_counter()
    return call.arranged(families)


def _checked_start(start, problem):
    n_features = len(problem.ridge) - 1
    is_result = isinstance(start, SolverResult)
    w, b = (start.coefficients, start.intercept) if is_result else start
    w = np.asarray(w, dtype=np.float64)
    if is_result and len(w) < n_features:
        w = np.pad(w, (0, n_features - len(w)))
    if w.shape != (n_features,) or not (np.all(np.isfinite(w)) and np.isfinite(b)):
        raise ValueError(f"start must be (w, b): {n_features} finite weights and an intercept")
    return np.append(w, 0.0 if problem.intercept == "none" else b)


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

    def slope_along(self, direction, C):
        return float(self.gradient(C) @ direction)

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
        return a, float(linear - 0.5 * quadratic - 0.25 * float((some / (C * costs)) @ some))


class _FeatureIteration(Iteration):
    """Newton's iteration over x = (w, b), with the Gram matrix of the active rows."""

    no_cost = MappingProxyType({"work": 0, "products": 0})

    def __init__(self, problem, method, eta, number=0, callback=None, max_memory=None):
        super().__init__(problem.intervals, number, callback)
        rows, costs = problem.rows, problem.intervals.costs
        self.problem, self.method, self.eta, self.preconditioner = problem, method, eta, None
        self.max_memory = max_memory
        self.origin = self.point = problem.at(np.zeros(rows.shape[1] + 1))
        if not (np.isfinite(self.origin.value) and np.all(np.isfinite(self.origin.slope))):
            raise ValueError("the features hold values that are not finite")
        lengths = float(costs @ rows.squared_norms)
        self.solved_for = EASY_C * float(costs.sum()) / lengths if lengths > 0 else np.inf

    def begin_on_samples(self, C, generator):
        """Move to the solution on a random part of the rows, itself begun on a part of these."""
        n, k = self.problem.rows.shape
        size = n // SAMPLE_SHARE
        if size < max(2 * k, 1000):
            return
        chosen = np.sort(generator.choice(n, size, replace=False))
        part = _FeatureIteration(
            self.problem.part(chosen), self.method, self.eta, max_memory=self.max_memory
        )
        part.begin_on_samples(C, generator)
        part.steps_left = SAMPLE_STEPS
        together([part.iterate(C, *LOOSE)])
        steps = SAMPLE_STEPS - part.steps_left
        self.notes += [note for note in part.notes if note not in self.notes]
        self.notes.append(f"began with {steps} steps on {len(chosen):,} rows")
        self.point = self.problem.at(part.point.x)

    def in_double(self):
        """The same iteration on rows of higher precision, from the same place."""
        problem = replace(self.problem, rows=self.problem.rows.in_double)
        other = _FeatureIteration(
            problem, self.method, self.eta, self.number, self.callback, self.max_memory
        )
        other.point, other.solved_for = problem.at(self.point.x), self.solved_for
        # Rows of another precision hardly change what preconditions.
        other.method, other.preconditioner = self.method, self.preconditioner
        other.notes = [*self.notes, "went on in double precision"]
        return other

    def solve(self, C, tol, gap_tol, max_iter, began):
        """The result for one C, from where the iteration stands."""
        self.trace, self.began, self.steps_left = [], began, max_iter
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
            dual_variables=np.abs(dual) if self.intervals.of_labels else dual,
            kkt_residual=self._relative_gradient(C),
            n_iter=max_iter - self.steps_left,
            converged=converged,
            solver="newton",
            seconds=time.perf_counter() - began,
            trace=tuple(self.trace),
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
        self.preconditioner = kind and kind(rows, costs)
        if self.method == "grouped" and BY_GROUPS not in self.notes:
            self.notes.append(BY_GROUPS)

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

    @at_once
    def stuck(self, C, gap_tol):
        self.notes.append("stopped where rounding leaves no decrease")
        return self._gap_is_below(C, gap_tol)


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
