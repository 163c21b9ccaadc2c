"""LASN, its regressor and LLSVM: what they compute, and rows that are larger than memory."""

import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from reference import optimum
from scipy.optimize import minimize
from sklearn.datasets import dump_svmlight_file, make_moons, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from kernlab import LASN, LLSVM, KernelMachine, LASNRegressor
from kernlab.approximations import Nystrom
from kernlab.solvers import certify_primal

X, Y = make_moons(400, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(300, noise=0.2, random_state=1)
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
def test_lasn_is_liblinear_on_nystroms_features():
    fitted = LASN(50, gamma=1.0, tol=1e-10, random_state=0).fit(X, Y)
    map_ = Nystrom(gamma=1.0, landmarks=fitted.landmarks_).fit(X)
    linear = LinearSVC(C=10.0, dual=False, tol=1e-12, max_iter=100_000).fit(map_.transform(X), Y)
    expected = linear.decision_function(map_.transform(NEW))
    np.testing.assert_allclose(fitted.decision_function(NEW), expected, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_llsvm_reaches_the_optimum_on_the_matrix_of_its_landmarks(loss):
    """K~ = K_rl K_ll^+ K_lr by hand (eq. 13), its optimum by L-BFGS."""
    fitted = LLSVM(landmarks=X[:15], gamma=1.0, loss=loss, tol=1e-6, max_iter=3000, block_rows=90)
    fitted.fit(X, Y)
    cross = rbf_kernel(X, X[:15], gamma=1.0)
    K = cross @ np.linalg.pinv(rbf_kernel(X[:15], gamma=1.0), hermitian=True) @ cross.T
    best = optimum(K, SIGNS, 1.0, loss, "penalised")
    assert fitted.result_.objective == pytest.approx(best, rel=1e-5)
    assert fitted.result_.dual_objective == pytest.approx(best, rel=1e-5)


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


@pytest.mark.parametrize("factor", ["eigen-drop", "eigen-replace"])
def test_the_factor_does_not_change_the_decision(factor):
    expected, found = (
        LASN(25, gamma=2.0, factor=f, random_state=0).fit(X, Y).decision_function(NEW)
        for f in ("cholesky", factor)
    )
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("machine", [LASN, LLSVM, LASNRegressor])
def test_weight_two_is_the_row_twice(machine):
    """Whatever the landmarks: they are chosen among distinct rows, by their weights."""
    weights = np.arange(400) % 3
    twice = np.repeat(np.arange(400), weights)
    tight = {"tol": 1e-9, "max_iter": 20_000, "random_state": 0}
    weighted = machine(25, **tight).fit(X, Y, sample_weight=weights)
    repeated = machine(25, **tight).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.landmarks_, repeated.landmarks_)
    assert weighted.result_.objective == pytest.approx(repeated.result_.objective, rel=1e-7)
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), atol=1e-3)


def test_single_precision_is_taken_for_many_values_and_certified(monkeypatch):
    exact = LASN(40, random_state=0, dtype="float64").fit(X, Y)
    monkeypatch.setattr("kernlab.approximations.nystrom.MANY_VALUES", 1)
    single = LASN(40, random_state=0).fit(X, Y)
    assert single.result_.objective != exact.result_.objective
    assert single.result_.objective == pytest.approx(exact.result_.objective, rel=1e-4)
    narrow = LASN(60, gamma=0.02, C=1e6, random_state=0).fit(X, Y)
    assert "double precision" in narrow.result_.message
    assert LASN(20).fit(X.astype(np.float32), Y).landmarks_.dtype == np.float32


def test_constant_and_repeated_rows_are_certified():
    for machine in (LASN(10, random_state=0), LLSVM(10, gamma=1.0, random_state=0)):
        for rows in (np.ones((60, 3)), np.repeat(np.eye(3), 20, axis=0)):
            fitted = machine.fit(rows, np.arange(60) % 2)
            assert fitted.result_.relative_gap <= 1e-3
            assert fitted.landmarks_.shape[0] <= 3
            np.testing.assert_allclose(fitted.decision_function(rows), 0.0, atol=1e-3)


def test_an_indefinite_kernel_gets_features_only_where_its_landmarks_allow():
    kernel = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.1}
    fitted = LASN(landmarks=X[:2], intercept="free", **kernel).fit(X, Y)
    F = fitted.approximation_.transform(X)
    found = certify_primal(
        F, SIGNS, fitted.coef_[0], fitted.intercept_[0], C=10.0, intercept="free"
    )
    assert found.relative_gap <= 1e-4
    with pytest.raises(ValueError, match=r"Sigmoid kernel matrix.*not positive semidefinite"):
        LASN(kernel="sigmoid", gamma=1.0, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": 401}, "n_landmarks=401 is more than the 400 rows"),
        ({"landmarks": "best"}, "landmarks='best'"),
        ({"factor": "lu"}, "factor='lu'"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"landmark_params": {"steps": 3}}, "steps"),
    ],
)
@pytest.mark.parametrize("machine", [LASN, LASNRegressor, LLSVM])
def test_impossible_requests_are_refused(machine, parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        machine(**parameters).fit(X, Y)


def test_a_solution_that_falls_short_says_so():
    with pytest.warns(ConvergenceWarning, match="newton stopped after 1"):
        assert not LASN(50, max_iter=1, random_state=0).fit(X, Y).result_.converged
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        LLSVM(60, C=1e4, max_iter=1, block_rows=50, random_state=0).fit(X, Y)
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


LIMITED = """
    import resource, sys
    import numpy as np
    from kernlab import LLSVM

    path, sample, room = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def machine():
        return LLSVM(20, gamma=0.02, runs=1, block_rows=5000, random_state=0)

    # Code is compiled and libraries are loaded before memory is counted: the compiler alone takes
    # half as much again, on the first run after a change.
    machine().fit(sample)
    with open("/proc/self/status") as status:
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + room, used + room))
    try:
        np.ones(2 * room // 8)
        sys.exit("the limit does not hold")
    except MemoryError:
        pass
    fitted = machine().fit(path)
    small = np.random.default_rng(0).normal(size=(6000, 22))
    print(fitted.score(small, small[:, 0] > 0), fitted.result_.relative_gap)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA is Linux's")
def test_a_file_of_twice_the_memory_allowed(tmp_path):
    """A child process that may take 64 MB more trains on a file of more than 128 MB."""
    room = 64 * 2**20
    rows = np.random.default_rng(1).normal(size=(2000, 22)).round(6)
    labels = np.where(rows[:, 0] > 0, 1, 0)
    dump_svmlight_file(rows, labels, str(tmp_path / "part.svm"), zero_based=False)
    part = (tmp_path / "part.svm").read_bytes()
    path, sample = tmp_path / "large.svm", tmp_path / "sample.svm"
    sample.write_bytes(3 * part)  # more than one block
    with path.open("wb") as file:
        while file.tell() < 2 * room:
            file.write(part)
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), str(path), str(sample), str(room)],
        # A thread's own arena and its stack are reserved, not used, and would count.
        env=os.environ | {"MALLOC_ARENA_MAX": "1", "KERNLAB_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr[-2000:]
    score, gap = map(float, child.stdout.split())
    assert score > 0.75
    assert gap < 0.2
