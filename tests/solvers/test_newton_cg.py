"""Newton's method on a kernel matrix: against general optimisers, features, and itself alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.solvers import certify_dual, solve_newton, solve_newton_cg
from kernlab.solvers.newton.coefficients import (
    Point,
    Problem,
    inner,
    largest,
    line_search,
    slope_along,
)

X, Y = make_moons(250, noise=0.3, random_state=0)
Y = 2.0 * Y - 1.0
K = rbf_kernel(X, gamma=2.0) + 1e-4 * np.eye(250)
FACTOR = np.linalg.cholesky(K)
INTERCEPTS = pytest.mark.parametrize("intercept", ["none", "penalised", "free"])


def by_general_optimiser(kernel, y, C, intercept, weights=None):
    """The smallest objective over (beta, b), by L-BFGS on the primal in coefficients."""
    n = len(y)
    costs = C * (np.ones(n) if weights is None else weights)
    L = np.linalg.cholesky(kernel)

    def objective(x):
        w, b = x[:n], x[n] if intercept != "none" else 0.0
        slack = np.maximum(0.0, 1.0 - y * (L @ w + b))
        value = 0.5 * w @ w + costs @ slack**2 + (0.5 * b * b if intercept == "penalised" else 0)
        pull = -2.0 * costs * slack * y
        by_b = pull.sum() + (b if intercept == "penalised" else 0.0)
        return value, np.append(w + L.T @ pull, by_b if intercept != "none" else 0.0)

    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(objective, np.zeros(n + 1), jac=True, method="L-BFGS-B", options=options)
    return found.fun, L @ found.x[:n] + (found.x[n] if intercept != "none" else 0.0)


@INTERCEPTS
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_a_general_optimiser(C, intercept):
    result = solve_newton_cg(K, Y, C=C, intercept=intercept, tol=1e-7)
    value, scores = by_general_optimiser(K, Y, C, intercept)
    assert result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(K @ result.coefficients + result.intercept, scores, atol=2e-3)
    assert result.converged
    assert result.kkt_residual <= 1e-7
    assert -1e-12 < result.relative_gap < 1e-7


@INTERCEPTS
def test_it_is_newtons_method_on_a_factor(intercept):
    ours = solve_newton_cg(K, Y, C=10.0, intercept=intercept, tol=1e-8)
    theirs = solve_newton(FACTOR, Y, C=10.0, intercept=intercept, tol=1e-10)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-5)
    np.testing.assert_allclose(FACTOR.T @ ours.coefficients, theirs.coefficients, atol=1e-5)


@INTERCEPTS
def test_the_result_is_what_the_certificate_says(intercept):
    result = solve_newton_cg(K, Y, C=1.0, intercept=intercept)
    np.testing.assert_array_equal(result.dual_variables, result.coefficients * Y)
    assert np.all(result.dual_variables >= 0.0)
    b = None if intercept == "penalised" else result.intercept
    certificate = certify_dual(
        lambda v: K @ v,
        Y,
        result.dual_variables,
        C=1.0,
        loss="squared_hinge",
        intercept=intercept,
        b=b,
    )
    assert result.objective == pytest.approx(certificate.primal, rel=1e-12)
    assert result.dual_objective == pytest.approx(certificate.dual, rel=1e-12)
    assert result.kkt_residual == pytest.approx(certificate.kkt_residual, abs=1e-12)
    assert certificate.infeasibility < 1e-6
    if intercept == "penalised":
        assert result.intercept == pytest.approx(result.coefficients.sum(), abs=1e-10)
    if intercept == "none":
        assert result.intercept == 0.0


def test_rows_beyond_their_margin_have_no_dual_variable():
    result = solve_newton_cg(K, Y, C=1000.0, intercept="free")
    margins = Y * (K @ result.coefficients + result.intercept)
    beyond = margins > 1.0 + 1e-4
    assert 20 < beyond.sum() < 230
    assert not result.coefficients[beyond].any()
    assert np.all(result.coefficients[margins < 1.0 - 1e-4] != 0.0)


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


# ----------------------------------------------------------------- several problems at once
class Counted(LinearOperator):
    def __init__(self, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix, self.widths = matrix, []

    def _matmat(self, V):
        self.widths.append(V.shape[1])
        return self.matrix @ V


@INTERCEPTS
def test_several_problems_are_each_solved_as_if_alone(intercept):
    columns = np.column_stack([Y, np.where(X[:, 0] > 0.3, 1.0, -1.0), -Y])
    together = solve_newton_cg(K, columns, C=5.0, intercept=intercept, tol=1e-9)
    for column, result in zip(columns.T, together, strict=True):
        alone = solve_newton_cg(K, column, C=5.0, intercept=intercept, tol=1e-9)
        np.testing.assert_allclose(result.coefficients, alone.coefficients, atol=1e-6)
    np.testing.assert_allclose(together[2].coefficients, -together[0].coefficients, atol=1e-6)


def test_problems_share_their_products():
    columns = np.column_stack([Y, np.where(X[:, 0] > 0.3, 1.0, -1.0)])
    both, first, second = Counted(K), Counted(K), Counted(K)
    solve_newton_cg(both, columns, C=5.0)
    solve_newton_cg(first, columns[:, 0], C=5.0)
    solve_newton_cg(second, columns[:, 1], C=5.0)
    alone = len(first.widths), len(second.widths)
    assert len(both.widths) == max(alone)
    assert sum(both.widths) == sum(alone)


def test_operators_and_matrices_are_the_same():
    results = [solve_newton_cg(kind, Y, C=1.0) for kind in (K, aslinearoperator(K))]
    np.testing.assert_allclose(results[0].coefficients, results[1].coefficients, atol=1e-12)
    assert isinstance(solve_newton_cg(K, Y[:, None], C=1.0), list)


# ------------------------------------------------------------------------ weights and paths
@INTERCEPTS
def test_weights_are_costs_of_their_own(intercept):
    weights = np.linspace(0.1, 3.0, 250)
    weights[::7] = 0.0
    result = solve_newton_cg(K, Y, C=2.0, intercept=intercept, sample_weight=weights, tol=1e-8)
    value, _ = by_general_optimiser(K, Y, 2.0, intercept, weights)
    assert result.objective == pytest.approx(value, rel=1e-7)
    assert not result.coefficients[weights == 0.0].any()


def test_a_row_of_weight_zero_is_no_row():
    weights = (np.arange(250) % 3 > 0).astype(float)
    kept = weights > 0
    weighted = solve_newton_cg(K, Y, C=2.0, sample_weight=weights, tol=1e-9)
    without = solve_newton_cg(K[np.ix_(kept, kept)], Y[kept], C=2.0, tol=1e-9)
    np.testing.assert_allclose(weighted.coefficients[kept], without.coefficients, atol=1e-6)


def test_weight_two_is_the_row_twice():
    kernel = rbf_kernel(X, gamma=2.0)  # singular once a row is repeated: no shift here
    twice = np.concatenate([np.arange(250), np.arange(0, 250, 2)])
    weights = np.where(np.arange(250) % 2 == 0, 2.0, 1.0)
    weighted = solve_newton_cg(kernel, Y, C=1.0, sample_weight=weights, tol=1e-8)
    repeated = solve_newton_cg(kernel[np.ix_(twice, twice)], Y[twice], C=1.0, tol=1e-8)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(
        kernel @ weighted.coefficients + weighted.intercept,
        kernel[:, twice] @ repeated.coefficients + repeated.intercept,
        atol=1e-6,
    )


@INTERCEPTS
def test_a_path_of_costs_is_one_problem_after_the_other(intercept):
    path = [0.1, 1.0, 10.0]
    whole = solve_newton_cg(K, Y, C=path, intercept=intercept, tol=1e-8)
    for of_path, C in zip(whole, path, strict=True):
        alone = solve_newton_cg(K, Y, C=C, intercept=intercept, tol=1e-8)
        np.testing.assert_allclose(of_path.coefficients, alone.coefficients, atol=1e-5)
        assert of_path.intercept == pytest.approx(alone.intercept, abs=1e-6)
        assert of_path.objective == pytest.approx(alone.objective, rel=1e-9)
    both = solve_newton_cg(K, np.column_stack([Y, -Y]), C=path, intercept=intercept, tol=1e-8)
    np.testing.assert_allclose(both[0][1].coefficients, whole[1].coefficients, atol=1e-9)


@INTERCEPTS
def test_a_good_start_is_taken(intercept):
    cold = solve_newton_cg(K, Y, C=10.0, intercept=intercept)
    start = (cold.coefficients, cold.intercept)
    warm = solve_newton_cg(K, Y, C=10.0, intercept=intercept, start=start)
    assert warm.n_iter <= 1 < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, rel=1e-10)
    elsewhere = (1000.0 * np.random.default_rng(0).normal(size=250), 3.0)
    far = solve_newton_cg(K, Y, C=10.0, intercept=intercept, start=elsewhere)
    assert far.objective == pytest.approx(cold.objective, rel=1e-8)


# ---------------------------------------------------------------------------- how it ends
def test_each_step_decreases_the_objective():
    seen = []
    result = solve_newton_cg(K, Y, C=1e4, intercept="free", callback=seen.append)
    assert tuple(seen) == result.trace
    values = result.trace_table().objective.to_numpy()
    assert np.all(np.diff(values) <= 1e-9 * values[:-1])
    steps = result.trace_table().step.to_numpy()[1:]
    assert steps.min() < 1.0 < 1.5 * steps.max()  # some were shortened, and full ones end it
    assert steps[-1] == 1.0
    assert list(result.trace_table().columns) == [
        *("iteration", "objective", "residual", "seconds", "C"),
        *("problem", "active", "step", "products"),
    ]


def test_the_step_that_is_taken_is_the_best_on_the_line():
    problem = Problem(0, Y, np.ones(250), "free")
    generator = np.random.default_rng(0)
    beta, d = generator.normal(size=(2, 250))
    point = Point(problem, beta, K @ beta, 0.3)
    change = (200 * (point.settled(5.0) - beta) + d, None, 2.0)
    change = (change[0], K @ change[0], 2.0)
    moved, step = line_search(point, change, 5.0)
    assert 0.0 < step < 1.0
    steps = np.linspace(0.0, 1.0, 2001)
    values = [point.moved(change, t).objective(5.0) for t in steps]
    assert moved.objective(5.0) <= min(values) * (1 + 1e-9)
    assert moved.objective(5.0) < point.objective(5.0)


@INTERCEPTS
def test_the_slope_along_a_direction_is_the_objectives_derivative(intercept):
    generator = np.random.default_rng(1)
    problem = Problem(0, Y, generator.uniform(0.5, 2.0, 250), intercept)
    beta, d = generator.normal(size=(2, 250))
    b, db = (0.4, -0.7) if intercept != "none" else (0.0, 0.0)
    point, direction = Point(problem, beta, K @ beta, b), (d, K @ d, db)
    step = 1e-6
    ahead, behind = (point.moved(direction, t).objective(3.0) for t in (step, -step))
    numeric = (ahead - behind) / (2 * step)
    assert slope_along(point, direction, 3.0) == pytest.approx(numeric, rel=1e-6)


def test_rounding_is_not_taken_for_a_negative_eigenvalue():
    generator = np.random.default_rng(2)
    f = generator.normal(size=250)
    problem = Problem(0, Y, np.ones(250), "none")
    for v in (f, generator.normal(size=250)):
        asked = problem.multiply(v)
        with pytest.raises(StopIteration):
            asked.send((next(asked), f * (f @ v))[1])
    unseen = generator.normal(size=250)
    unseen -= f * (f @ unseen) / (f @ f)
    assert not problem.is_negative(-1e-13 * (f @ f) * (unseen @ unseen), unseen)
    assert problem.is_negative(-1e-3 * (unseen @ unseen), unseen)


def test_coefficients_that_the_kernel_does_not_see_are_not_returned():
    """Cut short at a start full of them, the machine returns what the scores ask for."""
    f = np.random.default_rng(3).normal(size=250)
    unseen = 1e6 * np.random.default_rng(4).normal(size=250)
    unseen -= f * (f @ unseen) / (f @ f)
    with pytest.warns(ConvergenceWarning):
        result = solve_newton_cg(
            np.outer(f, f), Y, C=1e-5, intercept="none", start=(unseen, 0.0), max_iter=0, tol=1e-9
        )
    assert result.objective <= 1.001e-5 * 250
    assert np.abs(result.coefficients).max() <= 1e-4


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_products": 4}])
def test_a_limit_that_is_reached_is_warned_about_with_the_figure(limit):
    with pytest.warns(ConvergenceWarning, match="newton-cg stopped after .* with a KKT residual"):
        result = solve_newton_cg(K, Y, C=100.0, **limit)
    assert not result.converged
    assert result.kkt_residual > 1e-5
    assert result.gap >= 0.0
    assert result.objective < 100.0 * 250


# Cut short on purpose, 25 times over: that it is warned about is tested above.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@INTERCEPTS
@pytest.mark.parametrize("max_iter", [0, 1, 2, 3])
def test_an_iteration_cut_short_reports_what_is_true_of_its_point(max_iter, intercept):
    for seed in range(25):
        generator = np.random.default_rng(seed)
        kernel = rbf_kernel(generator.normal(size=(60, 2)), gamma=1.0) + 1e-8 * np.eye(60)
        y = np.where(generator.random(60) < 0.25, 1.0, -1.0)
        settings = {"C": 10.0 ** generator.uniform(-1, 4), "intercept": intercept}
        settings["sample_weight"] = weights = generator.integers(0, 3, 60)
        start = (generator.normal(size=60), 0.0) if seed % 2 else None
        best = solve_newton_cg(kernel, y, tol=1e-8, max_iter=500, **settings).objective
        found = solve_newton_cg(kernel, y, tol=1e-8, max_iter=max_iter, start=start, **settings)
        scores = kernel @ found.coefficients
        slack = np.maximum(0.0, 1.0 - y * (scores + found.intercept))
        penalty = found.intercept**2 if intercept == "penalised" else 0.0
        value = 0.5 * (found.coefficients @ scores + penalty) + settings["C"] * weights @ slack**2
        assert found.objective == pytest.approx(value, rel=1e-9)
        assert found.dual_objective <= best * (1.0 + 1e-9)
        assert found.objective >= best * (1.0 - 1e-9)


def test_an_indefinite_kernel_is_named():
    indefinite = K - 5.0 * np.eye(250)
    with pytest.warns(ConvergenceWarning, match="negative eigenvalues"):
        result = solve_newton_cg(indefinite, Y, C=1.0)
    assert not result.converged


def test_one_warning_for_many_problems():
    columns = np.column_stack([Y, -Y, Y])
    with pytest.warns(ConvergenceWarning) as caught:
        solve_newton_cg(K, columns, C=100.0, max_iter=1)
    assert len([w for w in caught if issubclass(w.category, ConvergenceWarning)]) == 1


def test_a_tolerance_below_rounding_ends_with_a_warning_and_a_good_solution():
    with pytest.warns(ConvergenceWarning, match="precision|KKT residual"):
        result = solve_newton_cg(K, Y, C=1.0, tol=0.0)
    assert result.kkt_residual < 1e-9
    assert result.n_iter < 100


@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_one_class_alone_is_decided_by_the_intercept(intercept):
    result = solve_newton_cg(K, np.ones(250), C=1e-6, intercept=intercept)
    assert result.converged
    if intercept == "free":
        assert result.intercept == pytest.approx(1.0, abs=1e-5)
        assert result.objective == pytest.approx(0.0, abs=1e-12)


def test_rows_that_say_nothing():
    """A kernel of zeros, or rows of weight zero alone."""
    nothing = solve_newton_cg(np.zeros((4, 4)), np.array([1.0, 1.0, 1.0, -1.0]), C=1.0)
    assert nothing.intercept == pytest.approx(0.5)
    unweighted = solve_newton_cg(K, Y, C=1.0, sample_weight=np.zeros(250))
    assert not unweighted.coefficients.any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": -1.0}, "C must be a positive number"),
        ({"C": [1.0, np.nan]}, "C must be a positive number"),
        ({"loss": "hinge"}, "loss='hinge'"),
        ({"intercept": "maybe"}, "intercept='maybe'"),
        ({"sample_weight": -np.ones(250)}, "sample_weight"),
        ({"start": (np.zeros(3), 0.0)}, "start must be"),
        ({"start": (np.full(250, np.nan), 0.0)}, "start must be"),
        ({"y": Y[:10]}, "250 rows of features, but labels of shape"),
        ({"y": np.zeros(250)}, "labels must be -1 and 1"),
        ({"y": np.zeros((250, 0))}, "not of shape"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    arguments = {"y": Y, "C": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        solve_newton_cg(K, arguments.pop("y"), **arguments)


def test_passes_over_vectors():
    u, v = np.random.default_rng(0).normal(size=(2, 101))
    assert inner(u, v) == pytest.approx(u @ v)
    assert largest(-np.abs(u)) == np.abs(u).max()
