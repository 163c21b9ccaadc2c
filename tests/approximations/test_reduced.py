"""The reduced machine and the symmetric root, and Proposition 2 against a direct solution."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import ExactKernel, Nystrom, ReducedMap
from kernlab.approximations.reduced import RootMap
from kernlab.estimators import KernelMachine
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_newton

X, Y = make_moons(120, noise=0.2, random_state=0)
NEW, _ = make_moons(60, noise=0.2, random_state=1)
SIGNS = 2.0 * Y - 1.0


@parametrize_with_checks([ReducedMap(gamma=0.1), RootMap(gamma=0.1)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# -------------------------------------------------------------------------- the reduced map
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_features_are_kernel_values(form):
    map_ = ReducedMap(gamma=1.0, n_landmarks=15, random_state=0).fit(form(X))
    points = map_.landmarks_.toarray() if sp.issparse(map_.landmarks_) else map_.landmarks_
    np.testing.assert_allclose(map_.transform(form(NEW)), rbf_kernel(NEW, points, gamma=1.0))
    assert map_.rank_ == 15
    assert map_.nbytes >= 15 * 2 * 8
    weights = np.arange(15.0)
    np.testing.assert_allclose(map_.decision(form(NEW), weights), map_.transform(NEW) @ weights)
    assert not map_.is_kernel_map


def test_a_kernel_that_is_not_definite_is_welcome():
    machine = KernelMachine("reduced", "newton", kernel="sigmoid", gamma=1.0, random_state=0)
    assert machine.fit(X, Y).score(X, Y) > 0.8
    assert machine.result_.converged


def test_dropping_the_penalty_matrix_is_another_problem():
    """Lee and Mangasarian's shortcut against the machine that they approximate."""
    landmarks, C = X[:12], 1.0
    K_rz, K_zz = rbf_kernel(X, landmarks, gamma=1.0), rbf_kernel(landmarks, gamma=1.0)
    exact = proposition_2(landmarks, C)
    map_ = ReducedMap(gamma=1.0, landmarks=landmarks).fit(X)
    shortcut = solve_newton(map_.transform(X), SIGNS, C=C, intercept="penalised")
    mu, b = shortcut.coefficients, shortcut.intercept
    slack = np.maximum(0.0, 1.0 - SIGNS * (K_rz @ mu + b))
    objective = 0.5 * mu @ K_zz @ mu + 0.5 * b * b + C * slack @ slack
    assert objective > 1.005 * exact.objective


# ------------------------------------------------------------------------------ Proposition 2
def proposition_2(landmarks, C):
    F = Nystrom(gamma=1.0, landmarks=landmarks, factor="eigen-drop", floor=1e-12).fit(X)
    return solve_newton(F.transform(X), SIGNS, C=C, intercept="penalised", tol=1e-10)


def test_the_nystrom_features_solve_the_reduced_machine_exactly():
    """Equation 21, with its labels (it prints none) and the squared hinge, by a general solver."""
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
    linear = proposition_2(landmarks, C)
    assert linear.objective == pytest.approx(direct.fun, rel=1e-7)
    map_ = Nystrom(gamma=1.0, landmarks=landmarks, factor="eigen-drop", floor=1e-12).fit(X)
    np.testing.assert_allclose(
        map_.transform(NEW) @ linear.coefficients + linear.intercept,
        rbf_kernel(NEW, landmarks, gamma=1.0) @ direct.x[:-1] + direct.x[-1],
        atol=1e-3,
    )
    assert linear.objective > 1.0  # rows are on the wrong side: the problem is not trivial


# ---------------------------------------------------------------------------------- the root
def test_the_root_is_symmetric_and_exact():
    map_ = RootMap(gamma=1.0).fit(X)
    F = map_.transform(X)
    np.testing.assert_allclose(F, F.T, atol=1e-6)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=1.0), atol=1e-6)
    np.testing.assert_allclose(map_.transform(NEW) @ F.T, rbf_kernel(NEW, X, gamma=1.0), atol=1e-5)
    weights = np.arange(120.0)
    np.testing.assert_allclose(
        map_.decision(NEW, weights), map_.transform(NEW) @ weights, atol=1e-6
    )
    assert (map_.rank_, map_.is_kernel_map) == (120, True)


def test_the_three_maps_of_table_1_and_the_exact_factor():
    """Root, exact factor and Nystrom on all rows solve one problem; the reduced map another."""
    digits = load_digits().data[:150] / 16.0
    labels = np.where(load_digits().target[:150] < 5, 1.0, -1.0)
    maps = {
        "root": RootMap(gamma=0.1),
        "exact": ExactKernel(gamma=0.1),
        "nystrom": Nystrom(gamma=0.1, landmarks="first", n_landmarks=150, floor=1e-12),
        "reduced": ReducedMap(gamma=0.1, landmarks="first", n_landmarks=150),
    }
    objectives = {
        name: solve_newton(map_.fit_transform(digits), labels, C=1.0).objective
        for name, map_ in maps.items()
    }
    assert objectives["root"] == pytest.approx(objectives["exact"], rel=1e-6)
    assert objectives["nystrom"] == pytest.approx(objectives["exact"], rel=1e-6)
    assert abs(objectives["reduced"] / objectives["exact"] - 1) > 0.01


def test_bad_requests():
    with pytest.raises(ValueError, match="Sigmoid kernel matrix is not positive semidefinite"):
        RootMap("sigmoid", gamma=1.0, coef0=-1.0).fit(X)
    with pytest.raises(MemoryLimitError, match=r"5 x 120\^2 x 8 bytes"):
        RootMap(max_memory=1000).fit(X)
    with pytest.raises(MemoryLimitError, match="features of 120 rows"):
        ReducedMap(max_memory=1000).fit(X).transform(X)
    with pytest.raises(ValueError, match="more than the 120 rows"):
        ReducedMap(n_landmarks=121).fit(X)
