"""Newton's method on a kernel matrix: what columns share, and where a matrix is hostile."""

import numpy as np
import pytest
from checker import assert_true
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.solvers import solve_newton_cg

X, Y = make_moons(250, noise=0.3, random_state=0)
Y = 2.0 * Y - 1.0
K = rbf_kernel(X, gamma=2.0) + 1e-4 * np.eye(250)
FACTOR = np.linalg.cholesky(K)
INTERCEPTS = pytest.mark.parametrize("intercept", ["none", "penalised", "free"])


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 30),
    rank=st.integers(1, 30),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    intercept=st.sampled_from(["none", "penalised", "free"]),
)
def test_any_positive_semidefinite_kernel_is_certified(seed, n, rank, C, intercept):
    """Singular kernels too, in whose null space the coefficients leave no trace in the scores."""
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, rank))
    y = np.where(generator.random(n) < 0.5, -1.0, 1.0)
    y[:2] = 1.0, -1.0
    result = solve_newton_cg(F @ F.T, y, C=C, intercept=intercept, tol=1e-6)
    assert result.converged
    # With a free intercept dual variables must balance, which takes some off: allow for that.
    assert result.gap <= 1e-4 * (1.0 + C) * max(1.0, result.objective)
    problem = {"C": C, "loss": "squared_hinge", "intercept": intercept, "kernel": F @ F.T}
    assert_true(result, y, best=result.objective, rel=1e-6, **problem)


class Counted(LinearOperator):
    def __init__(self, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix, self.widths = matrix, []

    def _matmat(self, V):
        self.widths.append(V.shape[1])
        return self.matrix @ V


def test_problems_share_their_products_and_are_each_solved_as_if_alone():
    columns = np.column_stack([Y, np.where(X[:, 0] > 0.3, 1.0, -1.0), -Y])
    shared, alone = Counted(K), [Counted(K) for _ in range(3)]
    together = solve_newton_cg(shared, columns, C=5.0)
    for column, matrix, result in zip(columns.T, alone, together, strict=True):
        by_itself = solve_newton_cg(matrix, column, C=5.0)
        np.testing.assert_allclose(result.coefficients, by_itself.coefficients, atol=1e-6)
    products = [len(matrix.widths) for matrix in alone]
    assert len(shared.widths) == pytest.approx(max(products), rel=0.05)
    assert sum(shared.widths) == pytest.approx(sum(products), rel=0.05)


def test_each_step_decreases_the_objective():
    seen, matrix = [], Counted(K)
    result = solve_newton_cg(matrix, Y, C=1e4, intercept="free", callback=seen.append)
    assert tuple(seen) == result.trace
    trace = result.trace_table()
    assert np.all(np.diff(trace["objective"]) <= 1e-9 * trace["objective"][:-1])
    steps = trace["step"].to_numpy()[1:]
    assert steps.min() < 1.0 < 1.5 * steps.max()  # some were shortened, and full ones end it
    assert steps[-1] == 1.0
    assert 0 < len(matrix.widths) - trace["products"].sum() < 10  # the rest proves the result


def test_coefficients_that_the_kernel_does_not_see_are_not_returned():
    """Cut short at a start full of them, the machine returns what the scores ask for."""
    f = np.random.default_rng(3).normal(size=250)
    unseen = 1e6 * np.random.default_rng(4).normal(size=250)
    unseen -= f * (f @ unseen) / (f @ f)
    problem = {"C": 1e-5, "intercept": "none", "start": (unseen, 0.0), "tol": 1e-9}
    with pytest.warns(ConvergenceWarning):
        result = solve_newton_cg(np.outer(f, f), Y, max_products=1, **problem)
    assert result.objective <= 1.001e-5 * 250
    assert np.abs(result.coefficients).max() <= 1e-4


# Cut short on purpose, 25 times over: that it is warned about is tested below.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@INTERCEPTS
@pytest.mark.parametrize("limit", [{"max_products": 1}, {"max_iter": 1}, {"max_iter": 3}])
def test_an_iteration_cut_short_reports_what_is_true_of_its_point(limit, intercept):
    for seed in range(25):
        generator = np.random.default_rng(seed)
        kernel = rbf_kernel(generator.normal(size=(60, 2)), gamma=1.0) + 1e-8 * np.eye(60)
        y = np.where(generator.random(60) < 0.25, 1.0, -1.0)
        problem = {"C": 10.0 ** generator.uniform(-1, 4), "intercept": intercept}
        problem["sample_weight"] = generator.integers(0, 3, 60)
        start = (generator.normal(size=60), 0.0) if seed % 2 else None
        best = solve_newton_cg(kernel, y, tol=1e-8, max_iter=500, **problem).objective
        found = solve_newton_cg(kernel, y, tol=1e-8, start=start, **limit, **problem)
        assert found.objective >= best * (1.0 - 1e-9)
        assert_true(found, y, best=best, loss="squared_hinge", kernel=kernel, **problem)


def test_an_indefinite_kernel_is_named():
    with pytest.warns(ConvergenceWarning, match="negative eigenvalues"):
        result = solve_newton_cg(K - 5.0 * np.eye(250), Y, C=1.0)
    assert not result.converged
    assert result.gap is None  # the dual of such a matrix bounds nothing


def test_a_tolerance_below_rounding_ends_with_a_warning_and_a_good_solution():
    with pytest.warns(ConvergenceWarning, match="precision|KKT residual"):
        result = solve_newton_cg(K, Y, C=1.0, tol=0.0)
    assert result.kkt_residual < 1e-9
    assert result.n_iter < 100


def test_problems_that_say_little():
    """One class; a kernel of zeros; rows of weight zero alone."""
    for intercept in ("penalised", "free"):
        one_class = solve_newton_cg(K, np.ones(250), C=1e-6, intercept=intercept)
        assert one_class.converged
    assert one_class.intercept == pytest.approx(1.0, abs=1e-5)
    assert one_class.objective == pytest.approx(0.0, abs=1e-12)
    nothing = solve_newton_cg(np.zeros((4, 4)), np.array([1.0, 1.0, 1.0, -1.0]), C=1.0)
    assert nothing.intercept == pytest.approx(0.5)
    unweighted = solve_newton_cg(K, Y, C=1.0, sample_weight=np.zeros(250))
    assert not unweighted.coefficients.any()


@pytest.mark.parametrize("start", [(np.zeros(3), 0.0), (np.full(250, np.nan), 0.0)])
def test_a_start_of_other_rows_is_refused(start):
    with pytest.raises(ValueError, match=r"start must be \(beta, b\): 250 finite numbers"):
        solve_newton_cg(K, Y, C=1.0, start=start)
    with pytest.raises(ValueError, match="max_products must be a positive whole number"):
        solve_newton_cg(K, Y, C=1.0, max_products=2.5)
