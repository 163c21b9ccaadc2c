"""Landmarks: reproducible, spread over the data, and whole under duplicates and constants."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from kernlab.approximations.landmarks import (
    LANDMARKS,
    choose_landmarks,
    kmeans_centres,
)
from kernlab.kernels import make_kernel

DIGITS = load_digits().data / 16.0
RBF = make_kernel("rbf", gamma=0.1)
RULE = pytest.mark.parametrize("rule", LANDMARKS)


def chosen(X, k, how, **parameters):
    return choose_landmarks(X, k, how, **{"kernel": RBF, "random_state": 0} | parameters)


def left_unexplained(X, Z):
    """trace(K - K_xz K_zz^+ K_zx), by pseudo-inverse."""
    cross = RBF(X, Z)
    return len(X) - np.trace(cross @ np.linalg.pinv(RBF(Z), hermitian=True) @ cross.T)


# ------------------------------------------------------------------------------ all rules
@RULE
def test_a_seed_decides_and_dtype_and_form_are_kept(rule):
    for X in (DIGITS, DIGITS.astype(np.float32), sp.csr_matrix(DIGITS)):
        Z = chosen(X, 30, rule)
        assert Z.shape == (30, 64)
        assert Z.dtype == X.dtype
        again = chosen(X, 30, rule)
        assert (again != Z).sum() == 0
        if rule != "first":
            assert (chosen(X, 30, rule, random_state=1) != Z).sum() > 0


@RULE
def test_sparse_rows_give_the_landmarks_of_dense_rows(rule):
    dense, sparse = chosen(DIGITS, 25, rule), chosen(sp.csr_matrix(DIGITS), 25, rule)
    if rule == "kmeans":  # the rows are not centred first: rounding may move a row between clusters
        np.testing.assert_allclose(
            left_unexplained(
                DIGITS, np.asarray(sparse.todense() if sp.issparse(sparse) else sparse)
            ),
            left_unexplained(DIGITS, dense),
            rtol=0.02,
        )
    else:
        np.testing.assert_array_equal(sparse.toarray(), dense)


@RULE
def test_every_row_may_be_a_landmark(rule):
    X = DIGITS[:40]
    Z = chosen(X, 40, rule)
    order = np.lexsort(Z.T), np.lexsort(X.T)
    np.testing.assert_allclose(Z[order[0]], X[order[1]], atol=1e-6)


@RULE
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_constant_and_duplicate_rows(rule, form):
    X = form(np.ones((30, 3)))
    Z = chosen(X, 5, rule)
    assert np.allclose(Z.toarray() if sp.issparse(Z) else Z, 1.0)
    few = np.repeat(np.eye(3), 10, axis=0)
    Z = chosen(form(few), 6, rule)
    Z = Z.toarray() if sp.issparse(Z) else Z
    if rule not in ("first", "uniform"):
        assert left_unexplained(few, Z) < 1e-6  # all three distinct rows are among them
    assert np.all(np.isfinite(Z))


@pytest.mark.parametrize("rule", ["kmeans", "uniform", "first"])
@pytest.mark.parametrize(("scale", "offset"), [(1e-150, 0.0), (1.0, 0.0), (1e150, 0.0), (1.0, 1e8)])
def test_no_size_of_numbers_matters(rule, scale, offset):
    X = DIGITS[:200] * scale + offset
    Z = chosen(X, 20, rule)
    plain = chosen(DIGITS[:200], 20, rule)
    np.testing.assert_allclose((Z - offset) / scale, plain, atol=1e-5 if not offset else 0.5)


# ---------------------------------------------------------------------------------- how many
def test_points_of_the_users_own():
    points = np.random.default_rng(0).normal(size=(7, 64))
    np.testing.assert_array_equal(chosen(DIGITS, "sqrt", points), points)
    assert sp.issparse(chosen(DIGITS, "sqrt", sp.csr_matrix(points)))
    for bad, message in (
        (points[:, :5], "64"),
        (points[0], "64"),
        (points[:0], "64"),
        (np.where(points > 1, np.nan, points), "not finite"),
    ):
        with pytest.raises(ValueError, match=message):
            chosen(DIGITS, "sqrt", bad)
    with pytest.raises(ValueError, match="landmarks='best' is not one of 'kmeans'"):
        chosen(DIGITS, 5, "best")


def test_only_so_many_rows_are_looked_at():
    X = np.arange(1000.0)[:, None]
    assert chosen(X, 10, "kmeans", max_rows=100, candidates="first").max() < 100
    assert chosen(X, 10, "kmeans", max_rows=100).max() > 800
    assert chosen(X, 200, "kmeans", max_rows=100).shape == (200, 1)  # never fewer than asked for
    with pytest.raises(ValueError, match="candidates="):
        chosen(X, 10, "kmeans", max_rows=100, candidates="last")


# ----------------------------------------------------------------------------------- k-means
def inertia(X, Z):
    return np.min(((X[:, None, :] - Z) ** 2).sum(axis=2), axis=1).sum()


def test_a_few_steps_come_near_to_converged_kmeans():
    reference = KMeans(50, n_init=3, random_state=0).fit(DIGITS).inertia_
    centres = kmeans_centres(DIGITS, 50, 5, np.random.default_rng(0))
    assert inertia(DIGITS, centres) < 1.1 * reference
    start = kmeans_centres(DIGITS, 50, 0, np.random.default_rng(0))
    assert inertia(DIGITS, centres) < 0.8 * inertia(DIGITS, start)


def test_a_cluster_that_loses_its_rows_starts_again_at_the_worst_served_row():
    """Two starts on equal rows: one of them gets no row, and moves to the far point."""
    X = np.vstack([np.zeros((50, 2)), [[9.0, 9.0]]])
    for seed in range(5):
        centres = kmeans_centres(X, 2, 5, np.random.default_rng(seed))
        assert inertia(X, centres) == pytest.approx(0.0, abs=1e-9)


# ---------------------------------------------------------------- pivoted Cholesky
def test_randomly_pivoted_cholesky_draws_as_if_one_by_one():
    """The probability of each pair of rows, against drawing proportionally to what is left."""
    X = np.array([[0.0], [0.3], [1.0], [1.1], [4.0]])
    kernel = make_kernel("rbf", gamma=1.0)
    K = kernel(X)
    exact = {}
    for i in range(5):
        left = np.maximum(np.diag(K) - K[:, i] ** 2 / K[i, i], 0.0)
        for j in range(5):
            pair = frozenset((i, j))
            if i != j:
                exact[pair] = exact.get(pair, 0.0) + left[j] / left.sum() / 5
    draws = 1500
    counts = dict.fromkeys(exact, 0)
    for seed in range(draws):
        Z = choose_landmarks(X, 2, "rpcholesky", kernel=kernel, random_state=seed)
        counts[frozenset(np.flatnonzero(np.isin(X, Z)).tolist())] += 1
    for pair, probability in exact.items():
        deviation = 4.5 * np.sqrt(probability * (1 - probability) / draws)
        assert counts[pair] / draws == pytest.approx(probability, abs=deviation)


@RULE
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_on_which_the_kernel_is_zero_have_a_landmark(rule, form):
    Z = chosen(form(np.zeros((20, 3))), 3, rule, kernel=make_kernel("linear"))
    assert Z.shape == (3 if rule == "first" else 1, 3)
    assert abs(Z).sum() == 0


@pytest.mark.parametrize("scale", [1e-160, 1e-100, 1e-30, 1e30, 1e140])
def test_kernel_values_may_be_of_any_size(scale):
    Z = chosen(DIGITS[:60] * scale, 5, "rpcholesky", kernel=make_kernel("linear"))
    assert Z.shape[0] in ((1, 5) if scale == 1e-160 else (5,))
    assert np.all(np.isin(Z, DIGITS[:60] * scale))


def test_what_uniform_rows_overlook_is_found():
    """A crowd, and a thin ring of rows that nothing else explains."""
    generator = np.random.default_rng(0)
    angle = generator.uniform(0, 2 * np.pi, 40)
    ring = 40 * np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([generator.normal(size=(2000, 2)), ring])
    left = {
        how: np.mean([left_unexplained(X, chosen(X, 60, how, random_state=s)) for s in range(3)])
        for how in ("rpcholesky", "uniform")
    }
    assert left["rpcholesky"] < 0.7 * left["uniform"]
