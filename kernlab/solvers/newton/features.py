"""Newton's method on features (LASN's Algorithm 1).

Step 3 finds d with |V d + gradient| <= mu |gradient|, mu = min(eta_0, eta_1 |gradient| / |gradient
at zero|), by conjugate gradients: plain ("cg", the paper's), or preconditioned by the factor of V
itself ("direct") or of a matrix near it ("grouped"; see `steps`). A random part of the rows, or
where they are few the first features, is solved first, and a large C is approached through smaller
ones.
"""

import time
from functools import cache, partial

import numpy as np

from kernlab.cluster import ClusterFeatures
from kernlab.features import as_features, warn_of_slow_passes
from kernlab.parameters import one_of
from kernlab.runtime import on_single_blas_thread
from kernlab.solvers.certificates import INTERCEPTS
from kernlab.solvers.newton.cluster import ClusterIteration, ClusterProblem, Setting
from kernlab.solvers.newton.core import checked_start, intervals_for
from kernlab.solvers.newton.steps import PRECONDITIONERS, FeatureIteration, Problem
from kernlab.solvers.problems import (
    Call,
    check_limits,
    common_call,
    row_costs,
    warn_unless_converged,
)


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
    rows, tol, max_iter, max_memory = as_features(F), given.tol, given.max_iter, given.max_memory
    on_cluster = isinstance(rows, ClusterFeatures)
    call = Call(y, C, given.start, on_cluster)
    if on_cluster:
        rows.pieces  # noqa: B018  computed before the clock starts
    else:
        rows = rows.kept(max_memory) if rows.map_ is None else rows
        rows.squared_norms, rows.A  # noqa: B018  computed before the clock starts
        warn_of_slow_passes(rows, max_memory)
    check_limits(gap_tol, 1, 0.0, 1, names=("gap_tol", ""))
    one_of(*INTERCEPTS)(intercept, "intercept")
    one_of("auto", *PRECONDITIONERS)(method, "method")
    if on_cluster and method not in ("auto", "direct"):
        raise ValueError(f"on a cluster steps are taken by method='direct', not {method!r}")
    if method == "grouped" and rows.map_ is None:
        raise ValueError("method='grouped' takes features at landmarks only: take 'direct' or 'cg'")
    weights = None if on_cluster else row_costs(1.0, rows.shape[0], given.sample_weight)
    # The first features are gathered once for all columns, and for one not kept beyond their use.
    several = not on_cluster and len(call.columns) > 1
    leading = cache(partial(rows.leading, kept=True)) if several else None
    families = []
    for number, column in enumerate(call.columns):
        began = time.perf_counter()
        if on_cluster:
            problem = ClusterProblem(rows, Setting(column, loss, epsilon), intercept)
            iteration = ClusterIteration(problem, method, eta, number, given.callback, max_memory)
        else:
            problem = Problem(rows, intervals_for(loss, column, weights, epsilon), intercept)
            iteration = FeatureIteration(
                problem, method, eta, number, given.callback, max_memory, leading
            )
        if call.starts[number] is not None:
            begin = call.starts[number]
            w, b = checked_start(begin, rows.shape[1], "(w, b)", "weights", padded=True)
            iteration.point = problem.at(np.append(w, 0.0 if intercept == "none" else b))
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
