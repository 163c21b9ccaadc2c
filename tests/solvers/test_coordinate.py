"""Coordinate descent against general optimisers and LIBLINEAR, and under hostile input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_qp import dual_optimum, dual_value
from sklearn.exceptions import ConvergenceWarning

from kernlab.solvers import certify_dual, solve_dcd
from kernlab.solvers.linear import dcd as coordinate
from kernlab.solvers.losses import LOSSES

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=60, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def tight(F, y, **parameters):
    return solve_dcd(F, y, **{"C": 1.0, "tol": 1e-10, "max_iter": 20_000} | parameters)


# -------------------------------------------------------------------------- the optimum
@LOSS
@INTERCEPT
@pytest.mark.parametrize("C", [1e-2, 1.0, 10.0])
def test_reaches_the_optimum_of_a_general_solver(loss, intercept, C):
    F, y = problem(n=25, p=6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    reference = dual_optimum(F @ F.T, y, C * weights, loss, intercept)
    best = dual_value(F @ F.T, y, reference, C * weights, loss, intercept)
    found = tight(F, y, C=C, loss=loss, intercept=intercept, sample_weight=weights)
    assert found.dual_objective == pytest.approx(best, rel=1e-8)
    assert found.objective == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(found.coefficients, F.T @ (reference * y), rtol=1e-4, atol=1e-6)
    assert np.abs(found.coefficients).max() > 1e-2  # the reference is not trivial


@LOSS
@INTERCEPT
def test_the_result_is_consistent_and_certified_by_others(loss, intercept):
    F, y = problem()
    found = solve_dcd(F, y, C=2.0, loss=loss, intercept=intercept, tol=1e-3)
    assert found.converged
    assert 0.0 <= found.relative_gap <= 1e-3
    np.testing.assert_allclose(found.coefficients, F.T @ (found.dual_variables * y), atol=1e-10)
    expected = found.dual_variables @ y if intercept == "penalised" else 0.0
    assert found.intercept == pytest.approx(expected, abs=1e-10)
    certificate = certify_dual(
        lambda v: F @ (F.T @ v), y, found.dual_variables, C=2.0, loss=loss, intercept=intercept
    )
    assert certificate.primal == pytest.approx(found.objective)
    assert certificate.dual == pytest.approx(found.dual_objective)
    assert certificate.infeasibility == 0.0
    assert certificate.kkt_residual == pytest.approx(found.kkt_residual, abs=1e-10)


@pytest.mark.parametrize("seed", [831, 1142, 3081])
def test_shrunk_rows_are_looked_at_before_it_calls_itself_done(seed):
    """In these problems all rows that are left settle while shrunk rows still have to move."""
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
            F,
            y,
            C=10.0**log_c,
            loss=loss,
            intercept=intercept,
            sample_weight=weights,
            max_iter=30,
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
def test_a_hostile_c_ends_with_an_honest_figure(loss, C):
    F, y = problem(n=200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve_dcd(F, y, C=C, loss=loss, max_iter=200)
    assert np.isfinite(found.objective)
    assert found.gap >= 0.0
    assert found.converged == (not caught)
    assert found.converged == (found.relative_gap <= 1e-3)
    if C < 1:
        assert found.converged
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
    assert found.n_iter == 1000


def test_rest_without_a_certificate_is_not_convergence(monkeypatch):
    """Where no variable moves, and yet the gap is open, the gap is believed."""
    F, y = problem()
    monkeypatch.setattr(coordinate, "coordinate_passes", lambda *arguments: 1)
    with pytest.warns(ConvergenceWarning, match="dcd stopped after 1 iterations"):
        found = solve_dcd(F, y, C=1.0)
    assert not found.converged


# --------------------------------------------------------------------------------- rows
@LOSS
@INTERCEPT
def test_sparse_rows_give_what_dense_rows_give(loss, intercept):
    F, y = problem()
    F[np.abs(F) < 0.5] = 0.0
    dense = solve_dcd(F, y, C=1.0, loss=loss, intercept=intercept)
    wide = sp.csr_matrix(F)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sp.csr_matrix(F), sp.csc_matrix(F), sp.csr_array(F), wide):
        sparse = solve_dcd(rows, y, C=1.0, loss=loss, intercept=intercept)
        np.testing.assert_allclose(sparse.coefficients, dense.coefficients, rtol=1e-8)
        assert sparse.n_iter == dense.n_iter


@pytest.mark.parametrize("form", [np.asfortranarray, lambda F: np.repeat(F, 2, axis=1)[:, ::2]])
def test_the_layout_in_memory_does_not_matter(form):
    F, y = problem()
    np.testing.assert_array_equal(
        solve_dcd(form(F), y, C=1.0).coefficients, solve_dcd(F, y, C=1.0).coefficients
    )


def test_rows_that_cannot_be_written_stay_as_they_are():
    F, y = problem()
    F.setflags(write=False)
    y.setflags(write=False)
    assert solve_dcd(F, y, C=1.0).converged


@LOSS
def test_single_precision_stays_single_and_is_nearly_as_good(loss):
    F, y = problem()
    double = solve_dcd(F, y, C=1.0, loss=loss)
    single = solve_dcd(F.astype(np.float32), y, C=1.0, loss=loss)
    assert single.coefficients.dtype == np.float32
    assert single.converged
    assert single.objective == pytest.approx(double.objective, rel=2e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_integer_features_have_weights_that_are_not_integers(form):
    F, y = problem()
    whole = np.rint(3 * F).astype(int)
    found = solve_dcd(form(whole), y, C=0.1)
    np.testing.assert_allclose(
        found.coefficients, solve_dcd(whole * 1.0, y, C=0.1).coefficients, rtol=1e-10
    )


@LOSS
@INTERCEPT
def test_weight_two_is_the_row_twice_and_weight_zero_the_row_absent(loss, intercept):
    F, y = problem()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    once = tight(F, y, loss=loss, intercept=intercept, sample_weight=weights)
    often = tight(F[rows], y[rows], loss=loss, intercept=intercept)
    assert once.objective == pytest.approx(often.objective, rel=1e-9)
    np.testing.assert_allclose(once.coefficients, often.coefficients, rtol=1e-4, atol=1e-6)
    assert np.all(once.dual_variables[weights == 0] == 0.0)


def test_c_and_weights_multiply():
    F, y = problem()
    np.testing.assert_array_equal(
        solve_dcd(F, y, C=3.0).coefficients,
        solve_dcd(F, y, C=1.0, sample_weight=np.full(len(y), 3.0)).coefficients,
    )


def test_nothing_to_learn():
    F, y = problem()
    idle = solve_dcd(F, y, C=1.0, sample_weight=np.zeros(len(y)))
    assert idle.objective == 0.0
    assert idle.converged is True
    empty = solve_dcd(np.zeros((5, 2)), [1, 1, 1, 1, -1], C=1.0, intercept="none")
    assert empty.objective == 5.0
    assert empty.converged


# -------------------------------------------------------------------------- start, trace
@LOSS
def test_a_warm_start_from_the_optimum_stops_at_once(loss):
    F, y = problem()
    cold = solve_dcd(F, y, C=1.0, loss=loss, tol=1e-4)
    warm = solve_dcd(F, y, C=1.0, loss=loss, tol=1e-4, start=cold.dual_variables)
    assert warm.n_iter == 0
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)


@LOSS
def test_a_warm_start_from_another_c_is_brought_inside_the_box(loss):
    F, y = problem()
    other = tight(F, y, C=10.0, loss=loss)
    warm = tight(F, y, C=1.0, loss=loss, start=other.dual_variables)
    cold = tight(F, y, C=1.0, loss=loss)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    given_start = other.dual_variables.copy()
    tight(F, y, C=10.0, loss=loss, start=given_start)
    np.testing.assert_array_equal(given_start, other.dual_variables)  # the caller's stays whole


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_trace_is_what_the_callback_saw():
    F, y = problem()
    seen = []
    found = solve_dcd(F, y, C=100.0, tol=1e-8, max_iter=95, callback=seen.append)
    assert list(found.trace) == seen
    table = found.trace_table()
    assert list(table.columns) == ["iteration", "objective", "residual", "seconds"]
    assert table.iteration.iloc[0] == 0
    assert table.iteration.iloc[-1] == found.n_iter <= 95
    assert table.objective.iloc[-1] == found.objective
    assert table.residual.iloc[-1] == found.relative_gap
    assert table.seconds.is_monotonic_increasing


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
    assert "above the tolerance 1.00e-05" in text
    assert f"{found.relative_gap:.2e}" in text
    assert "Raise max_iter" in text
    assert not found.converged
    assert caught[0].filename == __file__


# ------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": np.array([0.0, 1.0] * 30)}, "labels must be -1 and 1"),
        ({"y": np.ones(59)}, "60 rows of features, but labels of shape"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"loss": "logistic"}, "'logistic' is not one of hinge"),
        ({"intercept": "free"}, "the newton solver offers it"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be 60 numbers"),
        ({"start": np.zeros(3)}, "start must be 60 dual variables"),
    ],
)
def test_refusals_say_what_is_wrong(change, text):
    F, y = problem()
    arguments = {"y": y, "C": 1.0} | change
    with pytest.raises(ValueError, match=text):
        solve_dcd(F, arguments.pop("y"), **arguments)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_features_that_are_not_finite_are_refused(value, form):
    F, y = problem()
    F[3, 1] = value
    with pytest.raises(ValueError, match="not finite"):
        solve_dcd(form(F), y, C=1.0)
