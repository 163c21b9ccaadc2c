"""Newton's method on features against general optimisers, and under hostile input."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from checker import assert_true
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import Nystrom
from kernlab.features import Features, as_features
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_newton
from kernlab.solvers.newton import core
from kernlab.solvers.newton.preconditioners import ActiveGram
from kernlab.solvers.problems import intervals_for

INTERCEPTS = ("free", "penalised", "none")
INTERCEPT = pytest.mark.parametrize("intercept", INTERCEPTS)
METHOD = pytest.mark.parametrize("method", ["direct", "cg"])


def problem(seed=0, n=200, p=6, noise=0.7):
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, p))
    y = np.where(F[:, 0] + noise * generator.normal(size=n) > 0.3, 1.0, -1.0)
    return F, y


def tight(F, y, **parameters):
    return solve_newton(F, y, **{"C": 1.0, "tol": 1e-10, "gap_tol": 1e-10} | parameters)


# --------------------------------------------------------------------------- the optimum
@METHOD
@INTERCEPT
def test_regression_reaches_the_optimum_of_a_general_solver(intercept, method):
    generator = np.random.default_rng(3)
    F = generator.normal(size=(60, 4))
    t = F @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.5 * generator.normal(size=60)
    weights, epsilon, C = generator.uniform(0.5, 2.0, 60), 0.3, 5.0

    def objective(x):
        b = 0.0 if intercept == "none" else x[-1]
        loss = np.maximum(0.0, np.abs(F @ x[:-1] + b - t) - epsilon) ** 2
        ridge = b * b if intercept == "penalised" else 0.0
        return 0.5 * (x[:-1] @ x[:-1] + ridge) + C * weights @ loss

    reference = minimize(objective, np.zeros(5), tol=1e-12)
    shared = {"C": C, "loss": "squared_epsilon_insensitive", "epsilon": epsilon, "method": method}
    found = tight(F, t, intercept=intercept, sample_weight=weights, **shared)
    assert found.objective == pytest.approx(reference.fun, rel=1e-8)
    assert found.dual_objective == pytest.approx(found.objective, rel=1e-8)
    np.testing.assert_allclose(found.coefficients, reference.x[:-1], atol=1e-4)
    # Which side of its interval a row is on only the sign of its dual variable tells.
    dual = found.dual_variables
    np.testing.assert_allclose(F.T @ dual, found.coefficients, rtol=1e-6, atol=1e-8)
    assert (dual.min() < 0.0 < dual.max()) or intercept == "none"
    pulled = {"free": 0.0, "penalised": found.intercept, "none": dual.sum()}[intercept]
    assert dual.sum() == pytest.approx(pulled, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    p=st.integers(1, 12),
    C=st.floats(1e-8, 1e6),
    intercept=st.sampled_from(INTERCEPTS),
    scale=st.floats(1e-3, 1e3),
)
def test_any_problem_ends_with_a_small_gap_that_is_true(seed, n, p, C, intercept, scale):
    generator = np.random.default_rng(seed)
    F = scale * generator.normal(size=(n, p)) * (generator.random(p) > 0.2)
    y = np.where(generator.random(n) > 0.4, 1.0, -1.0)
    weights = generator.integers(0, 3, n).astype(float)
    found = solve_newton(F, y, C=C, intercept=intercept, sample_weight=weights)
    assert found.converged
    rounding = 1e-15 * C * weights.sum()
    assert found.gap <= 1e-4 * found.objective + rounding
    if found.objective > 1e3 * rounding:
        shared = {"C": C, "loss": "squared_hinge", "intercept": intercept, "rel": 1e-6}
        best = found.objective
        assert_true(found, y, best=best, sample_weight=weights, features=F, **shared)


# ------------------------------------------------------------------ how it gets there
def test_convergence_is_quadratic_and_in_few_unit_steps():
    F, y = problem(n=2000, p=20)
    seen = []
    found = tight(F, y, C=10.0, method="cg", warm_up=False, callback=seen.append)
    assert tuple(seen) == found.trace
    residuals = found.trace_table()["residual"].to_numpy()
    assert len(residuals) <= 15
    assert residuals[-1] < 10 * residuals[-2] ** 2 or residuals[-1] < 1e-14
    assert found.trace_table()["step"].iloc[-1] == 1.0
    last = np.log(residuals[-3:])
    assert found.observed_order == pytest.approx((last[2] - last[1]) / (last[1] - last[0]))
    assert found.observed_order > 1.5


def test_a_start_may_have_the_first_features_only():
    F, y = problem()
    narrow = tight(F[:, :4], y)
    wide = solve_newton(F, y, C=1.0, start=narrow)
    assert wide.trace[0]["objective"] == pytest.approx(narrow.objective)
    assert solve_newton(F, y, C=1.0, start=tight(F, y)).n_iter == 0


def test_a_small_gradient_alone_does_not_end_it():
    """From the solution for C = 1e3, C = 1e4 starts with a tiny relative gradient."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(200, 2))
    y = np.where((4 * X).astype(int).sum(axis=1) % 2 == 0, 1.0, -1.0)
    F = np.linalg.cholesky(rbf_kernel(X, gamma=20.0) + 1e-10 * np.eye(200))
    path = solve_newton(F, y, C=[1e3, 1e4, 1e5])
    assert all(result.relative_gap <= 1e-4 for result in path)


@METHOD
def test_where_rounding_ends_it_the_gap_decides(method, monkeypatch):
    """No step can lower a gradient of rounding: a proven optimum is one, anything else is not."""
    F, y = problem()
    found = solve_newton(F, y, C=1.0, tol=0.0, gap_tol=1e-8, method=method)
    assert "rounding" in found.message
    assert 0.0 < found.kkt_residual < 1e-10
    assert found.relative_gap <= 1e-8
    assert found.converged
    monkeypatch.setattr("kernlab.solvers.newton.core.best_step", lambda *_: 0.0)
    monkeypatch.setattr("kernlab.solvers.newton.core.FLAT", -1.0)
    with pytest.warns(ConvergenceWarning, match="gap"):
        stuck = solve_newton(F, y, C=1.0, method=method)
    assert "rounding" in stuck.message
    assert not stuck.converged


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_point_from_its_scores_is_that_from_all_rows(intercept):
    F, y = problem()
    intervals = intervals_for("squared_hinge", y, np.arange(1.0, len(y) + 1) % 3)
    some = core.Problem(as_features(F), intervals, intercept)
    x = np.append(np.random.default_rng(0).normal(size=F.shape[1]), intercept == "free")
    whole, part = some.at(x), some.at_scores(x, F @ x[:-1] + x[-1])
    for name in ("value", "slope", "scores"):
        np.testing.assert_allclose(getattr(part, name), getattr(whole, name), rtol=1e-10)


def test_a_sample_first_saves_steps_and_does_not_change_the_answer():
    F, y = problem(n=20_000, p=30, noise=1.0)
    cold, warm = (tight(F, y, C=1.0, warm_up=warm) for warm in (False, True))
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, rtol=1e-7)
    assert warm.n_iter < cold.n_iter
    assert "2,500 rows" in warm.message
    assert cold.message == ""


# ---------------------------------------------------------------- the Gram matrix, precision
def test_where_single_precision_costs_products_double_takes_over():
    """Features whose smallest directions drown in the rounding of the largest."""
    generator = np.random.default_rng(0)
    F = generator.normal(size=(3000, 12)) @ np.diag(10.0 ** -np.arange(12))
    F += 3.0 * generator.normal(size=(3000, 1))
    y = np.where(F[:, 0] + generator.normal(size=3000) > 0, 1.0, -1.0)
    single = F.astype(np.float32)
    assert ActiveGram(Features(single), np.ones(3000)).dtype == np.float32
    for C in (1.0, 1e6, 1e10):
        found = solve_newton(single, y, C=C)
        exact = solve_newton(single.astype(np.float64), y, C=C)
        assert found.converged
        assert found.objective == pytest.approx(exact.objective, rel=1e-4)


@pytest.mark.parametrize(("size", "in_single"), [(1.0, True), (2.0**29, False)])
def test_factors_are_in_single_precision_unless_they_have_none(size, in_single):
    """Beside a matrix of 2^29 everywhere, the one on the diagonal is lost in single precision."""
    gram = ActiveGram(Features(np.ones((4, 2), np.float32)), np.ones(4))
    gram.matrix[...] = size
    problem = SimpleNamespace(ridge=np.ones(3), intercept="penalised")
    right = np.array([1.0, -1.0, 0.0])  # solved by itself
    off = np.abs(gram.solver(problem, 1.0)(right) - right).max()
    assert off <= 1e-6
    assert (off > 1e-9) == in_single


def at_landmarks(n=3000, k=40, spread=0.3):
    """Features at landmarks of rows in many small heaps, mapped and as a plain array."""
    generator = np.random.default_rng(6)
    X = generator.normal(size=(k, 5))[generator.integers(0, k, n)]
    X = X + spread * generator.normal(size=X.shape)
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * generator.normal(size=n) > 0, 1.0, -1.0)
    nystrom = Nystrom(gamma=0.2, n_landmarks=k, random_state=0).fit(X)
    return nystrom.features(X), nystrom.transform(X), y


@INTERCEPT
def test_means_of_groups_precondition_to_the_same_optimum(intercept):
    rows, F, y = at_landmarks()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    problem = {"C": [1.0, 100.0], "intercept": intercept, "sample_weight": weights, "gap_tol": 1e-8}
    exact = solve_newton(F, y, method="direct", **problem)
    found = solve_newton(rows, y, method="grouped", **problem)
    plain = solve_newton(rows, y, method="cg", eta=(0.3, np.inf), **problem)
    for ours, theirs, slow in zip(found, exact, plain, strict=True):
        assert ours.converged
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-7)
        assert "means of groups" in ours.message
        products = [result.trace_table()["products"].sum() for result in (ours, slow)]
        assert products[0] < 0.6 * products[1]


def test_where_means_of_groups_lead_nowhere_the_gram_matrix_is_taken(monkeypatch):
    rows, F, y = at_landmarks()
    real = core.newton_direction

    def in_vain(point, gradient, C, mu, near):
        direction, products = real(point, gradient, C, mu, near)
        return direction * near.is_exact, products

    monkeypatch.setattr(core, "newton_direction", in_vain)
    found = solve_newton(rows, y, C=10.0, method="grouped", gap_tol=1e-8)
    assert found.converged
    exact = solve_newton(F, y, C=10.0, method="direct", gap_tol=1e-8)
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)


@INTERCEPT
@pytest.mark.parametrize("hard", [False, True])
def test_many_features_go_without_factors_until_these_are_cheaper(intercept, hard):
    generator = np.random.default_rng(0)
    F = generator.normal(size=(300, 800))
    F = F * np.geomspace(1.0, 1e-4, 300)[:, None] if hard else F
    y = np.where(generator.random(300) > 0.5, 1.0, -1.0)
    given = {"C": 1e8 if hard else 0.01, "intercept": intercept, "gap_tol": 1e-8}
    found = solve_newton(F, y, **given)
    exact = solve_newton(F, y, method="direct", **given)
    assert found.converged
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    # A step has one or two products with a factor, many without; work is what the factor took.
    assert (found.trace_table()["work"].sum() > 0) == hard
    assert "without a factor" in found.message


def test_single_precision_features_are_summed_in_double():
    F, y = problem(n=5000, p=8)
    single = F.astype(np.float32)
    found = tight(single, y, C=10.0)
    exact = tight(single.astype(np.float64), y, C=10.0)
    np.testing.assert_allclose(found.coefficients, exact.coefficients, rtol=1e-8)
    assert found.kkt_residual <= 1e-10
    huge = Features((F * 1e18).astype(np.float32))  # too large for products in single precision
    assert ActiveGram(huge, np.ones(5000)).dtype == np.float64
    assert solve_newton(huge, y, C=1e-30).converged


class Scaling:
    """M, for values in units of their own."""

    is_nested = False

    def __init__(self, n_features, stretch):
        self.n_landmarks, self.n_features, self.stretch = n_features, n_features, stretch

    def apply(self, rows):
        return rows * rows.dtype.type(self.stretch)

    def fold(self, w):
        return w * self.stretch

    unfold = fold


def test_it_goes_on_in_double_where_rounding_would_show():
    """Values of single precision, multiplied up by the map: scores would be off by percents."""
    F, y = problem(n=3000, p=5)
    A = 1e-6 * (F + 1e5)  # small differences of values
    exact = tight(A * 1e6, y, C=0.1, intercept="free")

    def rows(error, dtype=np.float32):
        return Features.mapped(
            *(lambda: A.astype(dtype), Scaling(5, 1e6), None, dtype),
            squared_norms=(F**2).sum(axis=1),
            error=error,
            in_double=lambda: rows(np.finfo(float).eps, np.float64),
        )

    careful = tight(rows(np.finfo(np.float32).eps), y, C=0.1, intercept="free")
    assert "double precision" in careful.message
    np.testing.assert_allclose(careful.coefficients, exact.coefficients, rtol=1e-6)
    careless = tight(rows(0.0), y, C=0.1, intercept="free")
    assert "double" not in careless.message
    assert careful.objective == pytest.approx(exact.objective, rel=1e-9)
    assert abs(careless.objective / exact.objective - 1.0) > 1e-7


# ----------------------------------------------------------------------------- hostile input
@INTERCEPT
def test_problems_without_much_to_solve(intercept):
    F, y = problem(n=50)
    one_class = solve_newton(F, np.ones(50), C=10.0, intercept=intercept)
    assert one_class.converged
    if intercept == "free":
        np.testing.assert_allclose(one_class.coefficients, 0.0, atol=1e-9)
        assert one_class.intercept == pytest.approx(1.0)
    for empty in (np.zeros((50, 3)), np.ones((50, 3)), sp.csr_matrix((50, 3))):
        found = solve_newton(empty, y, C=1.0, intercept=intercept)
        assert found.converged
        assert found.relative_gap <= 1e-4
    nothing = solve_newton(F, y, C=1.0, intercept=intercept, sample_weight=np.zeros(50))
    assert nothing.objective == 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "lu"}, "method="),
        ({"gap_tol": np.nan}, "gap_tol must be a number that is not negative"),
        ({"loss": "squared_epsilon_insensitive", "epsilon": -1.0}, "epsilon"),
        ({"loss": "squared_epsilon_insensitive", "y": np.full(200, np.inf)}, "not finite"),
        ({"loss": "squared_epsilon_insensitive", "y": np.ones(199)}, "targets of shape"),
        ({"F": np.ones(200)}, "must be a matrix"),
    ],
)
def test_impossible_requests_are_refused(changes, message):
    F, y = problem()
    given = {"F": F, "y": y, "C": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        solve_newton(given.pop("F"), given.pop("y"), **given)


def test_matrices_of_the_factor_count_against_max_memory():
    draw = np.random.default_rng(0)
    F, y = draw.normal(size=(400, 300)), np.sign(draw.normal(size=400))
    with pytest.raises(MemoryLimitError, match=r"factor for 300 features .* x 301\^2 x 8 bytes"):
        solve_newton(F, y, C=1.0, method="direct", max_memory="1MB")
    free, tight = (solve_newton(F, y, C=1.0, max_memory=m) for m in (None, "1MB"))
    assert max(row["work"] for row in free.trace) > 0
    assert max(row["work"] for row in tight.trace) == 0  # without a factor
    assert tight.objective == pytest.approx(free.objective, rel=1e-6)
