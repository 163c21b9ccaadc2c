"""LIBLINEAR with a certificate: what it returns, what it claims, and what it is kept from."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.features import Features
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_dcd, solve_liblinear, solve_newton
from kernlab.solvers.linear.liblinear import fit_liblinear

PAIRS = [("dcd", "hinge"), ("dcd", "squared_hinge"), ("tron", "squared_hinge")]
WAYS = pytest.mark.parametrize(("method", "loss"), PAIRS)
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=60, p=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.7 * generator.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def tight(F, y, **parameters):
    return solve_liblinear(F, y, **{"C": 1.0, "tol": 1e-10, "max_iter": 10**6} | parameters)


@WAYS
@INTERCEPT
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, "wide"])
def test_it_is_what_linear_svc_returns(method, loss, intercept, form):
    F, y = problem()
    F[np.abs(F) < 0.5] = 0.0
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    reference = LinearSVC(
        loss=loss, dual=method == "dcd", C=0.5, fit_intercept=intercept == "penalised", tol=1e-8,
        max_iter=10**6,
    ).fit(F, y, weights)  # fmt: skip
    rows = sp.csr_matrix(F) if form == "wide" else form(F)
    if form == "wide":
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    problem_ = {"C": 0.5, "loss": loss, "intercept": intercept, "method": method}
    found = tight(rows, y, sample_weight=weights, **problem_)
    np.testing.assert_allclose(found.coefficients, reference.coef_.ravel(), rtol=1e-4, atol=1e-6)
    assert found.intercept == pytest.approx(float(np.ravel(reference.intercept_)[0]), abs=1e-5)
    assert found.solver == f"liblinear-{method}"
    assert found.converged
    live = weights > 0
    w, b, steps, seconds = fit_liblinear(
        F[live], y[live], 0.5 * weights[live], loss=loss, intercept=intercept, method=method,
        tol=1e-10, max_iter=10**6,
    )  # fmt: skip
    np.testing.assert_allclose(w, found.coefficients, rtol=1e-5, atol=1e-7)
    assert b == pytest.approx(found.intercept, abs=1e-6)
    assert steps >= 1
    assert seconds > 0


@WAYS
@INTERCEPT
@pytest.mark.parametrize("max_iter", [1, 3, 100])
def test_the_gap_is_never_below_the_true_distance(method, loss, intercept, max_iter):
    F, y = problem(n=200)
    problem_ = {"C": 10.0, "loss": loss, "intercept": intercept}
    best = solve_dcd(F, y, tol=1e-9, max_iter=10**6, **problem_).dual_objective
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solve_liblinear(F, y, method=method, max_iter=max_iter, **problem_)
    assert found.gap >= found.objective - best - 1e-7 * best


def test_dual_variables_that_the_features_know_are_certified():
    """L of K = L L^T is square: the dual variables are L^-T w."""
    F, y = problem(n=30, p=30)
    L = np.linalg.cholesky(F @ F.T + np.eye(30))
    rows = Features(L, dual_of=lambda w: np.linalg.solve(L.T, w))
    known = tight(rows, y, intercept="none", method="tron")
    assert known.relative_gap == pytest.approx(0.0, abs=1e-7)
    a = np.linalg.solve(L.T, known.coefficients) * y
    dual = a.sum() - 0.5 * known.coefficients @ known.coefficients - (a**2).sum() / 4.0
    assert known.dual_objective == pytest.approx(dual, rel=1e-7)


# -------------------------------------------------------------------- one sign, a free intercept
@pytest.mark.parametrize(("sign", "weight"), [(1.0, 1.0), (-1.0, 1.0), (1.0, 0.0)])
def test_a_free_intercept_decides_for_one_sign_by_itself(sign, weight):
    F, y = problem()
    weights = np.where(y == sign, weight, 0.0)
    found = solve_liblinear(F, y, C=1.0, method="tron", intercept="free", sample_weight=weights)
    assert not found.coefficients.any()
    assert found.intercept == sign * weight
    assert (found.objective, found.dual_objective, found.converged) == (0.0, 0.0, True)


@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_free_intercept_is_that_of_a_solver_without_a_penalty(C, share):
    F, _ = problem(n=200)
    y = np.where(F[:, 0] + np.random.default_rng(5).normal(size=200) > np.quantile(F, share), 1, -1)
    ours = solve_liblinear(F, y, C=C, intercept="free", method="tron", tol=1e-8)
    theirs = solve_newton(F, y, C=C, intercept="free", tol=1e-10)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-3)
    assert ours.objective >= ours.dual_objective > ours.objective * (1 - 1e-2)


# ------------------------------------------------------------------------ several, and copies
def test_copies_are_counted_and_refused_before_they_are_made():
    F, y = problem()
    for method in ("dcd", "tron"):
        with pytest.raises(MemoryLimitError, match="newton or dcd solver, which copies none"):
            solve_liblinear(F, y, C=1.0, method=method, max_memory=2 * F.nbytes)
        assert solve_liblinear(F, y, C=1.0, method=method, max_memory=3 * F.nbytes).converged


# --------------------------------------------------------------------------- hostile input
@pytest.mark.parametrize(("scale", "C"), [(3e-239, 1.0), (1.0, 1e-200)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_what_tron_would_never_end_on_is_refused(scale, C, form):
    """The square of its gradient is zero, the gradient is not."""
    F, y = problem()
    with pytest.raises(ValueError, match=r"does not end on features .* scale the features, raise"):
        solve_liblinear(form(scale * F), y, C=C, method="tron")
    assert solve_liblinear(form(0.0 * F), y, C=1.0, method="tron").converged
    assert solve_liblinear(form(scale * F), y, C=C, method="dcd").objective > 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_features_whose_curvature_is_infinite_are_refused(form):
    F, y = problem()
    with pytest.raises(ValueError, match=r"does not end on features .* scale the features, lower"):
        solve_liblinear(form(1e100 * F), y, C=1e-2, method="tron")
    with pytest.raises(ValueError, match="too large"):
        solve_liblinear(form(1e100 * F), y, C=1e-2, method="dcd")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"method": "newton"}, "method='newton' is not one of dcd, tron"),
        ({"method": "tron", "loss": "hinge"}, "needs a smooth loss"),
        ({"intercept": "free"}, "its tron and the newton solver offer a free one"),
        ({"start": np.zeros(60)}, "starts from zero"),
    ],
)
def test_refusals_say_what_is_wrong(change, text):
    F, y = problem()
    with pytest.raises(ValueError, match=text):
        solve_liblinear(**{"F": F, "y": y, "C": 1.0} | change)
