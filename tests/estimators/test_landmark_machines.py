"""LASN, its regressor and LLSVM: what they compute, and rows that are larger than memory."""

import gc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import make_moons, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from kernlab import LASN, LLSVM, KernelMachine, LASNRegressor
from kernlab.features import Features

X, Y = make_moons(400, noise=0.2, random_state=0)
NEW, _ = make_moons(300, noise=0.2, random_state=1)
SIGNS = np.where(Y == 1, 1.0, -1.0)


def test_the_papers_defaults():
    lasn = LASN(random_state=0).fit(X, Y)
    assert lasn.landmarks_.shape == (20, 2)
    assert (lasn.C, lasn.intercept, lasn.landmarks) == (10.0, "penalised", "kmeans")
    assert lasn.approximation_.kernel_.gamma == pytest.approx(1.0 / X.var(axis=0).sum())
    llsvm = LLSVM(runs=1, random_state=0).fit(X, Y)
    assert (llsvm.n_iter_, llsvm.loss, llsvm.drop) == (1, "hinge", 0.75)
    pair = KernelMachine(
        "nystrom", "newton", gamma="variance", C=10.0, intercept="penalised", random_state=0,
        tol=1e-6, max_iter=200,
    ).fit(X, Y)  # fmt: skip
    np.testing.assert_array_equal(lasn.coef_, pair.coef_)


# ---------------------------------------------------------------------------- what they compute
@pytest.mark.parametrize("machine", [LASN, LLSVM])
def test_all_rows_as_landmarks_are_the_exact_kernel_machine(machine):
    """Theorem 1 and Proposition 1, against LIBSVM. Mirrored labels make its free intercept zero,
    which LLSVM does not have."""
    rows, labels = np.vstack([X[:80], -X[:80]]), np.append(SIGNS[:80], -SIGNS[:80])
    settings = {"landmarks": "first", "gamma": 2.0, "intercept": "none"}
    if machine is LASN:  # the squared hinge: LIBSVM on K + I / (2 C)
        fitted = LASN(160, C=5.0, tol=1e-9, **settings).fit(rows, labels)
        K = rbf_kernel(rows, gamma=2.0) + np.eye(160) / 10.0
        libsvm = SVC(kernel="precomputed", C=1e8, tol=1e-9).fit(K, labels)
        expected = libsvm.decision_function(rbf_kernel(NEW, rows, gamma=2.0))
    else:
        fitted = LLSVM(160, tol=1e-7, max_iter=10_000, **settings).fit(rows, labels)
        libsvm = SVC(gamma=2.0, tol=1e-8).fit(rows, labels)
        expected = libsvm.decision_function(NEW)
    assert abs(libsvm.intercept_[0]) < 1e-6
    np.testing.assert_allclose(fitted.decision_function(NEW), expected, atol=5e-3)


def test_single_precision_is_taken_for_many_values_and_certified(monkeypatch):
    exact = LASN(40, random_state=0, dtype="float64").fit(X, Y)
    monkeypatch.setattr("kernlab.approximations.nystrom.MANY_VALUES", 1)
    single = LASN(40, random_state=0).fit(X, Y)
    assert single.approximation_.features(X).precision == np.float32
    assert single.result_.objective == pytest.approx(exact.result_.objective, rel=1e-4)
    narrow = LASN(60, gamma=0.02, C=1e6, random_state=0).fit(X, Y)
    assert "double precision" in narrow.result_.message
    assert LASN(20).fit(X.astype(np.float32), Y).landmarks_.dtype == np.float32


@pytest.mark.parametrize("far", [1e3, 1e4, 1e9])
@pytest.mark.parametrize("max_iter", [2, 300])
# With two steps it is cut short on purpose: the certificate must be true there too.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_in_single_precision_the_certificate_is_that_of_the_decisions(far, max_iter):
    """All rows are nearly as far from the one far away, so that rounding errs to one side."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(120, 3))
    signs = np.where(rows[:, 0] + draw.normal(size=120) > 0, 1, -1)
    rows[7] = far
    machine = LASN(
        7, C=1000.0, kernel="laplacian", dtype="float32", max_iter=max_iter, random_state=0
    ).fit(rows, signs)
    result, w = machine.result_, machine.coef_.ravel().astype(np.longdouble)
    scores = machine.decision_function(rows).astype(np.longdouble) - result.intercept

    def value(scale):
        slack = np.maximum(0.0, 1.0 - scale * signs * (scores + result.intercept))
        return float(scale**2 * (w @ w + result.intercept**2) / 2 + 1000.0 * slack @ slack)

    assert result.objective == pytest.approx(value(1.0), rel=1e-6)
    assert result.dual_objective <= min(map(value, (0.9, 1.0, 1.1))) * (1 + 1e-6)
    assert result.n_iter <= max_iter


def test_a_solution_that_falls_short_says_so():
    with pytest.warns(ConvergenceWarning, match="newton stopped after 1"):
        assert not LASN(50, max_iter=1, random_state=0).fit(X, Y).result_.converged
    with pytest.warns(
        ConvergenceWarning, match=r"above the tolerance 1.*runs=None goes on to 0.001"
    ):
        assert LLSVM(60, C=100.0, runs=1, random_state=0).fit(X, Y).result_.relative_gap > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LLSVM(60, C=100.0, random_state=0).fit(X, Y).result_.relative_gap <= 1e-3
        LLSVM(60, C=0.1, runs=1, random_state=0).fit(X, Y)


# ------------------------------------------------------------------------------ regression
def test_without_an_interval_and_on_all_rows_it_is_kernel_ridge_regression():
    x = np.linspace(0, 6, 120)[:, None]
    t = np.sin(x[:, 0]) + 5.0
    settings = {"landmarks": "first", "gamma": 2.0, "C": 50.0, "epsilon": 0.0}
    ours = LASNRegressor(120, intercept="none", **settings).fit(x, t)
    ridge = KernelRidge(alpha=1 / 100.0, kernel="rbf", gamma=2.0).fit(x, t)
    np.testing.assert_allclose(ours.predict(x), ridge.predict(x), atol=1e-3)


def test_regression_reaches_the_optimum_of_its_objective():
    rows, t = make_regression(150, 5, noise=1.0, random_state=0)
    t, C, epsilon = t / t.std(), 10.0, 0.1
    ours = LASNRegressor(landmarks=rows[:20], gamma=0.05, tol=1e-9).fit(rows, t)
    F = ours.approximation_.transform(rows)

    def objective(x):
        left = F @ x[:-1] + x[-1] - t
        over = np.sign(left) * np.maximum(0.0, np.abs(left) - epsilon)
        gradient = np.append(x[:-1] + 2 * C * F.T @ over, 2 * C * over.sum())
        return 0.5 * x[:-1] @ x[:-1] + C * over @ over, gradient

    best = minimize(objective, np.zeros(21), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert ours.result_.objective == pytest.approx(best.fun, rel=1e-7)
    assert ours.result_.dual_objective == pytest.approx(best.fun, rel=1e-4)
    sparse = LASNRegressor(landmarks=rows[:20], gamma=0.05).fit(sp.csr_matrix(rows), t)
    np.testing.assert_allclose(sparse.predict(rows), ours.predict(rows), atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flat = LASNRegressor(random_state=0).fit(rows, np.full(150, 7.0))
    np.testing.assert_allclose(flat.predict(rows), 7.0, atol=0.11)


# ------------------------------------------------------------------- more than memory holds
def test_features_that_do_not_fit_are_computed_in_blocks():
    roomy, tight = (
        LLSVM(30, block_rows=100, runs=3, random_state=0, max_memory=limit).fit(X, Y)
        for limit in (None, "120kB")
    )
    np.testing.assert_allclose(tight.coef_, roomy.coef_, rtol=1e-9)


def test_landmarks_of_a_file_are_chosen_from_a_sample_and_counted_by_all_rows(tmp_path):
    np.save(tmp_path / "rows.npy", X.astype(np.float16))
    sampled = {"landmark_params": {"max_rows": 50}, "random_state": 0}
    for machine in (LASN(**sampled), LLSVM(**sampled)):
        fitted = machine.fit(tmp_path / "rows.npy", Y)
        assert 15 < len(fitted.landmarks_) <= 20
    many = LASN(100, gamma=100.0, landmarks="uniform", **sampled).fit(tmp_path / "rows.npy", Y)
    assert many.landmarks_.shape == (100, 2)


@pytest.mark.parametrize("classes", [2, 3])
def test_features_are_freed_when_a_fit_ends(classes):
    """Not when the garbage collector comes by: the next fit would be in memory beside them."""
    X = np.random.default_rng(0).random((1000, 4))
    y = np.digitize(X[:, 0] + X[:, 1], np.linspace(0.5, 1.5, classes - 1))
    gc.collect()
    gc.disable()
    try:
        before = _features_in_memory()
        machine = LASN(200, gamma=9.0, random_state=0).fit(X, y)
        left = _features_in_memory() - before
    finally:
        gc.enable()
    assert "steps on 50 features" in machine.results_[0].message  # kept beside all features
    assert left == 0


def _features_in_memory():
    return sum(isinstance(thing, Features) for thing in gc.get_objects())
