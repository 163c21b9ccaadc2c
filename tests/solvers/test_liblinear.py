"""LIBLINEAR with a certificate: what it returns, what it claims, and what it is kept from."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernlab.features import Features
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_liblinear, solve_newton
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
def test_its_loops_take_any_matrix_of_rows_and_return_what_is_certified(method, loss, intercept):
    F, y = problem()
    F[np.abs(F) < 0.5] = 0.0
    wide, how = sp.csr_matrix(F), {"loss": loss, "intercept": intercept, "method": method}
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    w, b, steps, seconds = fit_liblinear(F, y, np.full(60, 0.5), tol=1e-10, max_iter=10**6, **how)
    for rows in (wide, sp.csc_matrix(F)):
        found = tight(rows, y, C=0.5, **how)
        np.testing.assert_allclose(found.coefficients, w, rtol=1e-5, atol=1e-7)
        assert found.intercept == pytest.approx(b, abs=1e-6)
        assert found.solver == f"liblinear-{method}"
    assert steps >= 1
    assert seconds > 0


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
        ({"method": "tron", "loss": "hinge"}, "offers loss=.squared_hinge."),
        ({"intercept": "free"}, "its tron and the newton solver offer a free one"),
        ({"start": np.zeros(60)}, "starts from zero"),
    ],
)
def test_refusals_say_what_is_wrong(change, text):
    F, y = problem()
    with pytest.raises(ValueError, match=text):
        solve_liblinear(**{"F": F, "y": y, "C": 1.0} | change)
