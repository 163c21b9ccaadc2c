"""Interpolative decomposition: its promise, on matrices whose singular values are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlab.approximations.hss.interpolation import interpolate_rows


def decaying(m, columns, rate, seed=0):
    generator = np.random.default_rng(seed)
    k = min(m, columns)
    U, V = (np.linalg.qr(generator.normal(size=(size, k)))[0] for size in (m, columns))
    return (U * np.exp(-rate * np.arange(k))) @ V.T


def interpolate(A, rel_tol=1e-6, abs_tol=0.0, max_rank=10_000):
    generator = np.random.default_rng(0)
    return interpolate_rows(
        A, rel_tol=rel_tol, abs_tol=abs_tol, max_rank=max_rank, generator=generator
    )


def missed(A, found):
    return np.linalg.norm(A[found.rest] - found.E @ A[found.skeleton], axis=1).max(initial=0.0)


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(2, 150),
    columns=st.integers(1, 300),
    rate=st.floats(0.0, 1.0),
    digits=st.floats(0.1, 11.0),
    seed=st.integers(0, 1000),
)
def test_what_is_left_is_below_the_tolerance(m, columns, rate, digits, seed):
    A, tol = decaying(m, columns, rate, seed), 10.0**-digits
    found = interpolate(A, tol)
    assert sorted(np.concatenate([found.skeleton, found.rest])) == list(range(m))
    assert found.E.shape == (len(found.rest), found.rank)
    first = np.linalg.norm(A, axis=1).max()
    assert missed(A, found) <= 2.0 * max(tol, 1e-13 * m) * first
    assert found.pivot <= max(2.0 * tol, 1e-7) * first


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4, 1e-7, 1e-9])
def test_no_more_rows_than_needed(tol):
    A = decaying(120, 400, 0.2)
    singular = np.exp(-0.2 * np.arange(120))
    needed = np.count_nonzero(singular > tol * np.linalg.norm(A, axis=1).max())
    assert needed * 0.7 - 3 <= interpolate(A, tol).rank <= needed * 1.2 + 8


def test_the_pivot_is_the_longest_row_that_is_left():
    A = decaying(80, 200, 0.15)
    for tol in (0.1, 1e-3):
        found = interpolate(A, tol)
        assert found.pivot == pytest.approx(missed(A, found), rel=1e-3)


def test_a_matrix_of_low_rank_is_reproduced():
    generator = np.random.default_rng(0)
    A = generator.normal(size=(100, 7)) @ generator.normal(size=(7, 300))
    for tol in (1e-5, 1e-10):
        found = interpolate(A, tol)
        assert found.rank == 7
        assert missed(A, found) < 1e-10 * np.linalg.norm(A)


def test_repeated_rows_are_taken_once():
    A = np.repeat(decaying(20, 100, 0.0), 4, axis=0)
    found = interpolate(A, 1e-5)
    assert found.rank == 20
    np.testing.assert_allclose(np.sort(found.E, axis=1)[:, -1], 1.0, atol=1e-6)


def test_single_precision_is_kept_and_reaches_what_it_can():
    A = decaying(100, 300, 0.3)
    for tol in (0.1, 1e-4, 1e-9):
        found = interpolate(A.astype(np.float32), tol)
        assert found.E.dtype == np.float32
        assert missed(A, found) <= max(2 * tol, 2e-5) * np.linalg.norm(A, axis=1).max()


@pytest.mark.parametrize("max_rank", [0, 1, 5])
def test_the_rank_is_limited(max_rank):
    for tol in (1e-3, 1e-9):
        found = interpolate(decaying(50, 200, 0.1), tol, max_rank=max_rank)
        assert found.rank == max_rank
        assert len(found.rest) == 50 - max_rank


def test_the_absolute_tolerance_is_one():
    A = decaying(60, 200, 0.2)
    found = interpolate(A, 0.0, abs_tol=1e-3)
    assert missed(A, found) <= 1e-3
    assert missed(A, found) > 1e-5


@pytest.mark.parametrize("A", [np.zeros((5, 8)), np.ones((4, 0)), np.ones((0, 3))])
def test_nothing_to_express_has_rank_zero(A):
    found = interpolate(A)
    assert found.rank == 0
    assert len(found.rest) == len(A)


def test_a_tolerance_of_one_needs_no_rows():
    """The reference's test |R_cc| <= rel_tol |R_11| holds for the first pivot already."""
    assert interpolate(decaying(30, 50, 0.1), 1.0).rank == 0


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        interpolate(np.array([[1.0, np.nan], [0.0, 1.0]]))
