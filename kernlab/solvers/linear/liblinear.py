"""LIBLINEAR's two solvers for linear support vector machines, with a certificate added.

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + sum_i C_i loss(y_i (w . x_i + b))

"dcd" is its dual coordinate descent (hinge and squared hinge), "tron" its trust-region Newton
method (squared hinge). LIBLINEAR returns neither dual variables nor an error figure; its stopping
rule is relative to its start and says nothing about the distance to the optimum.
"""

import time
import warnings
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse import get_index_dtype
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.features import Features, as_features
from kernlab.parameters import one_of
from kernlab.runtime import (
    for_each_block,
    interruptible,
    memory_limit,
    require_memory,
    single_blas_thread,
    thread_count,
)
from kernlab.solvers.certificates import certify_primal
from kernlab.solvers.linear.coordinate import solve_dcd
from kernlab.solvers.problems import (
    Call,
    SolverResult,
    Trace,
    check_offered,
    common_call,
    get_loss,
    row_costs,
    signs,
    warn_unless_converged,
)

NODE_BYTES = 16  # of a value in LIBLINEAR's own copy of the features
ROWS_VISITED = 200_000  # by the passes that improve dual variables
SMALLEST = 1e-130  # a gradient: TRON divides by its square, and by powers of that
LARGEST = 1e290  # a curvature


@common_call(tol=1e-4, max_iter=1000)
def solve_liblinear(F, y, *, given, C, loss="squared_hinge", intercept="penalised", method="dcd"):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) with LIBLINEAR.

    Parameters
    ----------
    F, y, C, sample_weight, callback : see `kernlab.solvers.problems`.
    loss : "squared_hinge", or "hinge" for "dcd".
    intercept : "penalised", "none", or for "tron" "free": a feature as large as to make its own
        penalty vanish, whose weight gives way to the best value for the other weights.
    method : "dcd" takes one problem after the other; "tron" as many at a time as there are cores.
    tol : LIBLINEAR's own stopping tolerance (None for 1e-4); `converged` is its own opinion.
    max_iter : its iterations at most; None for 1000.
    random_state : seed of the order of "dcd".
    start : None or a result; LIBLINEAR starts from zero always.
    max_memory : for features and LIBLINEAR's copies of them, as many as have room.

    Returns
    -------
    SolverResult, or lists of them. The duality gap is ours, and the KKT residual the projected
    gradient of the dual, at dual variables near the weights, or at theirs where the features know
    them (`Features.dual_of`). `seconds` are LIBLINEAR's. Where rows of one sign alone have weight,
    or there are no features, which it refuses, a free intercept decides, and `solve_dcd` solves the
    rest.
    """
    tol, max_iter, max_memory = given.tol, given.max_iter, given.max_memory
    if tol == 0.0:
        raise ValueError("tol must be above 0 for LIBLINEAR, which else never ends")
    call = Call(y, C, given.start)
    _check(method, loss, intercept, call.starts)
    features = as_features(F)
    F, dual_of = liblinear_rows(features.stored(max_memory)), features.dual_of
    seen = Features(F, dual_of=dual_of, kernel_product=features.kernel_product)
    copies = copies_at_a_time(F, max_memory)
    columns = [signs(column, F.shape[0]) for column in call.columns]
    order = _order_of_columns(F) if method == "tron" else None
    seed = given.generator.integers(2**31 - 1)
    problem, name = {"loss": loss, "intercept": intercept}, f"liblinear-{method}"
    limits = {"tol": tol, "max_iter": max_iter, "random_state": seed}

    def solve(task):
        y, costs = task[0], row_costs(float(task[1]), F.shape[0], given.sample_weight)
        if np.unique(y[costs > 0]).size < 2 or F.shape[1] == 0:
            if intercept != "free":
                message = "rows of one sign alone, or of no features, LIBLINEAR refuses: by dcd"
                found = solve_dcd(F, y, C=1.0, sample_weight=costs, **problem, **limits)
                return replace(found, solver=name, message=message, trace=found.trace[-1:])
            w, b, steps, seconds = np.zeros(F.shape[1], F.dtype), None, 0, 0.0
        else:
            w, b, steps, seconds = fit_liblinear(
                F, y, costs, method=method, order=order, **problem, **limits
            )
        if intercept == "free":
            b = None  # the best for these weights
        dual = None  # coordinate descent keeps no balance: margins alone say what they are
        if dual_of is not None and steps:
            dual = dual_of(w) * y
        elif intercept != "free":
            dual = dual_near(F, y, w, b, costs, **problem)
        proof = certify_primal(seen, y, w, b, C=1.0, dual=dual, sample_weight=costs, **problem)
        trace = Trace()
        trace.add(steps, proof.primal, proof.relative_gap, seconds=seconds)
        ended = {"n_iter": steps, "converged": steps < max_iter, "seconds": seconds}
        return SolverResult.proven(w, proof, trace, solver=name, **ended)

    tasks = [(column, value) for column in columns for value in call.costs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ours, below, says how far it is
        results = for_each_block(solve, tasks, copies if method == "tron" else 1)
    for result in results:
        if given.callback is not None:
            given.callback(result.trace[0])
    worst = max(results, key=lambda result: (not result.converged, result.relative_gap))
    advice = (
        f"That is LIBLINEAR's limit of {max_iter} iterations (tol is its own measure, not the "
        "gap): raise max_iter, lower C or scale the features."
    )
    warn_unless_converged(worst, "a relative duality gap of", worst.relative_gap, tol, advice)
    return call.arranged(results)


def fit_liblinear(
    F, y, costs, *, loss="squared_hinge", intercept="penalised", method="tron", tol=1e-4,
    max_iter=1000, random_state=0, order=None,
):  # fmt: skip
    """LIBLINEAR alone: weights, intercept, iterations and seconds; some costs are above zero of
    either sign of y, and `order` is that of the rows, None for as they are."""
    _refuse_what_never_ends(F, costs, method)
    # A constant a has a weight b / a, whose penalty b^2 / (2 a^2) is far below the objective.
    constant = 100.0 * max(1.0, 1.0 / np.sqrt(costs.sum())) if intercept == "free" else 1.0
    model = LinearSVC(
        loss=loss,
        C=1.0,
        dual=method == "dcd",
        tol=tol / constant,  # taken relative to a gradient that holds the constant
        max_iter=max_iter,
        fit_intercept=intercept != "none",
        intercept_scaling=constant,
        random_state=random_state,
    )
    began = time.perf_counter()
    live = costs > 0
    if order is not None or not live.all():
        rows = np.flatnonzero(live) if order is None else order[live[order]]
        F, y, costs = F[rows], y[rows], costs[rows]
    with warnings.catch_warnings(), single_blas_thread():  # its short products gain by no threads
        warnings.simplefilter("ignore", ConvergenceWarning)
        interruptible(model.fit, F, y, costs)
    w, b = model.coef_.ravel().astype(F.dtype), float(np.ravel(model.intercept_)[0])
    return w, b, int(np.max(model.n_iter_)), time.perf_counter() - began


def dual_near(F, y, w, b, costs, loss, intercept):
    """Dual variables near weights that came without any, for `certify_primal`: read off the
    margins, exact at the squared hinge's optimum only, and improved by coordinate descent."""
    guess = costs * get_loss(loss).slope(y * (as_features(F).dot(w) + b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near is enough: a start, not a result
        return solve_dcd(
            F, y, C=1.0, loss=loss, intercept=intercept, tol=1e-6, sample_weight=costs,
            max_iter=max(50, ROWS_VISITED // len(y)), start=guess,
        ).dual_variables  # fmt: skip


def liblinear_rows(F):
    """Rows as CSR or contiguous, of floating type (integers cannot hold weights), with indices of
    32 bits where that is enough (LIBLINEAR takes no others)."""
    if sp.issparse(F):
        F = sp.csr_matrix(F)
        index_type = get_index_dtype(maxval=max(F.nnz, *F.shape))
        if F.indices.dtype != index_type or F.indptr.dtype != index_type:
            parts = F.data, F.indices.astype(index_type), F.indptr.astype(index_type)
            F = sp.csr_matrix(parts, shape=F.shape)
    else:
        F = np.ascontiguousarray(F)
    return F if np.issubdtype(F.dtype, np.floating) else F.astype(np.float64)


def copies_at_a_time(F, max_memory=None):
    """How many problems may have copies of the features of their own at a time: at least one, or
    a refusal, for LIBLINEAR ends the process where memory runs out."""
    values = F.nnz if sp.issparse(F) else F.size
    held = 1.5 * values * F.dtype.itemsize if sp.issparse(F) else F.nbytes
    # LIBLINEAR's nodes, and what it is given: in another order, or in double precision.
    given = held if sp.issparse(F) else 8 * values if F.dtype != np.float64 else 0
    each = max(1, NODE_BYTES * values + given)
    require_memory(
        held + each,
        max_memory,
        what=f"LIBLINEAR's copy of {values:,} values",
        arithmetic=f"{held:.0f} bytes held, {NODE_BYTES} a value and {given:.0f} for the copy",
        way_out="Allow more with max_memory, or take the newton or dcd solver, which copies none.",
    )
    return int(np.clip((memory_limit(max_memory) - held) // each, 1, thread_count()))


def _order_of_columns(F):
    """The order of the rows by their last column, which the cache likes; None where F is dense or
    in this order. Rows of a triangular factor share columns with their neighbours in it."""
    if not sp.issparse(F):
        return None
    F.sort_indices()
    ends, last = F.indptr[1:], np.full(F.shape[0], -1)
    filled = np.diff(F.indptr) > 0
    last[filled] = F.indices[ends[filled] - 1]
    return None if np.all(np.diff(last) >= 0) else np.argsort(last, kind="stable")


def _refuse_what_never_ends(F, costs, method):
    """TRON loops forever where the square of its first gradient, at most 2 sum_i C_i |x_i|, is
    zero and the gradient is not, or where the curvature along it is infinite."""
    if method != "tron":
        return
    values = F.data if sp.issparse(F) else F
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    with np.errstate(over="ignore", invalid="ignore"):
        length, total = largest * np.sqrt(F.shape[1] + 1.0), 2.0 * costs.sum()
        curvature = (total * length) ** 2 * (1.0 + total * length**2)
    if 0.0 < largest * float(costs.max()) < SMALLEST or (
        curvature >= LARGEST and np.isfinite(largest)
    ):
        small = curvature < LARGEST
        raise ValueError(
            f"LIBLINEAR's tron does not end on features of at most {largest:.1e} at "
            f"C={costs.max():.1e}, whose products have squares that are "
            f"{'zero' if small else 'infinite'} in double precision: scale the features, "
            f"{'raise' if small else 'lower'} C, or take the dcd solver"
        )


def _check(method, loss, intercept, starts):
    one_of("dcd", "tron")(method, "method")
    losses, intercepts = ("squared_hinge", "hinge"), ("penalised", "none", "free")
    offered = (losses[:1], intercepts) if method == "tron" else (losses, intercepts[:2])
    check_offered(f"LIBLINEAR's {method}", loss=(loss, offered[0]))
    hint = "; its tron and the newton solver offer a free one"
    check_offered(f"LIBLINEAR's {method}", hint, intercept=(intercept, offered[1]))
    if not all(start is None or isinstance(start, SolverResult) for start in starts):
        raise ValueError("LIBLINEAR starts from zero: start must be None; dcd and newton take one")
