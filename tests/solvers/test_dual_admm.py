"""ADMM on the dual: against independent optimisers, a dense transcription, and LIBSVM."""

import numpy as np
import pytest
from checker import recomputed
from hypothesis import given, settings
from hypothesis import strategies as st
from references import dual_value, primal_value
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from kernlab.approximations import ExactKernel, HSSKernel
from kernlab.datasets import load_dataset
from kernlab.solvers import paper_beta, solve_dual_admm
from kernlab.solvers.dual_admm import SAFETY

X, CODES = make_moons(300, noise=0.25, random_state=0)
Y = 2.0 * CODES - 1.0
EXACT = ExactKernel(gamma=2.0).fit(X)
K = EXACT.matrix_
PAPER = {"steps": 10}


class Matrix:
    """A dense symmetric matrix as an approximation, for matrices that no kernel gives."""

    is_kernel_map = False

    def __init__(self, matrix):
        self.matrix, self.factorised = np.asarray(matrix), []

    def operator(self):
        return self.matrix

    def is_definite(self, beta):
        return np.linalg.eigvalsh(self.matrix)[0] + beta > 0

    def shifted(self, beta):
        self.factorised.append(beta)
        inverse = np.linalg.inv(self.matrix + beta * np.eye(len(self.matrix)))

        class Solve:
            def solve(self, B):
                return inverse @ B

        return Solve()


def transcription(K, y, C, beta, steps, relaxation=1.0):
    """Algorithm 2 line by line with dense matrices, and what comes out of it."""
    n = len(y)
    inverse = np.linalg.inv(K + beta * np.eye(n))
    Y = np.diag(y)
    e = np.ones(n)
    x, z, mu = np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(steps):
        q = e + mu + beta * z
        share = (e @ inverse @ Y @ q) / (e @ inverse @ e)
        x = Y @ inverse @ Y @ q - share * (Y @ inverse @ e)
        x = relaxation * x + (1.0 - relaxation) * z
        z_new = np.clip(x - mu / beta, 0.0, C)
        mu = mu - beta * (x - z_new)
        z = z_new
    return z


# ------------------------------------------------------------------------- the paper's steps
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    beta=st.sampled_from([0.5, 10.0, 100.0]),
    steps=st.integers(1, 12),
    relaxation=st.sampled_from([0.7, 1.0, 1.6]),
)
def test_a_number_of_steps_is_the_papers_algorithm(seed, C, beta, steps, relaxation):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(40, 3))
    matrix = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    y = np.where(generator.random(40) < 0.4, 1.0, -1.0)
    result = solve_dual_admm(Matrix(matrix), y, C=C, beta=beta, steps=steps, relaxation=relaxation)
    expected = transcription(matrix, y, C, beta, steps, relaxation)
    np.testing.assert_allclose(result.dual_variables, expected, atol=1e-10 * C)
    assert result.n_iter == steps


def test_a_number_of_steps_warns_of_nothing_and_claims_nothing(recwarn):
    seen = []
    result = solve_dual_admm(EXACT, Y, C=1.0, beta=100.0, callback=seen.append, **PAPER)
    assert len(recwarn) == 0
    assert [row["iteration"] for row in seen] == list(range(1, 11))
    assert seen == list(result.trace)
    assert result.kkt_residual > 1e-3  # on record
    problem = {"C": 1.0, "loss": "hinge", "intercept": "free"}
    claimed = result.objective, result.dual_objective
    assert claimed == pytest.approx(recomputed(result, Y, kernel=K, **problem), rel=1e-9)
    assert result.dual_variables @ Y != 0.0  # what is recomputed is balanced first
    assert not result.converged
    assert result.message == f"10 steps as prescribed: a relative gap of {result.relative_gap:.2e}"
    unbounded = solve_dual_admm(Matrix(K), Y, C=1.0, beta=100.0, **PAPER)
    assert unbounded.message.startswith("10 steps as prescribed: a KKT residual of")
    assert not solve_dual_admm(EXACT, Y, C=1.0).message


def test_the_intercept_is_the_mean_over_margin_vectors_with_the_right_sign():
    result = solve_dual_admm(EXACT, Y, C=1.0, beta=5.0, **PAPER)
    a = result.dual_variables
    margin = (a > 0) & (a < 1.0)
    assert margin.any()
    scores = K @ (a * Y)
    assert result.intercept == pytest.approx(np.mean(Y[margin] - scores[margin]), rel=1e-10)


def test_without_margin_vectors_the_intercept_is_the_middle_of_what_is_left():
    """With a tiny C all variables are at the top, or those of the larger class are scaled."""
    rows = np.array([[0.0], [0.1], [3.0], [3.1]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    kernel = ExactKernel(gamma=1.0).fit(rows)
    result = solve_dual_admm(kernel, y, C=1e-3, beta=1.0, steps=300)
    assert np.all(result.dual_variables == 1e-3)
    scores = kernel.matrix_ @ (1e-3 * y)
    lowest, highest = (y - scores)[y < 0].max(), (y - scores)[y > 0].min()
    assert result.intercept == pytest.approx(0.5 * (lowest + highest), abs=1e-12)
    libsvm = SVC(C=1e-3, gamma=1.0, tol=1e-10).fit(rows, y)
    assert result.intercept == pytest.approx(libsvm.intercept_[0], abs=1e-8)


def test_the_papers_rule_for_beta():
    assert [paper_beta(n) for n in (10_000, 100_000, 171_540, 1_000_000, 3_500_000)] == [
        100.0, 100.0, 1000.0, 1000.0, 10_000.0,
    ]  # fmt: skip


# ------------------------------------------------------------------------ how it gets there
@pytest.mark.parametrize("C", [0.01, 100.0])
def test_an_adaptive_beta_finds_its_way(C):
    """From the same first beta, and at the end it is another one."""
    fixed = solve_dual_admm(EXACT, Y, C=C, beta=1.0, tol=1e-5, max_iter=20_000)
    adaptive = solve_dual_admm(EXACT, Y, C=C, tol=1e-5, max_iter=20_000)
    assert adaptive.n_iter <= fixed.n_iter
    assert adaptive.objective == pytest.approx(fixed.objective, rel=1e-4)
    if C == 100.0:
        betas = adaptive.trace_table()["beta"]
        assert betas.iloc[0] == 1.0
        assert betas.iloc[-1] < 1.0


@pytest.mark.parametrize("arguments", [PAPER | {"beta": 100.0}, {"tol": 1e-6, "beta": 1.0}])
def test_classes_and_costs_are_columns_of_one_factor_and_each_as_if_alone(arguments):
    """With a fixed beta the columns do not know of each other."""
    costs = np.array([0.1, 1.0, 5.0])
    labels = np.stack([Y, np.where(X[:, 0] > 0.5, 1.0, -1.0)], axis=1)
    matrix = Matrix(K)
    together = solve_dual_admm(matrix, labels, C=costs, **arguments)
    assert len(matrix.factorised) == 1
    for column, family in zip(labels.T, together, strict=True):
        for C, result in zip(costs, family, strict=True):
            alone = solve_dual_admm(matrix, column, C=C, **arguments)
            np.testing.assert_allclose(result.coefficients, alone.coefficients, atol=1e-9)
            assert result.intercept == pytest.approx(alone.intercept, abs=1e-9)
            assert result.objective == pytest.approx(alone.objective, rel=1e-9)
            assert result.n_iter == alone.n_iter
    one = {"beta": 100.0, **PAPER}
    assert isinstance(solve_dual_admm(matrix, Y, C=np.array([1.0]), **one)[0].intercept, float)
    assert solve_dual_admm(matrix, labels, C=1.0, **one)[1].coefficients.shape == (300,)


# --------------------------------------------------------------------------- certificates
def test_certificates_with_the_approximate_and_with_the_exact_kernel():
    rough = HSSKernel(gamma=2.0, rel_tol=0.3, leaf_size=64, random_state=0).fit(X)
    near, exact = (
        solve_dual_admm(rough, Y, C=1.0, tol=1e-6, beta="auto", max_iter=5000, certificate=kind)
        for kind in ("approximate", "exact")
    )
    np.testing.assert_array_equal(near.coefficients, exact.coefficients)
    matrix, costs = rough.operator() @ np.eye(300), np.ones(300)
    assert near.objective == pytest.approx(
        primal_value(matrix, Y, near.dual_variables, near.intercept, costs, "hinge", "free")
    )
    assert near.dual_objective is None  # K~ may have negative eigenvalues: no bound
    assert near.gap is None
    assert exact.objective == pytest.approx(
        primal_value(K, Y, exact.dual_variables, exact.intercept, costs, "hinge", "free")
    )
    assert exact.dual_objective == pytest.approx(
        dual_value(K, Y, exact.dual_variables, costs, "hinge", "free")
    )
    best = solve_dual_admm(EXACT, Y, C=1.0, tol=1e-8, max_iter=5000)
    assert exact.dual_objective <= best.objective <= exact.objective
    assert exact.relative_gap > 1e-4  # it knows of the approximation


# ----------------------------------------------------------------- negative eigenvalues
def indefinite(smallest, n=60, seed=0):
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(n, n)))[0]
    values = np.append(smallest, generator.random(n - 1) * 10.0)
    return (basis * values) @ basis.T, np.where(generator.random(n) < 0.5, 1.0, -1.0)


def test_beta_below_the_bound_is_refused_and_just_above_is_taken():
    matrix, y = indefinite(-3.0)
    with pytest.raises(ValueError, match=r"does not converge at beta=5.9.*beta=11.8 or more"):
        solve_dual_admm(Matrix(matrix), y, C=1.0, beta=5.9, **PAPER)
    with pytest.raises(ValueError, match="near or below"):  # within the margin
        solve_dual_admm(Matrix(matrix), y, C=1.0, beta=6.0 * (SAFETY - 0.01), **PAPER)
    result = solve_dual_admm(Matrix(matrix), y, C=1.0, beta=6.0 * (SAFETY + 0.01), tol=1e-6,
                             max_iter=20_000)  # fmt: skip
    assert result.converged
    assert result.kkt_residual < 1e-3
    assert result.dual_objective is None


# ---------------------------------------------------------------------------- the edges
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": 0.0}, "beta must be a positive number"),
        ({"beta": np.nan}, "beta must be a positive number"),
        ({"beta": "magic"}, "beta='magic' is not a number"),
        ({"relaxation": 2.0}, "relaxation must be a number between"),
        ({"acceleration": -1}, "acceleration must be a whole number, or 0"),
        ({"steps": -1}, "steps must be a positive whole number"),
        ({"certificate": "magic"}, "certificate='magic'"),
        ({"approximation": Matrix(K), "certificate": "exact"}, "Matrix does not offer"),
        ({"max_memory": 1000}, "26 vectors of 300 numbers for each of 1 problems"),
    ],
)
def test_bad_arguments_say_what_is_wrong(arguments, message):
    with pytest.raises((ValueError, TypeError, MemoryError), match=message):
        solve_dual_admm(**{"approximation": EXACT, "y": Y, "C": 1.0} | arguments)


def test_acceleration_does_not_run_away_where_all_variables_stand_at_an_edge():
    """Nearly all at the edge of a small box, the residual says nothing of how far a step led."""
    data = load_dataset("magic", scaling="standard")
    X = data.X_train[1200:1600]
    y = np.where(data.y_train[1200:1600] == data.info["positive"], 1.0, -1.0)
    exact = ExactKernel(gamma=1.0 / 0.18).fit(X)
    result = solve_dual_admm(exact, y, C=0.03, tol=1e-3, max_iter=200)
    assert result.converged
    assert result.relative_gap <= 1e-3
