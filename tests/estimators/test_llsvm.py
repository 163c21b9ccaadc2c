"""LLSVM: the pair as one, rows from anywhere, and a file larger than the memory allowed."""

import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import Nystrom
from kernlab.estimators import LLSVM
from kernlab.features import Features
from kernlab.rows import as_rows
from kernlab.solvers import certify_primal, solve_dcd

X, Y = make_moons(600, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(300, noise=0.2, random_state=1)
UP_TO_TOL = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "what ends at a tolerance depends on the order of the rows, unlike the optimum (see below)",
)


@parametrize_with_checks(
    [LLSVM(random_state=0), LLSVM(loss="squared_hinge", random_state=0)],
    expected_failed_checks=lambda machine: UP_TO_TOL,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------- what it is
def test_the_papers_defaults():
    fitted = LLSVM(runs=1, random_state=0).fit(X, Y)
    assert fitted.landmarks_.shape == (round(600**0.5), 2)
    assert fitted.n_iter_ == 1
    assert (fitted.loss, fitted.block_rows, fitted.drop) == ("hinge", None, 0.75)
    assert fitted.score(NEW, NEW_Y) > 0.95


def test_with_runs_it_reaches_the_optimum_on_its_features():
    fitted = LLSVM(40, runs=None, tol=1e-5, max_iter=2000, block_rows=100, random_state=0)
    fitted.fit(X, Y)
    F = fitted.approximation_.transform(X)
    signs = np.where(Y == 1, 1.0, -1.0)
    reference = solve_dcd(F, signs, C=1.0, tol=1e-6, max_iter=10_000)
    assert fitted.result_.objective == pytest.approx(reference.objective, rel=2e-5)
    certificate = certify_primal(
        F, signs, fitted.coef_[0], fitted.intercept_[0], C=1.0, loss="hinge", intercept="penalised"
    )
    assert certificate.primal == pytest.approx(fitted.result_.objective, rel=1e-9)


def test_proposition_1_all_rows_as_landmarks_are_the_exact_kernel_machine():
    """Mirrored labels make LIBSVM's free intercept zero, so that it solves the same problem."""
    rows, labels = np.vstack([X[:80], -X[:80]]), np.append(2 * Y[:80] - 1, 1 - 2 * Y[:80])
    fitted = LLSVM(
        160, landmarks="first", gamma=2.0, intercept="none", runs=None, tol=1e-7, max_iter=10_000
    ).fit(rows, labels)
    libsvm = SVC(gamma=2.0, tol=1e-8).fit(rows, labels)
    assert abs(libsvm.intercept_[0]) < 1e-6
    np.testing.assert_allclose(
        fitted.decision_function(NEW), libsvm.decision_function(NEW), atol=5e-3
    )


def test_features_that_do_not_fit_are_computed_in_blocks():
    roomy = LLSVM(30, block_rows=100, random_state=0).fit(X, Y)
    tight = LLSVM(30, block_rows=100, random_state=0, max_memory="150kB")
    tight.fit(X, Y)
    np.testing.assert_allclose(tight.coef_, roomy.coef_, rtol=1e-9)


def test_blocks_have_the_precision_that_is_asked_for(monkeypatch):
    seen = set()
    block = Features.block

    def noted(self, rows, room=None):
        features = block(self, rows, room)
        seen.add(features.dtype)
        return features

    monkeypatch.setattr(Features, "block", noted)
    LLSVM(30, block_rows=100, dtype="float32", random_state=0, max_memory="100kB").fit(X, Y)
    assert seen == {np.dtype(np.float32)}


def test_many_classes_and_weights():
    digits, labels = load_digits(return_X_y=True)
    fitted = LLSVM(150, gamma=5e-4, block_rows=300, random_state=0).fit(
        digits[:1200], labels[:1200]
    )
    assert fitted.score(digits[1200:], labels[1200:]) > 0.9
    weights = np.arange(600) % 3
    twice = np.repeat(np.arange(600), weights)
    machine = LLSVM(25, tol=1e-7, max_iter=5000, random_state=0)
    weighted = machine.fit(X, Y, sample_weight=weights).result_.objective
    assert weighted == pytest.approx(machine.fit(X[twice], Y[twice]).result_.objective, rel=1e-6)


# --------------------------------------------------------------------------- rows from anywhere
@pytest.fixture
def file(tmp_path):
    path = tmp_path / "moons.svm"
    dump_svmlight_file(X, Y, str(path), zero_based=False)
    return path


def test_memory_maps_and_files_give_what_memory_gives(tmp_path, file):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    machine = LLSVM(30, block_rows=70, runs=3, random_state=0)
    expected = machine.fit(X, Y).decision_function(NEW)
    for rows, labels in ((mapped, Y), (X, Y), (file, None), (str(file), None)):
        fitted = machine.fit(rows, labels)
        np.testing.assert_allclose(fitted.decision_function(NEW), expected, atol=1e-6)
        assert fitted.n_features_in_ == 2
        assert list(fitted.classes_) == [0, 1]
    opened = as_rows(file, n_features=5)
    assert LLSVM(random_state=0).fit(opened).n_features_in_ == 5
    sparse = machine.fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(sparse.decision_function(NEW), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [np.uint8, np.int16, bool, np.float16, ">f8"])
@pytest.mark.parametrize("dtype", [None, "float32"])
def test_features_of_rows_of_any_type_are_fractions(tmp_path, kind, dtype):
    """What rows are stored as does not decide in what precision their features are."""
    whole = np.round(40 * (X - X.min(axis=0))) if kind is not bool else X > 0.5
    np.save(tmp_path / "rows.npy", whole.astype(kind))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    machine = LLSVM(landmarks=whole[:30], block_rows=70, runs=3, dtype=dtype, random_state=0)
    expected = machine.fit(whole.astype(np.float64), Y).decision_function(whole)
    sparse_too = kind in (np.uint8, np.int16, bool)  # SciPy has no sparse matrices of the others
    for rows in (mapped, sp.csr_matrix(mapped)) if sparse_too else (mapped,):
        fitted = machine.fit(rows, Y)
        np.testing.assert_allclose(fitted.decision_function(whole), expected, atol=1e-5)
        features = fitted.approximation_.transform(whole)
        certificate = certify_primal(
            features,
            np.where(Y == 1, 1.0, -1.0),
            fitted.coef_[0],
            fitted.intercept_[0],
            C=1.0,
            loss="hinge",
            intercept="penalised",
        )
        assert certificate.primal == pytest.approx(fitted.result_.objective, rel=1e-5)


@pytest.mark.parametrize(
    ("rows", "dtype", "expected"),
    [
        (X, None, np.float64),
        (X.astype(np.float32), None, np.float32),
        (X.astype(np.float16), None, np.float64),
        (X.astype(int), None, np.float64),
        (X, "float32", np.float32),
        (X.astype(int), "float32", np.float32),
    ],
)
def test_blocks_of_features_have_the_type_asked_for(monkeypatch, rows, dtype, expected):
    types = set()
    read = Features.block

    def noted(self, rows, room=None):
        features = read(self, rows, room)
        types.add(features.dtype)
        return features

    monkeypatch.setattr(Features, "block", noted)
    LLSVM(10, dtype=dtype, block_rows=100, random_state=0).fit(rows, Y)
    assert types == {np.dtype(expected)}


def test_names_of_features_do_not_outlive_the_table_that_gave_them():
    table = pd.DataFrame(X, columns=["across", "up"])
    fitted = LLSVM(20, random_state=0).fit(table, Y)
    assert list(fitted.feature_names_in_) == ["across", "up"]
    fitted.fit(X, Y)
    assert not hasattr(fitted, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(NEW)


def test_landmarks_see_a_sample_and_count_by_all_rows(file):
    fitted = LLSVM(landmark_params={"max_rows": 50}, random_state=0).fit(file)
    assert fitted.landmarks_.shape[0] <= round(600**0.5)
    assert fitted.landmarks_.shape[0] > 15
    asked = LLSVM(
        100, gamma=100.0, landmark_params={"max_rows": 50}, landmarks="uniform", random_state=0
    )
    assert asked.fit(file).landmarks_.shape == (100, 2)
    sparse = asked.fit(sp.csr_matrix(X), Y)
    assert sparse.landmarks_.shape == (100, 2)
    array = LLSVM(landmarks=X[:9], gamma=1.0).fit(file)
    assert array.landmarks_.shape == (9, 2)


def test_requests_that_cannot_be_met(file):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LLSVM().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"requires y to be passed"):
        LLSVM().fit(X)
    with pytest.raises(ValueError, match="n_landmarks=601 is more than the 600 rows"):
        LLSVM(601).fit(file)
    with pytest.raises(ValueError, match="n_landmarks=601 is more than the 600 rows"):
        LLSVM(601).fit(X, Y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        LLSVM(kernel="sigmoid", gamma=1.0, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="intercept"):
        LLSVM(intercept="free").fit(X, Y)
    with pytest.raises(ValueError, match="1 class"):
        LLSVM().fit(X, np.ones(600))
    with pytest.warns(ConvergenceWarning, match="sbm stopped"):
        LLSVM(60, C=100.0, runs=None, max_iter=1, random_state=0).fit(X, Y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rows_that_are_not_numbers_are_refused_wherever_they_come_from(bad, tmp_path):
    spoilt = X.copy()
    spoilt[417, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        LLSVM(30, random_state=0).fit(spoilt, Y)
    np.save(tmp_path / "rows.npy", spoilt)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(ValueError, match=r"NaN|infinity|not finite"):
        LLSVM(landmarks=X[:30], gamma=1.0, block_rows=100).fit(mapped, Y)


def test_constant_and_duplicate_rows_are_certified():
    for rows in (np.ones((60, 3)), np.repeat(np.eye(3), 20, axis=0)):
        fitted = LLSVM(10, runs=None, gamma=1.0, random_state=0).fit(rows, np.arange(60) % 2)
        assert fitted.result_.converged
        assert fitted.landmarks_.shape[0] <= 3
        assert np.all(np.isfinite(fitted.decision_function(rows)))


def test_a_cost_out_of_reach_is_not_passed_over_in_silence():
    with pytest.warns(ConvergenceWarning, match="sbm stopped"):
        fitted = LLSVM(20, C=1e8, runs=None, max_iter=5, random_state=0).fit(X, Y)
    assert not fitted.result_.converged
    assert fitted.result_.relative_gap > 1e-3
    easy = (X[:, 0] > 0.5).astype(int)
    apart = X + np.where(easy, 3.0, -3.0)[:, None]
    fitted = LLSVM(20, C=1e8, runs=None, max_iter=3000, random_state=0).fit(apart, easy)
    assert fitted.result_.converged


@pytest.mark.parametrize("C", [1e-8, 1e3])
def test_extreme_costs_are_certified(C):
    machine = LLSVM(20, C=C, runs=None, max_iter=3000, random_state=0).fit(X, Y)
    assert machine.result_.converged
    assert machine.result_.relative_gap <= 1e-3


# ------------------------------------------------------------------ more than memory holds
LIMITED = """
    import resource, sys
    import numpy as np
    from kernlab.estimators import LLSVM

    path, sample, room = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def machine():
        return LLSVM(20, gamma=0.02, block_rows=5000, random_state=0)

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
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(2000, 22)).round(6)
    dump_svmlight_file(rows, np.where(rows[:, 0] > 0, 1, 0), str(tmp_path / "part.svm"),
                       zero_based=False)  # fmt: skip
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
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    score, gap = map(float, child.stdout.split())
    assert score > 0.75
    assert gap < 0.2


def test_the_features_are_nystroms():
    fitted = LLSVM(landmarks=X[:15], gamma=1.0).fit(X, Y)
    F = Nystrom(gamma=1.0, landmarks=X[:15]).fit(X).transform(X)
    np.testing.assert_allclose(F @ F.T, by_definition(X, X[:15]), atol=1e-6)
    np.testing.assert_allclose(
        fitted.decision_function(X), F @ fitted.coef_[0] + fitted.intercept_[0], atol=1e-8
    )


def by_definition(rows, landmarks):
    inverse = np.linalg.pinv(rbf_kernel(landmarks, gamma=1.0), hermitian=True)
    cross = rbf_kernel(rows, landmarks, gamma=1.0)
    return cross @ inverse @ cross.T
