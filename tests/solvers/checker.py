"""What a result claims, recomputed in extended precision from its decisions: nothing of ours."""

import numpy as np

WIDE = np.longdouble


def recomputed(result, y, *, C, loss, intercept, sample_weight=None, features=None, kernel=None):
    """The objective at a result's coefficients, and the bound that its dual variables give.

    features: F, for a result of weights; kernel: K, for one of dual variables times labels. The
    dual variables are the result's, or those read off its margins where it has none (as the
    squared hinge does at the optimum), clipped to their box, and balanced by scaling down the
    heavier class where the intercept is free: feasible, so that their objective bounds the optimum.
    """
    y, b = np.asarray(y, WIDE), WIDE(result.intercept)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
    costs = WIDE(C) * weights.astype(WIDE)
    squared = loss == "squared_hinge"
    coefficients = np.asarray(result.coefficients, WIDE)
    if features is not None:
        F = np.asarray(features, WIDE)
        scores, length = F @ coefficients, coefficients @ coefficients
    else:
        K = np.asarray(kernel, WIDE)
        scores = K @ coefficients
        length = coefficients @ scores
    slack = np.maximum(0, 1 - y * (scores + b))
    objective = length / 2 + costs @ (slack**2 if squared else slack)
    objective += b * b / 2 if intercept == "penalised" else 0

    dual = result.dual_variables
    dual = 2 * costs * slack if dual is None else np.asarray(dual, WIDE)
    dual = np.clip(dual, 0, np.where(costs > 0, np.inf, 0) if squared else costs)
    if intercept == "free":
        sides = {sign: dual[y == sign].sum() for sign in (1, -1)}
        least = min(sides.values())
        for sign, total in sides.items():
            dual[y == sign] *= least / total if total > 0 else 1
    signed = dual * y
    length = (F.T @ signed) @ (F.T @ signed) if features is not None else signed @ (K @ signed)
    length += signed.sum() ** 2 if intercept == "penalised" else 0
    live = costs > 0
    curved = (dual[live] ** 2 / (4 * costs[live])).sum() if squared else 0
    return float(objective), float(dual.sum() - length / 2 - curved)


def assert_true(result, y, *, best, rel=1e-8, **problem):
    """The claims of a result are true: its objective and bound are those of its own coefficients
    and dual variables, and the bound is not above the optimum `best`."""
    objective, bound = recomputed(result, y, **problem)
    size = max(abs(objective), 1e-12)
    assert abs(result.objective - objective) <= rel * size, "the objective of other coefficients"
    if result.dual_objective is not None:
        assert result.dual_objective <= best + 1e-6 * size, "a bound above the optimum"
        if result.dual_variables is not None:
            off = abs(result.dual_objective - bound)
            assert off <= rel * size, "the bound of other dual variables"
