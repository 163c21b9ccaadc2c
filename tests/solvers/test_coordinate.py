"""Coordinate descent: what the contract of all solvers does not ask, and hostile input."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import nystrom
from kernlab.solvers import certify_primal, solve_dcd
from kernlab.solvers.linear import coordinate
from kernlab.solvers.problems import LOSSES

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=60, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    return X, y


# -------------------------------------------------------------------------- the optimum
@pytest.mark.parametrize("seed", [831, 1142, 3081])
def test_resting_rows_are_looked_at_before_it_calls_itself_done(seed):
    """In these problems all others are at rest while rows that are not due have to move."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(12, 2))
    y = np.where(X[:, 0] + generator.normal(size=12) > 0, 1.0, -1.0)
    found = solve_dcd(X, y, C=1.0, tol=1e-8, max_iter=3000)
    assert found.converged
    assert found.relative_gap < 1e-7


@INTERCEPT
def test_it_stops_when_no_variable_can_move(intercept):
    """All at their upper bounds: no tolerance would be met later than at once."""
    F, y = problem()
    found = solve_dcd(F, y, C=1e-6, intercept=intercept, tol=1e-300, max_iter=1000)
    np.testing.assert_array_equal(found.dual_variables, 1e-6)
    assert found.converged
    assert found.n_iter < 20


@pytest.mark.parametrize("seed", range(4))
def test_equal_gradients_are_no_sign_of_rest(seed):
    """Both variables of a pass want to grow by the same: there is everything left to do."""
    hostile = {"C": 1e30, "intercept": "none", "loss": "squared_hinge", "random_state": seed}
    with pytest.warns(ConvergenceWarning):
        found = solve_dcd([[1.0], [1e-13]], [1, -1], **hostile)
    assert found.relative_gap > 0.1
    assert not found.converged


# ------------------------------------------------------------------- how it gets there
def counted(monkeypatch):
    """The numbers of rows that passes visit from now on, and the precision of their weights."""
    seen, one_pass = [], coordinate.coordinate_pass

    def noted(rows, *others):
        found = one_pass(rows, *others)
        seen.append((found[0], rows[0].dtype))
        return found

    monkeypatch.setattr(coordinate, "coordinate_pass", noted)
    return seen


def test_single_precision_is_used_where_the_tolerance_bears_it_and_certified_in_double(monkeypatch):
    monkeypatch.setattr(coordinate, "WORTH_A_COPY", 0)
    F, y = problem(n=300)
    for tol, precision in ((1e-3, np.float32), (1e-7, np.float64)):
        seen = counted(monkeypatch)
        found = solve_dcd(F, y, C=1.0, tol=tol, max_iter=10_000)
        assert {dtype for _, dtype in seen} == {np.dtype(precision)}
        assert found.converged
        np.testing.assert_allclose(found.coefficients, F.T @ (found.dual_variables * y), rtol=1e-12)
    # Without room for a copy it is not made.
    seen = counted(monkeypatch)
    solve_dcd(F, y, C=1.0, max_memory=F.nbytes + 10)
    assert {dtype for _, dtype in seen} == {np.dtype(np.float64)}


@LOSS
def test_features_at_landmarks_are_formed_in_single_precision_only(loss, monkeypatch):
    monkeypatch.setattr(coordinate, "WORTH_A_COPY", 0)
    monkeypatch.setattr(nystrom, "MANY_VALUES", 0)
    X, y = problem(n=600, p=5)
    landmarks = nystrom.Nystrom(gamma=0.3, n_landmarks=60, random_state=0).fit(X)
    F, rows = landmarks.transform(X), landmarks.features(X)
    exact = solve_dcd(F, y, C=3.0, loss=loss, tol=1e-8, max_iter=10**5)
    seen = counted(monkeypatch)
    found = solve_dcd(rows, y, C=3.0, loss=loss, tol=1e-4, max_iter=10**4)
    assert {dtype for _, dtype in seen} == {np.dtype(np.float32)}
    assert found.converged
    # The figures are those of the coefficients on features in double precision.
    true = certify_primal(F, y, found.coefficients, found.intercept, C=3.0, loss=loss,
                          intercept="penalised", dual=found.dual_variables)  # fmt: skip
    assert found.objective == pytest.approx(true.primal, rel=1e-6)
    assert found.dual_objective == pytest.approx(true.dual, rel=1e-6)
    assert exact.dual_objective <= found.objective <= exact.objective * (1.0 + 1.1e-4)
    careful = solve_dcd(rows, y, C=3.0, loss=loss, tol=1e-8, max_iter=10**5)
    assert careful.objective == pytest.approx(exact.objective, rel=1e-7)


def test_where_single_precision_does_not_do_the_rows_are_held_once(monkeypatch):
    """Values and rows of n k numbers take 4 + 4 bytes each, and with rows in double 4 + 8."""
    X, y = problem(n=100_000, p=5)
    y = np.random.default_rng(1).permutation(y)
    landmarks = nystrom.Nystrom(gamma=0.3, n_landmarks=60, random_state=0).fit(X)
    expected = solve_dcd(landmarks.transform(X), y, C=1.0, tol=1e-6, max_iter=10**5)
    monkeypatch.setattr(coordinate, "FAILURES", 0)
    monkeypatch.setattr(coordinate, "NEXT_TIME", 1e-9)
    estimate = coordinate.Descent.advance
    monkeypatch.setattr(  # so that two certificates fail
        coordinate.Descent,
        "advance",
        lambda self: (estimate(self)[0], 0.0 if self._now in (3, 6) else 1.0),
    )
    seen, rows = counted(monkeypatch), landmarks.features(X)
    tracemalloc.start()
    found = solve_dcd(rows, y, C=1.0, max_iter=40, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [dtype for _, dtype in seen] == [np.dtype(np.float32)] * 3 + [np.dtype(float)] * 37
    assert peak < (12 + 6) * rows.shape[0] * rows.shape[1]  # and blocks, numbers of rows
    assert found.objective == pytest.approx(expected.objective, rel=1e-3)
