"""The Nystrom features against pseudo-inverses and scikit-learn, and their error figures."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import Nystrom
from kernlab.approximations.landmarkmap import CholeskyMap, SpectralMap, cholesky_map, spectral_map
from kernlab.approximations.nystrom import FACTORS
from kernlab.kernels import RBF
from kernlab.runtime import MemoryLimitError

X, Y = load_digits(return_X_y=True)
X = X[:500] / 16.0
Y = Y[:500]
NEW = load_digits().data[500:600] / 16.0
FACTOR = pytest.mark.parametrize("factor", FACTORS)


def fitted(factor="cholesky", rows=X, **changes):
    defaults = {"gamma": 0.1, "n_landmarks": 40, "random_state": 0, "factor": factor}
    return Nystrom(**defaults | changes).fit(rows)


def by_pseudo_inverse(rows, others, landmarks, gamma=0.1):
    """K_xl K_ll^+ K_ly, the Nystrom matrix, from its definition."""
    inverse = np.linalg.pinv(rbf_kernel(landmarks, gamma=gamma), hermitian=True)
    return rbf_kernel(rows, landmarks, gamma=gamma) @ inverse @ rbf_kernel(landmarks, others, gamma)


@parametrize_with_checks([Nystrom(gamma=0.1), Nystrom(gamma=0.1, factor="eigen-drop")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------ the matrix
@FACTOR
def test_features_multiply_to_the_nystrom_matrix(factor):
    map_ = fitted(factor)
    F, new = map_.transform(X), map_.transform(NEW)
    assert F.shape == (500, map_.rank_)
    np.testing.assert_allclose(F @ F.T, by_pseudo_inverse(X, X, map_.landmarks_), atol=1e-8)
    np.testing.assert_allclose(new @ F.T, by_pseudo_inverse(NEW, X, map_.landmarks_), atol=1e-8)
    np.testing.assert_allclose(F, map_.fit_transform(X), atol=1e-12)


@FACTOR
def test_all_rows_as_landmarks_give_the_exact_kernel(factor):
    map_ = fitted(factor, landmarks="first", n_landmarks=500, floor=1e-12)
    F = map_.transform(X)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=0.1), atol=1e-6)
    np.testing.assert_allclose(map_.transform(NEW) @ F.T, rbf_kernel(NEW, X, gamma=0.1), atol=1e-4)


def test_is_scikit_learns_nystroem_on_the_same_landmarks():
    reference = Nystroem(gamma=0.1, n_components=40, random_state=0).fit(X)
    map_ = fitted(landmarks=reference.components_)
    theirs, ours = reference.transform(NEW), map_.transform(NEW)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-8)


@FACTOR
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_forms_and_precisions(factor, form):
    map_ = fitted(factor)
    exact = map_.transform(NEW)
    np.testing.assert_allclose(map_.transform(form(NEW)), exact, atol=1e-12)
    single = fitted(factor, rows=form(X.astype(np.float32))).transform(form(NEW.astype(np.float32)))
    assert single.dtype == np.float32
    stored = fitted(factor, dtype="float32").transform(NEW)
    assert stored.dtype == np.float32
    np.testing.assert_allclose(stored @ stored.T, exact @ exact.T, atol=1e-5)


def test_blocks_do_not_change_the_features(monkeypatch):
    map_ = fitted()
    whole = map_.transform(X)
    for _, block in map_.iter_features(X, rows_per_block=7):
        assert len(block) <= 7
    monkeypatch.setattr("kernlab.approximations.base.BLOCK_BYTES", 1)
    monkeypatch.setattr("kernlab.approximations.base.SMALLEST_BLOCK", 33)
    np.testing.assert_allclose(map_.transform(X), whole, atol=1e-12)


# ------------------------------------------------------------------------- three treatments
def test_tiny_eigenvalues_are_dropped_by_lasn_and_replaced_by_llsvm():
    values = np.array([1.0, 1e-3, 1e-7, 0.0])
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    K = (V * values) @ V.T
    above, dropped = spectral_map(K, 1e-6, replace=False)
    assert (above, dropped.n_features) == (2, 2)
    M = dropped.fold(np.eye(2))
    inverse = (V[:, :2] / values[:2]) @ V[:, :2].T
    np.testing.assert_allclose(M @ M.T, inverse, rtol=1e-6, atol=1e-3)
    above, replaced = spectral_map(K, 1e-6, replace=True)
    assert (above, replaced.n_features) == (2, 4)
    M = replaced.fold(np.eye(4))
    inverse = (V / np.maximum(values, 1e-6)) @ V.T
    np.testing.assert_allclose(M @ M.T, inverse, rtol=1e-6)


def test_duplicate_landmarks_add_nothing():
    points = np.vstack([X[:10], X[:10]])
    alone = fitted(landmarks=X[:10]).transform(NEW)
    for factor in FACTORS:
        map_ = fitted(factor, landmarks=points)
        F = map_.transform(NEW)
        assert map_.effective_rank_ == 10
        assert map_.rank_ == (20 if factor == "eigen-replace" else 10)
        np.testing.assert_allclose(F @ F.T, alone @ alone.T, atol=1e-8)
    assert fitted(landmarks=points).landmarks_.shape == (10, 64)


@FACTOR
def test_constant_rows_give_one_feature_of_length_one(factor):
    map_ = fitted(factor, rows=np.ones((20, 3)), n_landmarks=5)
    F = map_.transform(np.ones((20, 3)))
    np.testing.assert_allclose(F @ F.T, 1.0, atol=1e-6)
    assert map_.effective_rank_ == 1


@FACTOR
def test_maps_fold_weights_and_unfold_gradients(factor):
    map_ = fitted(factor)
    K, w, g = rbf_kernel(NEW, map_.landmarks_, gamma=0.1), np.arange(map_.rank_), np.arange(100.0)
    F = map_.transform(NEW)
    np.testing.assert_allclose(K @ map_.map_.fold(w), F @ w, atol=1e-7)
    np.testing.assert_allclose(map_.map_.unfold(K.T @ g), F.T @ g, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(map_.map_.apply(map_.kernel_values(NEW)), F, atol=1e-10)
    single = map_.kernel_values(NEW, np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, K, atol=2 * map_.value_error(NEW, np.float32))
    np.testing.assert_allclose(map_.decision(NEW, w), F @ w, atol=1e-7)
    points, weights = map_.expansion(w)
    assert points.shape[0] == len(weights)


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
    with pytest.raises(ValueError, match=r"1\.\.60"):
        whole.leading(61)
    with pytest.raises(ValueError, match="not nested"):
        fitted("eigen-drop").leading(3)


def test_pivots_put_the_landmarks_that_explain_most_first():
    left = [fitted(n_landmarks=60).leading(k).trace_error(X) for k in (5, 10, 20, 40, 60)]
    assert np.all(np.diff(left) < 0)


def test_kernel_values_are_computed_once():
    counted = []

    def kernel(A, B):
        counted.append(len(A) * len(B))
        return rbf_kernel(A, B, gamma=0.1)

    map_ = Nystrom(kernel, n_landmarks=30, random_state=0)
    map_.fit_transform(X)
    assert sum(counted) <= 30 * 30 + 30 + 500 * 30
    counted.clear()
    map_.decision(NEW, np.zeros(map_.rank_))
    assert sum(counted) == 100 * map_.rank_


# ---------------------------------------------------------------------------------- errors
@FACTOR
def test_the_error_is_what_it_says(factor):
    map_ = fitted(factor)
    K, approximate = rbf_kernel(X, gamma=0.1), by_pseudo_inverse(X, X, map_.landmarks_)
    trace = map_.trace_error(X)
    assert trace == pytest.approx(np.trace(K - approximate) / 500, rel=1e-6)
    assert map_.error(X, n_sampled=500) == pytest.approx(
        np.linalg.norm(K - approximate) / np.linalg.norm(K), rel=1e-6
    )
    assert np.linalg.norm(K - approximate, 2) <= 500 * trace
    points = map_.point_errors(X)
    np.testing.assert_allclose(points**2, np.diag(K - approximate), atol=1e-8)
    assert 0.1 < points.mean() < 0.9


def test_the_sample_is_not_the_landmarks():
    """Rows that are landmarks have no error: they must not be the rows that are looked at."""
    map_ = fitted(landmarks="uniform", n_landmarks=100)
    assert map_.error(X, n_sampled=100) > 0.01


def test_points_of_the_span_have_no_error():
    map_ = fitted(landmarks=X[:40])
    np.testing.assert_allclose(map_.point_errors(X[:40]), 0.0, atol=1e-6)
    assert map_.point_errors(X[40:]).min() > 0.01


# --------------------------------------------------------------------------- hostile input
@FACTOR
def test_a_kernel_that_is_not_definite_is_refused(factor):
    map_ = Nystrom("sigmoid", gamma=1.0, coef0=-2.0, n_landmarks=30, factor=factor, random_state=0)
    with pytest.raises(ValueError, match=r"Sigmoid.*not positive semidefinite.*eigenvalues from -"):
        map_.fit(X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        Nystrom(lambda A, B: -np.ones((len(A), len(B))), n_landmarks=3, factor=factor).fit(X)


def test_rounding_below_zero_is_no_negative_eigenvalue():
    for kernel in ("polynomial", "linear"):
        map_ = Nystrom(kernel, n_landmarks=200, gamma=1.0, floor=1e-12, random_state=0)
        F = map_.fit_transform(1e4 * X)
        assert np.all(np.isfinite(F))
        if kernel == "linear":
            assert map_.rank_ <= 64
            np.testing.assert_allclose(F @ F.T, 1e8 * X @ X.T, rtol=1e-3)


def test_bad_requests():
    for changes, message in (
        ({"factor": "lu"}, "factor='lu' is not one of cholesky"),
        ({"n_landmarks": 501}, "more than the 500 rows"),
        ({"n_landmarks": 0}, "n_landmarks must be a positive whole number"),
        ({"floor": -1.0}, "floor"),
        ({"dtype": "int32"}, "dtype"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(**changes)
    with pytest.raises(ValueError, match="not finite"):
        Nystrom(lambda A, B: np.full((len(A), len(B)), np.nan), n_landmarks=3).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        fitted().transform(np.full((3, 64), np.nan))


def test_memory_is_refused_before_it_is_taken():
    map_ = fitted(max_memory="70MB")
    with pytest.raises(MemoryLimitError, match=r"features.*1,000,000 x 40 x 8 bytes.*float32"):
        map_.transform(sp.csr_matrix((1_000_000, 64)))
    with pytest.raises(MemoryLimitError, match="map of 40 landmarks"):
        fitted(max_memory=1000, landmarks="uniform")
    with pytest.raises(MemoryLimitError, match="40 centres of 500 rows"):
        fitted(max_memory=1000)


def test_it_works_in_a_pipeline_and_reports_its_cost():
    pipeline = make_pipeline(Nystrom(gamma=0.05, n_landmarks=100, random_state=0), LinearSVC())
    assert pipeline.fit(X, Y).score(NEW, load_digits().target[500:600]) > 0.8
    map_ = pipeline[0]
    assert set(map_.timings_) == {"landmarks", "map", "features"}
    assert map_.nbytes >= 8 * (100 * 64 + 100 * 100)
    assert map_.get_feature_names_out()[0] == "nystrom0"
    assert isinstance(map_.kernel_, RBF)


def test_the_parts_can_be_had_alone():
    K = rbf_kernel(X[:20], gamma=0.1)
    order, map_ = cholesky_map(K, 1e-12)
    assert isinstance(map_, CholeskyMap)
    F = map_.apply(rbf_kernel(X[:20], X[:20][order], gamma=0.1))
    np.testing.assert_allclose(F @ F.T, K, atol=1e-9)
    assert cholesky_map(-K, 1e-12) is None
    assert spectral_map(K - 2 * np.eye(20), 1e-12, replace=True) is None
    assert isinstance(spectral_map(K, 1e-12, replace=True)[1], SpectralMap)


def test_a_kernel_that_is_zero_on_all_rows_is_named():
    with pytest.raises(ValueError, match="zero on all landmarks"):
        Nystrom("linear", n_landmarks=3).fit(np.zeros((20, 2)))
