"""LIBLINEAR with a certificate: against general optimisers, and under hostile input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference_qp import dual_optimum, dual_value
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.solvers import solve_dcd, solve_liblinear, solve_newton
from kernlab.solvers.linear.liblinear import at_a_time

PAIRS = [("dcd", "hinge"), ("dcd", "squared_hinge"), ("tron", "squared_hinge")]
WAYS = pytest.mark.parametrize(("method", "loss"), PAIRS)
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=60, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def tight(F, y, **parameters):
    return solve_liblinear(F, y, **{"C": 1.0, "tol": 1e-10, "max_iter": 10**6} | parameters)


@WAYS
@INTERCEPT
def test_reaches_the_optimum_of_a_general_solver(method, loss, intercept):
    F, y = problem(n=25, p=6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    reference = dual_optimum(F @ F.T, y, weights, loss, intercept)
    best = dual_value(F @ F.T, y, reference, weights, loss, intercept)
    found = tight(F, y, loss=loss, intercept=intercept, method=method, sample_weight=weights)
    assert found.objective == pytest.approx(best, rel=1e-8)
    assert found.dual_objective == pytest.approx(best, rel=2e-6)
    assert found.converged
    assert found.solver == f"liblinear-{method}"


@WAYS
@INTERCEPT
@pytest.mark.parametrize("max_iter", [1, 3, 10, 100])
def test_the_gap_is_never_below_the_true_distance(method, loss, intercept, max_iter):
    F, y = problem(n=200)
    best = solve_dcd(
        F, y, C=10.0, loss=loss, intercept=intercept, tol=1e-9, max_iter=10**6
    ).dual_objective
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve_liblinear(
            F, y, C=10.0, loss=loss, intercept=intercept, method=method, max_iter=max_iter
        )
    assert found.gap >= found.objective - best - 1e-7 * best


def test_a_run_cut_short_has_a_figure_that_means_something():
    """Dual variables read off the margins of an unfinished run would say 0.56 here."""
    F, y = problem(n=200, p=5)
    with pytest.warns(ConvergenceWarning):
        found = solve_liblinear(F, y, C=10.0, max_iter=300, tol=1e-9)
    best = tight(F, y, C=10.0, method="tron").objective
    assert found.objective - best < 0.05 * best
    assert found.relative_gap < 0.05


@WAYS
@INTERCEPT
def test_it_is_what_linear_svc_returns(method, loss, intercept):
    F, y = problem()
    reference = LinearSVC(
        loss=loss,
        dual=method == "dcd",
        C=0.5,
        fit_intercept=intercept == "penalised",
        tol=1e-8,
        max_iter=10**6,
    ).fit(F, y)
    found = tight(F, y, C=0.5, loss=loss, intercept=intercept, method=method)
    np.testing.assert_allclose(found.coefficients, reference.coef_.ravel(), rtol=1e-4, atol=1e-6)
    assert found.intercept == pytest.approx(float(np.ravel(reference.intercept_)[0]), abs=1e-5)


@WAYS
def test_sparse_rows_give_what_dense_rows_give(method, loss):
    F, y = problem()
    F[np.abs(F) < 0.5] = 0.0
    dense = tight(F, y, loss=loss, method=method)
    wide = sp.csr_matrix(F)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sp.csr_matrix(F), sp.csc_matrix(F), wide):
        sparse = tight(rows, y, loss=loss, method=method)
        np.testing.assert_allclose(sparse.coefficients, dense.coefficients, rtol=1e-5, atol=1e-8)


@WAYS
def test_single_precision_and_integers(method, loss):
    F, y = problem()
    single = solve_liblinear(F.astype(np.float32), y, C=1.0, loss=loss, method=method)
    double = solve_liblinear(F, y, C=1.0, loss=loss, method=method)
    assert single.coefficients.dtype == np.float32
    np.testing.assert_allclose(single.coefficients, double.coefficients, atol=1e-2)
    assert single.gap >= -1e-6 * single.objective
    whole = np.rint(3 * F).astype(int)
    np.testing.assert_allclose(
        tight(whole, y, C=0.1, loss=loss, method=method).coefficients,
        tight(whole * 1.0, y, C=0.1, loss=loss, method=method).coefficients,
    )


@WAYS
@INTERCEPT
def test_weight_two_is_the_row_twice_and_weight_zero_the_row_absent(method, loss, intercept):
    F, y = problem()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    same = {"loss": loss, "intercept": intercept, "method": method}
    once = tight(F, y, sample_weight=weights, **same)
    often = tight(F[rows], y[rows], **same)
    assert once.objective == pytest.approx(often.objective, rel=1e-9)
    np.testing.assert_allclose(once.coefficients, often.coefficients, rtol=1e-4, atol=1e-6)


@WAYS
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_a_hostile_c_ends_with_an_honest_figure(method, loss, C):
    F, y = problem(n=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve_liblinear(F, y, C=C, loss=loss, method=method)
    assert np.isfinite(found.objective)
    assert found.gap >= -1e-9 * found.objective
    if C < 1:
        assert found.objective == pytest.approx(C * len(y), rel=1e-4)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@WAYS
@INTERCEPT
def test_rows_of_one_sign_that_weigh_anything_are_solved_all_the_same(
    method, loss, intercept, sign
):
    """A class of weight zero leaves one of several problems like that: LIBLINEAR refuses it."""
    F, y = problem()
    weights = np.where(y == sign, 2.0, 0.0)
    same = {"loss": loss, "intercept": intercept, "sample_weight": weights}
    found = solve_liblinear(F, y, C=1.0, method=method, **same)
    best = solve_dcd(F, y, C=1.0, tol=1e-9, max_iter=10**5, **same).objective
    assert found.objective == pytest.approx(best, rel=1e-3)
    assert found.converged
    assert 0.0 <= found.relative_gap < 1e-3
    assert found.solver == f"liblinear-{method}"
    assert len(found.trace) == 1
    assert "one sign" in found.message
    alone = solve_liblinear(F[weights > 0], y[weights > 0], C=2.0, method=method, loss=loss,
                            intercept=intercept)  # fmt: skip
    assert alone.objective == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize(("sign", "weight"), [(1.0, 1.0), (-1.0, 1.0), (1.0, 0.0)])
def test_a_free_intercept_decides_for_one_sign_by_itself(sign, weight):
    F, y = problem()
    weights = np.where(y == sign, weight, 0.0)
    found = solve_liblinear(F, y, C=1.0, method="tron", intercept="free", sample_weight=weights)
    assert not found.coefficients.any()
    assert found.intercept == sign * weight
    assert (found.objective, found.dual_objective, found.converged) == (0.0, 0.0, True)


def test_the_same_seed_gives_the_same_numbers():
    F, y = problem()
    runs = [solve_liblinear(F, y, C=1.0, random_state=seed, tol=0.1) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0].coefficients, runs[1].coefficients)
    assert not np.array_equal(runs[0].coefficients, runs[2].coefficients)


def test_falling_short_is_said_once_and_in_our_words():
    F, y = problem(n=300)
    with pytest.warns(ConvergenceWarning) as caught:
        found = solve_liblinear(F, y, C=1e4, max_iter=3)
    assert len(caught) == 1
    assert not found.converged
    text = str(caught[0].message)
    assert "liblinear-dcd stopped after 3 iterations with a relative duality gap of" in text
    assert f"{found.relative_gap:.2e}" in text
    assert "tol is its own measure" in text
    assert caught[0].filename == __file__


def test_the_trace_is_what_the_callback_saw():
    F, y = problem()
    seen = []
    found = solve_liblinear(F, y, C=1.0, method="tron", callback=seen.append)
    assert list(found.trace) == seen
    assert found.trace_table().iteration.tolist() == [found.n_iter]
    assert found.trace_table().residual.tolist() == [found.relative_gap]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"method": "newton"}, "method='newton' is not one of dcd, tron"),
        ({"method": "tron", "loss": "hinge"}, "needs a smooth loss"),
        ({"intercept": "free"}, "its tron and the newton solver offer a free one"),
        ({"start": np.zeros(60)}, "starts from zero"),
        ({"loss": "logistic"}, "'logistic' is not one of hinge"),
        ({"C": np.nan}, "C must be a positive number"),
        ({"y": np.array([0.0, 1.0] * 30)}, "labels must be -1 and 1"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be 60 numbers"),
    ],
)
def test_refusals_say_what_is_wrong(change, text):
    F, y = problem()
    with pytest.raises(ValueError, match=text):
        solve_liblinear(**{"F": F, "y": y, "C": 1.0} | change)


@WAYS
def test_several_problems_are_each_solved_as_if_alone(method, loss, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")
    F, y = problem()
    columns = np.column_stack([y, np.where(F[:, 1] > 0, 1.0, -1.0), -y])
    filters, seen = list(warnings.filters), []
    together = solve_liblinear(F, columns, C=1.0, loss=loss, method=method, callback=seen.append)
    assert warnings.filters == filters
    assert seen == [result.trace[0] for result in together]
    for column, result in zip(columns.T, together, strict=True):
        alone = solve_liblinear(F, column, C=1.0, loss=loss, method=method)
        np.testing.assert_array_equal(result.coefficients, alone.coefficients)
        assert result.dual_objective == pytest.approx(alone.dual_objective, rel=1e-12)
    assert isinstance(solve_liblinear(F, y[:, None], C=1.0, loss=loss, method=method), list)


def test_problems_that_fall_short_are_warned_of_once_with_the_worst(monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")
    F, y = problem(n=300)
    columns = np.column_stack([y, np.where(F[:, 1] > 0, 1.0, -1.0)])
    with pytest.warns(ConvergenceWarning) as caught:
        found = solve_liblinear(F, columns, C=1e4, method="tron", max_iter=2)
    assert len(caught) == 1
    assert f"{max(result.relative_gap for result in found):.2e}" in str(caught[0].message)


def test_a_problem_more_at_a_time_needs_room_for_its_copy(monkeypatch):
    """1,000 values: 8,000 bytes held (sparse 12,000), 16,000 for each copy (sparse 28,000)."""
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "4")
    dense = np.ones((100, 10))
    for rows, held, each in ((dense, 8000, 16_000), (sp.csr_matrix(dense), 12_000, 28_000)):
        for copies in (2, 3):
            assert at_a_time(rows, held + each * copies) == copies
            assert at_a_time(rows, held + each * copies - 1) == copies - 1
        assert at_a_time(rows, 10) == 1
        assert at_a_time(rows, "1GB") == 4


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_free_intercept_is_that_of_a_solver_without_a_penalty(C, share):
    F, _ = problem(n=200)
    y = np.where(F[:, 0] + np.random.default_rng(5).normal(size=200) > np.quantile(F, share), 1, -1)
    ours = solve_liblinear(F, y, C=C, intercept="free", method="tron", tol=1e-8)
    theirs = solve_newton(F, y, C=C, intercept="free", tol=1e-10)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-3)
    assert ours.objective >= ours.dual_objective > ours.objective * (1 - 1e-2)
    penalised = solve_liblinear(F, y, C=C, method="tron", tol=1e-8)
    assert abs(ours.intercept) > abs(penalised.intercept)
