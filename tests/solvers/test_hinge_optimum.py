"""The hinge's minimiser where features nearly depend on each other: against a linear programme."""

import numpy as np
import pytest
from scipy.optimize import linprog

from kernlab.approximations import PolynomialMap
from kernlab.solvers import solve_hinge_admm
from kernlab.solvers.hinge.admm import HingeProblem, solve_hinge_problems
from kernlab.solvers.hinge.combined_rows import CombinedRows, nearly_dependent, orthonormal_mix
from kernlab.solvers.linear.streamed import ArrayRows, gram_matrix

M = 400


def huddled(spread, degree):
    """Features of rows along a line in a corner of their box, which a tenth of them stretch.

    Those are of both classes at each place, so that no function of huge scores gains from them.
    """
    rng = np.random.default_rng(0)
    t, off = rng.random(M), rng.standard_normal(M)
    X = 0.02 * np.column_stack([t, t + spread * off])
    y = np.where(np.sin(9 * t) + 0.5 * off > 0.3, 1.0, -1.0)
    y[rng.random(M) < 0.2] *= -1
    X[:40] = np.tile([[1, 1], [0, 1], [1, 0], [0, 0]], (10, 1))
    y[:12], y[12:40] = 1.0, -1.0
    return PolynomialMap(degree, basis="chebyshev").fit(X).transform(X), y


def linear_programme(F, y):
    """The least mean hinge loss, in coordinates that no solver minds."""
    Q = np.linalg.qr(F)[0] * np.sqrt(M)
    n = Q.shape[1]
    found = linprog(
        np.concatenate([np.zeros(n), np.full(M, 1 / M)]),
        A_ub=np.hstack([-y[:, None] * Q, -np.eye(M)]),
        b_ub=-np.ones(M),
        bounds=[(None, None)] * n + [(0, None)] * M,
    )
    assert found.status == 0
    return found.fun


def loss(F, y, u):
    return np.maximum(0.0, 1.0 - y * (F @ u)).mean()


@pytest.mark.parametrize(
    ("spread", "degree", "condition"), [(0.1, 5, 5e11), (0.01, 4, 1e11), (0.001, 3, 7e8)]
)
def test_features_that_nearly_depend_reach_the_programme_with_a_certificate(
    spread, degree, condition
):
    F, y = huddled(spread, degree)
    assert np.linalg.cond(F) > 0.9 * condition
    seen = []
    result = solve_hinge_admm(F, y, to_optimum=True, tol=1e-4, callback=seen.append)
    best = linear_programme(F, y)
    assert result.converged
    assert result.kkt_residual < 1e-4
    assert result.n_iter < 60
    assert best * (1 - 1e-6) <= result.objective <= best * (1 + 1e-3)
    assert result.dual_objective <= best * (1 + 1e-6)
    assert loss(F, y, result.coefficients) == pytest.approx(result.objective, rel=1e-6)
    assert loss(F, y, seen[-1]["coefficients"]) == pytest.approx(result.objective, rel=1e-4)
    assert [row["iteration"] for row in result.trace] == list(range(len(result.trace)))


def test_weights_and_blocks_are_heeded_there(monkeypatch):
    F, y = huddled(0.01, 4)
    twice = np.where(np.arange(M) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(M), twice.astype(int))
    weighted = solve_hinge_admm(F, y, to_optimum=True, sample_weight=twice)
    monkeypatch.setattr("kernlab.solvers.linear.streamed.GRAM_BYTES", 1)
    monkeypatch.setattr("kernlab.solvers.linear.streamed.VALUES_PER_THREAD", 100)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "3")
    whole = solve_hinge_admm(F[repeated], y[repeated], to_optimum=True)
    assert weighted.converged
    assert weighted.objective == pytest.approx(whole.objective, rel=1e-5)
    a = weighted.dual_variables
    assert np.all((a >= 0) & (a <= twice / twice.sum() * (1 + 1e-12)))


def test_a_run_that_stops_early_is_followed_by_one_that_does_not():
    """Well-conditioned, but nearly separable: the scores grow far beyond 1 and steps are short."""
    rng = np.random.default_rng(3)
    X = rng.random((M, 2))
    y = np.where(X[:, 0] > 0.5 + 0.1 * np.sin(9 * X[:, 1]), 1.0, -1.0)
    F = PolynomialMap(4, basis="chebyshev").fit(X).transform(X)
    y[np.argsort(np.abs(X[:, 0] - 0.5))[::40][:3]] *= -1
    one = solve_hinge_admm(F, y, to_optimum=True, tol=1e-6)
    assert one.converged
    assert one.objective == pytest.approx(linear_programme(F, y), rel=1e-3, abs=1e-7)


def test_a_few_steps_are_a_few_steps_in_both_runs():
    F, y = huddled(0.01, 4)
    for steps in (1, 3):
        with pytest.warns(UserWarning, match="duality gap"):
            result = solve_hinge_admm(F, y, to_optimum=True, max_iter=steps)
        assert result.n_iter == steps
        assert not result.converged


def test_combinations_of_features_are_products_with_the_mix():
    F, _ = huddled(0.1, 3)
    mix = np.random.default_rng(1).standard_normal((7, 4))
    rows = CombinedRows(ArrayRows(F), mix)
    assert rows.shape == (M, 4)
    block = rows.fill(slice(10, 60), rows.room(80))
    np.testing.assert_allclose(block, (F[10:60, :7] @ mix).T, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_mix_makes_features_orthonormal_and_leaves_out_what_does_not_exist(weighted):
    F, _ = huddled(0.01, 4)
    doubled = ArrayRows(np.column_stack([F, F[:, :3] - F[:, 3:6], np.zeros(M)]))
    weights = np.random.default_rng(2).random(M) + 0.1 if weighted else None
    mix = orthonormal_mix(doubled, weights, gram_matrix(doubled, weights))
    assert mix.shape == (F.shape[1] + 4, F.shape[1])
    gram = gram_matrix(CombinedRows(doubled, mix), weights)
    np.testing.assert_allclose(gram, np.eye(F.shape[1]), atol=1e-3)


def test_near_dependence_is_seen_whatever_the_units():
    F, _ = huddled(0.1, 2)
    assert not nearly_dependent(F.T @ F)
    scaled = F * np.logspace(-6, 6, F.shape[1])
    assert not nearly_dependent(scaled.T @ scaled)
    dependent = np.column_stack([F, F @ np.ones(F.shape[1])])
    assert nearly_dependent(dependent.T @ dependent)
    nearly, _ = huddled(0.01, 4)
    assert nearly_dependent(nearly.T @ nearly)


def test_mixed_features_say_where_they_lose_the_optimum():
    """The combinations of a problem are asked for their weights after all."""
    F, y = huddled(0.1, 4)
    mix = np.random.default_rng(5).standard_normal((F.shape[1], F.shape[1]))
    problem = HingeProblem(positive=1, mix=mix)
    settings = {"to_optimum": True, "tol": 1e-4}
    result = solve_hinge_problems(ArrayRows(F), y.astype(int), [problem], **settings)[0]
    assert result.converged
    assert result.objective == pytest.approx(linear_programme(F, y), rel=1e-3)
    assert loss(F @ mix, y, result.coefficients) == pytest.approx(result.objective, rel=1e-6)
    powers = np.linspace(1.0, 1.001, F.shape[1])[:, None] ** np.arange(F.shape[1])
    problem = HingeProblem(positive=1, mix=powers)
    with pytest.warns(UserWarning, match="cannot hold the minimiser in double precision"):
        result = solve_hinge_problems(ArrayRows(F), y.astype(int), [problem], **settings)[0]
    assert not result.converged
    assert loss(F, y, powers @ result.coefficients) == pytest.approx(result.objective, rel=1e-3)
