"""LIBLINEAR's two solvers for linear support vector machines, with a certificate added.

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + sum_i C_i loss(y_i (w . x_i + b))

"dcd" is its dual coordinate descent (hinge and squared hinge), "tron" its trust-region Newton
method (squared hinge). LIBLINEAR returns neither dual variables nor an error figure; its stopping
rule is relative to its start and says nothing about the distance to the optimum.
"""

import time
import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.features import as_features
from kernlab.runtime import for_each_block, memory_limit, single_blas_thread, thread_count
from kernlab.solvers.certificates import certify_primal
from kernlab.solvers.linear.dcd import floating_rows, solve_dcd
from kernlab.solvers.losses import get_loss, row_costs, signs
from kernlab.solvers.problems import Call, check_limits
from kernlab.solvers.result import SolverResult, warn_unless_converged

NODE_BYTES = 16  # of a value in LIBLINEAR's own copy of the features
ROWS_VISITED = 200_000  # by the passes that settle dual variables


def solve_liblinear(
    F,
    y,
    *,
    C,
    loss="squared_hinge",
    intercept="penalised",
    method="dcd",
    tol=None,
    max_iter=None,
    sample_weight=None,
    random_state=None,
    start=None,
    callback=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) with LIBLINEAR.

    A free intercept is a feature as large as to make its own penalty vanish, for "tron", which
    minds no feature of another size; its best value for the weights found takes its place.

    y: labels -1 and 1, one column or several. "tron" works on as many problems at a time as there
    are cores, and as `max_memory` has room for: LIBLINEAR copies the features for each. "dcd"
    takes one after the other, for it draws from one random generator.

    `tol` (1e-4) is LIBLINEAR's own stopping tolerance, and `converged` its own opinion; the duality
    gap reported is ours. It starts from zero always: `start` can be None or a result. The KKT
    residual is the projected gradient of the dual at the dual variables that the certificate uses:
    those near the weights, or exactly theirs where the features know them (`Features.dual_of`).
    Where rows of one sign alone have weight, which LIBLINEAR refuses, the intercept decides if it
    is free, and `solve_dcd` finds the weights else.
    """
    tol, max_iter = check_limits(
        1e-4 if tol is None else tol, 1000 if max_iter is None else max_iter
    )
    random_state = 0 if random_state is None else random_state
    call = Call(y, C, start)
    _check(method, loss, intercept, call.starts)
    dual_of = as_features(F).dual_of
    F = floating_rows(F, max_memory)
    columns = [signs(column, F.shape[0]) for column in call.columns]
    tasks = [(column, float(value)) for column in columns for value in call.costs]
    order = _order_of_columns(F) if method == "tron" else None
    model = LinearSVC(
        loss=loss,
        C=1.0,
        dual=method == "dcd",
        tol=tol,
        max_iter=max_iter,
        fit_intercept=intercept != "none",
        random_state=np.random.default_rng(random_state).integers(2**31 - 1),
    )

    def solve(task):
        costs = row_costs(task[1], F.shape[0], sample_weight)
        problem, own = _Problem(F, order, costs, loss, intercept, dual_of), clone(model)
        if intercept == "free":
            constant = _constant_feature(costs)
            # LIBLINEAR takes tol relative to a gradient that holds the constant.
            own.set_params(tol=tol / constant, intercept_scaling=constant)
        return problem.solve(own, task[0])

    # LIBLINEAR's many short products wait for the threads of BLAS longer than they compute.
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ours, below, says how far it is
        results = for_each_block(solve, tasks, at_a_time(F, max_memory) if method == "tron" else 1)
    for result in results:
        if callback is not None:
            callback(result.trace[0])
    worst = max(results, key=lambda result: (not result.converged, result.relative_gap))
    warn_unless_converged(
        worst,
        figure="a relative duality gap of",
        reached=worst.relative_gap,
        tol=tol,
        advice=f"That is LIBLINEAR's limit of {max_iter} iterations (tol is its own measure, not "
        "the gap): raise max_iter, lower C or scale the features.",
    )
    size = len(call.costs)
    return call.arranged([results[i : i + size] for i in range(0, len(results), size)])


def _constant_feature(costs):
    """The constant a whose weight b / a has a penalty b^2 / (2 a^2) far below the objective."""
    return 100.0 * max(1.0, 1.0 / np.sqrt(max(costs.sum(), np.finfo(float).tiny)))


def _order_of_columns(F):
    """The order of the rows by their last column; None where F is dense or in this order.

    Rows of a triangular factor share columns with their neighbours in it: trust-region Newton,
    which reads all rows again and again, finds them in the cache and takes half the time.
    """
    if not sp.issparse(F):
        return None
    F.sort_indices()
    ends, last = F.indptr[1:], np.full(F.shape[0], -1)
    filled = np.diff(F.indptr) > 0
    last[filled] = F.indices[ends[filled] - 1]
    return None if np.all(np.diff(last) >= 0) else np.argsort(last, kind="stable")


def at_a_time(F, max_memory=None):
    """How many problems may have a copy of the features of their own at a time: at least one."""
    held = 1.5 * F.nnz * F.dtype.itemsize if sp.issparse(F) else F.nbytes
    values = F.nnz if sp.issparse(F) else F.size
    each = NODE_BYTES * values + (
        held if sp.issparse(F) else 0
    )  # in another order, and LIBLINEAR's
    room = (memory_limit(max_memory) - held) // max(1, each)
    return int(np.clip(room, 1, thread_count()))


@dataclass(frozen=True)
class _Problem:
    """What several problems share: the features, the costs, and how they are certified."""

    F: object
    order: np.ndarray | None
    costs: np.ndarray
    loss: str
    intercept: str
    dual_of: object

    def solve(self, model, y):
        """LIBLINEAR's weights for one column of labels, with a certificate."""
        F, costs, began = self.F, self.costs, time.perf_counter()
        live = costs > 0
        if np.unique(y[live]).size < 2:
            return self._solve_one_sign(model, y)
        rows = np.flatnonzero(live) if self.order is None else self.order[live[self.order]]
        as_they_are = self.order is None and live.all()
        model.fit(*((F, y, costs) if as_they_are else (F[rows], y[rows], costs[rows])))
        seconds = time.perf_counter() - began
        w, b = model.coef_.ravel().astype(F.dtype), float(np.ravel(model.intercept_)[0])
        dual = self.dual_of(w) * y if self.dual_of else self._settled(y, w, b)
        b = None if self.intercept == "free" else b
        return self._result(model, y, w, b, dual, int(np.max(model.n_iter_)), seconds)

    def _solve_one_sign(self, model, y):
        """Labels that are all of one sign, or weigh nothing: LIBLINEAR refuses them."""
        F, costs, began = self.F, self.costs, time.perf_counter()
        if self.intercept == "free":  # it does all by itself
            w = np.zeros(F.shape[1], F.dtype)
            return self._result(model, y, w, None, None, 0, time.perf_counter() - began)
        result = solve_dcd(
            F,
            y,
            C=1.0,
            loss=self.loss,
            intercept=self.intercept,
            tol=model.tol,
            max_iter=model.max_iter,
            sample_weight=costs,
            random_state=model.random_state,
        )
        message = "rows of one sign alone have weight, which LIBLINEAR refuses: solved by dcd"
        return replace(result, solver=_name(model), message=message, trace=result.trace[-1:])

    def _result(self, model, y, w, b, dual, n_iter, seconds):
        certificate = certify_primal(
            *(self.F, y, w, b),
            C=1.0,
            loss=self.loss,
            intercept=self.intercept,
            dual=dual,
            sample_weight=self.costs,
        )
        return SolverResult(
            coefficients=w,
            intercept=certificate.intercept,
            objective=certificate.primal,
            dual_objective=certificate.dual,
            kkt_residual=certificate.kkt_residual,
            n_iter=n_iter,
            converged=n_iter < model.max_iter,
            solver=_name(model),
            seconds=seconds,
            trace=(
                {
                    "iteration": n_iter,
                    "objective": certificate.primal,
                    "residual": certificate.relative_gap,
                    "seconds": seconds,
                },
            ),
        )

    def _settled(self, y, w, b):
        if self.intercept == "free":
            return None  # coordinate descent keeps no balance: margins alone say what they are
        return _settle(self.F, y, w, b, self.costs, self.loss, self.intercept)


def _name(model):
    return f"liblinear-{'dcd' if model.dual else 'tron'}"


def dual_near(F, y, w, b, costs, loss, intercept):
    """Dual variables near weights that came without any, for `certify_primal`.

    They are read off the margins, which is exact at the squared hinge's optimum only: away from
    it, and for rows on the margin of the hinge, passes of coordinate descent settle them: many
    over few rows, few over many.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near is enough: a start, not a result
        return _settle(F, y, w, b, costs, loss, intercept)


def _settle(F, y, w, b, costs, loss, intercept):
    """`dual_near` for a caller who has silenced the warning, which threads cannot do for one."""
    guess = costs * get_loss(loss).slope(y * (np.asarray(F @ w, np.float64) + b))
    settled = solve_dcd(
        F,
        y,
        C=1.0,
        loss=loss,
        intercept=intercept,
        tol=1e-6,
        max_iter=max(50, ROWS_VISITED // len(y)),
        sample_weight=costs,
        start=guess,
    )
    return settled.dual_variables


def _check(method, loss, intercept, starts):
    if method not in ("dcd", "tron"):
        raise ValueError(f"method={method!r} is not one of dcd, tron")
    get_loss(loss)
    if method == "tron" and loss != "squared_hinge":
        raise ValueError("LIBLINEAR's tron needs a smooth loss: loss='squared_hinge'")
    offered = ("penalised", "none", "free")[: 3 if method == "tron" else 2]
    if intercept not in offered:
        raise ValueError(
            f"LIBLINEAR's {method} offers intercept={' or '.join(map(repr, offered))}, not "
            f"{intercept!r}; its tron and the newton solver offer a free one"
        )
    if not all(start is None or isinstance(start, SolverResult) for start in starts):
        raise ValueError("LIBLINEAR starts from zero: start must be None; dcd and newton take one")
