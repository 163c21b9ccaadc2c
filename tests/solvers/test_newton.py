"""Newton's method against LIBLINEAR, LIBSVM and general optimisers, and under hostile input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_qp import dual_optimum, dual_value
from scipy.optimize import check_grad, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC, LinearSVR
from threadpoolctl import threadpool_info, threadpool_limits

from kernlab.features import Features
from kernlab.solvers import certify_primal, solve_newton
from kernlab.solvers.newton import features as newton
from kernlab.solvers.newton.features import ETA, _Course
from kernlab.solvers.newton.gram import ActiveGram
from kernlab.solvers.newton.intervals import intervals_for
from kernlab.solvers.newton.step import Problem, best_step, newton_direction

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
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_reaches_the_optimum_of_a_general_solver(C, intercept, method):
    F, y = problem(n=25, p=6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    reference = dual_optimum(F @ F.T, y, C * weights, "squared_hinge", intercept)
    best = dual_value(F @ F.T, y, reference, C * weights, "squared_hinge", intercept)
    found = tight(F, y, C=C, intercept=intercept, method=method, sample_weight=weights)
    assert found.objective == pytest.approx(best, rel=1e-7)
    assert found.dual_objective == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(found.coefficients, F.T @ (reference * y), rtol=1e-3, atol=1e-5)
    assert np.abs(found.coefficients).max() > 1e-2  # the reference is not trivial


@METHOD
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_is_liblinear(method, form):
    F, y = problem()
    reference = LinearSVC(C=3.0, dual=False, tol=1e-12, max_iter=100_000).fit(F, y)
    found = tight(form(F), y, C=3.0, intercept="penalised", method=method)
    np.testing.assert_allclose(found.coefficients, reference.coef_[0], rtol=1e-6)
    assert found.intercept == pytest.approx(reference.intercept_[0], rel=1e-7)


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


@INTERCEPT
def test_the_result_is_certified_by_others(intercept):
    F, y = problem()
    found = solve_newton(F, y, C=2.0, intercept=intercept)
    assert found.converged
    assert found.kkt_residual <= 1e-6
    assert found.relative_gap <= 1e-4
    certificate = certify_primal(
        F, y, found.coefficients, found.intercept, C=2.0, intercept=intercept
    )
    assert certificate.primal == pytest.approx(found.objective, rel=1e-12)
    assert certificate.dual == pytest.approx(found.dual_objective, rel=1e-12)
    w, b = found.coefficients, found.intercept
    slack = np.maximum(0.0, 1.0 - y * (F @ w + b))
    np.testing.assert_allclose(found.dual_variables, 4.0 * slack, rtol=1e-5, atol=1e-6)


@INTERCEPT
def test_dual_variables_of_targets_are_signed(intercept):
    """Which side of its interval a row is on cannot be told otherwise."""
    F, _ = problem()
    t = F @ np.arange(1.0, 1.0 + F.shape[1]) + np.random.default_rng(1).normal(size=len(F))
    found = tight(F, t, loss="squared_epsilon_insensitive", intercept=intercept)
    dual = found.dual_variables
    np.testing.assert_allclose(F.T @ dual, found.coefficients, rtol=1e-6, atol=1e-8)
    assert dual.min() < 0.0 < dual.max()
    pulled = {"free": 0.0, "penalised": found.intercept, "none": dual.sum()}[intercept]
    assert dual.sum() == pytest.approx(pulled, abs=1e-6)


@INTERCEPT
def test_regression_reaches_the_optimum_of_a_general_solver(intercept):
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
    found = tight(
        F,
        t,
        C=C,
        loss="squared_epsilon_insensitive",
        epsilon=epsilon,
        intercept=intercept,
        sample_weight=weights,
    )
    assert found.objective <= reference.fun * (1 + 1e-10)
    assert found.objective == pytest.approx(reference.fun, rel=1e-8)
    assert found.dual_objective == pytest.approx(found.objective, rel=1e-8)
    np.testing.assert_allclose(found.coefficients, reference.x[:-1], atol=1e-4)


def test_regression_is_liblinear():
    generator = np.random.default_rng(4)
    F = generator.normal(size=(100, 3))
    t = F[:, 0] + generator.normal(size=100)
    reference = LinearSVR(
        loss="squared_epsilon_insensitive", epsilon=0.2, C=2.0, dual=False, tol=1e-10
    ).fit(F, t)
    found = tight(
        F, t, C=2.0, loss="squared_epsilon_insensitive", epsilon=0.2, intercept="penalised"
    )
    np.testing.assert_allclose(found.coefficients, reference.coef_, rtol=1e-6, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    p=st.integers(1, 12),
    C=st.floats(1e-6, 1e6),
    intercept=st.sampled_from(INTERCEPTS),
    scale=st.floats(1e-3, 1e3),
)
def test_any_problem_ends_with_a_small_gap(seed, n, p, C, intercept, scale):
    generator = np.random.default_rng(seed)
    F = scale * generator.normal(size=(n, p)) * (generator.random(p) > 0.2)
    y = np.where(generator.random(n) > 0.4, 1.0, -1.0)
    weights = generator.integers(0, 3, n).astype(float)
    found = solve_newton(F, y, C=C, intercept=intercept, sample_weight=weights)
    assert found.converged
    assert found.gap <= 1e-4 * found.objective + 1e-15 * C * weights.sum()
    if weights.sum() > 0:
        certificate = certify_primal(
            F,
            y,
            found.coefficients,
            found.intercept,
            C=C,
            intercept=intercept,
            sample_weight=weights,
        )
        assert certificate.primal == pytest.approx(found.objective, rel=1e-9, abs=1e-12)


# ------------------------------------------------------------------ how it gets there
def test_convergence_is_quadratic_and_in_few_unit_steps():
    F, y = problem(n=2000, p=20)
    found = tight(F, y, C=10.0, method="cg", warm_up=False)
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
    assert trace["work"].iloc[1] == 1000
    assert trace["work"].iloc[2:].max() < 500  # later steps change V by the rows that moved


def test_rows_inside_their_interval_cost_nothing():
    """The Hessian is made of active rows only: others may hold anything finite."""
    F, y = problem(n=300, p=5)
    found = tight(F, y, C=1.0)
    inactive = found.dual_variables == 0
    assert 20 < inactive.sum() < 280
    far = F.copy()
    far[inactive] *= 3.0  # further on the right side of the margin
    far_scores = y * (far @ found.coefficients + found.intercept)
    far = far[(far_scores >= 1) | ~inactive]
    kept = y[(far_scores >= 1) | ~inactive]
    np.testing.assert_allclose(tight(far, kept).coefficients, found.coefficients, rtol=1e-6)


@METHOD
def test_a_warm_start_at_the_solution_takes_no_step(method):
    F, y = problem()
    found = tight(F, y, method=method)
    again = solve_newton(F, y, C=1.0, start=(found.coefficients, found.intercept), method=method)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(found.objective)


@METHOD
def test_a_path_over_C_is_each_C_on_its_own(method):
    F, y = problem(n=500)
    path = [1e-4, 1e-2, 1.0, 100.0, 1e4]
    for found, C in zip(tight(F, y, C=path, method=method), path, strict=True):
        alone = tight(F, y, C=C, method=method)
        assert found.converged
        np.testing.assert_allclose(found.coefficients, alone.coefficients, rtol=1e-5, atol=1e-9)
        assert found.objective == pytest.approx(alone.objective, rel=1e-8)
        assert found.dual_objective == pytest.approx(alone.objective, rel=1e-8)


def test_a_small_gradient_alone_does_not_end_it():
    """From the solution for C = 1e3, C = 1e4 starts with a tiny relative gradient."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(200, 2))
    y = np.where((4 * X).astype(int).sum(axis=1) % 2 == 0, 1.0, -1.0)
    K = rbf_kernel(X, gamma=20.0)
    F = np.linalg.cholesky(K + 1e-10 * np.eye(200))
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
    monkeypatch.setattr(newton, "line_search", lambda *_: (None, 0.0))
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
    point = _problem(F, y).origin
    gradient = point.gradient(1.0)
    rows = np.column_stack([F, np.ones(len(y))])[point.active]
    V = np.diag(point.problem.ridge) + 2.0 * rows.T @ rows
    gram = ActiveGram(point.problem.rows, np.ones(len(y))) if preconditioned else None
    if preconditioned:
        gram.update(point.active)
    for mu in (0.5, 0.1, 1e-9):
        d, products = newton_direction(point, gradient, 1.0, mu, gram)
        assert np.linalg.norm(V @ d + gradient) <= mu * np.linalg.norm(gradient) * (1 + 1e-9)
        assert products == 1 if preconditioned else products <= 45


def test_smaller_forcing_terms_take_more_products_and_fewer_steps():
    """A constant one, without eta_1, leaves no more than linear convergence."""
    F, y = problem(n=2000, p=60)
    F = F * np.logspace(0, -2, 60)
    courses = {}
    for name, eta in {"exact": (1e-12, 1.0), "ours": ETA, "constant": (0.1, 1e30)}.items():
        found = tight(F, y, C=10.0, method="cg", eta=eta, warm_up=False)
        table = found.trace_table()
        courses[name] = (found.n_iter, table["products"].sum(), table["residual"].to_numpy())
    steps = {name: course[0] for name, course in courses.items()}
    assert steps["exact"] <= steps["ours"] < steps["constant"]
    assert courses["exact"][1] > courses["ours"][1]
    ratios = courses["constant"][2][1:] / courses["constant"][2][:-1]
    assert ratios[-3:].min() > 1e-3  # a digit or two at every step, never more
    assert (courses["exact"][2][1:] / courses["exact"][2][:-1]).min() < 1e-3


def test_a_coarse_factor_costs_products_and_a_useless_one_is_replaced():
    F, y = problem(n=3000, p=30)
    course = _Course(_problem(F, y), "direct", ETA)
    gradient = course.point.gradient(10.0)
    exact, _ = newton_direction(course.point, gradient, 10.0, 1e-12)
    wide = np.column_stack([F, np.ones(len(y))])
    products = []
    for disturbance, patience in ((0.0, 30), (3.0, 30), (3.0, 2), (-1e9, 30)):
        gram = ActiveGram(course.problem.rows, np.ones(len(y)), np.dtype(np.float32))
        gram.matrix[...] = wide.T @ wide + disturbance * np.diag(np.arange(31.0))
        gram.active, gram.patience = course.point.active, patience
        course.gram = gram
        direction, changed, count = course._direction(gradient, 10.0, 1e-6)
        np.testing.assert_allclose(direction, exact, rtol=1e-3, atol=1e-6)
        products.append(count)
        is_replaced = course.gram is not gram
        assert is_replaced == (patience == 2 or disturbance < 0)
        assert changed == (3000 if is_replaced else 0)
    assert products[0] == 1
    assert 2 < products[1] < 30


def _problem(F, y, intercept="free"):
    intervals = intervals_for("squared_hinge", y, np.ones(len(y)))
    return Problem(Features(F), intervals, intercept)


@INTERCEPT
def test_the_gradient_is_that_of_the_objective(intercept):
    F, y = problem(n=50)
    posed = _problem(F, y, intercept)
    x = np.random.default_rng(1).normal(size=F.shape[1] + 1)
    x[-1] = 0.0 if intercept == "none" else x[-1]
    free = slice(None, -1) if intercept == "none" else slice(None)

    def widened(part):
        full = x.copy()
        full[free] = part
        return full

    assert (
        check_grad(
            lambda part: posed.at(widened(part)).objective(2.0),
            lambda part: posed.at(widened(part)).gradient(2.0)[free],
            x[free],
        )
        < 1e-3
    )


def test_the_best_step_is_lowest_on_a_grid():
    F, y = problem(n=100)
    generator = np.random.default_rng(2)
    for _ in range(20):
        point = _problem(F, y).at(generator.normal(size=F.shape[1] + 1))
        direction = -point.gradient(1.0) * 10 ** generator.uniform(-5, 0)
        unit = point.problem.at(point.x + direction)
        step = best_step(point, unit.scores - point.scores, direction, 1.0)
        values = [
            point.problem.at(point.x + t * direction).objective(1.0)
            for t in step * np.array([0.5, 0.99, 1.0, 1.01, 2.0])
        ]
        assert np.argmin(values) == 2


# ---------------------------------------------------------------------- stored features
def test_single_precision_features_are_summed_in_double():
    F, y = problem(n=5000, p=8)
    single = F.astype(np.float32)
    found = tight(single, y, C=10.0)
    exact = tight(single.astype(np.float64), y, C=10.0)
    np.testing.assert_allclose(found.coefficients, exact.coefficients, rtol=1e-8)
    assert found.kkt_residual <= 1e-10


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


def test_features_too_large_for_single_products_are_multiplied_in_double():
    F, y = problem(n=100)
    huge = Features((F * 1e18).astype(np.float32))
    assert ActiveGram(huge, np.ones(100)).dtype == np.float64
    assert solve_newton(huge, y, C=1e-30).converged


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


def test_features_that_stay_implicit_give_the_same_solution():
    """F = A M is formed for active rows only, and the answer is that for F itself."""
    generator = np.random.default_rng(6)
    A, M = generator.normal(size=(3000, 6)), generator.normal(size=(6, 5))
    y = np.where(A[:, 0] + generator.normal(size=3000) > 0, 1.0, -1.0)
    formed = []

    class Map:
        n_landmarks, n_features = 6, 5

        def apply(self, rows):
            formed.append(len(rows))
            return rows @ M

        def fold(self, w):
            return M @ w

        def unfold(self, gradient):
            return M.T @ gradient

    explicit, path = A @ M, [0.1, 10.0]
    norms = (explicit**2).sum(axis=1)
    rows = Features.mapped(lambda: A, Map(), None, np.float64, squared_norms=norms)
    for method in ("direct", "cg"):
        implicit = tight(rows, y, C=path, method=method, warm_up=False)
        reference = tight(explicit, y, C=path, method=method, warm_up=False)
        for found, expected in zip(implicit, reference, strict=True):
            np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-7)
            assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert sum(formed) < 3 * 3000


class Identity:
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
    norms = (F**2).sum(axis=1)
    exact = tight(A * 1e6, y, C=0.1, intercept="free")

    def rows(eps, dtype=np.float32):
        return Features.mapped(
            *(lambda: A.astype(dtype), Identity(5, 1e6), None, dtype),
            squared_norms=norms,
            error=eps,
            in_double=lambda: rows(np.finfo(float).eps, np.float64),
        )

    careful = tight(rows(np.finfo(np.float32).eps), y, C=0.1, intercept="free")
    assert "double precision" in careful.message
    np.testing.assert_allclose(careful.coefficients, exact.coefficients, rtol=1e-6)
    careless = tight(rows(0.0), y, C=0.1, intercept="free")
    assert "double" not in careless.message
    assert careful.objective == pytest.approx(exact.objective, rel=1e-9)
    assert abs(careless.objective / exact.objective - 1.0) > 1e-7


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_threads_give_what_one_gives(dtype, monkeypatch):
    F, y = problem(n=40_000, p=20)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("KERNLAB_NUM_THREADS", threads)
        results.append(tight(F.astype(dtype), y))
    np.testing.assert_allclose(results[0].coefficients, results[1].coefficients, atol=1e-9)


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


# ----------------------------------------------------------------- weights and hostile input
@METHOD
def test_weight_two_is_the_row_twice(method):
    F, y = problem(n=100)
    weights = np.where(np.arange(100) % 3 == 0, 2.0, np.where(np.arange(100) % 3 == 1, 1.0, 0.0))
    weighted = tight(F, y, sample_weight=weights, method=method)
    repeated = np.repeat(np.arange(100), weights.astype(int))
    twice = tight(F[repeated], y[repeated], method=method)
    np.testing.assert_allclose(weighted.coefficients, twice.coefficients, rtol=1e-7)
    assert weighted.objective == pytest.approx(twice.objective)


@INTERCEPT
def test_one_class_only(intercept):
    F, _ = problem(n=50)
    found = solve_newton(F, np.ones(50), C=10.0, intercept=intercept)
    assert found.converged
    if intercept == "free":
        np.testing.assert_allclose(found.coefficients, 0.0, atol=1e-9)
        assert found.intercept == pytest.approx(1.0)


@INTERCEPT
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_costs(C, intercept):
    for F, y in (problem(n=300, p=40), problem(n=300, p=5, noise=0.0)):
        found = solve_newton(F, y, C=C, intercept=intercept)
        assert found.converged
        assert found.relative_gap <= 1e-4


def test_features_without_content():
    y = np.where(np.arange(20) % 4 == 0, 1.0, -1.0)
    for F in (np.zeros((20, 3)), np.ones((20, 3)), sp.csr_matrix((20, 3))):
        for intercept in INTERCEPTS:
            found = solve_newton(F, y, C=1.0, intercept=intercept)
            assert found.converged
            assert found.relative_gap <= 1e-4
    nothing = solve_newton(np.ones((20, 3)), y, C=1.0, sample_weight=np.zeros(20))
    assert nothing.objective == 0.0


def test_too_few_steps_say_how_far_they_came():
    F, y = problem(n=300)
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations.*gap.*Raise max_iter"):
        found = solve_newton(F, y, C=10.0, max_iter=1, warm_up=False)
    assert not found.converged
    assert found.n_iter == 1


def test_the_callback_sees_every_step():
    F, y = problem(n=300)
    seen = []
    found = solve_newton(F, y, C=1.0, callback=seen.append)
    assert seen == list(found.trace)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": 0.0}, "C must be"),
        ({"C": np.nan}, "C must be"),
        ({"C": [1.0, -1.0]}, "C must be"),
        ({"intercept": "fixed"}, "intercept="),
        ({"method": "lu"}, "method="),
        ({"loss": "hinge"}, "loss='hinge'"),
        ({"sample_weight": np.full(200, -1.0)}, "sample_weight"),
        ({"start": (np.zeros(3), 0.0)}, "start must be"),
        ({"loss": "squared_epsilon_insensitive", "epsilon": -1.0}, "epsilon"),
    ],
)
def test_impossible_requests_are_refused(changes, message):
    F, y = problem()
    with pytest.raises(ValueError, match=message):
        solve_newton(F, y, **{"C": 1.0} | changes)


def test_bad_numbers_are_refused():
    F, y = problem()
    for bad in (np.nan, np.inf):
        spoilt = F.copy()
        spoilt[3, 2] = bad
        with pytest.raises(ValueError, match="not finite"):
            solve_newton(spoilt, y, C=1.0)
    with pytest.raises(ValueError, match="200 rows of features, but 199 labels"):
        solve_newton(F, y[:-1], C=1.0)
    with pytest.raises(ValueError, match="labels must be -1 and 1; these are"):
        solve_newton(F, y + 1, C=1.0)
    with pytest.raises(ValueError, match=r"200 rows of features, but 199 labels"):
        solve_newton(F, y[1:, None], C=1.0)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="targets hold values that are not finite"):
            solve_newton(F, np.append(y[1:], bad), C=1.0, loss="squared_epsilon_insensitive")
    with pytest.raises(ValueError, match="must be a matrix"):
        solve_newton(F[:, 0], y, C=1.0)
