"""The minimiser of the hinge loss, certified: the features as they are, and orthonormal if need be.

On rows that lie together in a small part of their box, polynomials of a box nearly depend on each
other. Their Gram matrix then no longer shows all directions in which the loss may fall, and would
certify what is none of its minimisers. So combinations of the features that are orthonormal on
these rows take their place; also where the method stops early otherwise. Every pass takes longer
with them, so they are not the first choice.
"""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.solvers.hinge.columns import HingeProblem
from kernlab.solvers.hinge.combined_rows import CombinedRows, nearly_dependent, orthonormal_mix
from kernlab.solvers.hinge.interior import CANNOT_HOLD, InteriorCourse
from kernlab.solvers.linear.streamed import gram_matrix
from kernlab.solvers.result import warn_unless_converged

STEPS_AS_THEY_ARE = 100  # four times what well-conditioned features need


def minimise_hinge(
    rows, codes, problem, *, weights, C, tol, max_iter, gram=None, start=None, keep_dual=False,
    callback=None,
):  # fmt: skip
    """Solve one `HingeProblem` until the duality gap is at most `tol` times the objective.

    As `solve_hinge_admm` describes; `max_iter` counts Newton's steps, of both runs together.
    """
    if gram is None and start is None and C is None:
        gram = gram_matrix(rows, weights if len(weights) else None)
    course = InteriorCourse(rows, codes, problem, weights, C, gram)
    if C is None and start is None and nearly_dependent(course.gram):
        result = _on_orthonormal_features(course, None, tol, max_iter, keep_dual, callback)
    else:
        as_they_are = max_iter if C is not None else min(max_iter, STEPS_AS_THEY_ARE)
        result = course.run(tol, as_they_are, start, keep_dual, callback)
        left = max_iter - result.n_iter
        stuck = result.n_iter > 0 and not (result.converged or result.message)
        if C is None and stuck and left > 0:
            result = _on_orthonormal_features(course, result, tol, left, keep_dual, callback)
    if result.message:
        warnings.warn(f"hinge-admm: {result.message}.", ConvergenceWarning, stacklevel=3)
    else:
        warn_unless_converged(
            result,
            figure="a relative duality gap of",
            reached=max(result.relative_gap, 0.0),
            tol=tol,
            advice="Raise max_iter, loosen tol, or take a basis that is better conditioned.",
        )
    return result


def _on_orthonormal_features(course, before, tol, max_iter, keep_dual, callback):
    """What orthonormal combinations of the features lead to, if it is better than `before`."""
    weights = course.weights if len(course.weights) else None
    course.forget_rows()
    mix = orthonormal_mix(course.rows, weights, course.gram / course.total)

    def told(row):
        callback({**row, "coefficients": mix @ row["coefficients"]})

    again = InteriorCourse(
        CombinedRows(course.rows, mix), course.codes, HingeProblem(course.problem.positive),
        course.weights, None, None,
    )  # fmt: skip
    after = again.run(tol, max_iter, None, keep_dual, None if callback is None else told)
    again.forget_rows()
    course.u = mix @ after.coefficients
    u, scores, lost = _held(course)
    y = np.where(course.codes == course.problem.positive, 1.0, -1.0)
    objective = float(np.average(np.maximum(0.0, 1.0 - y * scores), weights=weights))
    if before is not None and objective >= before.objective:
        return before
    # What the combinations reach and what their weights of the features reach differ by rounding.
    message = CANNOT_HOLD.format(lost) if lost > tol else ""
    certified = objective - after.dual_objective <= tol * objective
    trace = [dict(row) for row in after.trace]
    trace[-1]["objective"] = objective
    result = replace(
        after,
        coefficients=u,
        objective=objective,
        converged=bool(certified) and not message,
        trace=tuple(trace),
        message=message,
    )
    return result if before is None else _one_after_the_other(before, result)


def _held(course):
    """Weights of the problem's own features, their scores, and how far off they are, relatively."""
    u = course.own_weights()
    wanted = np.empty(course.m)
    course.score(course.u, wanted)
    if course.problem.mix is None:
        return u, wanted, 0.0
    scores = np.empty(course.m)
    course.score(course.problem.mix @ u, scores)
    size = max(float(np.linalg.norm(wanted)), np.finfo(float).tiny)
    return u, scores, float(np.linalg.norm(scores - wanted)) / size


def _one_after_the_other(before, after):
    later = [row | {"iteration": row["iteration"] + before.n_iter} for row in after.trace]
    return replace(
        after,
        n_iter=before.n_iter + after.n_iter,
        seconds=before.seconds + after.seconds,
        trace=before.trace + tuple(later),
    )
