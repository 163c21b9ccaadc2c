"""The sparse kernel as an approximation: against dense kernels, through scikit-learn, refusals."""

import warnings

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernlab.approximations import CompactKernel
from kernlab.approximations.compact.spectrum import gershgorin_radii, smallest_eigenvalue
from kernlab.approximations.compact.wendland import Wendland
from kernlab.kernels import Compact, gamma_from_sigma
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
PLANE = RNG.random((300, 2))
NEW = RNG.random((60, 2)) * 1.2
DIGITS = load_digits().data[:250] / 16.0
SPARSE = sp.random(200, 80, 0.1, format="csr", random_state=0)
SIGMA = 0.06

ROWS = {
    "plane": (PLANE, SIGMA),
    "digits": (DIGITS, 0.8),
    "sparse": (SPARSE, 0.8),
    "single precision": (PLANE.astype(np.float32), SIGMA),
}
CASES = pytest.mark.parametrize("case", ROWS)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)


def fitted(X=PLANE, sigma=SIGMA, **changes):
    return CompactKernel(**{"gamma": gamma_from_sigma(sigma), "random_state": 0} | changes).fit(X)


def exact(kernel, X, shift=1e-4):
    return kernel.kernel_(dense(X)) + shift * np.eye(X.shape[0])


WEIGHTS = "the matrix is that of all rows, however often each counts: solvers see the weights"


@parametrize_with_checks(
    [CompactKernel(), CompactKernel(gamma="quantile", alpha="trade-off")],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{form}_data": WEIGHTS for form in ("dense", "sparse")
    },
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ------------------------------------------------------------------------------- the matrix
@CASES
@pytest.mark.parametrize("search", ["auto", "cells", "products"])
def test_the_matrix_is_the_kernels_and_its_zeros_are_not_stored(case, search):
    X, sigma = ROWS[case]
    kernel = fitted(X, sigma, search=search)
    expected = exact(kernel, X)
    np.testing.assert_allclose(kernel.matrix_.toarray(), expected, atol=1e-10)
    share_of_zeros = 1.0 - np.count_nonzero(expected) / expected.size
    assert kernel.sparsity_ == pytest.approx(share_of_zeros, abs=1e-3)
    assert 0.3 < kernel.sparsity_ < 0.99


def test_the_kernel_is_the_thesis():
    kernel = fitted(l=3)
    assert kernel.kernel_ == Compact(gamma_from_sigma(SIGMA), 1 / (3 * SIGMA), 3)
    x, z = PLANE[:1], PLANE[:1] + np.array([SIGMA, 0.0])
    expected = (1 - 1 / 3) ** 3 * np.exp(-0.5)
    assert kernel.cross(z)[0, 0] == pytest.approx(expected)
    assert kernel.kernel_(x, z)[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("features", "rule", "exponent"),
    [
        *[(2, "askey", 2), (2, "askey-odd", 3), (54, "askey", 28), (54, "askey-odd", 29)],
        *[(123, "askey", 62), (123, "askey-odd", 63), (3, 2.5, 2.5), (3, 4.0, 4)],
    ],
)
def test_the_exponent_by_both_of_the_thesis_rules(features, rule, exponent):
    kernel = fitted(RNG.random((20, features)), 1.0, l=rule)
    assert kernel.kernel_.l == exponent
    assert isinstance(kernel.kernel_.l, type(exponent))


@pytest.mark.parametrize("taper", ["wendland-c2", "wendland-c4", "wendland-c6"])
def test_wendlands_functions_in_place_of_askeys(taper):
    kernel = fitted(taper=taper)
    assert isinstance(kernel.kernel_, Wendland)
    assert kernel.kernel_.dimension == 2
    np.testing.assert_allclose(kernel.matrix_.toarray(), exact(kernel, PLANE), atol=1e-12)


def test_a_kernel_may_be_given():
    given = Wendland(0.0, 5.0, dimension=2, smoothness=1)
    kernel = CompactKernel(given).fit(PLANE)
    assert kernel.kernel_ is given
    np.testing.assert_allclose(kernel.matrix_.toarray(), exact(kernel, PLANE), atol=1e-12)


def test_real_exponents_and_large_ones():
    for exponent in (2.5, 129):
        kernel = fitted(l=exponent)
        np.testing.assert_allclose(kernel.matrix_.toarray(), exact(kernel, PLANE), atol=1e-12)


# --------------------------------------------------------------- operator, features, solves
@CASES
def test_operator_features_and_solves_are_of_one_matrix(case):
    X, sigma = ROWS[case]
    kernel = fitted(X, sigma, drop=0.0)
    K = exact(kernel, X)
    V = RNG.normal(size=(X.shape[0], 3))
    np.testing.assert_allclose(kernel.operator() @ V, K @ V, atol=1e-10)
    F = kernel.fit_transform(X)
    np.testing.assert_allclose((F @ F.T).toarray(), K, atol=1e-10)
    solved = kernel.shifted(0.5).solve(K @ V + 0.5 * V)
    np.testing.assert_allclose(solved, V, atol=1e-9)
    assert kernel.shifted(0.5) is kernel.shifted(0.5)


@CASES
def test_features_of_new_rows_give_the_kernel_with_the_fitted_rows(case):
    X, sigma = ROWS[case]
    kernel = fitted(X, sigma, drop=0.0)
    F = kernel.fit_transform(X)
    new = X[:40] * 1.01
    inner = (kernel.transform(new) @ F.T).toarray()
    np.testing.assert_allclose(inner, kernel.kernel_(dense(new), dense(X)), atol=1e-9)
    np.testing.assert_allclose(kernel.cross(new).toarray(), inner, atol=1e-9)


def test_a_fitted_row_has_the_features_that_it_was_fitted_with():
    rows = np.vstack([PLANE, PLANE[:3]])  # of two equal rows, those of the first
    kernel = CompactKernel(gamma=gamma_from_sigma(SIGMA), drop=1e-12)
    F = kernel.fit_transform(rows)
    np.testing.assert_allclose(kernel.transform(PLANE).toarray(), F[:300].toarray(), atol=1e-9)


def test_features_work_in_a_pipeline():
    X, y = make_moons(400, noise=0.1, random_state=0)
    new, its_y = make_moons(200, noise=0.1, random_state=1)
    pipeline = make_pipeline(CompactKernel(gamma=gamma_from_sigma(0.3)), LinearSVC())
    assert pipeline.fit(X, y).score(new, its_y) > 0.98


def test_small_entries_of_the_features_are_left_out_and_nothing_changes():
    full, short = (CompactKernel(gamma=30.0, drop=drop).fit_transform(PLANE) for drop in (0, 1e-10))
    assert short.nnz < full.nnz
    assert abs(full - short).max() <= 1e-10


def test_the_factor_is_sparse_and_known_before_it_is_computed():
    kernel = fitted()
    counted, order, sparsity = (
        kernel.factor_nonzeros_,
        kernel.permutation_,
        kernel.factor_sparsity_,
    )
    held = kernel.nbytes
    assert kernel.factor_.nonzeros == counted
    assert sparsity == 1.0 - counted / 300**2
    np.testing.assert_array_equal(kernel.permutation_, order)
    assert kernel.nbytes > held
    assert {"predict", "sort", "assemble", "order", "factor"} <= set(kernel.timings_)
    np.testing.assert_allclose(
        kernel.factor_.lower.toarray(),
        la.cholesky(exact(kernel, PLANE)[np.ix_(order, order)], lower=True),
        atol=1e-9,
    )


# ------------------------------------------------------------------------------- decisions
@CASES
def test_decisions_of_new_rows(case):
    X, sigma = ROWS[case]
    kernel = fitted(X, sigma)
    new = X[:50] * 1.02
    values = kernel.kernel_(dense(new), dense(X))
    dual = RNG.normal(size=(X.shape[0], 4))
    some = np.array([3, 17, 60, 4])
    for columns in (0, slice(0, 1), slice(0, 4)):
        np.testing.assert_allclose(
            kernel.dual_decision(new, dual[some, columns], some),
            values[:, some] @ dual[some, columns],
            atol=1e-9,
        )
    w = RNG.normal(size=X.shape[0])
    np.testing.assert_allclose(kernel.decision(new, w), kernel.transform(new) @ w, atol=1e-7)
    assert not kernel.dual_decision(new, np.zeros(0), some[:0]).any()


def test_rows_far_from_all_decide_nothing():
    kernel = fitted()
    far = np.array([[50.0, 50.0], [-1e300, 1e300], [0.5, 7.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not kernel.dual_decision(far, np.ones(300), np.arange(300)).any()


def test_dual_coefficients_give_the_weights_back():
    kernel = fitted(drop=0.0)
    F = kernel.fit_transform(PLANE)
    w = RNG.normal(size=(300, 2))
    np.testing.assert_allclose(F.T @ kernel.dual_from_weights(w), w, atol=1e-9)


# ------------------------------------------------------------------- definiteness, prediction
def test_below_the_bound_a_warning_names_the_smallest_eigenvalue():
    grid = np.stack(np.meshgrid(*[np.arange(24)] * 2), -1).reshape(-1, 2) * 0.1
    with pytest.warns(UserWarning, match=r"exponent 1 is below 2.*smallest eigenvalue.* -0\.8"):
        kernel = CompactKernel(Compact(1e-9, 1.0, 1)).fit(grid)
    true = la.eigvalsh(kernel.matrix_.toarray())[0] - 1e-4
    assert kernel.smallest_eigenvalue_ == pytest.approx(true, rel=0.02)
    with pytest.raises(ValueError, match=r"raise shift above 0\.8\d, or l to at least 2"):
        kernel.shifted(0.0)


def test_below_the_bound_gershgorin_may_prove_more():
    with pytest.warns(UserWarning, match="by Gershgorin"):
        fitted(RNG.normal(size=(100, 20)) * 10, 3.0, l=3)


def test_on_the_bound_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for exponent in ("askey", "askey-odd", 2):
            assert fitted(l=exponent).smallest_eigenvalue_ is None
        fitted(taper="wendland-c2")
    with pytest.warns(UserWarning, match="exponent 3 is below 5"):
        CompactKernel(Wendland(1.0, 1.0, dimension=1, smoothness=1)).fit(RNG.random((50, 4)))


def test_lanczos_finds_the_smallest_eigenvalue():
    A = sp.random(200, 200, 0.05, random_state=0)
    A = (A + A.T).tocsr()
    true = la.eigvalsh(A.toarray())[0]
    found = smallest_eigenvalue(lambda V: A @ V, 200, n_steps=60)
    assert true <= found + 1e-12
    assert found == pytest.approx(true, rel=0.01)
    assert smallest_eigenvalue(lambda V: 3.0 * V, 5) == pytest.approx(3.0)


def test_gershgorins_radii():
    A = sp.csr_matrix(np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, -4.0]]))
    np.testing.assert_allclose(gershgorin_radii(A), [1.5, 1.0, 0.5])


def test_entries_are_predicted():
    X = RNG.random((20_000, 2))
    kernel = fitted(X, 0.005)
    prediction = kernel.prediction_
    assert abs(prediction.entries - kernel._matrix.nnz) < 4 * prediction.error
    assert prediction.error < 0.05 * prediction.entries
    assert prediction.per_row == pytest.approx(kernel._matrix.nnz / 20_000, rel=0.1)
    small = fitted()
    assert small.prediction_.entries == small._matrix.nnz
    assert small.prediction_.error == 0


def test_a_matrix_that_does_not_fit_is_refused_before_the_search(monkeypatch):
    monkeypatch.setattr("kernlab.approximations.compact.approximation.find_search", None)
    with pytest.raises(MemoryLimitError, match=r"predicted from a sample, .* a row, 12 bytes"):
        fitted(RNG.random((3000, 2)), 0.3, max_memory="10MB")


def test_a_factor_that_does_not_fit_is_refused_before_it_is_computed():
    X = RNG.random((3000, 2))
    needed = fitted(X, 0.03).factor_nonzeros_
    assert 0.95 * needed < fitted(X, 0.03, max_memory=33 * needed).factor_.nonzeros <= needed
    for allowed in (12, 31):
        kernel = fitted(X, 0.03, max_memory=allowed * needed)
        with pytest.raises(MemoryLimitError, match="Cholesky factor of 3,000 rows"):
            kernel.shifted(0.0)
    features = CompactKernel(gamma=gamma_from_sigma(0.03), max_memory=33 * needed)
    with pytest.raises(MemoryLimitError, match=r"40 bytes each.*solver='newton'"):
        features.fit_transform(X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "linear"}, "kernel='linear'.*makes the Gaussian kernel compact"),
        ({"taper": "hat"}, "taper='hat' is not one of"),
        ({"l": "odd"}, "l='odd' is neither"),
        ({"l": 0}, "l must be a positive number"),
        ({"alpha": -1.0}, "alpha must be a positive number"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
        ({"shift": -1e-4}, "shift must be"),
        ({"shift": np.nan}, "shift must be"),
        ({"ordering": "best"}, "ordering='best'"),
        ({"search": "tree"}, "search='tree'"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        fitted(**changes).shifted(0.0)


def test_definiteness_is_known_by_the_exponent_or_proved_by_a_factor():
    assert fitted().is_definite(1e-9)
    grid = np.stack(np.meshgrid(*[np.arange(24)] * 2), -1).reshape(-1, 2) * 0.1
    with pytest.warns(UserWarning, match="below 2"):
        kernel = CompactKernel(Compact(1e-9, 1.0, 1)).fit(grid)
    smallest = la.eigvalsh(kernel.matrix_.toarray())[0]
    assert kernel.is_definite(-1.01 * smallest)
    assert not kernel.is_definite(-0.99 * smallest)


def test_a_shift_for_each_row_stands_where_the_row_does():
    rows = np.random.default_rng(3).random((80, 2))
    shifts = np.linspace(0.0, 2.0, 80)
    plain = CompactKernel(gamma=20.0, l=3, shift=0.0).fit(rows)
    shifted = CompactKernel(gamma=20.0, l=3, shift=shifts)
    F = shifted.fit_transform(rows)
    added = (shifted.matrix_ - plain.matrix_).toarray()
    np.testing.assert_allclose(added, np.diag(shifts), atol=1e-15)
    np.testing.assert_allclose(shifted.transform(rows).toarray(), F.toarray(), atol=1e-7)
    for wrong in (shifts[:-1], -shifts, np.full(80, np.nan)):
        with pytest.raises(ValueError, match="one for each row"):
            CompactKernel(gamma=20.0, l=3, shift=wrong).fit(rows)


def test_the_sorted_operator_is_the_operator_in_another_order():
    kernel = fitted()
    operator, order = kernel.sorted_operator()
    V = np.random.default_rng(4).normal(size=(len(PLANE), 3))
    assert not np.array_equal(order, np.arange(len(PLANE)))
    np.testing.assert_array_equal(operator @ V[order], (kernel.operator() @ V)[order])
    np.testing.assert_array_equal(operator @ V[order, 0], (kernel.operator() @ V[:, 0])[order])


def test_sorted_features_are_the_features_in_the_order_of_the_factor():
    kernel = CompactKernel(gamma=50.0, l=3)
    F = kernel.fit_transform(PLANE)
    L, order = kernel.sorted_features()
    np.testing.assert_array_equal(order, kernel.permutation_)
    assert (F[order] != L).nnz == 0
    assert sp.triu(L, k=1).nnz == 0
    assert not np.array_equal(order, np.arange(len(PLANE)))
