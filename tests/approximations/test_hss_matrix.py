"""K~ against the exact kernel, against its own definition, and against hostile points."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator, cg
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import get_approximation
from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import make_kernel
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
K = rbf_kernel(X, gamma=0.5)
V = RNG.normal(size=(700, 4))


def approximate(rows=X, **parameters):
    defaults = {"gamma": 0.5, "leaf_size": 64, "random_state": 0}
    return HSSKernel(**defaults | parameters).fit(rows)


def dense(approximation):
    n = approximation.matrix_.shape[0]
    return approximation.operator() @ np.eye(n, dtype=approximation.matrix_.dtype)


def error(approximation, true=K):
    return np.linalg.norm(dense(approximation) - true) / np.linalg.norm(true)


def by_definition(matrix):
    """K~ block by block from its definition, in the order of the data."""
    tree = matrix.tree
    whole = np.zeros(matrix.shape)

    def long_basis(t):
        """The rows of node t's points in terms of its skeleton."""
        basis = matrix.bases[t]
        own = np.zeros((len(basis.skeleton) + len(basis.rest), basis.rank))
        own[basis.skeleton] = np.eye(basis.rank)
        own[basis.rest] = basis.E
        if tree.is_leaf(t):
            return own
        a, b = (long_basis(child) for child in tree.children[t])
        return np.vstack([a @ own[: a.shape[1]], b @ own[a.shape[1] :]])

    for t in range(tree.n_nodes):
        if tree.is_leaf(t):
            mine = slice(tree.start[t], tree.stop[t])
            whole[mine, mine] = matrix.blocks[t]
            continue
        a, b = tree.children[t]
        block = long_basis(a) @ matrix.couplings[t] @ long_basis(b).T
        rows, columns = (slice(tree.start[child], tree.stop[child]) for child in (a, b))
        whole[rows, columns], whole[columns, rows] = block, block.T
    inverse = np.argsort(tree.order)
    return whole[np.ix_(inverse, inverse)]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"rel_tol": 1.0, "abs_tol": 0.1}, {"rel_tol": 1e-6}, {"max_rank": 3}, {"mode": "paper"},
     {"clustering": "natural"}],
)  # fmt: skip
def test_the_product_is_that_of_the_matrix_defined(parameters):
    approximation = approximate(**parameters)
    whole = by_definition(approximation.matrix_)
    np.testing.assert_allclose(dense(approximation), whole, atol=1e-12)
    np.testing.assert_allclose(approximation.operator() @ V, whole @ V, atol=1e-11)
    np.testing.assert_allclose(approximation.operator() @ V[:, 0], whole @ V[:, 0], atol=1e-11)
    np.testing.assert_allclose(whole, whole.T, atol=1e-14)


def test_skeletons_couplings_and_leaves_are_entries_of_the_kernel():
    matrix = approximate(rel_tol=1e-3).matrix_
    tree = matrix.tree
    ordered = K[np.ix_(tree.order, tree.order)]
    for t in range(tree.n_nodes):
        if tree.is_leaf(t):
            mine = np.arange(tree.start[t], tree.stop[t])
            np.testing.assert_allclose(matrix.blocks[t], ordered[np.ix_(mine, mine)], atol=1e-12)
        else:
            a, b = (matrix.bases[child].points for child in tree.children[t])
            np.testing.assert_allclose(matrix.couplings[t], ordered[np.ix_(a, b)], atol=1e-12)
            assert set(a) <= set(range(tree.start[t], tree.stop[t]))


@pytest.mark.parametrize("mode", ["fast", "paper"])
def test_tight_tolerances_and_large_ranks_give_the_kernel(mode):
    exact = approximate(mode=mode, rel_tol=1e-14, abs_tol=0.0, approximate_neighbors=700)
    assert error(exact) < 1e-12


def test_rank_zero_is_the_block_diagonal():
    approximation = approximate(max_rank=0)
    tree = approximation.matrix_.tree
    leaf = np.empty(700, dtype=int)
    leaf[tree.order] = np.repeat(tree.leaves, tree.sizes[tree.leaves])
    expected = np.where(leaf[:, None] == leaf[None, :], K, 0.0)
    np.testing.assert_allclose(dense(approximation), expected, atol=1e-12)


def test_one_leaf_is_the_kernel_itself():
    approximation = approximate(leaf_size=1000)
    assert error(approximation) < 1e-13
    assert approximation.rank_ == 0
    np.testing.assert_allclose(
        approximation.shifted(0.3).solve(V), np.linalg.solve(K + 0.3 * np.eye(700), V), atol=1e-9
    )


def test_the_error_follows_the_tolerance_and_ranks_are_positive():
    """Ranks that decay: n = 3,000 points in 3 dimensions at h = 1. A block diagonal fails this."""
    points = np.random.default_rng(1).normal(size=(3000, 3))
    previous = 1.0
    for tol in (1e-2, 1e-4, 1e-6, 1e-8):
        approximation = approximate(points, rel_tol=tol, abs_tol=1e-13, leaf_size=128)
        quality = approximation.quality()
        assert quality.sampled_error < min(10 * tol, previous)
        assert (quality.levels["smallest rank"][1:] > 0).all()
        previous = quality.sampled_error


def test_neighbours_alone_stall_where_far_columns_do_not():
    fast, paper = (error(approximate(mode=mode, rel_tol=1e-6)) for mode in ("fast", "paper"))
    assert fast < 1e-5
    assert paper > 3 * fast


def test_more_error_is_left_for_the_blocks_near_the_root():
    """Tolerances are divided by the depth: at rel_tol = 1 the first level keeps nothing."""
    matrix = approximate(rel_tol=1.0, abs_tol=0.0).matrix_
    ranks = {level: [matrix.bases[t].rank for t in nodes]
             for level, nodes in enumerate(matrix.tree.levels) if level > 0}  # fmt: skip
    assert max(ranks[1]) == 0
    assert max(ranks[2]) > 0


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial", "linear", "sigmoid"])
def test_any_kernel_will_do(kernel):
    approximation = approximate(kernel=kernel, gamma=0.2, degree=2, rel_tol=1e-5)
    true = make_kernel(kernel, gamma=0.2, degree=2)(X)
    assert error(approximation, true) < 1e-3


def test_the_operator_works_in_scipys_solvers():
    approximation = approximate(rel_tol=1e-5)
    operator = approximation.operator()
    assert operator.shape == (700, 700)
    shifted = operator + aslinearoperator(np.eye(700))
    solution, status = cg(shifted, V[:, 0], rtol=1e-10, maxiter=3000)
    assert status == 0
    np.testing.assert_allclose(solution, approximation.shifted(1.0).solve(V[:, 0]), atol=1e-7)
    np.testing.assert_allclose(operator.T @ V, operator @ V)


def test_quality_reports_what_is_there():
    approximation = approximate(rel_tol=1e-2)
    quality, spectrum = (
        approximation.quality(n_sampled=700),
        np.linalg.eigvalsh(dense(approximation)),
    )
    assert quality.sampled_error == pytest.approx(error(approximation))
    assert quality.smallest_eigenvalue == pytest.approx(spectrum[0], rel=1e-3, abs=1e-6)
    assert quality.largest_eigenvalue == pytest.approx(spectrum[-1], rel=1e-3)
    assert quality.levels["bytes"].sum() == approximation.nbytes
    assert approximation.rank_ == quality.levels["largest rank"].max()
    assert approximation.neighbour_recall_ > 0.9


def test_threads_do_not_change_the_numbers(monkeypatch):
    points = np.random.default_rng(2).normal(size=(6000, 3))
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("KERNLAB_NUM_THREADS", threads)
        approximation = approximate(points, leaf_size=200)
        v = approximation.operator() @ np.ones(6000)
        results.append((v, approximation.shifted(2.0).solve(v)))
    for one, many in zip(*results, strict=True):
        np.testing.assert_allclose(one, many, rtol=1e-9, atol=1e-9)


def test_single_precision_halves_memory():
    double, single = approximate(), approximate(dtype="float32")
    assert single.matrix_.dtype == np.float32
    assert single.nbytes < 0.6 * double.nbytes
    assert abs(error(single) - error(double)) < 0.2 * error(double)
    distant = approximate(1000.0 + X, dtype="float32")
    assert error(distant) < 1.5 * error(double)


def test_sparse_rows_are_those_rows():
    rows = sp.random(400, 60, density=0.1, random_state=0, format="csr")
    true = rbf_kernel(rows, gamma=0.5)
    for memory in (None, "1.5MB"):  # filled in, and left sparse
        approximation = approximate(rows, rel_tol=1e-6, max_memory=memory)
        assert error(approximation, true) < 1e-4


HOSTILE = {
    "all equal": np.ones((300, 2)),
    "fewer than a leaf": RNG.normal(size=(20, 3)),
    "one": np.ones((1, 2)),
    "repeated": np.repeat(RNG.normal(size=(30, 3)), 12, axis=0),
    "one dimension": RNG.normal(size=(300, 1)),
    "500 dimensions": RNG.normal(size=(300, 500)),
    "an outlier": np.vstack([RNG.normal(size=(300, 2)), [[1e6, 0.0]]]),
    "far away": 1e7 + RNG.normal(size=(300, 2)),
}


@pytest.mark.parametrize("h", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_points_are_approximated_all_the_same(name, h):
    rows = HOSTILE[name]
    true = make_kernel("rbf", gamma=0.5 / h**2)(rows)
    for parameters in ({}, {"mode": "paper"}):
        approximation = approximate(rows, gamma=0.5 / h**2, leaf_size=32, **parameters)
        # Neighbours alone can miss what matters, which is why the fast mode looks further.
        limit = 0.5 if parameters else 0.03
        assert error(approximation, true) < limit
        floor = -approximation.quality().smallest_eigenvalue
        b = np.ones(len(rows))
        beta = 1.0 + 2.0 * max(0.0, floor)
        solution = approximation.shifted(beta).solve(b)
        residual = dense(approximation) @ solution + beta * solution - b
        assert np.linalg.norm(residual) < 1e-10 * np.linalg.norm(b)


def test_rank_one_is_allowed_everywhere():
    approximation = approximate(max_rank=1)
    assert approximation.rank_ == 1
    assert np.isfinite(error(approximation))


def test_points_far_from_each_other_see_only_themselves():
    product = approximate(1e200 * X).operator() @ np.ones(len(X))
    np.testing.assert_allclose(product, 1.0, rtol=1e-12)


def test_too_little_memory_is_refused_with_the_arithmetic():
    with pytest.raises(MemoryLimitError, match=r"HSS matrix of 700 points.*8 bytes an entry"):
        approximate(max_memory="400kB")
    approximation = approximate()
    approximation.max_memory = "100kB"
    with pytest.raises(MemoryLimitError, match="factor of K~"):
        approximation.shifted(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "magic"}, "mode='magic' is not one of fast, paper"),
        ({"rel_tol": -1.0}, "rel_tol must be at least 0"),
        ({"abs_tol": np.nan}, "abs_tol must be at least 0"),
        ({"max_rank": -1}, "max_rank must be at least 0"),
        ({"approximate_neighbors": -1}, "approximate_neighbors must be"),
        ({"clustering": "magic"}, "clustering='magic'"),
        ({"leaf_size": 1}, "leaf_size must be"),
    ],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(ValueError, match=message):
        approximate(**parameters)


def test_decisions_on_new_points_use_the_exact_kernel_and_the_rows_named():
    approximation = approximate()
    rows, weights = np.array([4, 600, 30]), np.array([1.0, 0.0, -2.0])
    np.testing.assert_allclose(
        approximation.dual_decision(X[:50] + 0.1, weights, rows),
        rbf_kernel(X[:50] + 0.1, X[rows], gamma=0.5) @ weights,
    )
    assert not approximation.dual_decision(X[:5], np.zeros(0), rows[:0]).any()
    np.testing.assert_allclose(approximation.exact_product(V), K @ V, atol=1e-10)


def test_the_registry_knows_it():
    assert get_approximation("hss") is HSSKernel
