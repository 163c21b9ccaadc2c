"""The reduced machine, and Proposition 2 against a direct solution."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import Nystrom, ReducedMap
from kernlab.solvers import solve_newton

X, Y = make_moons(120, noise=0.2, random_state=0)
NEW, _ = make_moons(60, noise=0.2, random_state=1)
SIGNS = 2.0 * Y - 1.0


def test_the_nystrom_features_solve_the_reduced_machine_exactly():
    """Equation 21, with its labels (it prints none) and the squared hinge, by a general solver;
    Lee and Mangasarian's shortcut, which drops the penalty's matrix, solves another problem."""
    landmarks, C = X[:12], 1.0
    K_rz, K_zz = rbf_kernel(X, landmarks, gamma=1.0), rbf_kernel(landmarks, gamma=1.0)

    def objective(x):
        slack = np.maximum(0.0, 1.0 - SIGNS * (K_rz @ x[:-1] + x[-1]))
        pull = -2.0 * C * SIGNS * slack
        value = 0.5 * x[:-1] @ K_zz @ x[:-1] + 0.5 * x[-1] ** 2 + C * slack @ slack
        return value, np.append(K_zz @ x[:-1] + K_rz.T @ pull, x[-1] + pull.sum())

    direct = minimize(
        objective, np.zeros(13), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    )
    map_ = Nystrom(gamma=1.0, landmarks=landmarks, factor="eigen-drop", floor=1e-12).fit(X)
    linear = solve_newton(map_.transform(X), SIGNS, C=C, intercept="penalised", tol=1e-10)
    assert linear.objective == pytest.approx(direct.fun, rel=1e-7)
    np.testing.assert_allclose(
        map_.decision(NEW, linear.coefficients) + linear.intercept,
        rbf_kernel(NEW, landmarks, gamma=1.0) @ direct.x[:-1] + direct.x[-1],
        atol=1e-3,
    )
    assert linear.objective > 1.0  # rows are on the wrong side: the problem is not trivial
    reduced = ReducedMap(gamma=1.0, landmarks=landmarks).fit(X)
    shortcut = solve_newton(reduced.transform(X), SIGNS, C=C, intercept="penalised")
    found = objective(np.append(shortcut.coefficients, shortcut.intercept))[0]
    assert found > 1.005 * direct.fun
