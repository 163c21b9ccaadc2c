"""The sparse kernel as an approximation: against dense kernels, through scikit-learn, refusals."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from kernlab import KernelMachine, SparseCholeskySVC
from kernlab.approximations import CompactKernel
from kernlab.approximations.base import largest_eigenvalue, smallest_eigenvalue
from kernlab.approximations.compact import gershgorin_radii
from kernlab.kernels import Compact, gamma_from_sigma, kernel_product
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
PLANE = RNG.random((300, 2))
DIGITS = load_digits().data[:250] / 16.0
SPARSE = sp.random(200, 80, 0.1, format="csr", random_state=0)
GRID = np.stack(np.meshgrid(*[np.arange(24)] * 2), -1).reshape(-1, 2) * 0.1
SIGMA = 0.06

ROWS = {
    "plane": (PLANE, SIGMA),
    "digits": (DIGITS, 0.8),
    "sparse": (SPARSE, 0.8),
    "single precision": (PLANE.astype(np.float32), SIGMA),
    "repeated": (np.repeat(PLANE[:100], 3, axis=0), SIGMA),
    "wide": (RNG.normal(size=(30, 2000)), 22.0),
    "one row": (np.ones((1, 3)), 1.0),
}
CASES = pytest.mark.parametrize("case", ROWS)


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)


def fitted(X=PLANE, sigma=SIGMA, **changes):
    return CompactKernel(**{"gamma": gamma_from_sigma(sigma), "random_state": 0} | changes).fit(X)


def by_definition(kernel, X, Z):
    """Equation 38, from differences."""
    d = cdist(dense(X), dense(Z))
    return np.maximum(1.0 - kernel.alpha * d, 0.0) ** kernel.l * np.exp(-kernel.gamma * d**2)


# ------------------------------------------------------------------------------- the matrix
@CASES
@pytest.mark.parametrize("search", ["auto", "cells", "products"])
def test_the_matrix_is_the_kernels_and_its_zeros_are_not_stored(case, search):
    X, sigma = ROWS[case]
    kernel = fitted(X, sigma, search=search)
    expected = by_definition(kernel.kernel_, X, X) + 1e-4 * np.eye(X.shape[0])
    np.testing.assert_allclose(kernel.matrix_.toarray(), expected, atol=1e-12)
    far = cdist(dense(X), dense(X)) >= kernel.kernel_.radius
    assert kernel.sparsity_ == pytest.approx(far.mean())
    assert kernel.prediction_.entries == kernel.matrix_.nnz


@pytest.mark.parametrize(
    ("features", "rule", "exponent"),
    [
        *[(2, "askey", 2), (2, "askey-odd", 3), (54, "askey", 28), (54, "askey-odd", 29)],
        *[(123, "askey", 62), (123, "askey-odd", 63), (3, 2.5, 2.5), (3, 4.0, 4), (3, 1200, 1200)],
    ],
)
def test_the_exponent_by_both_of_the_thesis_rules(features, rule, exponent):
    X = RNG.random((20, features))
    kernel = fitted(X, 1.0, l=rule)
    assert kernel.kernel_ == Compact(0.5, 1.0 / 3.0, exponent)
    assert isinstance(kernel.kernel_.l, type(exponent))
    expected = by_definition(kernel.kernel_, X, X) + 1e-4 * np.eye(20)
    np.testing.assert_allclose(kernel.matrix_.toarray(), expected, atol=1e-12)


def test_the_kernel_is_the_same_in_every_path():
    """At 2,000 features, where |x|^2 + |z|^2 - 2 x . z is far off for equal rows."""
    X = np.repeat(RNG.normal(size=(12, 2000)), 2, axis=0)
    X[1::4] += 2.0 * RNG.normal(size=(6, 2000)) / np.sqrt(2000)
    kernel = fitted(X, 20.0, shift=0.0, l=3)
    k, expected = kernel.kernel_, by_definition(kernel.kernel_, X, X)
    everyone = np.arange(24)
    for values in (
        kernel.matrix_.toarray(),
        kernel.operator() @ np.eye(24),
        kernel.dual_decision(X, np.eye(24), everyone),
        k(X),
        k(X, X.copy()),
        k(sp.csr_matrix(X), X.copy()),
        kernel_product(k, X, X.copy(), np.eye(24)),
        kernel.exact_product(np.eye(24)),
    ):
        np.testing.assert_allclose(values, expected, atol=1e-13)
        assert np.all(values[expected == 1.0] == 1.0)
    y = np.tile([1.0, -1.0], 12)
    for name in ("exact", "compact", "hss"):
        solver = "dual-admm" if name == "hss" else "newton"
        machine = KernelMachine(
            name, solver, kernel="compact", gamma=k.gamma, C=1.0, random_state=0
        ).fit(X, y)
        loss = np.maximum(1.0 - y * machine.decision_function(X), 0.0)
        assert machine.result_.objective <= loss @ loss + 13.0


# --------------------------------------------------------------- operator, features, solves
@CASES
def test_operator_features_and_solves_are_of_one_matrix_in_the_order_of_the_rows(case):
    X, sigma = ROWS[case]
    n = X.shape[0]
    kernel = fitted(X, sigma, drop=0.0)
    K = by_definition(kernel.kernel_, X, X) + 1e-4 * np.eye(n)
    V = RNG.normal(size=(n, 3))
    np.testing.assert_allclose(kernel.data_for("operator", X) @ V, K @ V, atol=1e-10)
    F = kernel.data_for("features", X).stored()
    np.testing.assert_allclose((F @ F.T).toarray(), K, atol=1e-10)
    assert (kernel.fit_transform(X) != F).nnz == 0
    solved = kernel.data_for("shifted", X).shifted(0.5).solve(K @ V + 0.5 * V)
    np.testing.assert_allclose(solved, V, atol=1e-9)
    assert kernel.shifted(0.5) is kernel.shifted(0.5)
    np.testing.assert_allclose(F.T @ kernel.dual_from_weights(V), V, atol=1e-9)


@CASES
def test_new_rows(case):
    X, sigma = ROWS[case]
    n = X.shape[0]
    kernel = fitted(X, sigma, drop=0.0)
    new = X[:40] * 1.01
    expected = by_definition(kernel.kernel_, new, X)
    F = kernel.features(X).stored()
    np.testing.assert_allclose((kernel.transform(new) @ F.T).toarray(), expected, atol=1e-9)
    dual, some = RNG.normal(size=(n, 4)), np.array([3, 17, 60, 4]) % n
    dual[np.setdiff1d(np.arange(n), some)] = 0.0
    for columns in (0, slice(0, 1), slice(0, 4)):
        np.testing.assert_allclose(
            kernel.dual_decision(new, dual[np.unique(some), columns], np.unique(some)),
            expected @ dual[:, columns],
            atol=1e-9,
        )
    w = RNG.normal(size=(n, 2))
    np.testing.assert_allclose(kernel.decision(new, w), kernel.transform(new) @ w, atol=1e-7)
    assert not kernel.dual_decision(new, np.zeros(0), some[:0]).any()


def test_a_fitted_row_has_the_features_that_it_was_fitted_with():
    rows = np.vstack([PLANE, PLANE[:3]])  # of two equal rows, those of the first
    kernel = CompactKernel(gamma=gamma_from_sigma(SIGMA), drop=1e-12)
    F = kernel.fit_transform(rows)
    np.testing.assert_allclose(kernel.transform(PLANE).toarray(), F[:300].toarray(), atol=1e-9)


def test_rows_far_from_all_decide_nothing():
    far = np.array([[50.0, 50.0], [-1e300, 1e300], [0.5, 7.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not fitted().dual_decision(far, np.ones(300), np.arange(300)).any()


def test_a_shift_for_each_row_stands_where_the_row_does():
    rows, shifts = PLANE[:80], np.linspace(0.0, 2.0, 80)
    plain, shifted = fitted(rows, shift=0.0), fitted(rows, shift=shifts)
    added = (shifted.matrix_ - plain.matrix_).toarray()
    np.testing.assert_allclose(added, np.diag(shifts), atol=1e-15)
    F = shifted.features(rows).stored()
    np.testing.assert_allclose(shifted.transform(rows.copy()).toarray(), F.toarray(), atol=1e-7)
    for wrong in (shifts[:-1], -shifts, np.full(80, np.nan), -1e-4, "magic", ["magic"] * 80):
        with pytest.raises(ValueError, match="one for each row"):
            fitted(rows, shift=wrong)


# ------------------------------------------------------------------- definiteness
def test_below_the_bound_a_warning_names_the_smallest_eigenvalue():
    with pytest.warns(UserWarning, match=r"exponent 1 is below 2.*smallest eigenvalue.* -0\.8"):
        kernel = CompactKernel(Compact(1e-9, 1.0, 1)).fit(GRID)
    smallest = la.eigvalsh(kernel.matrix_.toarray())[0]
    assert kernel.smallest_eigenvalue_ == pytest.approx(smallest - 1e-4, rel=1e-3)
    with pytest.raises(ValueError, match=r"raise shift above 0\.8\d, or l to at least 2"):
        kernel.shifted(0.0)
    assert kernel.is_definite(-1.01 * smallest)
    assert not kernel.is_definite(-0.99 * smallest)
    with pytest.warns(UserWarning, match="by Gershgorin"):
        fitted(RNG.normal(size=(100, 20)) * 10, 3.0, l=3)


def test_the_ends_of_the_spectrum_are_those_of_a_dense_solver():
    A = sp.random(200, 200, 0.05, random_state=0)
    A = (A + A.T).tocsr()
    for matrix in (A, -A, A @ A, A[:9, :9], 3.0 * sp.identity(50), sp.csr_matrix((40, 40))):
        spectrum, n = la.eigvalsh(matrix.toarray()), matrix.shape[0]
        slack = 1e-4 * np.abs(spectrum).max()
        smallest = smallest_eigenvalue(lambda V, A=matrix: A @ V, n)
        assert smallest == pytest.approx(spectrum[0], abs=slack)
        largest = largest_eigenvalue(lambda V, A=matrix: A @ V, n)
        assert largest == pytest.approx(spectrum[-1], abs=slack)
    radii = gershgorin_radii(sp.csr_matrix([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.0], [0.5, 0.0, -4.0]]))
    np.testing.assert_allclose(radii, [1.5, 1.0, 0.5])


# ---------------------------------------------------------------------------- refusals
def test_a_factor_that_does_not_fit_is_refused_before_it_is_computed():
    X = RNG.random((3000, 2))
    needed = fitted(X, 0.03).factor_nonzeros_
    assert 0.95 * needed < fitted(X, 0.03, max_memory=33 * needed).factor_.nonzeros <= needed
    for allowed in (12, 31):
        with pytest.raises(MemoryLimitError, match="Cholesky factor of 3,000 rows"):
            fitted(X, 0.03, max_memory=allowed * needed).shifted(0.0)
    with pytest.raises(MemoryLimitError, match=r"52 bytes each.*solver='newton'"):
        fitted(X, 0.03, max_memory=33 * needed).features(X)


def test_many_features_take_no_more_memory_than_a_few_copies_of_the_rows():
    X, y = RNG.normal(size=(20, 5000)), np.tile([0, 1], 10)
    machine = SparseCholeskySVC(solver="newton", max_memory="50MB")
    machine.fit(X, y)  # loops are compiled at their first call, which takes megabytes
    tracemalloc.start()
    try:
        machine.fit(X, y)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
