"""Chebyshev's basis in several variables: order, values, Gram matrices from moments, powers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from kernlab.approximations.polynomial.chebyshev import (
    ChebyshevBasis,
    MomentGram,
    Monomials,
    _cuts,
    binomials,
    fewer_operations,
    place_of,
    space_dimension,
)

SHAPES = [(1, 1), (1, 6), (2, 9), (3, 4), (5, 2), (7, 1), (4, 3)]


def basis_and_features(d, s, m=40, seed=0):
    X = np.random.default_rng(seed).random((m, d)) * np.arange(1, d + 1) - 0.5
    basis = ChebyshevBasis(X.min(axis=0), X.max(axis=0), s)
    return X, basis, basis.fill(X, basis.room(m)).copy()


@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_every_product_once_in_an_order_that_is_computed(d, s):
    products = Monomials.up_to(d, s)
    every = [e for e in itertools.product(range(s + 1), repeat=d) if sum(e) <= s]
    assert sorted(map(tuple, products.exponents.tolist())) == sorted(every)
    assert len(products) == math.comb(s + d, d)
    degrees = products.exponents.sum(axis=1, dtype=int)
    assert np.all(np.diff(degrees) >= 0)
    table = binomials(d, s)
    places = [place_of(e.astype(np.int64), table) for e in products.exponents]
    assert places == list(range(len(products)))


@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_a_product_is_its_parent_times_a_power_of_its_last_variable(d, s):
    products = Monomials.up_to(d, s)
    for place in range(1, len(products)):
        rebuilt = products.exponents[products.parent[place]].copy()
        assert not rebuilt[products.last[place] :].any()
        rebuilt[products.last[place]] += products.power[place]
        np.testing.assert_array_equal(rebuilt, products.exponents[place])


@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_lower_degrees_come_first(d, s):
    _, _, features = basis_and_features(d, s)
    if s > 1:
        _, _, lower = basis_and_features(d, s - 1)
        np.testing.assert_array_equal(features[: len(lower)], lower)


@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_values_are_numpys(d, s):
    X, basis, features = basis_and_features(d, s)
    t = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    for exponents, values in zip(basis.monomials.exponents, features, strict=True):
        expected = np.ones(len(X))
        for v, k in enumerate(exponents):
            expected *= chebyshev.Chebyshev.basis(int(k))(t[:, v])
        np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize(("d", "s"), SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_give_the_gram_matrix(d, s, weighted):
    X, basis, features = basis_and_features(d, s)
    weights = np.random.default_rng(1).random(len(X)) * 3 if weighted else None
    first, second = MomentGram(basis), MomentGram(basis)
    for total, part in ((first, slice(0, 25)), (second, slice(25, None))):
        total.add(features[:, part], None if weights is None else weights[part])
    first.merge(second)
    expected = (features * (1.0 if weights is None else weights)) @ features.T
    np.testing.assert_allclose(first.matrix(), expected, atol=1e-12 * np.abs(expected).max())


def test_cuts_hold_every_product_once_and_few_needless_ones():
    """Each moment is one product of a rest and a factor that begins where the rest ends."""
    for d, s in ((1, 3), (4, 2), (28, 2), (8, 5)):
        monomials = Monomials.up_to(d, s)
        cuts, needed = _cuts(monomials), 0
        rows = np.concatenate([cut.rows for cut in cuts])
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(monomials))[-len(rows) :])
        assert len(rows) == space_dimension(d, s) - space_dimension(d, s - 1)
        for cut in cuts:
            fits = monomials.last[cut.columns] <= monomials.first[cut.rows][:, None]
            needed += np.count_nonzero(fits)
            assert fits.size <= 1.3 * np.count_nonzero(fits) + 1e-9
        assert needed == space_dimension(d, 2 * s) - space_dimension(d, s - 1)


def test_moments_are_used_where_they_are_faster():
    """HIGGS and SUSY as in the paper's tables, and small bases where products are cheap."""
    assert fewer_operations(28, 2)
    assert fewer_operations(8, 5)
    assert not fewer_operations(4, 2)
    assert not fewer_operations(9, 1)


@pytest.mark.parametrize("degree", [10, 20])
def test_moments_do_not_lose_digits_at_high_degrees(degree):
    _, basis, features = basis_and_features(2, degree, m=500)
    moments = MomentGram(basis)
    moments.add(features, None)
    assert fewer_operations(2, degree)
    np.testing.assert_allclose(moments.matrix(), features @ features.T, atol=1e-11)


@given(
    d=st.integers(1, 4),
    s=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    constant=st.floats(-2, 2),
)
@settings(max_examples=40, deadline=None)
def test_coefficients_of_powers_reproduce_them(d, s, seed, constant):
    X, basis, features = basis_and_features(d, s, m=12, seed=seed)
    slopes = np.random.default_rng(seed).standard_normal((5, d))
    coefficients = basis.powers_of_affine(np.full(5, constant), slopes)
    expected = (constant + X @ slopes.T) ** s
    largest = (abs(constant) + np.abs(X) @ np.abs(slopes).T).max() ** s
    np.testing.assert_allclose(features.T @ coefficients, expected, atol=1e-12 * max(largest, 1.0))


def test_a_variable_that_does_not_vary_is_left_out():
    X = np.random.default_rng(0).random((30, 3))
    X[:, 1] = 4.0
    basis = ChebyshevBasis(X.min(axis=0), X.max(axis=0), 3)
    assert len(basis) == space_dimension(2, 3)
    slopes = np.array([[0.5, 2.0, 1.0]])
    features = basis.fill(X, basis.room(30))
    coefficients = basis.powers_of_affine(np.ones(1), slopes)
    np.testing.assert_allclose(features.T @ coefficients, (1 + X @ slopes.T) ** 3, rtol=1e-12)


def test_rows_that_are_all_alike_leave_the_constant():
    basis = ChebyshevBasis(np.ones(3), np.ones(3), 4)
    np.testing.assert_array_equal(basis.fill(np.ones((5, 3)), basis.room(5)), np.ones((1, 5)))


def test_the_basis_stays_apart_where_powers_do_not():
    X, _, features = basis_and_features(2, 9, m=3000)
    t = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    powers = (1 + t @ t[: len(features)].T) ** 9
    assert np.linalg.cond(features.T) < 100
    assert np.linalg.cond(powers) > 1e10
