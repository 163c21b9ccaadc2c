"""Chebyshev's basis in several variables: order, values, Gram matrices from moments, powers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev

from kernlab.approximations.polynomial.chebyshev import (
    ChebyshevBasis,
    MomentGram,
    fewer_operations,
    space_dimension,
)

SHAPES = [(1, 1), (1, 6), (2, 9), (3, 4), (5, 2), (7, 1), (4, 3)]


def basis_and_features(d, s, m=40, seed=0):
    X = np.random.default_rng(seed).random((m, d)) * np.arange(1, d + 1) - 0.5
    basis = ChebyshevBasis(X.min(axis=0), X.max(axis=0), s)
    return X, basis, basis.fill(X, basis.room(m)).copy()


@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_values_are_numpys(d, s):
    X, basis, features = basis_and_features(d, s)
    assert len(set(map(tuple, basis.monomials.exponents.tolist()))) == math.comb(s + d, d)
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
@settings(max_examples=40)
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
    constant = ChebyshevBasis(np.ones(3), np.ones(3), 4)
    np.testing.assert_array_equal(constant.fill(np.ones((5, 3)), constant.room(5)), np.ones((1, 5)))
