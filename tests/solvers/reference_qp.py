"""Support vector machines by general-purpose optimisers: slow, and nothing of ours inside."""

import numpy as np
from scipy.optimize import minimize


def dual_optimum(K, y, costs, loss, intercept):
    """Dual variables that maximise sum a - 1/2 a^T (Y K Y + D) a over the box [and the balance]."""
    K, y, costs = np.asarray(K, float), np.asarray(y, float), np.asarray(costs, float)
    H = y[:, None] * K * y
    if intercept == "penalised":
        H = H + np.outer(y, y)
    upper = costs.copy()
    if loss == "squared_hinge":
        H = H + np.diag(1.0 / (2.0 * costs))
        upper = np.full(len(y), np.inf)
    scale = 1.0 / max(1.0, np.abs(H).max())  # so that tolerances mean the same for every C
    balance = {"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y}
    found = minimize(
        lambda a: scale * (0.5 * a @ H @ a - a.sum()),
        np.zeros(len(y)),
        jac=lambda a: scale * (H @ a - 1.0),
        bounds=[(0.0, None if np.isinf(top) else top) for top in upper],
        constraints=[balance] if intercept == "free" else [],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.clip(found.x, 0.0, upper)


def dual_value(K, y, dual, costs, loss, intercept):
    """The dual objective, written out."""
    v = dual * y
    value = dual.sum() - 0.5 * v @ K @ v
    if intercept == "penalised":
        value -= 0.5 * v.sum() ** 2
    if loss == "squared_hinge":
        value -= (dual**2 / (4.0 * costs)).sum()
    return value


def primal_value(K, y, dual, b, costs, loss, intercept):
    """The primal objective at w = sum a_i y_i phi(x_i), written out."""
    v = dual * y
    slack = np.maximum(0.0, 1.0 - y * (K @ v + b))
    if loss == "squared_hinge":
        slack = slack**2
    value = 0.5 * v @ K @ v + costs @ slack
    return value + 0.5 * b * b if intercept == "penalised" else value
