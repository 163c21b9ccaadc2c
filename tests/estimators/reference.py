"""Optima of support vector machines on a kernel matrix, by LIBSVM and by L-BFGS on the dual."""

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC


def optimum(K, y, C, loss, intercept):
    """The optimal objective 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss_i, for labels -1 and 1.

    It is the dual's: maximise sum a - 1/2 a^T Y (K + D) Y a with 0 <= a <= C for the hinge; for its
    square D = diag(1 / 2 C) and a has no bound; a penalised intercept adds 1 to K, and a free one
    asks for a^T y = 0.
    """
    C = np.broadcast_to(np.asarray(C, float), len(y))
    upper = C if loss == "hinge" else np.full(len(y), np.inf)
    H = K + (1.0 if intercept == "penalised" else 0.0)
    if loss == "squared_hinge":
        H = H + np.diag(1.0 / (2.0 * C))
    if intercept == "free":
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-10, max_iter=10_000_000)
        svm.fit(H, y, sample_weight=np.minimum(upper, 1e6))
        v = np.zeros(len(y))
        v[svm.support_] = svm.dual_coef_[0]
        return float(np.abs(v).sum() - 0.5 * v @ H @ v)
    H = y[:, None] * H * y
    found = minimize(
        lambda a: (0.5 * a @ H @ a - a.sum(), H @ a - 1.0), np.zeros(len(y)), jac=True,
        bounds=[(0.0, None if np.isinf(top) else top) for top in upper], method="L-BFGS-B",
        options={"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 50},
    )  # fmt: skip
    return float(-found.fun)
