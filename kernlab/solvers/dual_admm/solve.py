"""ADMM on the dual of a support vector machine, by solves with K~ + beta I (Cipolla, Gondzio 2021).

    minimise over a   1/2 a^T Y K~ Y a - e^T a [+ sum_i a_i^2 / (4 C_i)]
    subject to        0 <= a_i <= C_i  [0 <= a_i],   y^T a = 0

(brackets: the squared hinge), split into x, which sees K~ and y^T x = 0, and z, which sees the box
(eq. 3). With the multiplier mu of x = z, a step of Algorithm 2 is

    x = Y K_b^-1 Y q - (e^T K_b^-1 Y q / e^T K_b^-1 e) Y K_b^-1 e,     K_b = K~ + beta I
    z = the projection of x - mu / beta on the box                                          (eq. 6)
    mu = mu - beta (x - z)

with q = e + mu + beta z (where Algorithm 3 prints x). All that it asks of the kernel matrix is one
factorisation, shared by all classes and all C, whose right-hand sides go through it together.

The intercept is b = mean over margin vectors of y_j - sum_i a_i y_i K~_ij (eqs. 2 and 7 with the
sign put right); without margin vectors, the middle of what the optimality conditions leave.

Where K~ has a negative eigenvalue, x still has a minimum for beta > -lambda_min, but the iteration
converges only for beta > -2 lambda_min: smaller ones are refused. What it then converges to
satisfies the optimality conditions; it need not be the global minimum, and no gap bounds that.
"""

import time
from dataclasses import replace

import numpy as np

from kernlab.solvers.certificates import INTERCEPTS
from kernlab.solvers.dual_admm.course import CRITERIA, Course
from kernlab.solvers.dual_admm.outcome import CERTIFICATES, certified
from kernlab.solvers.dual_admm.step import Problems
from kernlab.solvers.losses import get_loss, row_costs, signs
from kernlab.solvers.result import summarise, warn_unless_converged


def solve_dual_admm(approximation, y, *, C, **parameters):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i s_i) through its dual.

    approximation: what offers `operator()` and `shifted(beta)`; y: labels -1 and 1, or one column
    of them for each of several problems, which then give a list of results. C may be an array: the
    solutions are then the columns of `coefficients`, and the other figures those of the worst. The
    further parameters are those of `dual_admm_path`. The coefficients are a_i y_i.
    """
    families = dual_admm_path(approximation, y, np.atleast_1d(C), **parameters)
    solved = [family[0] if np.ndim(C) == 0 else _stacked(family) for family in families]
    return solved[0] if np.ndim(y) == 1 else solved


def dual_admm_path(
    approximation,
    y,
    costs,
    *,
    loss="hinge",
    intercept="free",
    tol=1e-3,
    max_iter=1000,
    beta="adaptive",
    relaxation=1.6,
    acceleration=8,
    criterion="gap",
    certificate="approximate",
    sample_weight=None,
    start=None,
    callback=None,
):
    """For each problem (column of y) a list of results, one for each C of `costs`.

    All are solved together. `tol` bounds the relative gap between the objectives of primal and
    dual with K~, or, with criterion="residuals", the relative primal and dual residuals of ADMM,
    which cost no product but prove nothing; None takes exactly `max_iter` steps, as the paper does,
    and claims nothing: such a result has not converged, and its message says how near it is.
    `beta`: a number; "adaptive", balanced as it goes (each change is a new factorisation); "auto",
    100, or 1000 above 100,000 rows, or 10,000 above 1,000,000 (Section 3.3). The last two are
    raised where K~ has negative eigenvalues that need more. `relaxation` in
    (0, 2), 1 in the paper; `acceleration`: steps that Anderson's method remembers, 0 in the paper.
    `certificate`: objectives with K~ ("approximate") or with the exact kernel ("exact", streamed).
    `start`: dual variables to begin from, for each problem all C side by side. The KKT residual is
    the projected gradient of the dual with the certificate's matrix, in units of the margin.
    """
    began = time.perf_counter()
    problems = _problems(y, costs, loss, intercept, sample_weight)
    _check(tol, max_iter, relaxation, acceleration, criterion, certificate)
    course = Course(approximation, problems, beta, relaxation, criterion, began, callback)
    course.begin_from(start)
    course.run(tol, max_iter, acceleration)
    results = certified(approximation, problems, course.z, tol is not None, certificate)
    seconds = (time.perf_counter() - began) / len(results)
    results = [
        replace(
            result,
            n_iter=int(course.steps[j]),
            converged=bool(tol is not None and course.reached[j] <= tol),
            message="" if tol is not None else _as_prescribed(result, max_iter),
            trace=tuple(course.traces[j]),
            seconds=seconds,
        )
        for j, result in enumerate(results)
    ]
    for result, reached in zip(results, course.reached, strict=True):
        if tol is not None:
            warn_unless_converged(
                result,
                figure="a relative gap of" if criterion == "gap" else "a relative residual of",
                reached=reached,
                tol=tol,
                advice="Raise max_iter, lower C, or bring K~ closer to K.",
            )
    return [results[i : i + len(costs)] for i in range(0, len(results), len(costs))]


def _as_prescribed(result, steps):
    gap, residual = result.relative_gap, result.kkt_residual
    reached = f"a KKT residual of {residual:.2e}" if gap is None else f"a relative gap of {gap:.2e}"
    return f"{steps} steps as prescribed: {reached}"


def _problems(y, costs, loss, intercept, sample_weight):
    """Every problem with every C, as columns."""
    if intercept not in INTERCEPTS:
        raise ValueError(f"intercept={intercept!r} is not one of {', '.join(INTERCEPTS)}")
    y = np.asarray(y)
    columns = y[:, None] if y.ndim == 1 else y
    labels = np.stack([signs(column, len(columns)) for column in columns.T], axis=1)
    weights = np.stack([row_costs(float(C), len(columns), sample_weight) for C in costs], axis=1)
    weights = np.tile(weights, labels.shape[1])
    return Problems(np.repeat(labels, len(costs), axis=1), weights, get_loss(loss), intercept)


def _check(tol, max_iter, relaxation, acceleration, criterion, certificate):
    if tol is not None and not tol >= 0:
        raise ValueError(f"tol must be at least 0, or None for max_iter steps, not {tol!r}")
    if not max_iter >= 1:
        raise ValueError(f"max_iter must be at least 1, not {max_iter!r}")
    if not 0 < relaxation < 2:
        raise ValueError(f"relaxation must lie between 0 and 2, not {relaxation!r}")
    if not acceleration >= 0:
        raise ValueError(f"acceleration must be a number of steps, not {acceleration!r}")
    for name, value, offered in (
        ("criterion", criterion, CRITERIA),
        ("certificate", certificate, CERTIFICATES),
    ):
        if value not in offered:
            raise ValueError(f"{name}={value!r} is not one of {', '.join(offered)}")


def _stacked(results):
    """The solutions for several C as columns, with the figures of the worst."""
    duals = [result.dual_objective for result in results]
    return replace(
        summarise(results),
        coefficients=np.stack([result.coefficients for result in results], axis=1),
        intercept=np.array([result.intercept for result in results]),
        objective=np.array([result.objective for result in results]),
        dual_objective=None if None in duals else np.array(duals),
        trace=tuple(row for result in results for row in result.trace),
        dual_variables=None,
    )
