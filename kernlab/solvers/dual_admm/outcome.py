"""What comes out of ADMM on the dual: intercepts, gaps, certificates."""

from functools import partial

import numpy as np

from kernlab.solvers.certificates import (
    best_intercept,
    certify_dual,
    feasible_dual,
    kkt_residual,
    primal_objective,
)
from kernlab.solvers.result import SolverResult

CERTIFICATES = ("approximate", "exact")


def margin_intercept(problems, j, dual, scores):
    """b of problem j by the rows on the margin: the mean of what it has to be there (eq. 7).

    The paper's two formulas have the opposite sign, for a decision sum - b. Where no row is on the
    margin, b is the middle of the interval that the other rows leave, as in LIBSVM.
    """
    labels, costs, loss = problems.labels[:, j], problems.costs[:, j], problems.loss
    if problems.intercept == "none":
        return 0.0
    if problems.intercept == "penalised":
        return float(dual @ labels)
    live, wanted = costs > 0, labels - scores
    inside = live & (dual > 0.0) & (dual < loss.upper(costs))
    if inside.any():
        curved = loss.dual_diagonal(costs[inside]) * dual[inside]
        return float(np.mean(wanted[inside] - labels[inside] * curved))
    # y (s + b) >= 1 at a = 0 and <= 1 at the top: bounds from below for one class, from above for
    # the other.
    from_below = np.where(dual <= 0.0, labels > 0, labels < 0)
    lowest = wanted[live & from_below].max(initial=-np.inf)
    highest = wanted[live & ~from_below].min(initial=np.inf)
    bounds = [bound for bound in (lowest, highest) if np.isfinite(bound)]
    return float(np.mean(bounds)) if bounds else 0.0


def intercept_of(problems, j, dual, scores):
    """The intercept of problem j with the smallest objective for these dual variables."""
    labels, costs = problems.labels[:, j], problems.costs[:, j]
    if problems.intercept == "penalised":
        return float(dual @ labels)
    return best_intercept(scores, labels, costs, problems.loss, problems.intercept)


def relative_gaps(operator, problems, z):
    """The relative gap of each problem at the feasible point nearest to z."""
    dual = _feasible(problems, z)
    scores = _product(operator, dual * problems.labels)
    return np.array(
        [_certificate(problems, j, dual, scores).relative_gap for j in range(z.shape[1])]
    )


def certified(approximation, problems, z, balanced, certificate):
    """One result for each problem, without its course.

    With `balanced` the coefficients are those of the feasible point nearest to z, and the
    intercept is the best for them. Otherwise they are z's as they stand, with the paper's
    intercept; only the dual objective is that of the feasible point.
    """
    operator, exact = approximation.operator(), certificate == "exact"
    multiply = _exact_product(approximation) if exact else partial(_product, operator)
    feasible = _feasible(problems, z)
    scores = multiply(feasible * problems.labels)
    proofs = [_certificate(problems, j, feasible, scores) for j in range(z.shape[1])]
    if balanced:
        dual, intercepts = feasible, [proof.intercept for proof in proofs]
    else:
        dual, scores = z, multiply(z * problems.labels)
        seen = _product(operator, z * problems.labels) if exact else scores
        intercepts = [margin_intercept(problems, j, z[:, j], seen[:, j]) for j in range(len(z.T))]
    bounded = approximation.kernel_is_semidefinite if exact else approximation.is_kernel_map
    return [
        _result(problems, j, dual[:, j], scores[:, j], b, proof.dual if bounded else None, z[:, j])
        for j, (b, proof) in enumerate(zip(intercepts, proofs, strict=True))
    ]


def _result(problems, j, dual, scores, b, dual_objective, z):
    labels, costs, loss = problems.labels[:, j], problems.costs[:, j], problems.loss
    squared_norm = float(scores @ (dual * labels))
    return SolverResult(
        coefficients=dual * labels,
        intercept=b,
        objective=primal_objective(
            scores, squared_norm, labels, costs, loss, problems.intercept, b
        ),
        dual_objective=dual_objective,
        # Balancing moves variables off the top of their box by rounding: z says where they are.
        kkt_residual=kkt_residual(scores + b, labels, z, costs, loss),
        dual_variables=dual,
        n_iter=0,
        converged=False,
        solver="dual-admm",
    )


def _feasible(problems, z):
    columns = [
        feasible_dual(
            z[:, j], problems.labels[:, j], problems.loss.upper(problems.costs[:, j]),
            problems.intercept,
        )[0]
        for j in range(z.shape[1])
    ]  # fmt: skip
    return np.stack(columns, axis=1)


def _certificate(problems, j, dual, scores):
    return certify_dual(
        lambda _: scores[:, j],
        problems.labels[:, j],
        dual[:, j],
        C=1.0,
        loss=problems.loss.name,
        intercept=problems.intercept,
        sample_weight=problems.costs[:, j],
    )


def _product(operator, V):
    return np.asarray(operator @ V, dtype=np.float64)


def _exact_product(approximation):
    product = getattr(approximation, "exact_product", None)
    if product is None:
        raise ValueError(
            f"certificate='exact' needs products with the exact kernel matrix, which "
            f"{type(approximation).__name__} does not offer: use certificate='approximate'"
        )
    return lambda V: np.asarray(product(V), dtype=np.float64)
