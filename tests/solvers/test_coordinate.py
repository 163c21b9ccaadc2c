"""Coordinate descent: what the contract of all solvers does not ask, and hostile input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.approximations import nystrom
from kernlab.solvers import certify_dual, certify_primal, solve_dcd
from kernlab.solvers.linear import dcd as coordinate
from kernlab.solvers.problems import LOSSES

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=60, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    return X, y


# -------------------------------------------------------------------------- the optimum
@LOSS
@INTERCEPT
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_it_is_liblinear_at_convergence_and_certified_by_others(loss, intercept, form):
    F, y = problem(n=300)
    F[np.abs(F) < 0.3] = 0.0
    model = LinearSVC(
        loss=loss, C=2.0, dual=True, fit_intercept=intercept == "penalised", tol=1e-10,
        max_iter=10**6,
    ).fit(F, y)  # fmt: skip
    found = solve_dcd(form(F), y, C=2.0, loss=loss, intercept=intercept, tol=1e-8, max_iter=10**5)
    np.testing.assert_allclose(found.coefficients, model.coef_[0], rtol=1e-3, atol=1e-4)
    assert found.intercept == pytest.approx(float(np.ravel(model.intercept_)[0]), abs=1e-3)
    np.testing.assert_allclose(found.coefficients, F.T @ (found.dual_variables * y), atol=1e-10)
    certificate = certify_dual(
        lambda v: F @ (F.T @ v), y, found.dual_variables, C=2.0, loss=loss, intercept=intercept
    )
    assert certificate.primal == pytest.approx(found.objective)
    assert certificate.dual == pytest.approx(found.dual_objective)
    assert certificate.infeasibility == 0.0
    assert certificate.kkt_residual == pytest.approx(found.kkt_residual, abs=1e-10)
    assert 0.0 <= found.relative_gap <= 1e-8


@pytest.mark.parametrize("seed", [831, 1142, 3081])
def test_resting_rows_are_looked_at_before_it_calls_itself_done(seed):
    """In these problems all others are at rest while rows that are not due have to move."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(12, 2))
    y = np.where(X[:, 0] + generator.normal(size=12) > 0, 1.0, -1.0)
    found = solve_dcd(X, y, C=1.0, tol=1e-8, max_iter=3000)
    assert found.converged
    assert found.relative_gap < 1e-7


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(list(LOSSES)),
    intercept=st.sampled_from(["penalised", "none"]),
    log_c=st.floats(-8, 8),
)
def test_bounds_hold_whatever_the_problem(seed, loss, intercept, log_c):
    """Duplicates, rows of zeros, constant columns, weights of zero, C from 1e-8 to 1e8."""
    generator = np.random.default_rng(seed)
    n, p = generator.integers(1, 30), generator.integers(1, 5)
    F = generator.choice([0.0, 1.0, -2.0, 1e-3], (n, p))
    y = generator.choice([-1.0, 1.0], n)
    weights = generator.choice([0.0, 1.0, 2.0], n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve_dcd(
            F, y, C=10.0**log_c, loss=loss, intercept=intercept, sample_weight=weights, max_iter=30
        )
    size = abs(found.objective) + abs(found.dual_objective)
    assert found.gap >= -1e-10 * size
    assert np.all(found.dual_variables >= 0.0)
    assert np.all(found.dual_variables[weights == 0] == 0.0)
    if loss == "hinge":
        assert np.all(found.dual_variables <= 10.0**log_c * weights)
    assert found.converged == (found.relative_gap <= 1e-3) or found.n_iter < 30


@LOSS
@pytest.mark.parametrize("C", [1e-8, 1e8])
@pytest.mark.parametrize("single", [False, True])
def test_a_hostile_c_ends_with_an_honest_figure(loss, C, single, monkeypatch):
    monkeypatch.setattr(coordinate, "WORTH_A_COPY", 0 if single else 10**9)
    F, y = problem(n=200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve_dcd(F, y, C=C, loss=loss, max_iter=200)
    assert np.isfinite(found.objective)
    assert found.gap >= 0.0
    assert found.converged == (not caught) == (found.relative_gap <= 1e-3)
    if C < 1:
        assert found.objective == pytest.approx(C * len(y), rel=1e-4)  # no weight pays


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


def test_rest_without_a_certificate_is_not_convergence(monkeypatch):
    """Where no variable moves, and yet the gap is open, the gap is believed."""
    F, y = problem()
    monkeypatch.setattr(coordinate, "coordinate_pass", lambda *arguments: (60, 60.0, 0.0, 0.0))
    with pytest.warns(ConvergenceWarning, match="dcd stopped after 1 iterations"):
        found = solve_dcd(F, y, C=1.0)
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


def test_rows_at_their_bounds_are_visited_seldom(monkeypatch):
    F, y = problem(n=2000, p=5)
    seen = counted(monkeypatch)
    found = solve_dcd(F, y, C=1.0, tol=1e-6, max_iter=10_000)
    assert found.converged
    assert found.n_iter == len(seen) > 30
    assert sum(visited for visited, _ in seen) < 0.3 * len(y) * len(seen)


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


def test_where_single_precision_does_not_certify_double_goes_on(monkeypatch):
    monkeypatch.setattr(coordinate, "WORTH_A_COPY", 0)
    one_pass = coordinate.coordinate_pass

    def too_sure(rows, *others):
        visited, gap, mean, worst = one_pass(rows, *others)
        return visited, gap * (1e-3 if rows[0].dtype == np.float32 else 1.0), mean, worst

    monkeypatch.setattr(coordinate, "coordinate_pass", too_sure)
    seen = counted(monkeypatch)
    F, y = problem(n=300)
    found = solve_dcd(F, y, C=10.0)
    precisions = [dtype for _, dtype in seen]
    assert precisions == sorted(precisions, key=lambda dtype: dtype.itemsize)
    assert {*precisions} == {np.dtype(np.float32), np.dtype(np.float64)}
    assert found.converged
    assert found.relative_gap <= 1e-3


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


@LOSS
def test_single_precision_features_stay_single(loss):
    F, y = problem()
    double = solve_dcd(F, y, C=1.0, loss=loss)
    single = solve_dcd(F.astype(np.float32), y, C=1.0, loss=loss)
    assert single.coefficients.dtype == np.float32
    assert single.converged
    assert single.objective == pytest.approx(double.objective, rel=2e-3)


# -------------------------------------------------------------------------- start, trace
@LOSS
def test_a_warm_start_from_the_optimum_stops_at_once(loss):
    F, y = problem()
    cold = solve_dcd(F, y, C=1.0, loss=loss, tol=1e-4)
    kept = cold.dual_variables.copy()
    for start in (cold, cold.dual_variables):
        warm = solve_dcd(F, y, C=1.0, loss=loss, tol=1e-4, start=start)
        assert warm.n_iter == 0
        assert warm.objective == pytest.approx(cold.objective, rel=1e-12)
    other = solve_dcd(F, y, C=0.1, loss=loss, tol=1e-9, max_iter=10**5, start=kept)  # in its box
    cold = solve_dcd(F, y, C=0.1, loss=loss, tol=1e-9, max_iter=10**5)
    assert other.objective == pytest.approx(cold.objective, rel=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trace_is_what_the_callback_saw_and_ends_with_the_figures():
    F, y = problem()
    seen = []
    found = solve_dcd(F, y, C=100.0, tol=1e-8, max_iter=95, callback=seen.append)
    assert list(found.trace) == seen
    table = found.trace_table()
    assert list(table.columns) == ["iteration", "objective", "residual", "seconds"]
    assert table.iteration.tolist() == [*range(0, 95, 10), 95]
    assert table.objective.iloc[0] == 100.0 * len(y)
    assert table.objective.iloc[-1] == found.objective
    assert table.residual.iloc[-1] == found.relative_gap
    assert table.seconds.is_monotonic_increasing
    assert table.residual.iloc[-2] == pytest.approx(found.relative_gap, rel=0.5)  # an estimate


def test_the_seed_decides_the_order_and_nothing_else():
    F, y = problem()
    runs = [solve_dcd(F, y, C=1.0, random_state=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].coefficients, runs[1].coefficients)
    assert not np.array_equal(runs[0].coefficients, runs[2].coefficients)
    assert runs[0].objective == pytest.approx(runs[2].objective, rel=1e-3)


def test_falling_short_is_said_once_with_the_figures():
    F, y = problem(n=300)
    with pytest.warns(ConvergenceWarning) as caught:
        found = solve_dcd(F, y, C=1e4, max_iter=3, tol=1e-5)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "dcd stopped after 3 iterations with a relative duality gap of" in text
    assert f"{found.relative_gap:.2e}, above the tolerance 1.00e-05. Raise max_iter" in text
    assert caught[0].filename == __file__


# ------------------------------------------------------------------- nothing, and nonsense
def test_nothing_to_learn():
    F, y = problem()
    idle = solve_dcd(F, y, C=1.0, sample_weight=np.zeros(len(y)))
    assert (idle.objective, idle.converged, idle.n_iter) == (0.0, True, 0)
    empty = solve_dcd(np.zeros((5, 2)), [1, 1, 1, 1, -1], C=1.0, intercept="none")
    assert empty.objective == 5.0
    assert empty.converged


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("single", [False, True])
def test_features_that_are_not_finite_are_refused(value, form, single, monkeypatch):
    monkeypatch.setattr(coordinate, "WORTH_A_COPY", 0 if single else 10**9)
    F, y = problem()
    F[3, 1] = value
    with pytest.raises(ValueError, match="not finite"):
        solve_dcd(form(F), y, C=1.0, max_iter=50)
    with pytest.raises(ValueError, match="start must be 60 dual variables"):
        solve_dcd(form(F), y, C=1.0, start=np.zeros(3))
    with pytest.raises(ValueError, match="the newton solver offers it"):
        solve_dcd(form(F), y, C=1.0, intercept="free")
