"""Newton's method on features (LASN's Algorithm 1).

With the algorithm's step numbers:

  2. stop when the gradient is small relative to the gradient at zero (and the duality gap bears
     it out: at large C a small gradient alone proves little);
  3. find d with |V d + gradient| <= mu |gradient|, mu = min(eta_0, eta_1 |gradient| / |gradient at
     zero|), by conjugate gradients: plain ("cg", the paper's), or preconditioned by the factor of V
     itself ("direct") or of a matrix near it ("grouped"; see `preconditioners`). Lengths are then
     those of the preconditioner's inner product;
  4. move by the unit step or the best (`core`).

Three starts save steps. Where there are many more rows than features, a random part of the rows is
solved first. Where there are not, the first features at landmarks in the order of a pivoted
Cholesky factor are, which know most of what the others do at a sixteenth of the cost. A large C is
approached through smaller ones.
"""

import time

import numpy as np

from kernlab.cluster import ClusterFeatures
from kernlab.features import as_features, warn_of_slow_passes
from kernlab.runtime import on_single_blas_thread
from kernlab.solvers.certificates import INTERCEPTS
from kernlab.solvers.newton.cluster import ClusterIteration, ClusterProblem, Setting
from kernlab.solvers.newton.core import intervals_for
from kernlab.solvers.newton.preconditioners import PRECONDITIONERS
from kernlab.solvers.newton.steps import FeatureIteration, Problem
from kernlab.solvers.problems import (
    Call,
    SolverResult,
    check_limits,
    row_costs,
    warn_unless_converged,
)

ROUNDING_ALLOWED = 1e-2  # of scores, in units of the margin


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
        Whether to begin on the first features, or on a random part of the rows.
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
    rows = as_features(F)
    on_cluster = isinstance(rows, ClusterFeatures)
    call = Call(y, C, start, on_cluster)
    if on_cluster:
        rows.pieces  # noqa: B018  computed before the clock starts
    else:
        rows = rows.kept(max_memory) if rows.map_ is None else rows
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
    if on_cluster and method not in ("auto", "direct"):
        raise ValueError(f"on a cluster steps are taken by method='direct', not {method!r}")
    if method == "grouped" and not rows.can_be_grouped:
        raise ValueError("method='grouped' takes features at landmarks only: take 'direct' or 'cg'")
    weights = None if on_cluster else row_costs(1.0, rows.shape[0], sample_weight)
    families = []
    for number, column in enumerate(call.columns):
        began = time.perf_counter()
        if on_cluster:
            problem = ClusterProblem(rows, Setting(column, loss, epsilon), intercept)
            iteration = ClusterIteration(problem, method, eta, number, callback, max_memory)
        else:
            problem = Problem(rows, intervals_for(loss, column, weights, epsilon), intercept)
            iteration = FeatureIteration(problem, method, eta, number, callback, max_memory)
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
