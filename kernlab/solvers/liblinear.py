"""LIBLINEAR's two solvers for linear support vector machines, with a certificate added.

    minimise over w, b   1/2 |w|^2 + 1/2 b^2 + sum_i C_i loss(y_i (w . x_i + b))

"dcd" is its dual coordinate descent (hinge and squared hinge), "tron" its trust-region Newton
method (squared hinge). LIBLINEAR returns neither dual variables nor an error figure; its stopping
rule is relative to its start and says nothing about the distance to the optimum.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.parallel import single_blas_thread
from kernlab.solvers.certificates import certify_primal
from kernlab.solvers.coordinate import floating_rows, solve_dcd
from kernlab.solvers.losses import get_loss, row_costs, signs
from kernlab.solvers.result import SolverResult, warn_unless_converged

ROWS_VISITED = 200_000  # by the passes that settle dual variables


def solve_liblinear(
    F,
    y,
    *,
    C,
    loss="squared_hinge",
    intercept="penalised",
    method="dcd",
    tol=1e-4,
    max_iter=1000,
    sample_weight=None,
    random_state=0,
    start=None,
    callback=None,
    dual_of=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) with LIBLINEAR.

    `tol` is LIBLINEAR's own stopping tolerance, and `converged` its own opinion; the duality gap
    reported is ours. It starts from zero always: `start` must be None. The KKT residual is the
    projected gradient of the dual at the dual variables that the certificate uses: those near the
    weights, or exactly theirs where the caller knows them, `dual_of(w)` being beta with
    F^T beta = w (dual variables times labels).
    """
    _check(method, loss, intercept, start)
    began = time.perf_counter()
    F = floating_rows(F)
    y = signs(y, F.shape[0])
    costs = row_costs(C, len(y), sample_weight)
    live = costs > 0
    model = LinearSVC(
        loss=loss,
        C=1.0,
        dual=method == "dcd",
        tol=tol,
        max_iter=max_iter,
        fit_intercept=intercept == "penalised",
        random_state=np.random.default_rng(random_state).integers(2**31 - 1),
    )
    # LIBLINEAR's many short products wait for the threads of BLAS longer than they compute.
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ours, below, says how far it is
        model.fit(*((F, y, costs) if live.all() else (F[live], y[live], costs[live])))
    seconds = time.perf_counter() - began
    w, b = model.coef_.ravel().astype(F.dtype), float(np.ravel(model.intercept_)[0])
    dual = dual_near(F, y, w, b, costs, loss, intercept) if dual_of is None else dual_of(w) * y
    certificate = certify_primal(
        F,
        y,
        w,
        b,
        C=1.0,
        loss=loss,
        intercept=intercept,
        dual=dual,
        sample_weight=costs,
    )
    result = SolverResult(
        coefficients=w,
        intercept=b,
        objective=certificate.primal,
        dual_objective=certificate.dual,
        kkt_residual=certificate.kkt_residual,
        n_iter=int(np.max(model.n_iter_)),
        converged=bool(np.max(model.n_iter_) < max_iter),
        solver=f"liblinear-{method}",
        seconds=seconds,
        trace=(
            {
                "iteration": int(np.max(model.n_iter_)),
                "objective": certificate.primal,
                "residual": certificate.relative_gap,
                "seconds": seconds,
            },
        ),
    )
    if callback is not None:
        callback(result.trace[0])
    warn_unless_converged(
        result,
        figure="a relative duality gap of",
        reached=certificate.relative_gap,
        tol=tol,
        advice=f"That is LIBLINEAR's limit of {max_iter} iterations (tol is its own measure, not "
        "the gap): raise max_iter, lower C or scale the features.",
    )
    return result


def dual_near(F, y, w, b, costs, loss, intercept):
    """Dual variables near weights that came without any, for `certify_primal`.

    They are read off the margins, which is exact at the squared hinge's optimum only: away from
    it, and for rows on the margin of the hinge, passes of coordinate descent settle them: many
    over few rows, few over many.
    """
    guess = costs * get_loss(loss).slope(y * (np.asarray(F @ w, np.float64) + b))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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


def _check(method, loss, intercept, start):
    if method not in ("dcd", "tron"):
        raise ValueError(f"method={method!r} is not one of dcd, tron")
    get_loss(loss)
    if method == "tron" and loss != "squared_hinge":
        raise ValueError("LIBLINEAR's tron needs a smooth loss: loss='squared_hinge'")
    if intercept not in ("penalised", "none"):
        raise ValueError(
            f"LIBLINEAR offers intercept='penalised' or 'none', not {intercept!r}; the newton "
            "solver offers a free one"
        )
    if start is not None:
        raise ValueError("LIBLINEAR starts from zero: start must be None; dcd and newton take one")
