"""The semismooth Newton method for linear support vector machines with a squared loss.

    minimise over w, b   f = 1/2 |w|^2 [+ 1/2 b^2] + C sum_i c_i dist(w . x_i + b, interval_i)^2

(`intervals` says how the squared hinge and the regressor's loss are distances). f has a continuous
gradient whose slope jumps where a row enters its interval; an element of its generalised Hessian is

    V = I + 2 C sum over i in I of c_i x_i x_i^T,     I = the rows outside their interval

so only active rows cost anything. LASN's Algorithm 1, with its step numbers:

  2. stop when the gradient is small relative to the gradient at zero (and the duality gap bears
     it out: at large C a small gradient alone proves little);
  3. find d with |V d + gradient| <= mu |gradient|, mu = min(eta_0, eta_1 |gradient| / |gradient at
     zero|), by conjugate gradients: plain ("cg", the paper's), or preconditioned by the factor of a
     matrix near V, so that a few products with V confirm d ("direct");
  4. move by the unit step where that is nearly the best step along d (without unit steps there
     would be no quadratic convergence), else by the best.

Two starts save steps. Where there are many more rows than features, a random part of the rows is
solved first. A large C is approached through smaller ones.
"""

import time

import numpy as np
import scipy.linalg as la

from kernlab.features import as_features
from kernlab.runtime import on_single_blas_thread
from kernlab.solvers.certificates import INTERCEPTS
from kernlab.solvers.losses import row_costs
from kernlab.solvers.newton.gram import ActiveGram
from kernlab.solvers.newton.intervals import intervals_for
from kernlab.solvers.newton.step import Problem, line_search, newton_direction
from kernlab.solvers.problems import Call
from kernlab.solvers.result import SolverResult, observed_order, warn_unless_converged

ETA = (0.1, 1.0)  # eta_0 and eta_1 of Algorithm 1
DIRECT_FEATURES = 6000  # above, factors of V cost more than conjugate gradients
SAMPLE_SHARE = 8  # rows per row of the sample that is solved first
SAMPLE_STEPS = 15
ROUNDING_ALLOWED = 1e-2  # of scores, in units of the margin
EASY_C = 10.0  # for rows of length one: up to here the iteration may begin anywhere
RUNG = 10.0
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
    eta=ETA,
    epsilon=0.1,
    warm_up=True,
    sample_weight=None,
    random_state=None,
    start=None,
    callback=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(w . x_i + b, y_i) over w [and b].

    F: features, an array, CSR or `Features`; y: labels -1 and 1, or targets for
    loss="squared_epsilon_insensitive", one column or several; C: a number or an array, along which
    each solution is found from the one before.

    `tol` (1e-6) bounds the gradient relative to the gradient at zero, which is also the KKT
    residual reported, `gap_tol` the duality gap relative to the objective; `max_iter` (200) counts
    the steps for one C. `method`: "direct", "cg" or "auto"; `eta`: (eta_0, eta_1) of "cg";
    `epsilon` of the regressor's loss; `warm_up`: whether to begin on a random part of the rows;
    `start` = (w, b), or a result with as many features or fewer (the first), replaces
    it. The trace has the gradient (`residual`) and its observed order of convergence.
    Dual variables of labels are not negative; those of targets have the sign of `intervals`.
    """
    rows, call = as_features(F), Call(y, C, start)
    rows.squared_norms, rows.A  # noqa: B018  computed before the clock starts
    tol, max_iter = 1e-6 if tol is None else tol, 200 if max_iter is None else max_iter
    _check(rows, call.columns[0], intercept, method)
    weights = row_costs(1.0, rows.shape[0], sample_weight)
    if method == "auto":
        method = "direct" if rows.shape[1] <= DIRECT_FEATURES else "cg"
    families = []
    for column, begin in zip(call.columns, call.starts, strict=True):
        began = time.perf_counter()
        problem = Problem(rows, intervals_for(loss, column, weights, epsilon), intercept)
        course = _Course(problem, method, eta, callback)
        if begin is not None:
            course.point = problem.at(_checked_start(begin, rows.shape[1], intercept))
        elif warm_up:
            first = min(float(call.costs[0]), course.solved_for)
            generator = np.random.default_rng(0 if random_state is None else random_state)
            course.begin_on_samples(first, generator)
        families.append(_path(course, call.costs, tol, gap_tol, max_iter, began))
    return call.arranged(families)


def _path(course, costs, tol, gap_tol, max_iter, began):
    """One result for each value of C, each solution found from the one before."""
    results = []
    for C in costs:
        result = course.solve(float(C), tol, gap_tol, max_iter, began)
        if course.problem.rows.rounding(result.coefficients) > ROUNDING_ALLOWED:
            course = course.in_double()
            result = course.solve(float(C), tol, gap_tol, max_iter, began)
        warn_unless_converged(
            result,
            figure=f"a relative duality gap of {result.relative_gap:.2e} and a gradient relative "
            "to its start of",
            reached=result.kkt_residual,
            tol=tol,
            advice="Raise max_iter, lower C, or scale the features.",
        )
        results.append(result)
        began = time.perf_counter()
    return results


def _check(rows, y, intercept, method):
    if len(y) != rows.shape[0]:
        raise ValueError(f"{rows.shape[0]} rows of features, but {len(y)} labels")
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept={intercept!r} is not one of {', '.join(INTERCEPTS)}")
    if method not in ("auto", "direct", "cg"):
        raise ValueError(f"method={method!r} is not one of auto, direct, cg")


def _checked_start(start, n_features, intercept):
    is_result = isinstance(start, SolverResult)
    w, b = (start.coefficients, start.intercept) if is_result else start
    w = np.asarray(w, dtype=np.float64)
    if is_result and len(w) < n_features:
        w = np.pad(w, (0, n_features - len(w)))
    if w.shape != (n_features,) or not (np.all(np.isfinite(w)) and np.isfinite(b)):
        raise ValueError(f"start must be (w, b): {n_features} finite weights and an intercept")
    return np.append(w, 0.0 if intercept == "none" else b)


class _Course:
    """Newton's iteration, which carries its point and its Hessian from one C to the next."""

    def __init__(self, problem, method, eta, callback=None):
        self.problem, self.method, self.eta, self.callback = problem, method, eta, callback
        direct = method == "direct"
        self.gram = ActiveGram(problem.rows, problem.intervals.costs) if direct else None
        self.origin = self.point = problem.origin
        if not (np.isfinite(self.origin.value) and np.all(np.isfinite(self.origin.slope))):
            raise ValueError("the features hold values that are not finite")
        costs = problem.intervals.costs
        lengths = float(costs @ problem.rows.squared_norms)
        self.solved_for = EASY_C * float(costs.sum()) / lengths if lengths > 0 else np.inf
        self.trace, self.notes, self.steps_left, self.began = [], [], 0, time.perf_counter()

    def begin_on_samples(self, C, generator):
        """Move to the solution on a random part of the rows, itself begun on a part of these."""
        n, k = self.problem.rows.shape
        size = n // SAMPLE_SHARE
        if size < max(2 * k, 1000):
            return
        chosen = np.sort(generator.choice(n, size, replace=False))
        part = _Course(self.problem.part(chosen), self.method, self.eta)
        part.begin_on_samples(C, generator)
        part.steps_left = SAMPLE_STEPS
        part._iterate(C, *LOOSE)
        steps = SAMPLE_STEPS - part.steps_left
        self.notes = [*part.notes, f"began with {steps} steps on {len(chosen):,} rows"]
        self.point = self.problem.at(part.point.x)

    def in_double(self):
        """The same problem on rows of higher precision, from the same place."""
        rows = self.problem.rows.in_double
        problem = Problem(rows, self.problem.intervals, self.problem.intercept)
        course = _Course(problem, self.method, self.eta, self.callback)
        course.point, course.solved_for = problem.at(self.point.x), self.solved_for
        course.gram = self.gram  # rows of another precision hardly change it
        course.notes = [*self.notes, "went on in double precision"]
        return course

    def solve(self, C, tol, gap_tol, max_iter, began):
        """The result for one C, from where the iteration stands."""
        self.trace, self.began, self.steps_left = [], began, max_iter
        for rung in self._rungs(C):
            self._iterate(rung, *LOOSE)
        converged = self._iterate(C, tol, gap_tol)
        point, (dual, bound) = self.point, self.point.dual(C)
        return SolverResult(
            coefficients=point.x[:-1].copy(),
            intercept=float(point.x[-1]),
            objective=point.objective(C),
            dual_objective=bound,
            dual_variables=np.abs(dual) if self.problem.intervals.of_labels else dual,
            kkt_residual=self._residual(C),
            n_iter=max_iter - self.steps_left,
            converged=converged,
            solver="newton",
            seconds=time.perf_counter() - began,
            trace=tuple(self.trace),
            message="; ".join(self.notes),
        )

    def _rungs(self, C):
        """Values of C on the way from where the iteration stands, each ten times the one before.

        Far above what has been solved, many rows enter and leave in turns; nearby, few do.
        """
        rungs = []
        while RUNG * self.solved_for < C:
            self.solved_for *= RUNG
            rungs.append(self.solved_for)
        self.solved_for = C
        return rungs

    def _iterate(self, C, tol, gap_tol):
        """Newton steps for one C; whether they reached the tolerances."""
        step, work, products = 0.0, 0, 0
        while True:
            residual = self._residual(C)
            self._record(C, residual, step, work, products)
            if residual <= tol and self._gap_is_below(gap_tol, C):
                return True
            if self.steps_left == 0:
                return False
            gradient = self.point.gradient(C)
            direction, work, products = self._direction(gradient, C, residual)
            moved, step = line_search(self.point, direction, gradient, C)
            if moved is None:
                self.notes.append("stopped where rounding leaves no decrease")
                return self._gap_is_below(gap_tol, C)
            self.point = moved
            self.steps_left -= 1

    def _direction(self, gradient, C, residual):
        """Where to go, the rows by which the factored matrix changed, and the products it took."""
        mu = min(self.eta[0], self.eta[1] * residual)
        if self.gram is None:
            direction, products = newton_direction(self.point, gradient, C, mu)
            return direction, 0, products
        changed = 0
        while True:
            changed += self.gram.update(self.point.active)
            finer = self.gram.finer()
            try:
                direction, products = newton_direction(self.point, gradient, C, mu, self.gram)
                if products < self.gram.patience or finer is None:
                    return direction, changed, products
            except la.LinAlgError:  # rounding has cost it its definiteness
                pass
            self.gram = finer

    def _residual(self, C):
        """The gradient relative to the gradient at zero."""
        at_zero = max(float(la.norm(self.origin.gradient(C))), np.finfo(float).tiny)
        return float(la.norm(self.point.gradient(C))) / at_zero

    def _gap_is_below(self, gap_tol, C):
        """Relative to the objective; where that vanishes, to rounding of the objective at zero."""
        objective = self.point.objective(C)
        rounding = np.finfo(float).eps * self.origin.objective(C)
        return objective - self.point.dual(C)[1] <= gap_tol * objective + rounding

    def _record(self, C, residual, step, work, products):
        course = [row["residual"] for row in self.trace if row["C"] == C]
        row = {
            "iteration": len(self.trace),
            "objective": self.point.objective(C),
            "residual": residual,
            "seconds": time.perf_counter() - self.began,
            "C": C,
            "active": int(np.count_nonzero(self.point.active)),
            "step": step,
            "work": work,
            "products": products,
            "order": observed_order([*course, residual]),
        }
        self.trace.append(row)
        if self.callback is not None:
            self.callback(row)
