"""ADMM for the hinge loss without a margin: the solver of the fast polynomial classifier (FPC).

    minimise over u   1/M sum_i c_i max(0, 1 - y_i A_i u)  [+ 1/(2 C M) |u|^2],  M = sum_i c_i   (6)

with row weights c_i (1 in the paper) and, in the paper, no penalty on u. Split as v = A u (8):

  u <- (beta A^T A + alpha I)^-1 (alpha u + beta A^T v - A^T w)   one factor for all steps  (10, 13)
  v <- argmin over v of the loss + M beta / 2 (v - A u - w / beta)^2   row by row           (11, 14)
  w <- w + beta (A u - v)                                                                   (12)

from u = 0, v = y, w = 0. A, of m rows and n features, is read in blocks and never held: one pass
for A^T A and one for each step, in which the new v and w are used for A^T v and A^T w at once. Rows
of weight 2 count as rows that are there twice, in every iterate.

The paper stops at |p_after - p_before|_H^2 < tol for p = (u, v, w), or after a few steps: a
prescription, not a failure. With alpha = beta = 1 that is close to ridge regression on the labels,
far from the minimiser. `to_optimum` goes there, over the same rows in blocks, by an interior point
method (`hinge_optimum`): ADMM's steps would be too many where a minimiser has large scores.

Either way the objective is certified by multipliers: with w = -y a those of Proposition 2's linear
programme, a in [0, 1/M] and A^T (c y a) = 0.
"""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from kernlab.features import Features
from kernlab.runtime import single_blas_thread
from kernlab.solvers.hinge.columns import HingeProblem, Settings
from kernlab.solvers.hinge.course import HingeCourse
from kernlab.solvers.hinge.optimum import minimise_hinge
from kernlab.solvers.linear.streamed import ArrayRows, gram_matrix
from kernlab.solvers.losses import signs
from kernlab.solvers.problems import each_problem
from kernlab.solvers.result import warn_unless_converged

DEFAULT_TOL = {"early": 5e-4, "certified": 1e-3, "optimum": 1e-6}
DEFAULT_MAX_ITER = {"early": 5, "certified": 20_000, "optimum": 300}
WIDE = 2500  # features: factors of smaller matrices wait longer for BLAS threads than they gain

__all__ = ["HingeProblem", "gram_matrix", "solve_hinge_admm", "solve_hinge_problems"]


@each_problem()
def solve_hinge_admm(
    F,
    y,
    *,
    C=None,
    loss="hinge",
    intercept="none",
    alpha=1.0,
    beta=1.0,
    tol=None,
    max_iter=None,
    to_optimum=False,
    sample_weight=None,
    start=None,
    callback=None,
    random_state=None,
    max_memory=None,
):
    """Minimise the mean hinge loss of y_i F_i u over u; with C, 1/2 |u|^2 + C sum_i c_i loss_i.

    F: features, dense or CSR, or rows to be read in blocks (see `streamedrows`); y: labels -1, 1.
    Without C it stops as the paper does, at `tol` (5e-4) for the squared H-norm of a step or after
    `max_iter` (5) steps. With C, ADMM chooses alpha and beta itself and goes on until the duality
    gap is at most `tol` (1e-3) times the objective (or 20,000 steps). `to_optimum=True` minimises
    either objective to such a gap (1e-6, or 300 steps) by the interior point method. `intercept`:
    "penalised" is one more feature of value 1. `start`: weights to begin from instead of v = y.

    The KKT residual is |P w| / |w| with P the projection on the features' span: 0 exactly where w
    proves u optimal. `dual_objective` is a lower bound on the objective: without C, on that of all
    functions whose root mean square on the rows is at most this solution's.
    """
    if loss != "hinge":
        raise ValueError(f"hinge-admm minimises the hinge loss, not {loss!r}")
    if intercept not in ("none", "penalised"):
        raise ValueError(f"hinge-admm offers intercept='none' or 'penalised', not {intercept!r}")
    if isinstance(F, Features):
        F = F.stored(max_memory)
    rows = F if hasattr(F, "room") else ArrayRows(F, constant=intercept == "penalised")
    codes = signs(y, rows.shape[0]).astype(np.int16)
    result = solve_hinge_problems(
        rows,
        codes,
        [HingeProblem(positive=1)],
        weights=sample_weight,
        C=C,
        alpha=alpha,
        beta=beta,
        tol=tol,
        max_iter=max_iter,
        to_optimum=to_optimum,
        start=start,
        keep_dual=True,
        callback=callback,
    )[0]
    if intercept == "penalised" and not hasattr(F, "room"):
        w = result.coefficients
        result = replace(result, coefficients=w[:-1], intercept=float(w[-1]))
    return result


def solve_hinge_problems(
    rows,
    codes,
    problems,
    *,
    weights=None,
    C=None,
    alpha=1.0,
    beta=1.0,
    tol=None,
    max_iter=None,
    to_optimum=False,
    gram=None,
    start=None,
    keep_dual=False,
    callback=None,
):
    """Several such problems on the same rows, in the same passes: classes, degrees, or both.

    `codes` holds a small whole number per row, and a `HingeProblem` says which of them is its
    positive class and which of the stored features it has. `gram`: the (weighted) Gram matrix of
    all stored features, if it is known. Returned is a list of results, in the order of `problems`.
    """
    kind = "optimum" if to_optimum else "early" if C is None else "certified"
    tol = DEFAULT_TOL[kind] if tol is None else float(tol)
    max_iter = DEFAULT_MAX_ITER[kind] if max_iter is None else int(max_iter)
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, not {max_iter!r}")
    if not tol >= 0:
        raise ValueError(f"tol must not be negative, and is {tol!r}")
    C = None if C is None else _positive("C", C)
    if C is not None and any(problem.mix is not None for problem in problems):
        raise ValueError("the penalty of C is on weights of stored features: leave mix out")
    settings = Settings(_positive("alpha", alpha), _positive("beta", beta), tol, max_iter, C)
    weights = _checked_weights(weights, rows.shape[0])
    with single_blas_thread() if rows.shape[1] < WIDE else nullcontext():
        if to_optimum:
            shared = {"weights": weights, "C": C, "tol": tol, "max_iter": max_iter, "gram": gram}
            shared |= {"start": start, "keep_dual": keep_dual, "callback": callback}
            return [minimise_hinge(rows, codes, problem, **shared) for problem in problems]
        course = HingeCourse(rows, codes, problems, weights, settings, gram, callback)
        course.begin(start)
        course.run()
        results = course.results(keep_dual)
    for result in results if C is not None else ():
        warn_unless_converged(
            result,
            figure="a relative duality gap of",
            reached=max(result.relative_gap, 0.0),
            tol=tol,
            advice="Raise max_iter, lower C, or scale the features.",
        )
    return results


def _positive(name, value):
    if not (np.ndim(value) == 0 and np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def _checked_weights(weights, n_rows):
    """An array, empty where all rows count once."""
    if weights is None:
        return np.empty(0)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"sample_weight must be {n_rows} numbers that are not negative")
    if not np.any(weights > 0):
        raise ValueError("all sample weights are zero: nothing is left to learn from")
    return weights
