"""Newton's method with conjugate gradients on a kernel matrix, all classes at once, no factor.

    minimise over b, and w in the kernel's space
        f = 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i max(0, 1 - y_i s_i)^2,     s_i = <w, phi(x_i)> + b

w is a combination sum_i beta_i phi(x_i), so that s = K beta + b and products with K are all that
is needed. At the optimum beta can be read off the scores,

    beta_i = 2 C_i y_i max(0, 1 - y_i s_i),                                                     (1)

and the generalised Hessian over the active rows I (those with y_i s_i < 1), in coefficients, is

    H = I + D K,     D = diag(2 C_i on I, 0 elsewhere).

It is self-adjoint in the inner product u . K v of the kernel's space, in which conjugate gradients
therefore run: each step decreases the quadratic model, from any start, for one product with K. The
intercept is eliminated from the model, which takes a weighted mean out of what D is applied to:
left in, a penalised one would add an eigenvalue as large as there are rows.

What conjugate gradients leave is r = (right-hand side of (1)) - beta, and K r is what the scores
will move by when beta is read off them by (1). So its largest entry is the violation of the
optimality conditions that remains, in units of the margin, whatever the row: the tolerance bounds
that. After (1) the dual variables y_i beta_i are feasible, and exactly zero off the active rows.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from kernlab.solvers.certificates import INTERCEPTS, certify_dual, feasible_dual
from kernlab.solvers.losses import row_costs, signs
from kernlab.solvers.newton.coefficients import (
    Model,
    Patience,
    Point,
    Problem,
    conjugate_gradients,
    largest,
    line_search,
    settle,
)
from kernlab.solvers.problems import Call
from kernlab.solvers.result import SolverResult, warn_unless_converged

FORCING = 0.03  # the share of its violation that a Newton step may leave at the most
IMPRECISE = "No better solution is possible in this precision."
INDEFINITE = (
    "The operator has negative eigenvalues, so the problem is not convex: raise the shift on its "
    "diagonal, or take a positive definite kernel."
)


def solve_newton_cg(
    operator,
    y,
    *,
    C,
    loss="squared_hinge",
    intercept="free",
    tol=None,
    max_iter=None,
    max_products=5000,
    sample_weight=None,
    start=None,
    callback=None,
    random_state=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i max(0, 1 - y_i s_i)^2 with products K v alone.

    operator: K, positive semidefinite, as a LinearOperator or matrix; y: labels -1 and 1, one
    column or several, which then share every product; C: a number or an array, along which each
    solution is found from the one before. `tol` (1e-5) bounds the KKT residual, in units of the
    margin, over all rows, `max_iter` (100) the steps for one C and `max_products` the products.
    `start` = (beta, b), or a result.

    The coefficients returned are beta, the dual variables times the labels.
    """
    began = time.perf_counter()
    if loss != "squared_hinge":
        raise ValueError(f"loss={loss!r}: newton-cg needs a smooth loss, 'squared_hinge'")
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept={intercept!r} is not one of {', '.join(INTERCEPTS)}")
    operator = aslinearoperator(operator)
    tol, max_iter = 1e-5 if tol is None else tol, 100 if max_iter is None else max_iter
    call = Call(y, C, start)
    n_rows, path = operator.shape[0], [float(value) for value in call.costs]
    labels = [signs(column, n_rows) for column in call.columns]
    weights = row_costs(1.0, n_rows, sample_weight)
    settings = _Settings(tol, max_iter, max_products, callback, began)
    starts = [_checked_start(begin, n_rows) for begin in call.starts]
    machines = [
        _machine(Problem(number, column, weights, intercept), path, begin, settings)
        for number, (column, begin) in enumerate(zip(labels, starts, strict=True))
    ]
    solved = _multiply_for_all(operator, machines)
    share = (time.perf_counter() - began) / (len(solved) * len(path))
    solved = [[replace(result, seconds=share) for result in results] for results in solved]
    _warn([result for results in solved for result in results], tol)
    return call.arranged(solved)


def _checked_start(start, n_rows):
    if start is None:
        return None
    is_result = isinstance(start, SolverResult)
    beta, b = (start.coefficients, start.intercept) if is_result else start
    beta = np.array(beta, dtype=np.float64)
    if beta.shape != (n_rows,) or not (np.all(np.isfinite(beta)) and np.isfinite(b)):
        raise ValueError(f"start must be (beta, b): {n_rows} finite numbers and an intercept")
    return beta, float(b)


def _multiply_for_all(operator, machines):
    """Run all machines, each a generator that yields v and is sent K v, with one product for all.

    Every machine is written as if it were alone. A product with several columns costs little more
    than one with a single column, since K is read once.
    """
    results = [None] * len(machines)
    waiting = {number: next(machine) for number, machine in enumerate(machines)}
    while waiting:
        images = np.asarray(operator.matmat(np.stack(list(waiting.values()), axis=1)), np.float64)
        for image, number in zip(images.T, list(waiting), strict=True):
            try:
                waiting[number] = machines[number].send(np.ascontiguousarray(image))
            except StopIteration as finished:
                results[number] = finished.value
                del waiting[number]
    return results


def _warn(results, tol):
    worst = max(results, key=lambda result: (not result.converged, result.kkt_residual))
    warn_unless_converged(
        worst,
        figure="a KKT residual of",
        reached=worst.kkt_residual,
        tol=tol,
        advice=worst.message or "Raise max_iter or max_products, or lower C.",
    )


# ------------------------------------------------------------------- one problem of them
@dataclass(frozen=True)
class _Settings:
    tol: float
    max_iter: int
    max_products: int
    callback: object
    began: float


def _machine(problem, path, start, settings):
    """The results for one column of labels, for each C of the path (a generator)."""
    zeros = np.zeros(len(problem.labels))
    point = Point(problem, zeros, zeros.copy(), 0.0)
    if start is not None:
        beta, b = start
        scores = yield from problem.multiply(beta)
        point = Point(problem, beta, scores, 0.0 if problem.intercept == "none" else b)
    results = []
    for C in path:
        point, result = yield from _minimise(problem, point, C, settings)
        results.append(result)
    return results


def _minimise(problem, point, C, settings):
    """Newton's iteration from a point: the point reached and its result (a generator)."""
    trace, step, message, patience = [], 0.0, "", Patience()
    allowed = problem.products + settings.max_products
    for iteration in range(settings.max_iter + 1):
        model = Model(point, C)
        b = model.intercept(point.scores, point.b)
        residual = model.scaled(model.labels - point.scores) - point.beta
        image = yield from problem.multiply(residual)
        violation = largest(image) + abs(b - point.b)
        trace.append(_row(problem, point, C, iteration, violation, step, settings))
        if violation <= settings.tol:
            # Scores were carried along; those of the settled coefficients are computed afresh.
            point = yield from settle(problem, Point(problem, point.beta, point.scores, b), C)
            if _certify(point, C, point.scores).kkt_residual <= settings.tol:
                return point, (yield from _result(point, C, trace, "", settings))
        if iteration == settings.max_iter or problem.products >= allowed:
            break
        moved = None
        if not patience.ends(trace[-1]) and violation > settings.tol:
            goal = max(FORCING * min(1.0, violation) * violation, 0.3 * settings.tol)
            change = yield from conjugate_gradients(problem, model, residual, image, goal, allowed)
            if change is None:
                message = INDEFINITE
                break
            db = model.intercept(point.scores + change[1], point.b) - point.b
            moved, step = line_search(point, (*change, db), C)
        if moved is None and patience.is_last:
            message = IMPRECISE
            break
        if moved is None:
            # What K does not see of the coefficients is only rounding in its inner product, and
            # may hide the rest: coefficients that are read off the scores have none of it.
            moved, step = (yield from settle(problem, point, C)), 0.0
            patience = Patience(is_last=True)
        point = moved
    point = yield from _feasible(problem, point, C)
    return point, (yield from _result(point, C, trace, message, settings))


def _row(problem, point, C, iteration, violation, step, settings):
    """A row of the trace, which the callback sees as well."""
    row = {
        "iteration": iteration,
        "objective": point.objective(C),
        "residual": violation,
        "seconds": time.perf_counter() - settings.began,
        "C": C,
        "problem": problem.number,
        "active": int(np.count_nonzero(point.slack * problem.weights)),
        "step": step,
        "products": problem.products,
    }
    if settings.callback is not None:
        settings.callback(row)
    return row


def _feasible(problem, point, C):
    """The better of two feasible points near one where the iteration had to end (a generator)."""
    counts = (point.beta * problem.labels > 0.0) & (problem.weights > 0.0)
    kept = np.where(counts, point.beta, 0.0)
    clipped = Point(problem, kept, (yield from problem.multiply(kept)), point.b)
    settled = yield from settle(problem, point, C)
    is_better = settled.objective(C) <= clipped.objective(C) * (1.0 + 1e-9)
    return settled if is_better else clipped


def _certify(point, C, scores):
    """What the point's dual variables are worth, balanced where the intercept is free, if `scores`
    are theirs. At the point's own scores the KKT residual is that of the point."""
    problem = point.problem
    return certify_dual(
        lambda feasible: scores,
        problem.labels,
        point.beta * problem.labels,
        C=C,
        loss="squared_hinge",
        intercept=problem.intercept,
        b=None if problem.intercept == "penalised" else point.b,
        sample_weight=problem.weights,
    )


def _result(point, C, trace, message, settings):
    """The result at a point whose coefficients are inside their box (a generator)."""
    problem = point.problem
    dual = point.beta * problem.labels
    certificate = _certify(point, C, point.scores)
    primal, bound = certificate.primal, certificate.dual
    if problem.intercept == "free":
        # Only balanced dual variables bound the optimum, and K times these is not the scores.
        balanced, _ = feasible_dual(dual, problem.labels, np.inf, "free")
        scores = yield from problem.multiply(balanced * problem.labels)
        primal, bound = point.objective(C), _certify(point, C, scores).dual
    return SolverResult(
        coefficients=point.beta,
        intercept=certificate.intercept,
        objective=primal,
        dual_objective=bound,
        kkt_residual=certificate.kkt_residual,
        dual_variables=dual,
        n_iter=trace[-1]["iteration"],
        converged=certificate.kkt_residual <= settings.tol,
        solver="newton-cg",
        trace=tuple(trace),
        message=message,
    )
