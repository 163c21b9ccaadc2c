"""K~ against the exact kernel, against its own definition, and against hostile points."""

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations.hss import HSSKernel, NotPositiveDefiniteError
from kernlab.approximations.hss.matrix import interpolate_rows
from kernlab.kernels import gamma_from_sigma, make_kernel
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
K = rbf_kernel(X, gamma=0.5)
V = RNG.normal(size=(700, 4))


def approximate(rows=X, **parameters):
    return HSSKernel(**{"gamma": 0.5, "leaf_size": 64, "random_state": 0} | parameters).fit(rows)


def dense(approximation):
    n = approximation.matrix_.shape[0]
    return approximation.operator() @ np.eye(n, dtype=approximation.matrix_.dtype)


def error(approximation, true=K):
    return la.norm(dense(approximation) - true) / la.norm(true)


def by_definition(matrix, kernel):
    """K~ block by block from its definition, in the order of the tree; `kernel` in that order."""
    tree, whole = matrix.tree, np.zeros(matrix.shape)

    def long_basis(t):
        """The rows of node t's points in terms of its skeleton, and its skeleton's positions."""
        basis = matrix.bases[t]
        own = np.zeros((len(basis.skeleton) + len(basis.rest), basis.rank))
        own[basis.skeleton], own[basis.rest] = np.eye(basis.rank), basis.E
        if tree.is_leaf(t):
            return own, np.arange(tree.start[t], tree.stop[t])[basis.skeleton]
        (a, of_a), (b, of_b) = (long_basis(child) for child in tree.children[t])
        skeleton = np.concatenate([of_a, of_b])[basis.skeleton]
        return np.vstack([a @ own[: a.shape[1]], b @ own[a.shape[1] :]]), skeleton

    for t in range(tree.n_nodes):
        if tree.is_leaf(t):
            mine = tree.positions(t)
            whole[mine, mine] = kernel[mine, mine]
            continue
        (a, of_a), (b, of_b) = (long_basis(child) for child in tree.children[t])
        block = a @ kernel[np.ix_(of_a, of_b)] @ b.T
        rows, columns = (tree.positions(child) for child in tree.children[t])
        whole[rows, columns], whole[columns, rows] = block, block.T
    return whole


# -------------------------------------------------------------------------------- the matrix
@pytest.mark.parametrize(
    "parameters",
    [{}, {"rel_tol": 1.0, "abs_tol": 0.1}, {"rel_tol": 1e-6}, {"max_rank": 3}, {"mode": "paper"},
     {"clustering": "natural"}, {"max_rank": 0}, {"leaf_size": 1000}],
)  # fmt: skip
def test_product_and_solves_are_those_of_the_matrix_defined(parameters):
    approximation = approximate(**parameters)
    order = approximation.matrix_.tree.order
    whole = np.empty((700, 700))
    whole[np.ix_(order, order)] = by_definition(
        approximation.matrix_, make_kernel("rbf", gamma=0.5)(X)[np.ix_(order, order)]
    )
    np.testing.assert_allclose(dense(approximation), whole, atol=1e-12)
    np.testing.assert_allclose(approximation.operator() @ V, whole @ V, atol=1e-11)
    np.testing.assert_allclose(approximation.operator().T @ V[:, 0], whole @ V[:, 0], atol=1e-11)
    beta = 0.1 + 2.0 * max(0.0, -la.eigvalsh(whole)[0])
    expected = la.solve(whole + beta * np.eye(700), V)
    factor = approximation.shifted(beta)
    np.testing.assert_allclose(factor.solve(V), expected, atol=1e-8)
    np.testing.assert_allclose(factor.solve(V[:, 2]), expected[:, 2], atol=1e-8)


def test_the_error_follows_the_tolerance_and_ranks_are_positive():
    """Ranks that decay: n = 2,000 points in 3 dimensions at h = 1. A block diagonal fails this."""
    points, previous = np.random.default_rng(1).normal(size=(2000, 3)), 1.0
    for tol in (1e-2, 1e-4, 1e-7):
        approximation = approximate(points, rel_tol=tol, abs_tol=1e-13, leaf_size=128)
        quality = approximation.quality()
        assert quality.sampled_error < min(10 * tol, previous)
        assert (quality.levels["smallest rank"][1:] > 0).all()
        previous = quality.sampled_error
    blocks = approximate(points, max_rank=0).quality()
    assert blocks.sampled_error > 0.5
    assert (blocks.levels["largest rank"] == 0).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "linear", "sigmoid"])
def test_any_kernel_will_do(kernel):
    approximation = approximate(kernel=kernel, gamma=0.2, degree=2, rel_tol=1e-5)
    assert error(approximation, make_kernel(kernel, gamma=0.2, degree=2)(X)) < 1e-3


def test_quality_reports_what_is_there():
    approximation = approximate(rel_tol=1e-2)
    quality, spectrum = approximation.quality(n_sampled=700), la.eigvalsh(dense(approximation))
    assert quality.sampled_error == pytest.approx(error(approximation))
    assert quality.smallest_eigenvalue == pytest.approx(spectrum[0], rel=1e-3, abs=1e-6)
    assert quality.largest_eigenvalue == pytest.approx(spectrum[-1], rel=1e-3)
    assert quality.levels["bytes"].sum() == approximation.nbytes
    assert approximation.rank_ == quality.levels["largest rank"].max()
    assert approximation.neighbour_recall_ > 0.9


def test_threads_do_not_change_the_numbers(monkeypatch):
    points = np.random.default_rng(2).normal(size=(3000, 3))
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("KERNLAB_NUM_THREADS", threads)
        approximation = approximate(points, leaf_size=200)
        v = approximation.operator() @ np.ones(3000)
        results.append((v, approximation.shifted(2.0).solve(v)))
    for one, many in zip(*results, strict=True):
        np.testing.assert_allclose(one, many, rtol=1e-9, atol=1e-9)


def test_single_precision_halves_memory():
    double, single = approximate(), approximate(dtype="float32")
    assert single.matrix_.dtype == np.float32
    assert single.nbytes < 0.6 * double.nbytes
    assert abs(error(single) - error(double)) < 0.2 * error(double)
    assert error(approximate(1000.0 + X, dtype="float32")) < 1.5 * error(double)
    ones = np.ones(700, dtype=np.float32)
    assert double.shifted(2.0).solve(ones).dtype == np.float64
    solved = single.shifted(2.0).solve(ones)
    assert solved.dtype == np.float32
    np.testing.assert_allclose(solved, double.shifted(2.0).solve(np.ones(700, int)), atol=1e-4)


HOSTILE = {
    "all equal": np.ones((300, 2)),
    "fewer than a leaf": RNG.normal(size=(20, 3)),
    "one": np.ones((1, 2)),
    "repeated": np.repeat(RNG.normal(size=(30, 3)), 12, axis=0),
    "one dimension": RNG.normal(size=(300, 1)),
    "collinear": RNG.normal(size=(300, 1)) @ np.ones((1, 4)),
    "a constant column": np.column_stack([RNG.normal(size=300), np.full(300, 7.0)]),
    "500 dimensions": RNG.normal(size=(300, 500)),
    "an outlier": np.vstack([RNG.normal(size=(300, 2)), [[1e6, 0.0]]]),
    "far away": 1e7 + RNG.normal(size=(300, 2)),
    "sparse": sp.random(300, 60, density=0.1, random_state=0, format="csr"),
}


@pytest.mark.parametrize("h", [1e-6, 1.0])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_points_are_approximated_all_the_same(name, h):
    rows, gamma = HOSTILE[name], gamma_from_sigma(h)
    true = make_kernel("rbf", gamma=gamma)(rows)
    for parameters in ({}, {"mode": "paper"}):
        approximation = approximate(rows, gamma=gamma, leaf_size=32, **parameters)
        # Neighbours alone can miss what matters, which is why the fast mode looks further.
        assert error(approximation, true) < (0.5 if parameters else 0.03)
        beta = 1.0 + 2.0 * max(0.0, -approximation.quality().smallest_eigenvalue)
        b = np.ones(rows.shape[0])
        solution = approximation.shifted(beta).solve(b)
        residual = dense(approximation) @ solution + beta * solution - b
        assert la.norm(residual) < 1e-10 * la.norm(b)


# ------------------------------------------------------------------------------ the factor
def test_the_factor_exists_exactly_above_minus_the_smallest_eigenvalue():
    approximation = approximate()
    smallest = la.eigvalsh(dense(approximation))[0]
    assert smallest < -0.01
    assert approximation.is_definite(-smallest * 1.001)
    assert not approximation.is_definite(-smallest * 0.999)
    with pytest.raises(NotPositiveDefiniteError, match=r"beta=0.*raise beta"):
        approximation.shifted(-0.9 * smallest)


# -------------------------------------------------------------------------------- refusals
def test_too_little_memory_is_refused_with_the_arithmetic():
    with pytest.raises(MemoryLimitError, match=r"cluster tree of 700 points.*on each thread"):
        approximate(max_memory="200kB")
    with pytest.raises(MemoryLimitError, match=r"HSS matrix of 700 points.*8 bytes an entry"):
        approximate(max_memory="700kB")
    approximation = approximate()
    approximation.max_memory = approximation.nbytes + 100_000
    with pytest.raises(MemoryLimitError, match=r"factor of K~.*beside|blocks at work.*K~"):
        approximation.shifted(1.0)


# ---------------------------------------------------------------- interpolative decomposition
def decaying(m, columns, rate, seed=0):
    """A matrix with the singular values exp(-rate k)."""
    generator = np.random.default_rng(seed)
    k = min(m, columns)
    U, W = (la.qr(generator.normal(size=(size, k)), mode="economic")[0] for size in (m, columns))
    return (U * np.exp(-rate * np.arange(k))) @ W.T


def interpolate(A, rel_tol=1e-6, abs_tol=0.0, max_rank=10_000):
    generator = np.random.default_rng(0)
    return interpolate_rows(
        A, rel_tol=rel_tol, abs_tol=abs_tol, max_rank=max_rank, generator=generator
    )


@pytest.mark.parametrize("rel_tol", [1e-2, 1e-12])
def test_a_basis_of_all_rows_keeps_nothing_else_in_memory(rel_tol):
    E = interpolate(RNG.normal(size=(100, 300)), rel_tol).E
    assert E.shape == (0, 100)
    assert E.base is None or E.base.nbytes == 0


def missed(A, found):
    return la.norm(A[found.rest] - found.E @ A[found.skeleton], axis=1).max(initial=0.0)


@settings(max_examples=60)
@given(
    m=st.integers(2, 150),
    columns=st.integers(1, 300),
    rate=st.floats(0.0, 1.0),
    digits=st.floats(0.1, 11.0),
    max_rank=st.sampled_from([0, 1, 5, 1000]),
    seed=st.integers(0, 1000),
)
@example(m=75, columns=110, rate=0.375, digits=11.0, max_rank=1000, seed=0)
def test_what_is_left_is_below_the_tolerance(m, columns, rate, digits, max_rank, seed):
    A, tol = decaying(m, columns, rate, seed), 10.0**-digits
    found = interpolate(A, tol, max_rank=max_rank)
    assert sorted(np.concatenate([found.skeleton, found.rest])) == list(range(m))
    assert found.E.shape == (len(found.rest), found.rank)
    first, left = la.norm(A, axis=1).max(), missed(A, found)
    assert found.rank <= max_rank
    if found.rank < max_rank:
        assert left <= 2.0 * max(tol, 1e-13 * m) * first
        assert found.pivot <= max(2.0 * tol, 1e-7) * first
    needed = np.count_nonzero(np.exp(-rate * np.arange(min(m, columns))) > tol * first)
    assert found.rank <= 1.2 * needed + 8
