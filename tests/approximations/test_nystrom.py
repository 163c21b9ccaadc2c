"""Nystrom features: what the three factors make of small directions, nesting, solves, refusals."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from kernlab import kernels
from kernlab.approximations import Nystrom
from kernlab.approximations.nystrom import FACTORS
from kernlab.runtime import MemoryLimitError, row_blocks

DIGITS = load_digits().data
X, NEW = DIGITS[:500] / 16.0, DIGITS[500:600] / 16.0
FACTOR = pytest.mark.parametrize("factor", FACTORS)


def fitted(factor="cholesky", rows=X, **changes):
    defaults = {"gamma": 0.1, "n_landmarks": 40, "random_state": 0, "factor": factor}
    return Nystrom(**defaults | changes).fit(rows)


def by_pseudo_inverse(rows, landmarks, gamma=0.1):
    """K_xl K_ll^+ K_lx, the Nystrom matrix, from its definition."""
    inverse = np.linalg.pinv(rbf_kernel(landmarks, gamma=gamma), hermitian=True)
    cross = rbf_kernel(rows, landmarks, gamma=gamma)
    return cross @ inverse @ cross.T


@FACTOR
def test_features_multiply_to_the_nystrom_matrix(factor):
    map_ = fitted(factor)
    F, approximate = map_.transform(X), by_pseudo_inverse(X, map_.landmarks_)
    np.testing.assert_allclose(F @ F.T, approximate, atol=1e-8)
    K, trace = rbf_kernel(X, gamma=0.1), map_.trace_error(X)
    assert trace == pytest.approx(np.trace(K - approximate) / 500, rel=1e-6)
    assert np.linalg.norm(K - approximate, 2) <= 500 * trace
    # Rows that are landmarks have no error: they must not be the rows that are looked at.
    own = fitted(factor, landmarks="uniform", n_landmarks=100)
    assert own.error(X, n_sampled=100) > 0.01


# ------------------------------------------------------------------------- three treatments
@FACTOR
def test_duplicate_landmarks_add_nothing(factor):
    alone = fitted(landmarks=X[:10]).transform(NEW)
    map_ = fitted(factor, landmarks=np.vstack([X[:10], X[:10]]))
    F = map_.transform(NEW)
    assert map_.effective_rank_ == 10
    assert map_.rank_ == (20 if factor == "eigen-replace" else 10)
    np.testing.assert_allclose(F @ F.T, alone @ alone.T, atol=1e-8)
    constant = fitted(factor, rows=np.ones((20, 3)), n_landmarks=5).transform(np.ones((4, 3)))
    np.testing.assert_allclose(constant @ constant.T, 1.0, atol=1e-6)


@FACTOR
def test_solvers_see_kernel_values_and_a_map(factor):
    map_ = fitted(factor)
    K, F = rbf_kernel(X, map_.landmarks_, gamma=0.1), map_.transform(X)
    seen, w, g = map_.features(X), np.arange(map_.rank_, dtype=float), np.arange(500.0)
    np.testing.assert_allclose(seen.A, K, atol=1e-12)
    np.testing.assert_allclose(seen.dot(w), F @ w, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(seen.rdot(g), F.T @ g, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(seen.stored(), F, atol=1e-12)


def test_many_values_are_computed_in_single_precision(monkeypatch):
    monkeypatch.setattr("kernlab.approximations.nystrom.MANY_VALUES", 1)
    map_ = fitted()
    seen, K = map_.features(X), rbf_kernel(X, map_.landmarks_, gamma=0.1)
    assert seen.A.dtype == np.float32
    np.testing.assert_allclose(seen.A, K, atol=2 * seen.error)
    np.testing.assert_allclose(seen.in_double.A, K, atol=1e-12)
    far = fitted(rows=X + 1e4, gamma=10.0)  # where rounding would be seen, rows stay in double
    values = far.features(X + 1e4).A
    np.testing.assert_allclose(values, rbf_kernel(X, far.landmarks_ - 1e4, gamma=10.0), atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_of_the_landmarks_is_computed_once_what_all_blocks_need(form, monkeypatch):
    seen, prepare = [], kernels.prepare_right
    monkeypatch.setattr(
        kernels, "prepare_right", lambda *a, **k: seen.append(1) or prepare(*a, **k)
    )
    rows = form(X)
    map_ = fitted(rows=rows)
    features, F = map_.features(rows), map_.transform(rows)
    seen.clear()
    blocks = [features.block(part) for part in row_blocks(len(X), 100)]
    assert len(seen) == 1
    np.testing.assert_allclose(np.vstack(blocks), F, atol=1e-12)


# --------------------------------------------------------------------------------- nested
def test_the_first_features_are_those_of_the_first_landmarks():
    whole = fitted(n_landmarks=60)
    F = whole.transform(NEW)
    for k in (1, 5, 33, 60):
        part = whole.leading(k)
        np.testing.assert_array_equal(part.landmarks_, whole.landmarks_[:k])
        np.testing.assert_allclose(part.transform(NEW), F[:, :k], atol=1e-12)
        refitted = fitted(landmarks=whole.landmarks_[:k]).transform(NEW)
        np.testing.assert_allclose(refitted @ refitted.T, F[:, :k] @ F[:, :k].T, atol=1e-9)
    left = [whole.leading(k).trace_error(X) for k in (5, 10, 20, 40, 60)]
    assert np.all(np.diff(left) < 0)  # pivots put the landmarks that explain most first
    with pytest.raises(ValueError, match=r"1\.\.60"):
        whole.leading(61)
    with pytest.raises(ValueError, match="not nested"):
        fitted("eigen-drop").leading(3)


# ------------------------------------------------------------------------ products and solves
@pytest.mark.parametrize("dtype", [None, "float32"])
@pytest.mark.parametrize("beta", [1e-6, 1.0, 1e4])
def test_shifted_solves_are_those_of_the_dense_matrix(beta, dtype):
    approximation = fitted(dtype=dtype)
    F = approximation.transform(X).astype(np.float64)
    for B in (np.sin(np.arange(500.0)), np.random.default_rng(0).normal(size=(500, 3))):
        solution = approximation.shifted(beta).solve(B)
        left = B - beta * solution - F @ (F.T @ solution)
        allowed = 1e-8 if beta < 1.0 else 1e-12  # of a matrix whose condition is 1e8
        assert np.linalg.norm(left) < allowed * np.linalg.norm(B)


def test_a_stored_map_decides_without_the_rows():
    approximation = fitted()
    assert len(pickle.dumps(approximation)) < 8 * (40 * 40 + 40 * 64) + 4096
    expected = approximation.dual_decision(NEW, np.ones((3, 2)), np.array([3, 5, 8]))
    again = pickle.loads(pickle.dumps(approximation))
    found = again.dual_decision(NEW, np.ones((3, 2)), np.array([3, 5, 8]))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for work in (
        lambda: again.exact_product(np.ones(500)),
        pickle.loads(pickle.dumps(fitted())).operator,
    ):
        with pytest.raises(ValueError, match="fit it again"):
            work()


# --------------------------------------------------------------------------- hostile input
@FACTOR
def test_a_kernel_that_is_not_definite_is_refused(factor):
    map_ = Nystrom("sigmoid", gamma=1.0, coef0=-2.0, n_landmarks=30, factor=factor, random_state=0)
    with pytest.raises(ValueError, match=r"Sigmoid.*not positive semidefinite.*eigenvalues from -"):
        map_.fit(X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        Nystrom(lambda A, B: -np.ones((len(A), len(B))), n_landmarks=3, factor=factor).fit(X)


@pytest.mark.parametrize("kernel", ["polynomial", "linear"])
def test_rounding_below_zero_is_no_negative_eigenvalue(kernel):
    map_ = Nystrom(kernel, n_landmarks=200, gamma=1.0, floor=1e-12, random_state=0)
    F = map_.fit_transform(1e4 * X)
    assert np.all(np.isfinite(F))
    if kernel == "linear":
        assert map_.rank_ <= 64
        np.testing.assert_allclose(F @ F.T, 1e8 * X @ X.T, rtol=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "not finite"),
        ({"kernel": "linear", "rows": np.zeros((50, 2))}, "zero on all landmarks"),
    ],
)
def test_bad_requests(changes, message):
    with pytest.raises(ValueError, match=message):
        fitted(**changes)


def test_memory_is_refused_before_it_is_taken():
    map_ = fitted(max_memory="70MB")
    with pytest.raises(MemoryLimitError, match=r"features.*1,000,000 x 40 x 8 bytes.*float32"):
        map_.transform(sp.csr_matrix((1_000_000, 64)))
    with pytest.raises(MemoryLimitError, match="map of 40 landmarks"):
        fitted(max_memory=1000, landmarks="uniform")
    with pytest.raises(MemoryLimitError, match="40 centres of 500 rows"):
        fitted(max_memory=1000)
