"""ADMM on the hinge loss: against its definition written out, a linear programme, and LIBLINEAR."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

from kernlab.solvers import solve_dcd, solve_hinge_admm
from kernlab.solvers.hinge.admm import HingeProblem, solve_hinge_problems
from kernlab.solvers.hinge.interior_rows import _direction
from kernlab.solvers.hinge.steps import LinearStep, MixedStep, prox
from kernlab.solvers.linear.streamed import ArrayRows, SyrkSum, gram_matrix

M = 120
random = np.random.default_rng(0)
X = random.random((M, 2))
Y = np.where(X[:, 1] > 0.5 + 0.3 * np.sin(6 * X[:, 0]), 1.0, -1.0)
Y[random.random(M) < 0.15] *= -1
F = np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(4) for j in range(4 - i)])


def admm_by_the_book(A, y, steps, alpha=1.0, beta=1.0, weights=None):
    """Eqs. 10 to 12 with the inverse written out; returns u and |p - p_before|_H^2 of each step."""
    m, n = A.shape
    c = np.ones(m) if weights is None else weights
    u, v, w = np.zeros(n), y.copy(), np.zeros(m)
    inverse = np.linalg.inv(beta * A.T @ (c[:, None] * A) + alpha * np.eye(n))
    gamma = c.sum() * beta
    course = []
    for _ in range(steps):
        u_next = inverse @ (alpha * u + A.T @ (c * (beta * v - w)))
        zeta = A @ u_next + w / beta
        v_next = np.where(
            y * zeta >= 1, zeta, np.where(y * zeta <= 1 - 1 / gamma, zeta + y / gamma, y)
        )
        w_next = w + beta * (A @ u_next - v_next)
        change = alpha * np.sum((u_next - u) ** 2) + beta * np.sum(c * (v_next - v) ** 2)
        change += np.sum(c * (w_next - w) ** 2) / beta
        u, v, w = u_next, v_next, w_next
        course.append((u, change))
    return course


def linear_programme(A, y, weights=None):
    """The least mean hinge loss by an exact method."""
    m, n = A.shape
    c = np.ones(m) if weights is None else weights
    found = linprog(
        np.concatenate([np.zeros(n), c / c.sum()]),
        A_ub=np.hstack([-y[:, None] * A, -np.eye(m)]),
        b_ub=-np.ones(m),
        bounds=[(None, None)] * n + [(0, None)] * m,
        method="highs",
    )
    assert found.status == 0
    return found.fun


def loss(A, y, u, weights=None):
    return np.average(np.maximum(0.0, 1.0 - y * (A @ u)), weights=weights)


# ------------------------------------------------------------------------------- the parts
@given(zeta=st.floats(-5, 5), y=st.sampled_from([-1.0, 1.0]), gamma=st.floats(0.05, 50))
@settings(max_examples=200, deadline=None)
def test_the_prox_is_lowest(zeta, y, gamma):
    def value(v):
        return max(0.0, 1.0 - y * v) + 0.5 * gamma * (v - zeta) ** 2

    found = prox(zeta, y, gamma)
    searched = minimize_scalar(value, bounds=(-30, 30), method="bounded", options={"xatol": 1e-9})
    assert value(found) <= searched.fun + 1e-9
    for nearby in (found - 1e-4, found + 1e-4):
        assert value(found) <= value(nearby)


def test_both_linear_steps_solve_their_system():
    mix = np.random.default_rng(1).standard_normal((F.shape[1], 14))
    gram = F.T @ F
    u, g = np.random.default_rng(2).standard_normal((2, 14))
    expected = np.linalg.solve(
        0.7 * mix.T @ gram @ mix + 0.3 * np.eye(14), 0.3 * u + mix.T @ (gram @ mix @ g)
    )
    found, stored = MixedStep(gram, mix, alpha=0.3, beta=0.7)(u, gram @ mix @ g)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(stored, mix @ found)
    u, g = np.random.default_rng(3).standard_normal((2, F.shape[1]))
    expected = np.linalg.solve(0.7 * gram + 0.5 * np.eye(len(gram)), 0.3 * u + g)
    found, _ = LinearStep(gram, alpha=0.3, beta=0.7, ridge=0.2)(u, g)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@given(
    dz=st.floats(-3, 3),
    y=st.sampled_from([-1.0, 1.0]),
    a=st.floats(0.01, 0.99),
    xi=st.floats(0.01, 5),
    eta=st.floats(0.01, 5),
    centre=st.floats(0, 2),
)
@settings(max_examples=100, deadline=None)
def test_the_interior_direction_solves_newtons_equations(dz, y, a, xi, eta, centre):
    z, bend_a, bend_xi = 0.3, 0.01, -0.02
    da, dxi, deta = _direction(dz, y, z, a, xi, eta, centre, bend_a, bend_xi)
    scale = 1.0 + abs(da) * (xi + eta) + abs(dxi) + abs(deta)
    assert eta * da + a * deta + eta * a + bend_a == pytest.approx(centre, abs=1e-9 * scale)
    left = (1 - a) * dxi - xi * da + xi * (1 - a) - bend_xi
    assert left == pytest.approx(centre, abs=1e-9 * scale)
    assert (xi + dxi) - (eta + deta) == pytest.approx(1 - y * (z + dz), abs=1e-9 * scale)


def test_a_gram_matrix_with_eigenvalues_below_zero_is_repaired():
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    gram = (vectors * [1e12, 1e8, 1.0, -1e-3, -5.0, 0.0]) @ vectors.T
    gram = (gram + gram.T) / 2
    right = vectors @ np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    for step in (
        LinearStep(gram, alpha=1.0, beta=1.0),
        MixedStep(gram, np.eye(6), alpha=1.0, beta=1.0),
    ):
        u, _ = step(np.zeros(6), right)
        assert np.all(np.isfinite(u))
        assert vectors[:, 0] @ u == pytest.approx(1e-12, rel=1e-2)
        assert np.abs(u).max() < 10


def test_a_step_without_squaring_keeps_what_a_gram_matrix_loses():
    """Features whose smallest direction is 1e-9 of the largest: its square drowns in rounding."""
    mix = np.diag([1e9, 1.0])
    step = MixedStep(np.eye(2), mix, alpha=1.0, beta=1.0)
    u, _ = step(np.zeros(2), np.array([1.0, 1.0]))
    np.testing.assert_allclose(u, [1e9 / (1e18 + 1), 0.5], rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["dense", "columns", "single", "sparse", "constant"])
def test_blocks_of_arrays_and_their_gram_matrix(kind, weighted, monkeypatch):
    monkeypatch.setattr("kernlab.solvers.linear.streamed.GRAM_BYTES", 8 * 33 * F.shape[1])
    given = {
        "dense": F,
        "columns": np.asfortranarray(F),
        "single": F.astype(np.float32),
        "sparse": sp.csr_matrix(F),
        "constant": F,
    }[kind]
    rows = ArrayRows(given, constant=kind == "constant")
    expected = np.asarray(given.toarray() if kind == "sparse" else given, dtype=np.float64)
    if kind == "constant":
        expected = np.column_stack([expected, np.ones(M)])
    np.testing.assert_array_equal(rows.fill(slice(5, 25), rows.room(40)), expected[5:25].T)
    weights = np.random.default_rng(4).random(M) if weighted else None
    scaled = expected if weights is None else expected * weights[:, None]
    np.testing.assert_allclose(gram_matrix(rows, weights), scaled.T @ expected, rtol=1e-12)


def test_sums_merge():
    whole, first, second = SyrkSum(3), SyrkSum(3), SyrkSum(3)
    block = np.random.default_rng(0).standard_normal((3, 20))
    whole.add(block, None)
    first.add(np.ascontiguousarray(block[:, :8]), None)
    second.add(np.asfortranarray(block[:, 8:]), None)
    first.merge(second)
    np.testing.assert_allclose(first.matrix(), whole.matrix())
    np.testing.assert_allclose(whole.matrix(), block @ block.T)


# --------------------------------------------------------------------- the paper's iterates
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.01, 1.0), (1.0, 30.0), (5.0, 0.02)])
def test_iterates_are_those_of_the_equations(alpha, beta):
    for steps, (u, change) in enumerate(admm_by_the_book(F, Y, 8, alpha, beta), start=1):
        result = solve_hinge_admm(F, Y, alpha=alpha, beta=beta, tol=0, max_iter=steps)
        np.testing.assert_allclose(result.coefficients, u, rtol=1e-8, atol=1e-10)
        assert result.trace[-1]["change"] == pytest.approx(change, rel=1e-7, abs=1e-12)
        assert result.trace[-1]["objective"] == pytest.approx(loss(F, Y, u), rel=1e-9)
        assert result.n_iter == steps


def test_blocks_and_threads_give_the_dense_iterates(monkeypatch):
    book = admm_by_the_book(F, Y, 5)
    monkeypatch.setattr("kernlab.solvers.linear.streamed.PASS_BYTES", 1)  # the smallest blocks
    monkeypatch.setattr("kernlab.solvers.linear.streamed.VALUES_PER_THREAD", 100)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "3")
    result = solve_hinge_admm(F, Y, tol=0, max_iter=5)
    np.testing.assert_allclose(result.coefficients, book[-1][0], rtol=1e-8)


def test_mixed_features_give_the_iterates_of_their_product():
    mix = np.random.default_rng(5).standard_normal((F.shape[1], 13)) * np.logspace(0, 4, 13)
    problem = HingeProblem(positive=1, mix=mix)
    codes = Y.astype(np.int16)
    result = solve_hinge_problems(ArrayRows(F), codes, [problem], tol=0, max_iter=5)[0]
    u = admm_by_the_book(F @ mix, Y, 5)[-1][0]
    scores = F @ mix @ u
    np.testing.assert_allclose(F @ mix @ result.coefficients, scores, atol=1e-7)
    assert result.objective == pytest.approx(np.maximum(0, 1 - Y * scores).mean(), rel=1e-7)


def test_the_first_step_is_ridge_regression_on_the_labels():
    ridge = Ridge(alpha=1.0, fit_intercept=False, solver="cholesky").fit(F, Y)
    result = solve_hinge_admm(F, Y, max_iter=1)
    np.testing.assert_allclose(result.coefficients, ridge.coef_, rtol=1e-9)


def test_successive_differences_never_grow():
    """Theorem 2."""
    changes = solve_hinge_admm(F, Y, tol=0, max_iter=300).trace_table()["change"].to_numpy()
    assert np.all(changes[1:] <= changes[:-1] * (1 + 1e-9))
    assert changes[-1] < 0.02 * changes[1]


def test_it_stops_at_the_first_small_difference(recwarn):
    changes = solve_hinge_admm(F, Y, tol=0, max_iter=50).trace_table()["change"].to_numpy()
    tol = 0.5 * (changes[20] + changes[19])
    result = solve_hinge_admm(F, Y, tol=tol, max_iter=50)
    assert result.n_iter == 21
    assert result.converged
    short = solve_hinge_admm(F, Y, tol=0, max_iter=5)
    assert not short.converged
    assert short.dual_objective is None
    assert "stopped as set, with |p - p_before|_H^2" in short.message
    assert not recwarn.list, "a prescribed number of steps is not a failure"


def test_each_step_is_reported_as_it_happens():
    seen = []
    result = solve_hinge_admm(F, Y, max_iter=4, tol=0, callback=seen.append)
    assert [row["iteration"] for row in seen] == [1, 2, 3, 4]
    np.testing.assert_array_equal(seen[-1]["coefficients"], result.coefficients)
    assert {"objective", "residual", "change", "seconds"} <= result.trace[0].keys()


# --------------------------------------------------------------------------- the optimum
def test_it_reaches_the_linear_programme():
    best = linear_programme(F, Y)
    result = solve_hinge_admm(F, Y, to_optimum=True)
    assert 0.1 < best < 0.9, "an optimum that is neither trivial nor perfect"
    assert result.converged
    assert loss(F, Y, result.coefficients) == pytest.approx(result.objective, rel=1e-9)
    assert best - 1e-9 <= result.objective <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= result.dual_objective <= best + 1e-9
    assert result.kkt_residual < 1e-6
    assert result.n_iter < 40
    early = solve_hinge_admm(F, Y)
    assert early.objective > 1.05 * best
    assert early.kkt_residual > 0.2


def test_its_dual_variables_solve_the_dual():
    """Proposition 2: 0 <= a <= 1/m, A^T (y a) = 0, and sum a is the optimum."""
    result = solve_hinge_admm(F, Y, to_optimum=True)
    a = result.dual_variables
    assert a.min() >= -1e-12
    assert a.max() <= 1 / M + 1e-12
    assert np.linalg.norm(F.T @ (Y * a)) < 1e-8
    assert a.sum() == pytest.approx(linear_programme(F, Y), rel=1e-6)


def test_the_bound_holds_at_every_check():
    """No function as large as the iterate, the shrunk optimum say, is better than its bound."""
    best = linear_programme(F, Y)
    size = np.linalg.norm(F @ solve_hinge_admm(F, Y, to_optimum=True).coefficients)
    bounds = []

    def check(row):
        share = min(1.0, np.linalg.norm(F @ row["coefficients"]) / size)
        assert row["dual_objective"] <= share * best + (1 - share) + 1e-9
        bounds.append(row["dual_objective"])

    solve_hinge_admm(F, Y, to_optimum=True, callback=check)
    assert len(bounds) > 5
    assert bounds[-1] > 0.99 * best


def test_separable_rows_reach_zero():
    y = np.where(X[:, 0] > 0.5, 1.0, -1.0)
    result = solve_hinge_admm(F, y, to_optimum=True)
    assert result.converged
    assert result.objective < 1e-6


def test_features_that_depend_on_each_other_do_no_harm():
    doubled = np.column_stack([F, F[:, :4], np.zeros(M)])
    result = solve_hinge_admm(doubled, Y, to_optimum=True)
    assert result.converged
    assert result.objective == pytest.approx(linear_programme(F, Y), rel=1e-5)


def test_mixed_features_reach_the_optimum_of_their_space():
    mix = np.random.default_rng(5).standard_normal((F.shape[1], 13))
    problem = HingeProblem(positive=1, mix=mix)
    result = solve_hinge_problems(ArrayRows(F), Y.astype(int), [problem], to_optimum=True)[0]
    assert result.converged
    assert loss(F @ mix, Y, result.coefficients) <= linear_programme(F, Y) * (1 + 1e-5)


def test_a_basis_that_cannot_hold_the_optimum_is_reported():
    hopeless = np.vander(np.linspace(1, 1.001, F.shape[1]), F.shape[1])
    problem = HingeProblem(positive=1, mix=hopeless)
    with pytest.warns(ConvergenceWarning, match="cannot hold the minimiser in double precision"):
        result = solve_hinge_problems(ArrayRows(F), Y.astype(int), [problem], to_optimum=True)[0]
    assert not result.converged


def test_a_gap_that_stays_open_is_warned_about_once():
    with pytest.warns(ConvergenceWarning, match=r"duality gap of .* above the tolerance") as caught:
        result = solve_hinge_admm(F, Y, to_optimum=True, max_iter=4)
    assert len(caught) == 1
    assert not result.converged
    assert result.n_iter == 4


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", ["none", "penalised"])
@pytest.mark.parametrize("to_optimum", [False, True])
def test_with_C_it_is_the_support_vector_machine(C, intercept, to_optimum):
    settings = {} if to_optimum else {"tol": 1e-5, "max_iter": 100_000}
    ours = solve_hinge_admm(F, Y, C=C, intercept=intercept, to_optimum=to_optimum, **settings)
    other = solve_dcd(F, Y, C=C, intercept=intercept, tol=1e-6, max_iter=200_000)
    assert ours.converged
    assert ours.objective == pytest.approx(other.objective, rel=1e-4)
    assert ours.dual_objective <= other.objective * (1 + 1e-6)
    decisions = F @ ours.coefficients + ours.intercept
    value = 0.5 * ours.coefficients @ ours.coefficients + C * np.maximum(0, 1 - Y * decisions).sum()
    value += 0.5 * ours.intercept**2
    assert ours.objective == pytest.approx(value, rel=1e-9)
    assert np.all((ours.dual_variables >= -1e-12) & (ours.dual_variables <= C * (1 + 1e-9)))


def test_a_start_near_the_optimum_saves_steps():
    cold = solve_hinge_admm(F, Y, C=100.0)
    warm = solve_hinge_admm(F, Y, C=100.0, start=cold.coefficients)
    assert warm.n_iter < cold.n_iter
    best = solve_hinge_admm(F, Y, to_optimum=True)
    again = solve_hinge_admm(F, Y, to_optimum=True, start=0.9 * best.coefficients)
    assert again.objective == pytest.approx(best.objective, rel=1e-5)
    before = np.maximum(0, 1 - Y * (F @ (0.9 * best.coefficients))).mean()
    assert again.trace[0]["objective"] == pytest.approx(before)
    with pytest.raises(ValueError, match="start must be 10 weights"):
        solve_hinge_admm(F, Y, start=np.zeros(3))


# -------------------------------------------------------------------------------- weights
WEIGHTS = np.random.default_rng(6).integers(0, 4, M).astype(float)
REPEATED = np.repeat(np.arange(M), WEIGHTS.astype(int))


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_weights_are_repetitions_in_every_iterate(steps):
    weighted = solve_hinge_admm(F, Y, sample_weight=WEIGHTS, tol=0, max_iter=steps)
    repeated = solve_hinge_admm(F[REPEATED], Y[REPEATED], tol=0, max_iter=steps)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-8)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    for ours, theirs in zip(weighted.trace, repeated.trace, strict=True):
        assert ours["change"] == pytest.approx(theirs["change"], rel=1e-6)


def test_weights_count_at_the_optimum():
    result = solve_hinge_admm(F, Y, sample_weight=WEIGHTS, to_optimum=True)
    best = linear_programme(F, Y, WEIGHTS)
    assert best <= result.objective <= best * (1 + 1e-5)
    assert best * (1 - 1e-5) <= result.dual_objective <= best
    assert result.dual_variables.sum() == pytest.approx(result.objective, rel=1e-5)
    assert np.all(result.dual_variables <= WEIGHTS / WEIGHTS.sum() + 1e-12)


# -------------------------------------------------------------------------- many at once
@pytest.mark.parametrize("to_optimum", [False, True])
def test_problems_solved_together_are_those_solved_alone(to_optimum):
    """Classes and leading features share the passes, not their course."""
    codes = (3 * X[:, 0]).astype(int)
    problems = [HingeProblem(k, width) for k in range(3) for width in (3, None)]
    together = solve_hinge_problems(ArrayRows(F), codes, problems, to_optimum=to_optimum)
    for problem, result in zip(problems, together, strict=True):
        features, y = F[:, : problem.width], np.where(codes == problem.positive, 1.0, -1.0)
        alone = solve_hinge_admm(features, y, to_optimum=to_optimum)
        assert result.n_iter == alone.n_iter
        tol = 1e-3 if to_optimum else 1e-6
        np.testing.assert_allclose(result.coefficients, alone.coefficients, rtol=tol, atol=1e-9)


def test_a_known_gram_matrix_is_used():
    rows = ArrayRows(F)
    gram = gram_matrix(rows)
    rows.gram_sum = lambda: pytest.fail("the Gram matrix was computed again")
    known = solve_hinge_problems(rows, Y.astype(int), [HingeProblem(1)], gram=gram)[0]
    np.testing.assert_allclose(known.coefficients, solve_hinge_admm(F, Y).coefficients, rtol=1e-12)


# ----------------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "squared_hinge"}, "minimises the hinge loss"),
        ({"intercept": "free"}, "offers intercept='none' or 'penalised'"),
        ({"alpha": 0.0}, "alpha must be a positive number"),
        ({"beta": np.nan}, "beta must be a positive number"),
        ({"C": -1.0}, "C must be a positive number"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": -1.0}, "tol must not be negative"),
        ({"sample_weight": np.ones(3)}, "sample_weight must be 120 numbers"),
        ({"sample_weight": np.zeros(M)}, "all sample weights are zero"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        solve_hinge_admm(F, Y, **changes)


def test_bad_labels_and_features_are_refused():
    with pytest.raises(ValueError, match="labels must be -1 and 1"):
        solve_hinge_admm(F, Y + 1)
    with pytest.raises(ValueError, match="120 rows of features, but labels of shape"):
        solve_hinge_admm(F, Y[:10])
    broken = F.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="values that are not finite"):
        solve_hinge_admm(broken, Y)
    with pytest.raises(ValueError, match="too large"), np.errstate(over="ignore"):
        solve_hinge_admm(F * 1e200, Y)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 7)])
def test_the_smallest_problems(shape):
    features = np.ones(shape)
    y = np.where(np.arange(shape[0]) % 2 == 0, 1.0, -1.0)
    result = solve_hinge_admm(features, y, to_optimum=True)
    assert result.converged
    assert result.objective == pytest.approx(linear_programme(features, y), abs=1e-6)
