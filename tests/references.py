"""Optima of support vector machines by LIBSVM and SciPy's optimisers: nothing of ours inside."""

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC

MANY_STEPS = {"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50}


def dual_optimum(K, y, costs, loss, intercept):
    """Dual variables that maximise sum a - 1/2 a^T Y (K + D) Y a with 0 <= a <= C for the hinge.

    For its square D = diag(1 / 2 C) and a has no bound; a penalised intercept adds 1 to K, and a
    free one asks for a^T y = 0. Labels are -1 and 1, `costs` the C of each row.
    """
    upper = costs if loss == "hinge" else np.full(len(y), np.inf)
    H = K + (1.0 if intercept == "penalised" else 0.0)
    if loss == "squared_hinge":
        H = H + np.diag(1.0 / (2.0 * costs))
    start, free = np.zeros(len(y)), intercept == "free"
    bounds = [(0.0, None if np.isinf(top) else top) for top in upper]
    if free and len(y) > 30:
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-10, max_iter=10_000_000)
        svm.fit(H, y, sample_weight=np.minimum(upper, 1e6))
        start[svm.support_] = np.abs(svm.dual_coef_[0])
        return start
    H = y[:, None] * H * y
    how, scale = {"method": "L-BFGS-B", "options": MANY_STEPS}, 1.0
    if len(y) <= 30:
        balance = {"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y}
        how = {"method": "SLSQP", "options": {"ftol": 1e-15, "maxiter": 1000}}
        how["constraints"] = [balance] if free else []
        scale = 1.0 / max(1.0, np.abs(H).max())  # so that tolerances mean the same for every C
    found = minimize(
        lambda a: (scale * (0.5 * a @ H @ a - a.sum()), scale * (H @ a - 1.0)), start, jac=True,
        bounds=bounds, **how,
    )  # fmt: skip
    return np.clip(found.x, 0.0, upper)


def dual_value(K, y, dual, costs, loss, intercept):
    """The dual objective."""
    v = dual * y
    value = dual.sum() - 0.5 * v @ K @ v
    if intercept == "penalised":
        value -= 0.5 * v.sum() ** 2
    if loss == "squared_hinge":
        value -= (dual**2 / (4.0 * costs)).sum()
    return value


def primal_value(K, y, dual, b, costs, loss, intercept):
    """The primal objective 1/2 |w|^2 [+ 1/2 b^2] + sum C_i loss_i at w = sum a_i y_i phi(x_i)."""
    v = dual * y
    slack = np.maximum(0.0, 1.0 - y * (K @ v + b))
    if loss == "squared_hinge":
        slack = slack**2
    value = 0.5 * v @ K @ v + costs @ slack
    return value + 0.5 * b * b if intercept == "penalised" else value


def optimum(K, y, C, loss, intercept):
    """The optimal objective, that of the dual; C is a number or one for each row."""
    costs = np.broadcast_to(np.asarray(C, float), len(y))
    dual = dual_optimum(K, y, costs, loss, intercept)
    return float(dual_value(K, y, dual, costs, loss, intercept))
