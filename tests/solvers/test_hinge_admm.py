"""ADMM on the hinge loss: against its equations written out, ridge regression, and LIBSVM."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kernlab.estimators import FPC
from kernlab.features import Features
from kernlab.lab.engine.measuring import peak_memory
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_hinge_admm
from kernlab.solvers.hinge.admm import MixedFactor

M = 120
random = np.random.default_rng(0)
X = random.random((M, 2))
Y = np.where(X[:, 1] > 0.5 + 0.3 * np.sin(6 * X[:, 0]), 1.0, -1.0)
Y[random.random(M) < 0.15] *= -1
F = np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(4) for j in range(4 - i)])
WEIGHTS = np.random.default_rng(6).integers(0, 4, M).astype(float)
FORMS = {
    "dense": lambda F: F,
    "columns": np.asfortranarray,
    "single": lambda F: F.astype(np.float32),
    "sparse": sp.csr_matrix,
    "formed": lambda F: Features.formed(F.shape, lambda rows, room: F[rows]),
}


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


# --------------------------------------------------------------------- the paper's iterates
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.01, 1.0), (1.0, 30.0), (5.0, 0.02)])
def test_iterates_are_those_of_the_equations(alpha, beta, recwarn):
    seen = []
    book = admm_by_the_book(F, Y, 8, alpha, beta)
    result = solve_hinge_admm(F, Y, alpha=alpha, beta=beta, tol=0, max_iter=8, callback=seen.append)
    for row, (u, change) in zip(seen, book, strict=True):
        np.testing.assert_allclose(row["coefficients"], u, rtol=1e-8, atol=1e-10)
        assert row["change"] == pytest.approx(change, rel=1e-7, abs=1e-12)
        lost = np.maximum(0.0, 1.0 - Y * (F @ u)).mean()
        assert row["objective"] == pytest.approx(lost, rel=1e-9)
    np.testing.assert_array_equal(result.coefficients, seen[-1]["coefficients"])
    assert result.solver == "hinge-admm"
    assert not result.converged
    assert result.dual_objective is None
    assert "stopped as set, with |p - p_before|_H^2" in result.message
    assert not recwarn.list, "a prescribed number of steps is not a failure"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_forms_blocks_threads_and_weights_give_the_same_iterates(form, weighted, monkeypatch):
    monkeypatch.setattr("kernlab.solvers.hinge.passes.PASS_BYTES", 1)  # the smallest blocks
    monkeypatch.setattr("kernlab.solvers.hinge.passes.GRAM_BYTES", 1)
    monkeypatch.setattr("kernlab.solvers.hinge.passes.VALUES_PER_THREAD", 100)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "3")
    given, weights = FORMS[form](F), WEIGHTS if weighted else None
    exact = F.astype(np.float32).astype(float) if form == "single" else F
    result = solve_hinge_admm(given, Y, tol=0, max_iter=5, sample_weight=weights)
    book = admm_by_the_book(exact, Y, 5, weights=weights)
    np.testing.assert_allclose(result.coefficients, book[-1][0], rtol=1e-7)
    if weighted and form == "dense":
        rows = np.repeat(np.arange(M), WEIGHTS.astype(int))
        repeated = solve_hinge_admm(F[rows], Y[rows], tol=0, max_iter=5)
        np.testing.assert_allclose(result.coefficients, repeated.coefficients, rtol=1e-8)


def test_successive_differences_never_grow_and_it_stops_at_the_first_small_one():
    """Theorem 2."""
    changes = solve_hinge_admm(F, Y, tol=0, max_iter=300).trace_table()["change"].to_numpy()
    assert np.all(changes[1:] <= changes[:-1] * (1 + 1e-9))
    assert changes[-1] < 0.02 * changes[1]
    result = solve_hinge_admm(F, Y, tol=0.5 * (changes[20] + changes[19]), max_iter=50)
    assert result.n_iter == 21
    assert result.converged


# --------------------------------------------------------------------------- with C
def test_a_search_that_falls_short_hands_back_its_best():
    """Also when that is the start: a few steps from a good start lead away from it."""
    good = solve_hinge_admm(F, Y, C=100.0, tol=1e-6)
    for start, steps in ((good, 1), (None, 15), (good.coefficients, 11)):
        seen = [np.inf if start is None else good.objective, 100.0 * M]
        with pytest.warns(ConvergenceWarning, match="hinge-admm stopped after .* duality gap of"):
            short = solve_hinge_admm(
                F, Y, C=100.0, tol=1e-9, max_iter=steps, start=start,
                callback=lambda row, seen=seen: seen.append(row["objective"]),
            )  # fmt: skip
        u = short.coefficients
        value = 0.5 * u @ u + 100.0 * np.maximum(0, 1 - Y * (F @ u)).sum()
        assert short.objective == pytest.approx(value, rel=1e-9)
        assert value <= min(seen) * (1 + 1e-9)
        assert short.dual_objective <= good.objective
        assert not short.converged
    warm = solve_hinge_admm(F, Y, C=100.0, start=good)
    assert warm.n_iter < solve_hinge_admm(F, Y, C=100.0).n_iter


def test_iterates_do_not_grow_where_rounding_left_the_gram_matrix_indefinite():
    """Features that are all but one and the same, and so large that no penalty counts."""
    draw, sizes = np.random.default_rng(0), []
    A = 1e37 * (1 + 1e-14 * draw.normal(size=(M, 11)))
    y = np.where(draw.random(M) < 0.6, 1.0, -1.0)
    with pytest.warns(ConvergenceWarning):
        solve_hinge_admm(
            A, y, C=1.0, max_iter=1000, callback=lambda row: sizes.append(max(row["coefficients"]))
        )
    assert max(sizes) < 1e-36


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [0, 1, 2, 2, 0]])
def test_the_system_of_combined_features_is_that_of_their_own_gram_matrix(columns):
    """By a factor of the given features' Gram matrix, which may be singular."""
    draw = np.random.default_rng(0)
    given, mix = F[:, columns], draw.normal(size=(5, 7))
    u, g, A = draw.normal(size=7), draw.normal(size=5), given @ mix
    factor = MixedFactor(given.T @ given, mix, alpha=0.3, beta=2.0)
    found, weights = factor(u, g)
    expected = np.linalg.solve(2.0 * A.T @ A + 0.3 * np.eye(7), 0.3 * u + mix.T @ g)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(weights, mix @ found, rtol=1e-12)


@pytest.mark.parametrize("values", [2, 1000])
def test_polynomials_take_the_memory_that_they_ask_for(values):
    """Six matrices and the one that combines the features. Of two values the squares are the
    features themselves, and their Gram matrix is singular."""
    draw, size = np.random.default_rng(0), 8 * (4000 + 7 * 2556**2)
    rows, labels = draw.integers(0, values, (4000, 70)) / (values - 1), draw.integers(0, 2, 4000)
    with pytest.raises(MemoryLimitError, match="6 x 2,556"):
        FPC(2, max_memory=0.95 * size).fit(rows, labels)
    with peak_memory() as peak:
        FPC(2, max_memory=1.01 * size).fit(rows, labels)
    assert peak.bytes_added < 1.1 * size + 50e6


# -------------------------------------------------------------------------- many at once
def test_classes_and_costs_share_the_passes_and_are_each_as_if_alone():
    labels = np.where((3 * X[:, 0]).astype(int)[:, None] == np.arange(3), 1, -1)
    reads = []

    def form(rows, room):
        reads.append(rows)
        return F[rows]

    together = solve_hinge_admm(Features.formed(F.shape, form), labels)
    assert len(reads) == 1 + max(result.n_iter for result in together)
    path = solve_hinge_admm(F, labels, C=np.array([3.0, 0.1]))
    for column, (early, family) in enumerate(zip(together, path, strict=True)):
        for own, result in (({}, early), ({"C": 3.0}, family[0]), ({"C": 0.1}, family[1])):
            alone = solve_hinge_admm(F, labels[:, column], **own)
            assert result.n_iter == alone.n_iter
            assert result.objective == pytest.approx(alone.objective, rel=1e-9)
            np.testing.assert_allclose(
                result.coefficients, alone.coefficients, rtol=1e-6, atol=1e-9
            )


def test_combinations_of_features_give_the_iterates_of_their_product():
    mix = np.random.default_rng(5).standard_normal((F.shape[1], 13)) * np.logspace(0, 4, 13)
    result = solve_hinge_admm(Features(F).combined(mix), Y, tol=0, max_iter=5)
    u = admm_by_the_book(F @ mix, Y, 5)[-1][0]
    np.testing.assert_allclose(F @ mix @ result.coefficients, F @ mix @ u, atol=1e-7)


@pytest.mark.parametrize("size", [1e100, 1e160, 1e200, 1e300])
def test_combinations_that_are_too_large_are_refused_without_noise(size):
    mix = size * np.random.default_rng(5).standard_normal((F.shape[1], 13))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = solve_hinge_admm(Features(1e10 * F).combined(mix), Y, tol=0, max_iter=5)
        except ValueError as error:
            assert "too large" in str(error)  # noqa: PT017 - or they are not too large
        else:
            assert np.isfinite(found.objective)


# ----------------------------------------------------------------------------- refusals
# NumPy's own, of products that overflow; the refusal is what counts.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "squared_hinge"}, "offers loss='hinge'"),
        ({"intercept": "free"}, "offers intercept='none' or 'penalised'"),
        ({"alpha": 0.0}, "alpha must be a positive number"),
        ({"beta": np.nan}, "beta must be a positive number"),
        ({"sample_weight": np.zeros(M)}, "all sample weights are zero"),
        ({"F": F * 1e200}, "too large"),
    ],
)
def test_bad_parameters_say_what_is_wrong(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        solve_hinge_admm(**{"F": F, "y": Y} | changes)
