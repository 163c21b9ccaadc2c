"""LASN and its regressor: the pair as one, against scikit-learn, and under hostile input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import Nystrom
from kernlab.estimators import LASN, KernelMachine, LASNRegressor
from kernlab.solvers import certify_primal

X, Y = make_moons(400, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(300, noise=0.2, random_state=1)


@parametrize_with_checks([LASN(random_state=0), LASNRegressor(random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------- what it is
def test_it_is_the_pair_that_it_says():
    ours = LASN(30, random_state=3).fit(X, Y)
    pair = KernelMachine(
        "nystrom",
        "newton",
        gamma="variance",
        C=10.0,
        intercept="penalised",
        random_state=3,
        approximation_params={"n_landmarks": 30},
    ).fit(X, Y)
    np.testing.assert_array_equal(ours.coef_, pair.coef_)
    np.testing.assert_array_equal(ours.landmarks_, pair.approximation_.landmarks_)
    assert ours.result_.solver == "newton"
    assert ours.approximation_.kernel_.gamma == pytest.approx(1.0 / X.var(axis=0).sum())


def test_the_papers_defaults():
    fitted = LASN(random_state=0).fit(X, Y)
    assert fitted.landmarks_.shape == (20, 2)
    assert (fitted.C, fitted.intercept, fitted.landmarks) == (10.0, "penalised", "kmeans")


def test_it_is_linear_svc_on_the_features():
    fitted = LASN(50, gamma=1.0, tol=1e-10, random_state=0).fit(X, Y)
    map_ = Nystrom(gamma=1.0, landmarks=fitted.landmarks_).fit(X)
    reference = LinearSVC(C=10.0, dual=False, tol=1e-12, max_iter=100_000)
    reference.fit(map_.transform(X), Y)
    np.testing.assert_allclose(
        fitted.decision_function(NEW),
        reference.decision_function(map_.transform(NEW)),
        atol=1e-5,
    )


def test_all_rows_as_landmarks_are_the_exact_kernel_machine():
    """Theorem 1, against LIBSVM on K + I / (2 C)."""
    C, rows, labels = 5.0, X[:150], Y[:150]
    fitted = LASN(150, landmarks="first", gamma=2.0, C=C, intercept="free", tol=1e-9).fit(
        rows, labels
    )
    heavier = rbf_kernel(rows, gamma=2.0) + np.eye(150) / (2 * C)
    libsvm = SVC(kernel="precomputed", C=1e8, tol=1e-9).fit(heavier, labels)
    expected = libsvm.decision_function(rbf_kernel(NEW, rows, gamma=2.0))
    np.testing.assert_allclose(fitted.decision_function(NEW), expected, atol=2e-3)
    assert np.abs(expected).max() > 1.0


@pytest.mark.parametrize("factor", ["eigen-drop", "eigen-replace"])
def test_the_factor_does_not_change_the_decision(factor):
    fitted, other = (
        LASN(25, gamma=2.0, factor=f, random_state=0).fit(X, Y) for f in ("cholesky", factor)
    )
    np.testing.assert_allclose(
        fitted.decision_function(NEW), other.decision_function(NEW), atol=2e-3
    )


def test_results_certify_the_solution():
    fitted = LASN(40, random_state=0).fit(X, Y)
    F = fitted.approximation_.transform(X)
    signs = np.where(Y == 1, 1.0, -1.0)
    certificate = certify_primal(
        F, signs, fitted.coef_[0], fitted.intercept_[0], C=10.0, intercept="penalised"
    )
    assert certificate.primal == pytest.approx(fitted.result_.objective, rel=1e-9)
    assert certificate.relative_gap < 1e-4
    assert fitted.result_.kkt_residual <= 1e-6
    assert fitted.n_iter_ == fitted.result_.n_iter <= 15


def test_it_says_what_it_cost():
    fitted = LASN(40, random_state=0).fit(X, Y)
    parts = {"landmarks", "map", "features"}
    assert {f"approximate: {part}" for part in parts} < set(fitted.timings_)
    assert sum(fitted.timings_[f"approximate: {p}"] for p in parts) <= fitted.timings_["total"]
    assert fitted.timings_["solve"] > 0
    assert fitted.nbytes_ >= 8 * (40 * 2 + 40 * 40 + 40)


# ---------------------------------------------------------------------- classes and weights
def test_many_classes_share_landmarks_and_kernel_values():
    digits, labels = load_digits(return_X_y=True)
    counted = []

    def kernel(A, B):
        counted.append(len(A) * len(B))
        return rbf_kernel(A, B, gamma=5e-4)

    fitted = LASN(100, kernel=kernel, random_state=0).fit(digits[:1000], labels[:1000])
    assert sum(counted) <= 100 * 100 + 100 + 1000 * 100 + 1000
    assert fitted.coef_.shape == (10, 100)
    assert fitted.score(digits[1000:], labels[1000:]) > 0.93
    assert len(fitted.results_) == 10
    one = LASN(100, kernel=kernel, random_state=0).fit(digits[:1000], labels[:1000] == 3)
    np.testing.assert_allclose(
        one.decision_function(digits[1000:1100]),
        fitted.decision_function(digits[1000:1100])[:, 3],
        atol=1e-6,
    )


@pytest.mark.parametrize("landmarks", ["kmeans", "uniform", "rpcholesky", "leverage"])
@pytest.mark.parametrize("estimator", [LASN, LASNRegressor])
def test_weight_two_is_the_row_twice(estimator, landmarks):
    weights = np.arange(400) % 3
    twice = np.random.default_rng(1).permutation(np.repeat(np.arange(400), weights))
    settings = {"landmarks": landmarks, "tol": 1e-10, "random_state": 0}
    weighted = estimator(20, **settings).fit(X, Y, sample_weight=weights)
    repeated = estimator(20, **settings).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6, atol=1e-8)


def test_class_weights_are_row_weights():
    weights = np.where(Y == 1, 3.0, 1.0)
    by_class = LASN(20, class_weight={1: 3.0}, random_state=0).fit(X, Y)
    by_row = LASN(20, random_state=0).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(by_class.coef_, by_row.coef_)
    assert not np.allclose(by_class.coef_, LASN(20, random_state=0).fit(X, Y).coef_)


# ----------------------------------------------------------------------- forms and precision
def test_sparse_rows_and_labels_of_any_kind():
    words = np.array(["no", "yes"])[Y]
    dense = LASN(landmarks=X[:20], gamma=1.0).fit(X, words)
    sparse = LASN(landmarks=X[:20], gamma=1.0).fit(sp.csr_matrix(X), words)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    assert set(sparse.predict(sp.csr_matrix(NEW))) == {"no", "yes"}


def test_single_precision_is_taken_for_many_values_and_certified(monkeypatch):
    exact = LASN(40, random_state=0, dtype="float64").fit(X, Y)
    monkeypatch.setattr("kernlab.approximations.nystrom.MANY_VALUES", 1)
    single = LASN(40, random_state=0).fit(X, Y)
    assert single.result_.objective != exact.result_.objective
    assert single.result_.objective == pytest.approx(exact.result_.objective, rel=1e-4)
    np.testing.assert_allclose(
        single.decision_function(NEW), exact.decision_function(NEW), atol=2e-3
    )
    narrow = LASN(60, gamma=0.02, C=1e6, random_state=0).fit(X, Y)
    assert "double precision" in narrow.result_.message


def test_single_precision_data_stay_single():
    fitted = LASN(20, random_state=0).fit(X.astype(np.float32), Y)
    assert fitted.landmarks_.dtype == np.float32
    assert fitted.score(NEW.astype(np.float32), NEW_Y) > 0.93


def test_it_is_deterministic_cloned_and_pickled():
    first, second = (LASN(25, random_state=5).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    again = clone(first).fit(X, Y)
    np.testing.assert_array_equal(first.coef_, again.coef_)
    stored = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(stored.decision_function(NEW), first.decision_function(NEW))
    assert cross_val_score(LASN(random_state=0), X, Y, cv=3).mean() > 0.9


# -------------------------------------------------------------------------- hostile input
@pytest.mark.parametrize("estimator", [LASN, LASNRegressor])
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs_are_certified(C, estimator):
    fitted = estimator(30, C=C, random_state=0).fit(X, Y)
    assert fitted.result_.converged
    assert fitted.result_.relative_gap <= 1e-4


def test_constant_and_duplicate_rows_are_certified():
    for rows in (np.ones((60, 3)), np.repeat(np.eye(3), 20, axis=0)):
        labels = np.arange(60) % 2
        fitted = LASN(10, random_state=0).fit(rows, labels)
        assert fitted.result_.relative_gap <= 1e-4
        assert np.all(np.isfinite(fitted.decision_function(rows)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": 401}, "n_landmarks=401 is more than the 400 rows"),
        ({"n_landmarks": 0}, "n_landmarks must be a positive whole number"),
        ({"kernel": "sigmoid", "gamma": 1.0}, "Sigmoid kernel matrix.*not positive semidefinite"),
        ({"C": -1.0}, "C must be"),
        ({"landmarks": "best"}, "landmarks='best'"),
        ({"factor": "lu"}, "factor='lu'"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"landmark_params": {"steps": 3}}, "steps"),
    ],
)
@pytest.mark.parametrize("estimator", [LASN, LASNRegressor])
def test_impossible_requests_are_refused(estimator, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        estimator(random_state=0).set_params(**parameters).fit(X, Y)


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="1 class"):
        LASN().fit(X, np.zeros(400))
    for bad in (np.nan, np.inf):
        spoilt = X.copy()
        spoilt[7, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            LASN().fit(spoilt, Y)


def test_bad_targets_are_refused_and_constant_ones_are_met():
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            LASNRegressor().fit(X, np.append(X[1:, 0], bad))
    fitted = LASNRegressor(random_state=0).fit(X, np.full(400, 7.0))
    assert fitted.result_.converged
    np.testing.assert_allclose(fitted.predict(X), 7.0, atol=0.11)


def test_an_indefinite_kernel_gets_features_only_where_its_landmarks_allow():
    """A sigmoid that is definite on the landmarks is certified on the features that it has."""
    machine = LASN(kernel="sigmoid", gamma=0.05, coef0=0.1, landmarks=X[:2], intercept="free")
    fitted = machine.fit(X, Y)
    assert fitted.result_.converged
    F = fitted.approximation_.transform(X)
    certificate = certify_primal(
        F,
        np.where(Y == 1, 1.0, -1.0),
        fitted.coef_[0],
        fitted.intercept_[0],
        C=10.0,
        intercept="free",
    )
    assert certificate.relative_gap <= 1e-4
    np.testing.assert_allclose(
        fitted.decision_function(X), F @ fitted.coef_[0] + fitted.intercept_, atol=1e-8
    )


@pytest.mark.parametrize("estimator", [LASN, LASNRegressor])
def test_every_fitted_attribute_is_there(estimator):
    fitted = estimator(20, random_state=0).fit(X, Y)
    parts = {"approximate", "solve", "total"}
    parts |= {f"approximate: {part}" for part in ("landmarks", "map", "features")}
    assert parts <= set(fitted.timings_)
    assert fitted.landmarks_.shape == (20, 2)
    assert fitted.coef_.shape[-1] == fitted.approximation_.rank_
    assert np.ndim(fitted.intercept_) <= 1
    assert fitted.nbytes_ >= fitted.landmarks_.nbytes + fitted.coef_.nbytes
    assert fitted.result_.observed_order is None or fitted.result_.observed_order > 0
    assert fitted.results_[0].objective == fitted.result_.objective


def test_a_solution_that_falls_short_says_so():
    with pytest.warns(ConvergenceWarning, match="newton stopped after 1"):
        fitted = LASN(50, max_iter=1, random_state=0).fit(X, Y)
    assert not fitted.result_.converged


# ------------------------------------------------------------------------------ regression
def test_regression_follows_a_curve_and_its_noise_free_limit_is_kernel_ridge():
    """epsilon = 0 and all rows as landmarks: kernel ridge regression with alpha = 1 / (2 C)."""
    x = np.linspace(0, 6, 120)[:, None]
    t = np.sin(x[:, 0]) + 5.0
    ours = LASNRegressor(
        120, landmarks="first", gamma=2.0, C=50.0, epsilon=0.0, intercept="none"
    ).fit(x, t)
    reference = KernelRidge(alpha=1 / 100.0, kernel="rbf", gamma=2.0).fit(x, t)
    np.testing.assert_allclose(ours.predict(x), reference.predict(x), atol=1e-3)
    assert LASNRegressor(random_state=0).fit(x, t).score(x, t) > 0.95


def test_regression_is_certified_and_takes_any_form():
    rows, t = make_regression(300, 5, noise=1.0, random_state=0)
    t = t / t.std()
    dense = LASNRegressor(landmarks=rows[:40], gamma=0.05).fit(rows, t)
    sparse = LASNRegressor(landmarks=rows[:40], gamma=0.05).fit(sp.csr_matrix(rows), t)
    assert dense.result_.relative_gap <= 1e-4
    np.testing.assert_allclose(sparse.predict(rows), dense.predict(rows), atol=1e-5)
    inside = np.abs(dense.predict(rows) - t) <= 0.1
    assert 0.02 < inside.mean() < 1.0
    np.testing.assert_array_equal(dense.result_.dual_variables[inside] < 1e-3, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LASNRegressor(random_state=0).fit(rows, np.ones(300)).predict(rows)
