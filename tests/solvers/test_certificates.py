"""Certificates against optima found by general-purpose optimisers, and whatever is offered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import dual_optimum, dual_value, primal_value

from kernlab.solvers import best_intercept, certify_dual, certify_primal, solve_newton
from kernlab.solvers.problems import LOSSES, get_loss, signs

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["free", "penalised", "none"])


def small_problem(seed=0, n=20):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = generator.uniform(0.5, 2.0, n)
    weights[5:7] = 0.0
    return np.hstack([X, X**2]), y, weights


# ----------------------------------------------------------------------- the dual
@LOSS
@INTERCEPT
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_the_optimum_is_recognised_and_points_near_it_are_told_from_it(loss, intercept, C):
    F, y, weights = small_problem()
    live = weights > 0
    K, costs = (F @ F.T)[np.ix_(live, live)], C * weights[live]
    problem = {"C": C, "loss": loss, "intercept": intercept, "sample_weight": weights}
    dual = np.zeros(len(y))
    dual[live] = dual_optimum(K, y[live], costs, loss, intercept)
    best = dual_value(K, y[live], dual[live], costs, loss, intercept)
    assert np.count_nonzero(dual > 1e-9) > 3  # the reference is not trivial

    certificate = certify_dual(lambda v: F @ (F.T @ v), y, dual, **problem)
    assert abs(certificate.relative_gap) < 1e-5
    assert certificate.kkt_residual < 1e-4  # how exact SLSQP is depends on the processor
    assert certificate.infeasibility < 1e-9
    assert certificate.dual == pytest.approx(best)
    primal = primal_value(K, y[live], dual[live], certificate.intercept, costs, loss, intercept)
    assert certificate.primal == pytest.approx(primal)

    near = certify_dual(lambda v: F @ (F.T @ v), y, 0.9 * dual, **problem)
    assert near.relative_gap > 1e-4
    assert near.kkt_residual > 1e-2
    generator = np.random.default_rng(1)
    for _ in range(20):
        anywhere = C * generator.uniform(-0.5, 1.5, len(y))
        found = certify_dual(lambda v: F @ (F.T @ v), y, anywhere, **problem)
        assert found.dual <= best * (1.0 + 1e-6)
        assert found.primal >= best * (1.0 - 1e-6)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(list(LOSSES)),
    intercept=st.sampled_from(["free", "penalised", "none"]),
    log_c=st.floats(-8, 8),
    b=st.none() | st.floats(-1e3, 1e3),
)
def test_the_gap_is_never_negative(seed, loss, intercept, log_c, b):
    """Whatever is offered: infeasible, negative, unbalanced; rows of weight zero; any C."""
    generator = np.random.default_rng(seed)
    n, C = generator.integers(1, 12), 10.0**log_c
    F = generator.normal(size=(n, 4)) * 10.0 ** generator.uniform(-3, 3)
    y = generator.choice([-1.0, 1.0], n)
    weights = generator.choice([0.0, 1.0, 3.0], n)
    dual = generator.normal(size=n) * C * 10.0 ** generator.uniform(-3, 3)
    w = generator.normal(size=4) * 10.0 ** generator.uniform(-3, 3)
    b = 0.0 if intercept == "none" else b
    problem = {"C": C, "loss": loss, "intercept": intercept, "sample_weight": weights}
    for certificate in (
        certify_dual(lambda v: F @ (F.T @ v), y, dual, b=b, **problem),
        certify_primal(F, y, w, b, dual=dual if seed % 2 else None, **problem),
    ):
        assert certificate.gap >= -1e-10 * (abs(certificate.primal) + abs(certificate.dual))


def test_a_feasible_point_is_left_alone_and_an_infeasible_one_is_measured():
    y = np.array([1.0, 1.0, -1.0])
    feasible = certify_dual(lambda v: v, y, [0.3, 0.2, 0.5], C=1.0)
    assert feasible.infeasibility == 0.0
    assert feasible.dual == pytest.approx(1.0 - 0.5 * (0.09 + 0.04 + 0.25))
    outside = certify_dual(lambda v: v, y, [1.5, -0.5, 1.0], C=1.0)
    assert outside.infeasibility == pytest.approx(1.0 / 3.0)
    unbalanced = certify_dual(lambda v: v, y, [0.6, 0.4, 0.5], C=1.0)
    assert unbalanced.infeasibility == pytest.approx(0.5 / 1.5)
    assert unbalanced.dual == pytest.approx(feasible.dual)  # the heavier class is scaled down
    assert certify_dual(lambda v: v, y, [0.6, 0.4, 0.5], C=1.0, intercept="none").infeasibility == 0


@LOSS
def test_an_integer_weight_is_so_many_rows(loss):
    F, y, _ = small_problem()
    K, repeats = F @ F.T, np.random.default_rng(3).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), repeats)
    dual = np.random.default_rng(4).uniform(0, 1, len(y)) * repeats
    once = certify_dual(lambda v: K @ v, y, dual, C=1.0, loss=loss, sample_weight=repeats)
    shared = (dual / np.maximum(repeats, 1))[rows]
    often = certify_dual(lambda v: K[np.ix_(rows, rows)] @ v, y[rows], shared, C=1.0, loss=loss)
    for name in ("primal", "dual", "kkt_residual"):
        assert getattr(once, name) == pytest.approx(getattr(often, name))


# ------------------------------------------------------------------------ the primal
@LOSS
@INTERCEPT
def test_weights_and_dual_variables_certify_alike(loss, intercept):
    F, y, weights = small_problem()
    dual = np.random.default_rng(5).uniform(0, 0.5, len(y)) * (weights > 0)
    if intercept == "free":
        dual[y > 0] *= dual[y < 0].sum() / dual[y > 0].sum()
    problem = {"C": 1.0, "loss": loss, "intercept": intercept, "sample_weight": weights}
    from_dual = certify_dual(lambda v: F @ (F.T @ v), y, dual, **problem)
    w = F.T @ (dual * y)
    from_primal = certify_primal(F, y, w, from_dual.intercept, dual=dual, **problem)
    for name in ("primal", "dual", "kkt_residual", "infeasibility", "intercept"):
        assert getattr(from_primal, name) == pytest.approx(getattr(from_dual, name), abs=1e-12)


def test_the_residual_sees_weights_that_are_not_those_of_the_dual():
    """For the squared hinge dual variables read off the margins always agree with the margins."""
    F, y, _ = small_problem()
    w = np.full(F.shape[1], 0.1)
    assert certify_primal(F, y, w, 0.0, C=1.0, intercept="none").kkt_residual > 0.1


def test_sums_over_rows_of_single_precision_are_taken_in_double():
    F, y, _ = small_problem(n=5000)
    single, w = F.astype(np.float32), np.linspace(-1, 1, F.shape[1]).astype(np.float32)
    found = certify_primal(single, y, w, 0.1, C=1.0)
    exact = certify_primal(single.astype(float), y, w.astype(float), 0.1, C=1.0)
    assert found.primal == pytest.approx(exact.primal, rel=1e-13)
    assert found.dual == pytest.approx(exact.dual, rel=1e-13)


# ----------------------------------------------------------------------- the intercept
def objective(b, scores, y, costs, loss, intercept):
    value = costs @ get_loss(loss).value(y * (scores + b))
    return value + 0.5 * b * b if intercept == "penalised" else value


rows_of_integers = st.lists(
    st.tuples(st.integers(-4, 4), st.sampled_from([-1.0, 1.0]), st.sampled_from([0.0, 1.0, 2.0])),
    min_size=1,
    max_size=9,
)
rows_of_reals = st.lists(
    st.tuples(st.floats(-1e6, 1e6), st.sampled_from([-1.0, 1.0]), st.floats(1e-3, 1e3)),
    min_size=1,
    max_size=9,
)


@settings(max_examples=400, deadline=None)
@given(
    rows=rows_of_integers | rows_of_reals,
    loss=st.sampled_from(list(LOSSES)),
    intercept=st.sampled_from(["free", "penalised"]),
)
def test_no_other_intercept_is_better(rows, loss, intercept):
    """Ties, flat stretches, rows of weight zero, one class only: compared with a grid and every
    kink."""
    scores, y, costs = map(np.array, zip(*rows, strict=True))
    b = best_intercept(scores, y, costs, get_loss(loss), intercept)
    kinks = y - scores
    around = b + max(1.0, abs(b)) * np.array([-1e-3, -1e-6, 1e-6, 1e-3])
    grid = np.linspace(kinks.min() - 1.0, kinks.max() + 1.0, 101)
    others = np.concatenate([kinks, around, grid, [0.0]])
    best = min(objective(other, scores, y, costs, loss, intercept) for other in others)
    size = costs.sum() * np.abs(kinks).max() ** (2 if loss == "squared_hinge" else 1)
    assert objective(b, scores, y, costs, loss, intercept) <= best + 1e-11 * (best + size)


# ---------------------------------------------------------------------- losses and refusals
@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
@given(cost=st.floats(1e-6, 1e6), share=st.floats(0.0, 1.0), margin=st.floats(-50, 50))
def test_the_dual_term_is_the_conjugate_of_the_loss_and_the_slope_its_derivative(
    loss, cost, share, margin
):
    """a - 1/2 diag a^2 = min over margins m of cost loss(m) + a m, for every a allowed."""
    a = share * cost if loss.name == "hinge" else share * 10 * cost
    assert a <= loss.upper(np.array([cost]))[0]
    margins = np.concatenate([np.linspace(-6.0, 2.0, 801), [1.0 - a / (2.0 * cost)]])
    lowest = np.min(cost * loss.value(margins) + a * margins)
    claimed = a - 0.5 * loss.dual_diagonal(np.array([cost]))[0] * a**2
    assert claimed == pytest.approx(lowest, rel=1e-9, abs=1e-9 * cost)
    if abs(margin - 1.0) > 1e-3:
        around = loss.value(np.array([margin - 1e-6, margin + 1e-6]))
        derivative = (around[0] - around[1]) / 2e-6
        assert loss.slope(np.array([margin]))[0] == pytest.approx(derivative, rel=1e-5, abs=1e-6)
    assert loss.value(np.array([1.0, 1e300])).max() == 0.0
    assert loss.upper(np.array([0.0]))[0] == 0.0


def test_other_hostile_arguments_are_named():
    y = np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="'logistic' is not one of hinge, squared_hinge"):
        get_loss("logistic")
    with pytest.raises(ValueError, match=r"must be -1 and 1; these are \[0. 1.\]"):
        signs([0, 1, 1], 3)
    with pytest.raises(ValueError, match="intercept='yes' is not one of free, penalised, none"):
        certify_dual(lambda v: v, y, [0.1, 0.1], C=1.0, intercept="yes")
    with pytest.raises(ValueError, match="3 rows of features, but labels of shape"):
        certify_primal(np.eye(3), y, np.ones(3), 0.0, C=1.0)
    with pytest.raises(ValueError, match="'none' leaves no place for b=0"):
        certify_primal(np.eye(2), y, np.ones(2), 0.5, C=1.0, intercept="none")


# --------------------------------------------------------------------------- LIBSVM
@pytest.mark.parametrize("cost", [1e-200, 1e-290])
def test_bounds_do_not_vanish_with_tiny_costs(cost):
    """In the limit the scores are zero, and both objectives are the sum of costs."""
    F, y = np.random.default_rng(0).normal(size=(20, 3)), np.tile([1.0, -1.0], 10)
    proof = certify_primal(F, y, np.zeros(3), None, C=cost, loss="squared_hinge")
    assert proof.dual == pytest.approx(proof.primal, rel=1e-9)
    found = solve_newton(F, y, C=cost, intercept="penalised")
    assert found.dual_objective == pytest.approx(20 * cost, rel=1e-9)
