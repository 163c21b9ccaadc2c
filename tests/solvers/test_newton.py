"""Newton's method on features against LIBSVM and general optimisers, and under hostile input."""

import numpy as np
import pytest
import scipy.sparse as sp
from checker import assert_true
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from kernlab.approximations import Nystrom
from kernlab.features import Features
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_newton
from kernlab.solvers.newton.core import best_step, intervals_for
from kernlab.solvers.newton.steps import (
    ETA,
    ActiveGram,
    GroupedGram,
    Problem,
    cheapest,
    newton_direction,
)

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


def posed(F, y, intercept="free"):
    return Problem(Features(F), intervals_for("squared_hinge", y, np.ones(len(y))), intercept)


# --------------------------------------------------------------------------- the optimum
def test_is_libsvm_with_a_heavier_diagonal():
    """LIBSVM's hinge with K + I / (2 C) and no upper bound is the squared hinge (LASN eq. 5)."""
    F, y = problem(n=80, p=3)
    C, K = 2.0, rbf_kernel(F, gamma=0.4)
    factor = np.linalg.cholesky(K + 1e-12 * np.eye(len(y)))
    found = tight(factor, y, C=C, intercept="free")
    libsvm = SVC(kernel="precomputed", C=1e8, tol=1e-10).fit(K + np.eye(len(y)) / (2 * C), y)
    dual = np.zeros(len(y))
    dual[libsvm.support_] = np.abs(libsvm.dual_coef_[0])
    np.testing.assert_allclose(found.dual_variables, dual, atol=1e-5)
    np.testing.assert_allclose(
        factor @ found.coefficients + found.intercept,
        K[:, libsvm.support_] @ libsvm.dual_coef_[0] + libsvm.intercept_[0],
        atol=1e-5,
    )
    assert 0.2 < (dual > 0).mean() < 1.0


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
    C=st.floats(1e-6, 1e6),
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


def test_the_order_of_convergence_is_seen_within_one_C():
    F, y = problem(n=400)
    for row in solve_newton(F, y, C=[1.0, 1e5], warm_up=False)[1].trace:
        assert row["iteration"] >= 2 or row["order"] is None
    trace = solve_newton(F, y, C=1e5, warm_up=False, tol=1e-12).trace_table()
    assert trace["C"].nunique() > 1  # on its way through smaller ones
    for _, rows in trace.groupby("C"):
        assert rows["order"].iloc[:2].isna().all()


def test_the_trace_never_goes_up_and_says_what_each_step_cost():
    F, y = problem(n=1000, p=10)
    trace = solve_newton(F, y, C=10.0, warm_up=False).trace_table()
    assert np.all(np.diff(trace["objective"]) <= 0)
    assert trace["active"].iloc[0] == 1000
    assert list(trace["work"].iloc[:2]) == [0, 1000]
    assert trace["work"].iloc[2:].max() < 500  # later steps change V by the rows that moved


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
    monkeypatch.setattr("kernlab.solvers.newton.steps.FLAT", -1.0)
    with pytest.warns(ConvergenceWarning, match="gap"):
        stuck = solve_newton(F, y, C=1.0, method=method)
    assert "rounding" in stuck.message
    assert not stuck.converged


def test_a_sample_first_saves_steps_and_does_not_change_the_answer():
    F, y = problem(n=20_000, p=30, noise=1.0)
    cold, warm = (tight(F, y, C=1.0, warm_up=warm) for warm in (False, True))
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, rtol=1e-7)
    assert warm.n_iter < cold.n_iter
    assert "2,500 rows" in warm.message
    assert cold.message == ""


@pytest.mark.parametrize("preconditioned", [False, True])
def test_the_forcing_terms_of_algorithm_1_bound_the_inner_residual(preconditioned):
    F, y = problem(n=300, p=40)
    point = posed(F, y).at(np.zeros(41))
    gradient = point.gradient(1.0)
    rows = np.column_stack([F, np.ones(len(y))])[point.active]
    V = np.diag(point.problem.ridge) + 2.0 * rows.T @ rows
    gram = ActiveGram(point.problem.rows, np.ones(len(y))) if preconditioned else None
    length = np.linalg.norm
    if preconditioned:
        gram.update(point.active)
        half = np.linalg.cholesky(V)

        def length(left):
            return np.linalg.norm(np.linalg.solve(half, left))

    for mu in (0.5, 0.1, 1e-9):
        d, products = newton_direction(point, gradient, 1.0, mu, gram)
        assert length(V @ d + gradient) <= mu * length(gradient) * (1 + 1e-9)
        assert products == 1 if preconditioned else products <= 45


def test_smaller_forcing_terms_take_more_products_and_fewer_steps():
    """A constant one, without eta_1, leaves no more than linear convergence."""
    F, y = problem(n=2000, p=60)
    F = F * np.logspace(0, -2, 60)
    steps, products, residuals = {}, {}, {}
    for name, eta in {"exact": (1e-12, 1.0), "ours": ETA, "constant": (0.1, 1e30)}.items():
        found = tight(F, y, C=10.0, method="cg", eta=eta, warm_up=False)
        table = found.trace_table()
        steps[name], products[name] = found.n_iter, table["products"].sum()
        residuals[name] = table["residual"].to_numpy()
    assert steps["exact"] <= steps["ours"] < steps["constant"]
    assert products["exact"] > products["ours"]
    ratios = residuals["constant"][1:] / residuals["constant"][:-1]
    assert ratios[-3:].min() > 1e-3  # a digit or two at every step, never more
    assert (residuals["exact"][1:] / residuals["exact"][:-1]).min() < 1e-3


def test_the_best_step_is_lowest_on_a_grid():
    F, y = problem(n=100)
    generator = np.random.default_rng(2)
    for _ in range(20):
        point = posed(F, y).at(generator.normal(size=F.shape[1] + 1))
        direction = -point.gradient(1.0) * 10 ** generator.uniform(-5, 0)
        changes = point.problem.at(point.x + direction).scores - point.scores
        along = direction * point.problem.ridge
        step = best_step(
            point.problem.intervals, point.scores, 1.0, changes,
            float(along @ point.x), float(along @ direction),
        )  # fmt: skip
        values = [
            point.problem.at(point.x + t * direction).objective(1.0)
            for t in step * np.array([0.5, 0.99, 1.0, 1.01, 2.0])
        ]
        assert np.argmin(values) == 2


# ---------------------------------------------------------------- the Gram matrix, precision
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_gram_matrix_follows_the_active_rows(form):
    generator = np.random.default_rng(5)
    F, weights = generator.normal(size=(400, 7)), generator.uniform(0.1, 2.0, 400)
    gram = ActiveGram(Features(form(F)), weights)
    wide = np.column_stack([F, np.ones(400)])
    active, changes = np.zeros(400, bool), []
    for flips in (400, 30, 5, 0, 390, 200):
        active = active.copy()
        chosen = generator.choice(400, flips, replace=False)
        active[chosen] = ~active[chosen]
        changes.append(gram.update(active))
        rows = wide[active] * np.sqrt(weights[active])[:, None]
        np.testing.assert_allclose(gram.matrix, rows.T @ rows, rtol=1e-10, atol=1e-9)
    assert changes[:4] == [400, 30, 5, 0]
    assert changes[4] <= 390  # from scratch where that takes fewer rows


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


def test_a_gram_matrix_that_is_no_help_is_replaced(monkeypatch):
    F, y = problem(n=3000, p=30)
    exact = tight(F, y, C=10.0, warm_up=False)
    add, disturbed = Features.add_gram, []

    def disturbing(self, total, rows, weights, dtype, sign=1.0):
        add(self, total, rows, weights, dtype, sign)
        if dtype == np.float32:
            disturbed.append(1)
            total[np.diag_indices(31)] -= 1e9 if len(disturbed) % 2 else -1e9

    monkeypatch.setattr(Features, "add_gram", disturbing)
    single = F.astype(np.float32)
    found = tight(single, y, C=10.0, warm_up=False)
    assert disturbed
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)
    assert found.trace_table()["products"].max() < 30


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


def test_the_first_features_are_a_start_and_do_not_change_the_answer():
    rows, F, y = at_landmarks(n=600, k=220, spread=1.0)
    exact = tight(F, y, C=10.0, warm_up=False)
    cold, warm = (tight(rows, y, C=10.0, warm_up=warm) for warm in (False, True))
    assert f"{rows.shape[1] // 4} features" in warm.message
    assert warm.trace[0]["objective"] < 0.8 * cold.trace[0]["objective"]
    small = tight(rows, y, C=10.0, max_memory=rows.A.nbytes)  # no room for a copy
    for found in (cold, warm, small):
        assert found.objective == pytest.approx(exact.objective, rel=1e-9)
    assert "features" not in small.message


def test_old_means_are_kept_while_products_with_them_cost_less():
    rows, _, _ = at_landmarks(n=2000)
    gram, active = GroupedGram(rows, np.ones(2000)), np.ones(2000, bool)
    assert gram.update(active) > 0
    gram.products = 5
    active = np.arange(2000) % 5 > 0
    assert gram.update(active) == 0  # nothing is lost yet
    gram.products = 30
    assert gram.update(active) > 0
    gram.products = 30
    assert gram.update(active) == 0  # these are the means of the same rows


def test_the_gram_matrix_of_means_is_that_of_the_active_rows_without_their_spread():
    rows, F, _ = at_landmarks(n=500, k=10)
    costs = np.random.default_rng(0).uniform(0.5, 2.0, 500)
    gram, active = GroupedGram(rows, costs), np.arange(500) % 3 > 0
    for chosen in (np.ones(500, bool), active):
        gram.lost = np.inf  # products, by staleness: the means are taken again
        gram.update(chosen)
        wide, total = np.column_stack([F, np.ones(500)]), np.zeros((11, 11))
        for group in range(10):
            own = chosen & (rows.groups == group)
            mean = np.average(wide[own], axis=0, weights=costs[own])
            total += costs[own].sum() * np.outer(mean, mean)
        np.testing.assert_allclose(gram.matrix, total, rtol=1e-3, atol=1e-3)
    whole = (wide[active].T * costs[active]) @ wide[active]
    assert np.linalg.eigvalsh(whole - total).min() > -1e-3 * np.trace(whole)


def test_means_that_stand_badly_for_their_rows_give_way(monkeypatch):
    rows, F, y = at_landmarks(spread=5.0)
    monkeypatch.setattr(GroupedGram, "most_products", 3)
    found = tight(rows, y, C=100.0, method="grouped", gap_tol=1e-8, tol=1e-6)
    exact = tight(F, y, C=100.0)
    assert found.objective == pytest.approx(exact.objective, rel=1e-7)
    assert found.trace_table()["work"].max() > 1000  # rows of the Gram matrix itself


def test_the_method_with_the_least_predicted_time_is_taken():
    rows, F, y = at_landmarks()
    assert "means" not in solve_newton(rows, y, C=1.0).message  # few features: G costs little
    for k, n_active, expected in (
        (100, 10**6, "direct"),
        (3000, 10**5, "grouped"),
        (3000, 2000, "direct"),
        (10_000, 10**4, "grouped"),
        (20_000, 10**5, "cg"),
    ):
        rows.shape = (10**6, k)
        assert cheapest(rows, n_active) == expected
    plain = Features(F)
    plain.shape = (10**6, 3000)
    assert cheapest(plain, 10**5) == "direct"
    with pytest.raises(ValueError, match="takes features at landmarks only"):
        solve_newton(F, y, C=1.0, method="grouped")


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


def test_no_two_libraries_threads_wait_for_each_other():
    """NumPy's and SciPy's BLAS are called in turns: between steps, each has one thread."""
    F, y = problem(n=500)
    seen = []

    def look(_):
        seen.extend(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        solve_newton(F, y, C=1.0, callback=look)
    assert len(seen) > 2
    assert set(seen) == {1}


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


@INTERCEPT
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs(C, intercept):
    for F, y in (problem(n=300, p=40), problem(n=300, p=5, noise=0.0)):
        found = solve_newton(F, y, C=C, intercept=intercept)
        assert found.converged
        assert found.relative_gap <= 1e-4


def test_too_few_steps_say_how_far_they_came():
    F, y = problem(n=300)
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations.*gap.*Raise max_iter") as said:
        found = solve_newton(F, y, C=10.0, max_iter=1, warm_up=False)
    assert said[0].filename == __file__
    assert not found.converged
    assert found.n_iter == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "lu"}, "method="),
        ({"gap_tol": np.nan}, "gap_tol must be a number that is not negative"),
        ({"start": (np.zeros(3), 0.0)}, "start must be"),
        ({"loss": "squared_epsilon_insensitive", "epsilon": -1.0}, "epsilon"),
        ({"loss": "squared_epsilon_insensitive", "y": np.full(200, np.inf)}, "not finite"),
        ({"loss": "squared_epsilon_insensitive", "y": np.ones(199)}, "targets of shape"),
        ({"F": np.full((200, 6), np.nan)}, "features hold values that are not finite"),
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
