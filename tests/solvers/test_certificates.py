"""Certificates against optima found by general-purpose optimisers, and against LIBSVM."""

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_qp import dual_optimum, dual_value, primal_value
from sklearn.datasets import load_breast_cancer, load_svmlight_file
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from kernlab.kernels import RBF, kernel_product
from kernlab.solvers import best_intercept, certify_dual, certify_primal
from kernlab.solvers.losses import LOSSES, get_loss

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["free", "penalised", "none"])


def small_problem(seed=0, n=20):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return np.hstack([X, X**2]), y, generator.uniform(0.5, 2.0, n)


# ----------------------------------------------------------------------- the dual
@LOSS
@INTERCEPT
@pytest.mark.parametrize("C", [1e-2, 1.0, 100.0])
def test_the_optimum_is_recognised(loss, intercept, C):
    F, y, weights = small_problem()
    K, costs = F @ F.T, C * weights
    dual = dual_optimum(K, y, costs, loss, intercept)
    assert np.count_nonzero(dual > 1e-9) > 3  # the reference is not trivial
    certificate = certify_dual(
        lambda v: K @ v, y, dual, C=C, loss=loss, intercept=intercept, sample_weight=weights
    )
    assert abs(certificate.relative_gap) < 1e-6
    assert certificate.kkt_residual < 1e-5
    assert certificate.infeasibility < 1e-9
    b = certificate.intercept
    assert certificate.dual == pytest.approx(dual_value(K, y, dual, costs, loss, intercept))
    assert certificate.primal == pytest.approx(primal_value(K, y, dual, b, costs, loss, intercept))


@LOSS
@INTERCEPT
def test_a_point_near_the_optimum_is_not_mistaken_for_it(loss, intercept):
    F, y, weights = small_problem()
    K = F @ F.T
    dual = dual_optimum(K, y, weights, loss, intercept)
    certificate = certify_dual(
        lambda v: K @ v, y, 0.9 * dual, C=1.0, loss=loss, intercept=intercept, sample_weight=weights
    )
    assert certificate.relative_gap > 1e-4
    assert certificate.kkt_residual > 1e-2


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
    for certificate in (
        certify_dual(
            lambda v: F @ (F.T @ v),
            y,
            dual,
            C=C,
            loss=loss,
            intercept=intercept,
            b=0.0 if intercept == "none" else b,
            sample_weight=weights,
        ),
        certify_primal(
            F,
            y,
            generator.normal(size=4) * 10.0 ** generator.uniform(-3, 3),
            0.0 if intercept == "none" else b,
            C=C,
            loss=loss,
            intercept=intercept,
            dual=dual if seed % 2 else None,
            sample_weight=weights,
        ),
    ):
        size = abs(certificate.primal) + abs(certificate.dual)
        assert certificate.gap >= -1e-10 * size


@LOSS
@INTERCEPT
def test_both_bounds_enclose_the_optimum(loss, intercept):
    F, y, weights = small_problem()
    K = F @ F.T
    best = dual_value(K, y, dual_optimum(K, y, weights, loss, intercept), weights, loss, intercept)
    generator = np.random.default_rng(1)
    for _ in range(20):
        certificate = certify_dual(
            lambda v: K @ v,
            y,
            generator.uniform(-0.5, 1.5, len(y)),
            C=1.0,
            loss=loss,
            intercept=intercept,
            sample_weight=weights,
        )
        assert certificate.dual <= best + 1e-6
        assert certificate.primal >= best - 1e-6


@LOSS
@INTERCEPT
def test_weights_alone_are_certified_with_their_best_intercept(loss, intercept):
    F, y, weights = small_problem()
    w = np.random.default_rng(2).normal(size=F.shape[1])
    settings = {"C": 1.0, "loss": loss, "intercept": intercept, "sample_weight": weights}
    found = certify_primal(F, y, w, None, **settings)
    for step in (-1e-2, -1e-4, 1e-4, 1e-2):
        if intercept != "none":
            moved = certify_primal(F, y, w, found.intercept + step, **settings)
            assert moved.primal >= found.primal * (1.0 - 1e-12)
    assert found.gap >= 0.0


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
def test_rows_of_weight_zero_count_for_nothing(loss):
    F, y, weights = small_problem()
    K = F @ F.T
    dual = np.random.default_rng(0).uniform(0, 1, len(y))
    weights[5:9] = 0.0
    live = weights > 0
    both = [
        certify_dual(
            lambda v, rows=rows: K[np.ix_(rows, rows)] @ v,
            y[rows],
            dual[rows],
            C=1.0,
            loss=loss,
            intercept="none",
            sample_weight=weights[rows],
        )
        for rows in (np.arange(len(y)), np.flatnonzero(live))
    ]
    assert both[0].dual == pytest.approx(both[1].dual)
    assert both[0].primal == pytest.approx(both[1].primal)
    assert both[0].kkt_residual == pytest.approx(both[1].kkt_residual)


@LOSS
def test_an_integer_weight_is_so_many_rows(loss):
    F, y, _ = small_problem()
    K, repeats = F @ F.T, np.random.default_rng(3).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), repeats)
    dual = np.random.default_rng(4).uniform(0, 1, len(y)) * repeats
    once = certify_dual(lambda v: K @ v, y, dual, C=1.0, loss=loss, sample_weight=repeats)
    shared = (dual / np.maximum(repeats, 1))[rows]
    often = certify_dual(lambda v: K[np.ix_(rows, rows)] @ v, y[rows], shared, C=1.0, loss=loss)
    assert once.primal == pytest.approx(often.primal)
    assert once.dual == pytest.approx(often.dual)


# ------------------------------------------------------------------------ the primal
@LOSS
@INTERCEPT
def test_weights_and_dual_variables_certify_alike(loss, intercept):
    F, y, weights = small_problem()
    dual = np.random.default_rng(5).uniform(0, 0.5, len(y))
    if intercept == "free":
        dual[y > 0] *= dual[y < 0].sum() / dual[y > 0].sum()
    from_dual = certify_dual(
        lambda v: F @ (F.T @ v), y, dual, C=1.0, loss=loss, intercept=intercept,
        sample_weight=weights,
    )  # fmt: skip
    from_primal = certify_primal(
        F, y, F.T @ (dual * y), from_dual.intercept, C=1.0, loss=loss, intercept=intercept,
        dual=dual, sample_weight=weights,
    )  # fmt: skip
    for name in ("primal", "dual", "kkt_residual", "infeasibility", "intercept"):
        assert getattr(from_primal, name) == pytest.approx(getattr(from_dual, name), abs=1e-12)


def test_the_residual_sees_weights_that_are_not_those_of_the_dual():
    """For the squared hinge dual variables read off the margins always agree with the margins."""
    F, y, _ = small_problem()
    w = np.full(F.shape[1], 0.1)
    assert certify_primal(F, y, w, 0.0, C=1.0, intercept="none").kkt_residual > 0.1


def test_single_precision_and_integers_certify_as_doubles_do():
    F, y, _ = small_problem()
    w = np.linspace(-1, 1, F.shape[1])
    double = certify_primal(F, y, w, 0.1, C=1.0)
    single = certify_primal(F.astype(np.float32), y, w.astype(np.float32), 0.1, C=1.0)
    assert single.primal == pytest.approx(double.primal, rel=1e-5)
    assert single.dual == pytest.approx(double.dual, rel=1e-5)
    counts = np.rint(F).astype(int)
    whole = certify_primal(counts, y, w, 0.1, C=1.0)
    expected = certify_primal(counts * 1.0, y, w, 0.1, C=1.0)
    assert whole.dual == pytest.approx(expected.dual)
    assert whole.kkt_residual == pytest.approx(expected.kkt_residual)


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


def test_of_a_flat_stretch_the_middle_is_taken():
    """One row of each class, scores zero: every b in [-1, 1] costs the same."""
    scores, y = np.zeros(2), np.array([1.0, -1.0])
    assert best_intercept(scores, y, np.ones(2), get_loss("hinge")) == 0.0
    assert best_intercept(scores + 5.0, y, np.ones(2), get_loss("hinge")) == -5.0


@LOSS
@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("scores", [[0.0, 1.0, -3.0], [-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]])
def test_one_class_alone_loses_nothing(loss, label, scores):
    scores = np.array(scores)
    b = best_intercept(scores, np.full(3, label), np.ones(3), get_loss(loss))
    assert objective(b, scores, np.full(3, label), np.ones(3), loss, "free") == 0.0


def test_without_an_intercept_or_without_weight_there_is_none():
    y = np.array([1.0, -1.0])
    assert best_intercept(np.ones(2), y, np.ones(2), get_loss("hinge"), "none") == 0.0
    assert best_intercept(np.ones(2), y, np.zeros(2), get_loss("hinge")) == 0.0


def test_hostile_arguments_are_named():
    y = np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="intercept='yes' is not one of free, penalised, none"):
        certify_dual(lambda v: v, y, [0.1, 0.1], C=1.0, intercept="yes")
    with pytest.raises(ValueError, match="must be -1 and 1"):
        certify_dual(lambda v: v, [0, 1], [0.1, 0.1], C=1.0)
    with pytest.raises(ValueError, match="labels of shape"):
        certify_primal(np.eye(3), y, np.ones(3), 0.0, C=1.0)
    with pytest.raises(ValueError, match="'none' leaves no place for b=0"):
        certify_primal(np.eye(2), y, np.ones(2), 0.5, C=1.0, intercept="none")


# --------------------------------------------------------------------------- LIBSVM
def libsvm_certificate(X, y, *, C, gamma, tol, weights=None):
    machine = SVC(C=C, gamma=gamma, tol=tol).fit(X, y, sample_weight=weights)
    dual = np.zeros(len(y))
    dual[machine.support_] = np.abs(machine.dual_coef_.ravel())

    def multiply(v):
        return kernel_product(RBF(gamma), X, X, v, max_memory="40MB")

    return certify_dual(
        multiply, y, dual, C=C, b=float(machine.intercept_[0]), sample_weight=weights
    ), certify_dual(multiply, y, dual, C=C, sample_weight=weights)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
def test_libsvm_keeps_to_its_tolerance(tol, weighted):
    """LIBSVM stops when two rows violate the conditions by at most tol: so does the certificate."""
    data = load_breast_cancer()
    X, y = scale(data.data), np.where(data.target > 0, 1.0, -1.0)
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    certificate, improved = libsvm_certificate(X, y, C=3.0, gamma=0.05, tol=tol, weights=weights)
    assert certificate.infeasibility < 1e-10
    assert 0.0 <= certificate.relative_gap < tol
    assert certificate.kkt_residual <= 1.001 * tol
    assert improved.primal <= certificate.primal * (1 + 1e-12)
    assert improved.dual == certificate.dual


@pytest.mark.parametrize(
    ("name", "gamma", "C"),
    [("svmguide1", 1e-3, 10.0), ("a1a", 0.1, 1.0), ("heart_scale", 0.1, 1.0)],
)
def test_libsvm_on_real_data(real_data, name, gamma, C):
    with lzma.open(real_data / f"{name}.xz") as file:
        X, y = load_svmlight_file(file)
    X = X.toarray()
    certificate, _ = libsvm_certificate(X, np.where(y > 0, 1.0, -1.0), C=C, gamma=gamma, tol=1e-3)
    assert 0.0 <= certificate.relative_gap < 1e-3
    assert certificate.kkt_residual <= 1.001e-3
    assert certificate.primal > 10.0  # neither is trivial
