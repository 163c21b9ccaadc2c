"""The factor of K~ + beta I: small residuals, and the proof that beta is large enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlab.approximations.hss import HSSKernel, NotPositiveDefiniteError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))


def approximate(rows=X, **parameters):
    defaults = {"gamma": 0.5, "leaf_size": 64, "random_state": 0}
    return HSSKernel(**defaults | parameters).fit(rows)


APPROXIMATION = approximate(rel_tol=1e-2)
DENSE = APPROXIMATION.operator() @ np.eye(900)
SPECTRUM = np.linalg.eigvalsh(DENSE)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 400),
    features=st.integers(1, 6),
    leaf_size=st.integers(2, 100),
    digits=st.floats(0.0, 8.0),
    max_rank=st.sampled_from([0, 1, 5, 1000]),
    columns=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_residuals_are_at_rounding(n, features, leaf_size, digits, max_rank, columns, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, features))
    approximation = approximate(rows, leaf_size=leaf_size, rel_tol=10.0**-digits, max_rank=max_rank)
    K = approximation.operator() @ np.eye(n)
    beta = 0.1 + 2.0 * max(0.0, -np.linalg.eigvalsh(K)[0])
    b = generator.normal(size=(n, columns) if columns else n)
    solution = approximation.shifted(beta).solve(b)
    assert solution.shape == b.shape
    assert np.linalg.norm(K @ solution + beta * solution - b) <= 1e-10 * np.linalg.norm(b)


def test_the_factor_exists_exactly_above_minus_the_smallest_eigenvalue():
    assert SPECTRUM[0] < -0.01
    assert APPROXIMATION.is_definite(-SPECTRUM[0] * 1.001)
    assert not APPROXIMATION.is_definite(-SPECTRUM[0] * 0.999)
    with pytest.raises(NotPositiveDefiniteError, match=r"beta=0.*raise beta"):
        APPROXIMATION.shifted(-0.9 * SPECTRUM[0])


def test_a_factor_is_made_once_and_the_last_one_kept():
    approximation = approximate()
    first = approximation.shifted(2.0)
    assert approximation.shifted(2.0) is first
    assert approximation.nbytes == approximation.matrix_.nbytes + first.nbytes
    assert approximation.shifted(3.0) is not first
    assert approximation.timings_["factor"] > 0


def test_solves_agree_with_a_dense_solver_in_the_order_of_the_data():
    b = RNG.normal(size=(900, 5))
    expected = np.linalg.solve(DENSE + 2.0 * np.eye(900), b)
    np.testing.assert_allclose(APPROXIMATION.shifted(2.0).solve(b), expected, atol=1e-11)
    np.testing.assert_allclose(
        APPROXIMATION.shifted(2.0).solve(b[:, 2]), expected[:, 2], atol=1e-11
    )


def test_integer_and_single_precision_right_hand_sides():
    factor = APPROXIMATION.shifted(2.0)
    ones = factor.solve(np.ones(900))
    np.testing.assert_array_equal(factor.solve(np.ones(900, dtype=int)), ones)
    assert factor.solve(np.ones(900, dtype=np.float32)).dtype == np.float64
    single = approximate(dtype="float32").shifted(2.0).solve(np.ones(900, dtype=np.float32))
    assert single.dtype == np.float32
    assert np.linalg.norm(single - ones) < 1e-3 * np.linalg.norm(ones)


def test_right_hand_sides_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="900 rows, but a right-hand side of shape"):
        APPROXIMATION.shifted(2.0).solve(np.ones(899))


def test_ill_conditioned_matrices_are_solved_backward_stably():
    approximation = approximate(rel_tol=1e-10, abs_tol=1e-14)
    K = approximation.operator() @ np.eye(900)
    b = RNG.normal(size=900)
    solution = approximation.shifted(1e-6).solve(b)
    residual = np.linalg.norm(K @ solution + 1e-6 * solution - b)
    assert residual < 1e-13 * np.linalg.norm(K, 2) * np.linalg.norm(solution)
