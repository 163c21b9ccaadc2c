"""The hinge's minimiser, whatever the features: against a linear programme, and LIBLINEAR's."""

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import PolynomialMap
from kernlab.features import Features
from kernlab.solvers import solve_hinge_interior
from kernlab.solvers.hinge import interior

M = 400
WEIGHTS = np.random.default_rng(6).integers(0, 4, M).astype(float)


def plain(degree=3):
    """Features whose optimum is neither trivial nor perfect."""
    rng = np.random.default_rng(0)
    X = rng.random((M, 2))
    y = np.where(X[:, 1] > 0.5 + 0.3 * np.sin(6 * X[:, 0]), 1.0, -1.0)
    y[rng.random(M) < 0.15] *= -1
    powers = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    return np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i, j in powers]), y


def huddled(spread, degree):
    """Features of rows along a line in a corner of their box, which a tenth of them stretch.

    Those are of both classes at each place, so that no function of huge scores gains from them.
    """
    rng = np.random.default_rng(0)
    t, off = rng.random(M), rng.standard_normal(M)
    X = 0.02 * np.column_stack([t, t + spread * off])
    y = np.where(np.sin(9 * t) + 0.5 * off > 0.3, 1.0, -1.0)
    y[rng.random(M) < 0.2] *= -1
    X[:40] = np.tile([[1, 1], [0, 1], [1, 0], [0, 0]], (10, 1))
    y[:12], y[12:40] = 1.0, -1.0
    return PolynomialMap(degree, basis="chebyshev").fit(X).transform(X), y


def linear_programme(F, y, weights=None):
    """The least mean hinge loss, in coordinates that no solver minds."""
    m = len(F)
    c = np.ones(m) if weights is None else weights
    Q = scipy.linalg.orth(F, rcond=1e-14) * np.sqrt(m)
    n = Q.shape[1]
    found = linprog(
        np.concatenate([np.zeros(n), c / c.sum()]),
        A_ub=np.hstack([-y[:, None] * Q, -np.eye(m)]),
        b_ub=-np.ones(m),
        bounds=[(None, None)] * n + [(0, None)] * m,
    )
    assert found.status == 0
    return found.fun


def loss(F, y, u, weights=None):
    return np.average(np.maximum(0.0, 1.0 - y * (F @ u)), weights=weights)


# --------------------------------------------------------------------------- the optimum
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_it_reaches_the_linear_programme_and_its_dual(weights):
    """Proposition 2: 0 <= a <= c / M, A^T (y a) = 0, and sum a is the optimum."""
    F, y = plain()
    best = linear_programme(F, y, weights)
    result = solve_hinge_interior(F, y, sample_weight=weights)
    assert 0.1 < best < 0.9
    assert result.converged
    assert result.solver == "hinge-interior"
    assert loss(F, y, result.coefficients, weights) == pytest.approx(result.objective, rel=1e-9)
    assert best - 1e-9 <= result.objective <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= result.dual_objective <= best + 1e-9
    assert result.kkt_residual < 1e-6
    assert result.n_iter < 40
    a, top = result.dual_variables, 1 / M if weights is None else WEIGHTS / WEIGHTS.sum()
    assert np.all((a >= -1e-12) & (a <= top + 1e-12))
    assert np.linalg.norm(F.T @ (y * a)) < 1e-8
    assert a.sum() == pytest.approx(best, rel=1e-6)


def test_the_bound_holds_at_every_step():
    """No function as large as the iterate, the shrunk optimum say, is better than its bound."""
    F, y = plain()
    best, bounds = linear_programme(F, y), []
    size = np.linalg.norm(F @ solve_hinge_interior(F, y).coefficients)

    def check(row):
        share = min(1.0, np.linalg.norm(F @ row["coefficients"]) / size)
        assert row["dual_objective"] <= share * best + (1 - share) + 1e-9
        bounds.append(row["dual_objective"])

    solve_hinge_interior(F, y, callback=check)
    assert len(bounds) > 5
    assert bounds[-1] > 0.99 * best


@pytest.mark.parametrize("case", ["separable", "dependent", "single", "pair", "wide"])
def test_problems_at_the_edge(case):
    F, y = plain()
    if case == "separable":
        y = np.where(F[:, 1] > 0.5, 1.0, -1.0)
    elif case == "dependent":
        F = np.column_stack([F, F[:, :4], np.zeros(M)])
    else:
        shape = {"single": (1, 1), "pair": (2, 1), "wide": (3, 7)}[case]
        F, y = np.ones(shape), np.where(np.arange(shape[0]) % 2 == 0, 1.0, -1.0)
    result = solve_hinge_interior(F, y)
    assert result.converged
    assert result.objective == pytest.approx(linear_programme(F, y), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("spread", "degree", "condition"), [(0.1, 5, 5e11), (0.01, 4, 1e11), (0.001, 3, 7e8)]
)
def test_features_that_nearly_depend_reach_the_programme_with_a_certificate(
    spread, degree, condition
):
    F, y = huddled(spread, degree)
    assert np.linalg.cond(F) > 0.9 * condition
    seen = []
    result = solve_hinge_interior(F, y, tol=1e-4, callback=seen.append)
    best = linear_programme(F, y)
    assert result.converged
    assert result.n_iter < 60
    assert best * (1 - 1e-6) <= result.objective <= best * (1 + 1e-3)
    assert result.dual_objective <= best * (1 + 1e-6)
    assert loss(F, y, result.coefficients) == pytest.approx(result.objective, rel=1e-9)
    assert loss(F, y, seen[-1]["coefficients"]) == pytest.approx(result.objective, rel=1e-4)
    assert [row["iteration"] for row in result.trace] == list(range(len(result.trace)))


def test_weights_and_blocks_are_heeded_there(monkeypatch):
    F, y = huddled(0.01, 4)
    twice = np.where(np.arange(M) % 3 == 0, 2.0, 1.0)
    repeated = np.repeat(np.arange(M), twice.astype(int))
    weighted = solve_hinge_interior(F, y, sample_weight=twice)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.GRAM_BYTES", 1)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.VALUES_PER_THREAD", 100)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "3")
    whole = solve_hinge_interior(F[repeated], y[repeated])
    assert weighted.converged
    assert weighted.objective == pytest.approx(whole.objective, rel=1e-5)


def test_weights_next_to_zero_are_weights():
    F, y = plain()
    usual = solve_hinge_interior(F, y, sample_weight=WEIGHTS)
    tiny = solve_hinge_interior(F, y, sample_weight=1e-290 * WEIGHTS)
    assert tiny.converged
    np.testing.assert_allclose(tiny.coefficients, usual.coefficients, rtol=1e-4, atol=1e-6)
    assert tiny.objective == pytest.approx(usual.objective, rel=1e-9)


def test_a_run_that_stops_early_is_followed_by_one_that_does_not():
    """Well-conditioned, but nearly separable: the scores grow far beyond 1 and steps are short."""
    rng = np.random.default_rng(3)
    X = rng.random((M, 2))
    y = np.where(X[:, 0] > 0.5 + 0.1 * np.sin(9 * X[:, 1]), 1.0, -1.0)
    F = PolynomialMap(4, basis="chebyshev").fit(X).transform(X)
    y[np.argsort(np.abs(X[:, 0] - 0.5))[::40][:3]] *= -1
    one = solve_hinge_interior(F, y)
    assert one.converged
    assert one.objective == pytest.approx(linear_programme(F, y), rel=1e-3, abs=1e-7)


# --------------------------------------------------------------- what falls short, and what is lost
class Clock:
    """A second for every look at it."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("C", [None, 10.0])
@pytest.mark.parametrize("begins", ["from nothing", "from a start"])
@pytest.mark.parametrize("seconds", [2, 15, 60])
def test_when_the_time_is_over_the_best_so_far_is_handed_back(seconds, begins, C, monkeypatch):
    F, y = plain()
    start = None
    if begins == "from a start":
        start = 0.9 * solve_hinge_interior(F, y, C=C, tol=1e-2).coefficients
    clock = Clock()
    for module in ("passes", "interior"):
        monkeypatch.setattr(f"kernlab.solvers.hinge.{module}.time", clock)
    seen, limits = [], {"max_seconds": seconds, "tol": 1e-12}
    with pytest.warns(ConvergenceWarning, match=r"time \(max_seconds\) is over after .* early"):
        found = solve_hinge_interior(F, y, C=C, start=start, callback=seen.append, **limits)
    u = found.coefficients
    value = loss(F, y, u) if C is None else 0.5 * u @ u + C * M * loss(F, y, u)
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert not found.converged
    assert found.n_iter == max(0, len(seen) - 1) == len(found.trace) - 1
    first = np.zeros(F.shape[1]) if start is None else start
    before = loss(F, y, first) if C is None else 0.5 * first @ first + C * M * loss(F, y, first)
    assert found.objective <= before * (1 + 1e-12)
    assert 0.0 <= found.dual_objective <= found.objective
    if C is not None:
        a = found.dual_variables
        pulled = F.T @ (y * a)
        assert np.all((a >= 0.0) & (a <= C))
        assert found.dual_objective == pytest.approx(a.sum() - 0.5 * pulled @ pulled, rel=1e-9)
    assert clock.now < seconds + 20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "where it is stuck"])
def test_where_the_time_ends_before_another_basis_is_there_the_weights_so_far_are_taken(
    monkeypatch, at_once
):
    asked = []

    def late(*_):
        asked.append(1)
        raise interior.OutOfTimeError

    monkeypatch.setattr(interior, "orthonormal_mix", late)
    monkeypatch.setattr(interior, "nearly_dependent", lambda gram: at_once)
    monkeypatch.setattr(interior, "STEPS_AS_GIVEN", 2)
    F, y = plain()
    found = solve_hinge_interior(F, y)
    assert len(asked) == 1 + at_once
    assert found.objective == pytest.approx(loss(F, y, found.coefficients), rel=1e-9)
    assert found.objective < 1.0


def test_a_long_search_is_told_beforehand(monkeypatch):
    monkeypatch.setattr("kernlab.solvers.hinge.interior.LONG", 0.0)
    with pytest.warns(UserWarning, match=r"a step .* 10 features of 400 rows: .* \(max_seconds\)"):
        solve_hinge_interior(*plain())


def test_objective_and_gap_are_those_of_the_coefficients_also_where_a_basis_loses_them():
    """Combinations of the features are asked for their weights after all."""
    F, y = huddled(0.1, 4)
    good = np.random.default_rng(5).standard_normal((F.shape[1], F.shape[1]))
    result = solve_hinge_interior(Features(F).combined(good), y, tol=1e-4)
    assert result.converged
    assert result.objective == pytest.approx(linear_programme(F, y), rel=1e-3)
    assert loss(F @ good, y, result.coefficients) == pytest.approx(result.objective, rel=1e-6)
    powers = np.linspace(1.0, 1.001, F.shape[1])[:, None] ** np.arange(F.shape[1])
    for F, y in (plain(), huddled(0.1, 4)):  # the features as given, and orthonormal ones
        basis = powers[: F.shape[1], : F.shape[1]]
        with pytest.warns(ConvergenceWarning, match="cannot hold the minimiser in double"):
            result = solve_hinge_interior(Features(F).combined(basis), y, tol=1e-4)
        reached = loss(F, y, basis @ result.coefficients)
        assert result.objective == pytest.approx(reached, rel=1e-6)
        assert result.trace[-1]["objective"] == result.objective <= 1.0
        assert not result.converged
