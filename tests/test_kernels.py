"""Kernel values against scikit-learn and against the formulas, dense and sparse, in blocks."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise

from kernlab.kernels import (
    KERNELS,
    askey_exponent,
    gamma_from_divisor,
    gamma_from_sigma,
    kernel_product,
    make_kernel,
    resolve_gamma,
    total_variance,
)
from kernlab.rows.products import inner_products, prepare_right, squared_distances


def rows(n, p, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * (rng.random((n, p)) < density)


def compact_by_formula(X, Y, gamma, alpha, exponent):
    d = cdist(X, Y)
    return np.maximum(0, 1 - alpha * d) ** exponent * np.exp(-gamma * d**2)


REFERENCES = {
    "linear": lambda X, Y: X @ Y.T,
    "rbf": lambda X, Y: pairwise.rbf_kernel(X, Y, gamma=0.3),
    "laplacian": lambda X, Y: pairwise.laplacian_kernel(X, Y, gamma=0.3),
    "polynomial": lambda X, Y: pairwise.polynomial_kernel(X, Y, degree=3, gamma=0.3, coef0=1.0),
    "sigmoid": lambda X, Y: pairwise.sigmoid_kernel(X, Y, gamma=0.3, coef0=1.0),
    "compact": lambda X, Y: compact_by_formula(X, Y, 0.3, math.sqrt(0.6) / 3, 4),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sparse", ["neither", "left", "right", "both"])
def test_values_agree_with_the_reference(name, sparse):
    X, Y = rows(37, 6, 1, density=0.4), rows(23, 6, 2, density=0.4)
    reference = REFERENCES[name](X, Y)
    assert reference.std() > 0.01  # not trivially constant
    left = sp.csr_matrix(X) if sparse in ("left", "both") else X
    right = sp.csr_matrix(Y) if sparse in ("right", "both") else Y
    kernel = make_kernel(name, gamma=0.3, X=X)
    np.testing.assert_allclose(kernel(left, right), reference, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_the_diagonal_and_symmetry(name):
    X = rows(40, 5)
    kernel = make_kernel(name, gamma=0.3, X=X)
    matrix = kernel(X)
    np.testing.assert_allclose(np.diag(matrix), kernel.diag(X), rtol=1e-12)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix, kernel(X, X.copy()), atol=1e-7)


@given(
    n=st.integers(1, 20),
    m=st.integers(1, 20),
    p=st.integers(1, 8),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from([np.float64, np.float32]),
)
@settings(max_examples=60)
def test_distances_do_not_depend_on_how_rows_are_stored(n, m, p, seed, dtype):
    X, Y = rows(n, p, seed, 0.5).astype(dtype), rows(m, p, seed + 1, 0.5).astype(dtype)
    true, first = cdist(X, Y, "sqeuclidean"), seed % m
    for left in (X, sp.csr_matrix(X)):
        for right in (Y, sp.csr_matrix(Y)):
            prepared = prepare_right(left, right, distances=True)
            # Also into a type that is not the rows' own, and for the last of the rows only.
            for out in (np.full((n, m), np.nan, dtype), np.full((n, m), np.nan)):
                squared_distances(left, prepared, out)
                np.testing.assert_allclose(out, true, atol=1e-12 if dtype is np.float64 else 1e-4)
                behind = np.full((n, m - first), np.nan, out.dtype)
                squared_distances(left, prepared.from_row(first), behind)
                np.testing.assert_allclose(behind, out[:, first:], atol=1e-5)
                assert np.all(out >= 0.0)


# ------------------------------------------------------------- every pair of rows is right
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_columns_are_products_with_sparse_rows(dtype):
    """More columns than are summed at once, and rows with 0 to 10 entries, some of them equal."""
    X = np.triu(rows(11, 40, 1))[::-1] * (np.arange(40) >= 30)
    X, Y = sp.csr_matrix(X.astype(dtype)), rows(1100, 40, 2, density=0.5).astype(dtype)
    Y[1099], Y[0] = X[3].toarray().ravel(), X[10].toarray().ravel()
    right, out = prepare_right(X, Y), np.empty((11, 1100), dtype)
    assert right.columns is not None
    inner_products(X, right, out)
    size = np.abs(X.toarray()) @ np.abs(Y.T)
    assert np.all(np.abs(out - X.toarray().astype(float) @ Y.T) <= 8 * np.finfo(dtype).eps * size)
    values = make_kernel("rbf", gamma=0.1)(X, Y)
    np.testing.assert_allclose(values, pairwise.rbf_kernel(X.toarray(), Y, 0.1), rtol=1e-4)
    assert values[3, 1099] == values[10, 0] == 1.0


def exact_rbf(X, Y, gamma):
    """Differences in extended precision."""
    X, Y = X.astype(np.longdouble), Y.astype(np.longdouble)
    return np.exp(-np.longdouble(gamma) * np.square(X[:, None] - Y[None]).sum(axis=2))


@st.composite
def hostile_rows(draw):
    """Rows whose norms, scales and places differ wildly, and a width at which they are alike."""
    n, p = draw(st.integers(2, 40)), draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < draw(st.sampled_from([0.2, 1.0])))
    if draw(st.booleans()):
        X *= 10.0 ** rng.uniform(-8, 8, p)
    X += draw(st.sampled_from([0.0, 1.0, 1e4, 1e8]))
    n_far = draw(st.integers(0, n))
    far = rng.permutation(n)[:n_far]
    X[far] += draw(st.sampled_from([0.0, 1e6, 1e12, 1e200]))
    twice = rng.integers(0, n, n // 3)
    X[rng.integers(0, n, n // 3)] = X[twice]
    square = np.square(X[:, None].astype(np.longdouble) - X[None]).sum(axis=2)
    finite = square[(square > 0) & np.isfinite(square)]
    typical = np.quantile(finite, draw(st.sampled_from([0.1, 0.5, 1.0]))) if finite.size else 1.0
    return X, float(np.clip(draw(st.sampled_from([0.01, 1.0, 100.0])) / typical, 1e-300, 1e300))


@settings(max_examples=150)
@given(hostile_rows(), st.sampled_from([np.float64, np.float32]), st.booleans(), st.booleans())
def test_every_value_is_right_whatever_else_is_in_the_matrix(rows, dtype, left, right):
    X, gamma = rows
    limit = 1e30 if dtype is np.float32 else np.inf
    X = np.clip(X, -limit, limit).astype(dtype)
    Y = X[::2].copy()
    kernel, true = make_kernel(gamma=gamma), exact_rbf(X, Y, gamma)
    A, B = sp.csr_matrix(X) if left else X, sp.csr_matrix(Y) if right else Y
    computed = {
        "block": kernel(A, B),
        "product": kernel_product(kernel, A, B, np.eye(len(Y), dtype=dtype)),
    }
    for name, K in computed.items():
        error = np.abs(K - true)
        if dtype is np.float64:
            visible = true > 1e-300
            assert np.all(error[visible] <= 1e-6 * true[visible]), name
            assert np.all(K[~visible] <= 1e-299), name
        else:
            assert error.max() <= 1e-3, name
        assert np.all(K[np.all(X[:, None] == Y[None], axis=2)] == 1.0), name


def test_the_median_distance_survives_a_far_row():
    X = rows(300, 3)
    expected = resolve_gamma("median", X)
    X[5] = 1e12
    assert resolve_gamma("median", X) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("columns", [None, 3])
def test_products_in_blocks(columns):
    X, Y = rows(300, 4), rows(200, 4, 1)
    V = rows(200, columns or 1, 2)
    V = V if columns else V.ravel()
    kernel = make_kernel(gamma=0.5)
    product = kernel_product(kernel, X, Y, V, max_memory=40_000)  # a few rows at a time
    np.testing.assert_allclose(product, kernel(X, Y) @ V, atol=1e-12)


def test_products_over_more_columns_than_a_tile_has():
    X, Y, V = rows(40, 3), rows(9000, 3, 1), rows(9000, 2, 2)
    kernel = make_kernel(gamma=0.5)
    np.testing.assert_allclose(kernel_product(kernel, X, Y, V), kernel(X, Y) @ V, atol=1e-9)
    sparse = kernel_product(kernel, sp.csr_matrix(X), sp.csr_matrix(Y), V)
    np.testing.assert_allclose(sparse, kernel(X, Y) @ V, atol=1e-9)


def test_a_function_of_ones_own():
    X = rows(20, 3)
    kernel = make_kernel(lambda A, B: (A @ B.T) ** 2)
    np.testing.assert_allclose(kernel(X), (X @ X.T) ** 2)
    np.testing.assert_allclose(kernel.diag(X), np.diag(X @ X.T) ** 2)
    with pytest.raises(ValueError, match="must be \\(20, 20\\)"):
        make_kernel(lambda A, B: np.ones(3))(X)


# ------------------------------------------------------------------------ bandwidth
def test_the_rules_for_gamma():
    X = rows(200, 4) * [1, 2, 3, 4]
    assert resolve_gamma("scale", X) == pytest.approx(1 / (4 * X.var()))
    assert resolve_gamma("variance", X) == pytest.approx(1 / X.var(axis=0).sum())
    assert resolve_gamma("auto", X) == 0.25
    median = np.median(cdist(X, X)[np.triu_indices(200, 1)])
    assert resolve_gamma("median", X) == pytest.approx(1 / (2 * median**2))
    assert resolve_gamma(0.7, X) == 0.7
    assert total_variance(X) == pytest.approx(cdist(X, X, "sqeuclidean").mean() / 2)
    whole = np.random.default_rng(0).integers(0, 255, (50, 4)).astype(np.uint8)
    for rule in ("scale", "variance", "median", "auto"):
        assert resolve_gamma(rule, sp.csr_matrix(X)) == pytest.approx(resolve_gamma(rule, X))
        for stored in (whole, sp.csr_matrix(whole)):
            expected = pytest.approx(resolve_gamma(rule, whole.astype(float)))
            assert resolve_gamma(rule, stored) == expected


def test_the_papers_symbols():
    X, Y = rows(5, 2), rows(4, 2, 1)
    d2 = cdist(X, Y, "sqeuclidean")
    np.testing.assert_allclose(
        make_kernel(gamma=gamma_from_sigma(0.7))(X, Y), np.exp(-d2 / (2 * 0.7**2))
    )
    np.testing.assert_allclose(make_kernel(gamma=gamma_from_divisor(3.0))(X, Y), np.exp(-d2 / 3.0))


def test_bad_names_and_missing_rows():
    with pytest.raises(ValueError, match="not callable nor one of linear, rbf"):
        make_kernel("gauss")
    with pytest.raises(ValueError, match=r"kernel='poly' is not .*; take 'polynomial'"):
        make_kernel("poly", gamma=1.0)
    with pytest.raises(ValueError, match="pass X"):
        make_kernel("rbf", gamma="scale")
    with pytest.raises(ValueError, match="pass X, or l"):
        make_kernel("compact", gamma=1.0)
    with pytest.raises(ValueError, match="cannot be compared"):
        make_kernel(gamma=1.0)(rows(3, 2), rows(3, 4))


def test_the_compact_kernel_is_definite_from_askeys_bound_on():
    X = rows(300, 3) * 0.3
    at_bound = make_kernel("compact", gamma=0.5, alpha=1.0, X=X)
    assert at_bound.l == askey_exponent(3) == 2
    assert np.linalg.eigvalsh(at_bound(X))[0] > -1e-10
    assert np.count_nonzero(at_bound(X) == 0) > 0


@pytest.mark.parametrize("name", ["linear", "polynomial", "sigmoid", "rbf"])
def test_whole_numbers_are_computed_with_as_numbers(name):
    X = np.array([[200, 100], [3, 250], [0, 255]], np.uint8)
    kernel = make_kernel(name, gamma=1e-4)
    true = kernel(X.astype(float))
    np.testing.assert_allclose(kernel(X), true)
    np.testing.assert_allclose(kernel.diag(X), np.diag(true))
    np.testing.assert_allclose(kernel_product(kernel, X, X[:2], np.eye(2)), true[:, :2])
    mixed = kernel(X.astype(np.float32), X.astype(float))
    np.testing.assert_allclose(mixed, true)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_total_variance_survives_far_from_the_origin(dtype, offset):
    X = (rows(9000, 5) + offset).astype(dtype)
    true = float(np.var(X.astype(np.float64), axis=0).sum())
    assert total_variance(X) == pytest.approx(true, rel=1e-9)
    assert resolve_gamma("variance", X) == pytest.approx(1 / true, rel=1e-9)


@pytest.mark.parametrize("value", [0.1, 1e8 / 3, -7e-9])
def test_equal_rows_have_no_variance(value):
    X = np.full((9001, 3), value)
    assert total_variance(X) == 0.0
    assert resolve_gamma("variance", X) == resolve_gamma("median", X) == 1.0


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (make_kernel("linear"), True),
        (make_kernel("laplacian", gamma=1.0), True),
        (make_kernel("polynomial", gamma=1.0, degree=3, coef0=1.0), True),
        (make_kernel("polynomial", gamma=1.0, degree=2, coef0=-1.0), False),
        (make_kernel("sigmoid", gamma=1.0, coef0=1.0), False),
    ],
)
def test_semidefinite_kernels_are_known_and_others_are_not_claimed(kernel, known):
    assert kernel.is_semidefinite == known
    smallest = np.linalg.eigvalsh(kernel(rows(40, 2)))[0]
    assert (smallest > -1e-9) == known
