"""Products and shifted solves with the Nystrom approximation of the fitted rows."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons

from kernlab import KernelMachine
from kernlab.approximations import Nystrom

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 5))
NEW = RNG.normal(size=(30, 5))


def fitted(**changes):
    defaults = {"gamma": 0.3, "n_landmarks": 60, "random_state": 0}
    return Nystrom(**defaults | changes).fit(X)


@pytest.mark.parametrize("factor", ["cholesky", "eigen-drop"])
@pytest.mark.parametrize("beta", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("columns", [None, 3])
def test_shifted_solves_are_those_of_the_dense_matrix(factor, beta, columns):
    approximation = fitted(factor=factor)
    F = approximation.transform(X)
    B = RNG.normal(size=900 if columns is None else (900, columns))
    solution = approximation.shifted(beta).solve(B)
    left = B - beta * solution - F @ (F.T @ solution)
    allowed = 1e-8 if beta < 1.0 else 1e-12  # of a matrix whose condition is 1e8
    assert np.linalg.norm(left) < allowed * np.linalg.norm(B)
    np.testing.assert_allclose(approximation.operator() @ B, F @ (F.T @ B), atol=1e-9)


def test_single_precision_features_are_summed_in_double():
    approximation = fitted(dtype="float32")
    F = approximation.transform(X).astype(np.float64)
    b = RNG.normal(size=900)
    solution = approximation.shifted(0.1).solve(b)
    left = b - 0.1 * solution - F @ (F.T @ solution)
    assert np.linalg.norm(left) < 1e-9 * np.linalg.norm(b)


def test_the_last_factor_is_kept_and_the_gram_matrix_made_once():
    approximation = fitted()
    before = approximation.nbytes
    first = approximation.shifted(1.0)
    assert approximation.shifted(1.0) is first
    assert approximation.shifted(2.0) is not first
    assert approximation.nbytes == before + 8 * (900 * 60 + 2 * 60 * 60)
    assert approximation.is_definite(1e-12)
    with pytest.raises(ValueError, match="positive beta"):
        approximation.shifted(0.0)


def test_fitting_again_forgets_the_old_rows():
    approximation = fitted()
    approximation.shifted(1.0)
    approximation.fit(X[:500])
    assert approximation.shifted(1.0).solve(np.ones(500)).shape == (500,)


def test_decisions_by_dual_variables_and_after_storing():
    approximation = fitted()
    F, rows = approximation.transform(X), np.arange(0, 900, 7)
    dual = RNG.normal(size=(len(rows), 2))
    expected = approximation.transform(NEW) @ (F[rows].T @ dual)
    np.testing.assert_allclose(approximation.dual_decision(NEW, dual, rows), expected, atol=1e-9)
    again = pickle.loads(pickle.dumps(approximation))
    np.testing.assert_allclose(again.dual_decision(NEW, dual, rows), expected, atol=1e-9)
    with pytest.raises(ValueError, match="fit it again"):
        again.exact_product(np.ones(900))
    with pytest.raises(ValueError, match="fit it again"):
        pickle.loads(pickle.dumps(fitted())).operator()


def test_a_stored_map_does_not_carry_the_rows():
    assert len(pickle.dumps(fitted())) < 60 * 60 * 8 + 60 * 5 * 8 + 4096


def test_the_exact_product_is_streamed():
    V = RNG.normal(size=(900, 2))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(fitted().exact_product(V), K @ V, atol=1e-9)


@pytest.mark.parametrize("solver", ["dual-admm", "newton-cg"])
def test_solvers_of_operators_agree_with_those_of_features(solver):
    rows, labels = make_moons(400, noise=0.25, random_state=0)
    arguments = {"gamma": 2.0, "random_state": 0, "approximation_params": {"n_landmarks": 40}}
    steps = {"tol": 1e-8, "max_iter": 20_000} if solver == "dual-admm" else {"tol": 1e-8}
    by_features = KernelMachine("nystrom", "newton", tol=1e-8, **arguments).fit(rows, labels)
    by_operator = KernelMachine("nystrom", solver, **steps, **arguments).fit(rows, labels)
    np.testing.assert_allclose(
        by_operator.decision_function(rows), by_features.decision_function(rows), atol=1e-3
    )
