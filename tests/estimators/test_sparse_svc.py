"""The sparse kernel machine: both paths to one optimum, the thesis' listing, and its widths."""

import warnings

import numpy as np
import pytest
from references import optimum
from sklearn.datasets import load_digits, make_blobs, make_classification, make_moons
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.svm import LinearSVC

from kernlab import SparseCholeskySVC, sweep
from kernlab.approximations.compact import NearlyDiagonalWarning
from kernlab.approximations.compact import approximation as compact
from kernlab.datasets.generators import swiss_roll
from kernlab.estimators import sparse
from kernlab.estimators.sparse import best_sigma, cross_validate_sigma
from kernlab.runtime import MemoryLimitError

X, Y = make_moons(300, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(300, noise=0.2, random_state=1)
SIGNS = np.where(Y == 1, 1.0, -1.0)
PATHS = pytest.mark.parametrize("solver", ["cholesky", "newton"])


def machine(**changes):
    return SparseCholeskySVC(**{"sigma": 0.2, "l": 3, "random_state": 0} | changes)


def roll(rows, seed=0):
    """The Swiss roll in the unit cube."""
    rows, classes = swiss_roll(rows, seed=seed)
    return (rows - rows.min(axis=0)) / np.ptp(rows, axis=0), classes


def by_definition(A, B, sigma, l):
    d = euclidean_distances(A, B)
    return np.maximum(1 - d / (3 * sigma), 0) ** l * np.exp(-(d**2) / (2 * sigma**2))


# ---------------------------------------------------------------------------- the two paths
@PATHS
@pytest.mark.parametrize("intercept", ["penalised", "none", "free"])
@pytest.mark.parametrize("C", [0.1, 30.0])
def test_both_paths_reach_the_optimum_of_the_kernel_as_defined(solver, C, intercept):
    weights = np.linspace(0.5, 1.5, 300)
    fitted = machine(C=C, intercept=intercept, solver=solver, tol=1e-8, max_iter=100_000)
    fitted.fit(X, Y, sample_weight=weights)
    K = by_definition(X, X, 0.2, 3) + 1e-4 * np.eye(300)
    best = optimum(K, SIGNS, C * weights, "squared_hinge", intercept)
    assert fitted.result_.objective == pytest.approx(best, rel=1e-5)
    dual = np.zeros(300)
    dual[fitted.support_] = fitted.dual_coef_[0]
    slack = np.maximum(0.0, 1.0 - SIGNS * (K @ dual + fitted.intercept_[0]))
    np.testing.assert_allclose(dual, 2.0 * C * weights * SIGNS * slack, atol=1e-3 * C)
    if solver == "newton":  # LIBLINEAR gives none
        np.testing.assert_allclose(fitted.result_.dual_variables * SIGNS, dual, atol=1e-9)
    np.testing.assert_allclose(
        fitted.decision_function(NEW), by_definition(NEW, X, 0.2, 3) @ dual + fitted.intercept_,
        atol=1e-9,
    )  # fmt: skip


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_at_a_large_c_the_certificate_counts_what_features_leave_out(loss):
    """Their entries below 1e-8 are missing from scores, whose slacks are multiplied by C."""
    draw = np.random.default_rng(0)
    rows = np.where(draw.random((60, 4)) < 0.3, 0.0, draw.normal(size=(60, 4)))
    signs = np.where(rows[:, 0] + 0.5 * draw.normal(size=60) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = SparseCholeskySVC(1e6, sigma=1.0, l=5, loss=loss, random_state=0)
        machine.fit(rows, signs)
    dual, operator, b = np.zeros(60), machine.approximation_.operator(), machine.result_.intercept
    dual[machine.support_] = machine.dual_coef_.ravel()
    scores = (operator @ np.eye(60)).astype(np.longdouble) @ dual
    slack = np.maximum(0.0, 1.0 - signs * (scores + b))
    value = (dual @ scores + b * b) / 2 + 1e6 * np.sum(slack if loss == "hinge" else slack**2)
    assert machine.result_.objective == pytest.approx(float(value), rel=1e-7)
    assert machine.result_.dual_objective <= machine.result_.objective


def test_it_is_the_thesis_listing_with_its_permutation_put_right():
    """Appendix B in dense algebra: K, L, LinearSVC, L^T D lambda = w, and lambda[argsort(P)]."""
    ours = machine(sigma=0.1, max_iter=100_000, tol=1e-8).fit(X, Y)
    K, P = by_definition(X, X, 0.1, 3), ours.permutation_
    L = np.linalg.cholesky((K + 1e-4 * np.eye(300))[np.ix_(P, P)])
    linear = LinearSVC(C=1, dual=False, tol=1e-8, max_iter=100_000).fit(L, SIGNS[P])
    lam = np.linalg.solve(L.T @ np.diag(SIGNS[P]), linear.coef_.ravel())
    cross = by_definition(NEW, X, 0.1, 3)
    corrected = cross @ (SIGNS * lam[np.argsort(P)]) + linear.intercept_
    as_printed = cross @ (SIGNS * lam[P]) + linear.intercept_
    np.testing.assert_allclose(ours.decision_function(NEW), corrected, atol=1e-4)
    assert np.abs(as_printed - corrected).max() > 0.5
    assert ours.sparsity_ == pytest.approx(1 - np.count_nonzero(K) / K.size)
    assert ours.factor_sparsity_ == pytest.approx(1 - np.count_nonzero(L) / L.size, abs=0.01)


@PATHS
def test_a_grid_assembles_its_matrix_once(solver, monkeypatch):
    assembled, factorised = [], []
    matrix, factorise = compact.NearKernel.matrix, compact.factorise
    monkeypatch.setattr(compact.NearKernel, "matrix", lambda *a: assembled.append(1) or matrix(*a))
    monkeypatch.setattr(
        compact, "factorise", lambda *a, **k: factorised.append(1) or factorise(*a, **k)
    )
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "intercept": ["penalised", "none"]}
    settings = {"solver": solver, "tol": 1e-8, "max_iter": 100_000}
    table = sweep(machine(**settings), X, Y, grid, validation=(NEW, NEW_Y))
    assert len(assembled) == 1
    assert len(factorised) == (solver == "cholesky")
    for row in table.itertuples():
        alone = machine(C=row.C, intercept=row.intercept, **settings).fit(X, Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-6)
        assert row.validation_accuracy == pytest.approx(alone.score(NEW, NEW_Y), abs=0.004)


# ------------------------------------------------------------------------- choice of the width
def test_cross_validation_sees_training_rows_only_and_keeps_the_floor():
    widths = [0.001, 0.05, 0.1, 0.2, 5.0]
    how = {"floor": 0.7, "random_state": 0}
    table = cross_validate_sigma(machine(solver="newton"), X, Y, widths, **how)
    assert list(table.status == "ok") == [True, True, True, True, False]
    assert "below the floor 0.7" in table.status.iloc[-1]
    assert np.isnan(table.accuracy.iloc[-1])
    assert table.sparsity.is_monotonic_decreasing
    assert table.set_index("sigma").accuracy[best_sigma(table)] == table.accuracy.max()
    alone = sweep(machine(solver="newton"), X, Y, {"sigma": widths[:4]}, validation=5)
    assert np.abs(alone["cv_accuracy"] - table["accuracy"][:4]).max() < 0.05  # other folds
    assert best_sigma(table.assign(accuracy=[0.9, 0.9, 0.8, 0.8, np.nan])) == 0.001
    with pytest.raises(ValueError, match="no sigma was tried"):
        best_sigma(table.iloc[-1:])


@pytest.mark.parametrize("alpha", ["trade-off", 4.0])
def test_the_floor_holds_where_the_support_has_a_rule_of_its_own(alpha):
    fitted = machine(sigma="cv", alpha=alpha, sparsity=0.5, solver="newton").fit(X, Y)
    sparsity = fitted.sigma_table_.set_index("sigma").sparsity[best_sigma(fitted.sigma_table_)]
    assert fitted.sparsity_ == pytest.approx(sparsity, abs=0.01)
    assert fitted.sparsity_ > 0.5


@PATHS
def test_the_estimator_cross_validates_by_itself_and_forgets_it(solver):
    weights = np.linspace(0.5, 1.5, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NearlyDiagonalWarning)  # candidates are not complained about
        fitted = machine(sigma="cv", solver=solver).fit(X, Y, sample_weight=weights)
    assert fitted.sigma_ == pytest.approx(best_sigma(fitted.sigma_table_))
    assert len(fitted.sigma_table_) == 8
    assert fitted.sparsity_ >= 0.74
    alone = machine(sigma=fitted.sigma_, solver=solver).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(alone.decision_function(NEW), fitted.decision_function(NEW))
    assert not hasattr(fitted.set_params(sigma=0.3).fit(X, Y), "sigma_table_")


# ---------------------------------------------------------------------------------- refusals
@PATHS
def test_below_askeys_bound_and_near_the_diagonal_it_is_said(solver):
    digits, labels = load_digits(return_X_y=True)
    with pytest.warns(UserWarning, match="exponent 3 is below 33"):
        fitted = machine(sigma=8.0, solver=solver).fit(digits[:300], labels[:300])
    assert fitted.approximation_.smallest_eigenvalue_ > 0
    blobs, sides = make_blobs(200, 30, centers=2, cluster_std=8.0, random_state=0)
    with pytest.warns(NearlyDiagonalWarning, match=r"nearly diagonal.*take LASN"):
        SparseCholeskySVC(solver=solver).fit(blobs, sides)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine(sigma=100.0, l="askey", solver="newton").fit(digits[:300], labels[:300])


def test_what_does_not_fit_names_the_path_that_does():
    rows, classes = roll(3000)
    with pytest.raises(MemoryLimitError, match="solver='newton', which needs no factor"):
        machine(sigma=0.06, max_memory="16MB").fit(rows, classes)
    assert (
        machine(sigma=0.06, solver="newton", max_memory="16MB").fit(rows, classes).sparsity_ > 0.9
    )
    predicted = r"at least .* entries predicted from a sample, .* less twice the standard error of"
    with pytest.raises(MemoryLimitError, match=predicted):
        machine(sigma=0.25, solver="newton", max_memory="16MB").fit(rows, classes)


def test_no_better_than_the_majority_or_a_line_is_told_with_the_figures():
    """In 30 dimensions no kernel with a floor of 99 % zeros sees its neighbours."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(300, 30))
    labels = rows[:, 0] + 0.1 * draw.normal(size=300) > 0.4
    told = r"right on \d\d\.\d % of held-out .* \d\d\.\d %, and a linear machine 9\d\.\d %"
    with pytest.warns(UserWarning, match=told):
        SparseCholeskySVC(sigma="cv", sparsity=0.99, solver="newton").fit(rows, labels)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*held-out")
        SparseCholeskySVC(sigma="cv", solver="newton").fit(*make_moons(300, random_state=0))


# ------------------------------------------------------------- a width that nobody chose
def test_a_machine_by_default_tells_where_a_linear_one_is_better():
    rows, labels = make_classification(600, 30, n_informative=10, random_state=0)
    told = r"right on \d\d\.\d % of held-out rows, .* a linear machine \d\d\.\d %.* take LASN"
    for weights in (None, np.full(600, 2.0)):
        with pytest.warns(UserWarning, match=told):
            fitted = SparseCholeskySVC(solver="newton").fit(rows, labels, weights)
    assert fitted.timings_["hold out"] > 0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*held-out")
        SparseCholeskySVC(sigma=fitted.sigma_, solver="newton").fit(rows, labels)
        SparseCholeskySVC(solver="newton").fit(X, Y)


@pytest.mark.parametrize("intercept", ["penalised", "none"])
def test_rows_that_are_right_without_themselves_are_right_when_left_out(intercept):
    rows, labels = X[:80], Y[:80]
    given = machine(C=3.0, sigma=0.3, solver="newton", intercept=intercept, tol=1e-8)
    least = sparse._right_without_themselves(given.fit(rows, labels), labels)
    right = 0
    for i in range(80):
        others = np.arange(80) != i
        given.fit(rows[others], labels[others])
        right += given.predict(rows[[i]])[0] == labels[i]
    assert 0.5 < least <= right / 80
