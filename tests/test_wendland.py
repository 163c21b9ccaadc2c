"""Wendland's functions: from their definition, and where they are positive definite."""

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import quad
from sklearn.metrics.pairwise import euclidean_distances

from kernlab.approximations.compact.wendland import Wendland, wendland_polynomial
from kernlab.kernels import Compact

SMOOTHNESS = pytest.mark.parametrize("smoothness", [0, 1, 2, 3])


def by_definition(dimension, smoothness):
    """Askey's function, integrated: phi -> integral from r to 1 of t phi(t), `smoothness` times."""
    exponent = dimension // 2 + smoothness + 1

    def phi(r, times):
        if times == 0:
            return max(1.0 - r, 0.0) ** exponent
        return quad(lambda t: t * phi(t, times - 1), r, 1.0, epsabs=1e-10)[0]

    return lambda r: phi(r, smoothness) / phi(0.0, smoothness)


@pytest.mark.parametrize(("dimension", "smoothness"), [(3, 1), (1, 2), (8, 1), (5, 2), (2, 0)])
def test_the_polynomials_are_those_of_the_definition(dimension, smoothness):
    exponent, coefficients = wendland_polynomial(dimension, smoothness)
    phi = by_definition(dimension, smoothness)
    for r in (0.0, 0.2, 0.55, 0.9):
        value = (1 - r) ** exponent * np.polynomial.polynomial.polyval(r, coefficients)
        assert value == pytest.approx(phi(r), abs=1e-8)


def test_the_smoothest_is_known_in_three_dimensions():
    """(1 - r)^8 (32 r^3 + 25 r^2 + 8 r + 1), Wendland's table."""
    assert wendland_polynomial(3, 3) == (8, (1.0, 8.0, 25.0, 32.0))


@SMOOTHNESS
def test_derivatives_vanish_where_the_support_ends_and_at_the_origin(smoothness):
    """2 s times differentiable at the origin: no odd power below 2 s + 1."""
    exponent, coefficients = wendland_polynomial(3, smoothness)
    whole = np.polynomial.Polynomial([1.0, -1.0]) ** exponent
    whole = whole * np.polynomial.Polynomial(coefficients)
    assert np.allclose(whole.coef[1 : 2 * smoothness : 2], 0.0, atol=1e-9)
    assert abs(whole.coef[2 * smoothness + 1]) > 1e-3
    assert exponent > smoothness


@SMOOTHNESS
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_positive_definite_in_its_dimension(dimension, smoothness):
    rows = np.random.default_rng(0).random((250, dimension))
    for alpha in (0.5, 2.0):
        K = Wendland(0.0, alpha, dimension, smoothness)(rows)
        assert la.eigvalsh(K)[0] > -1e-13 * len(K)


def test_not_positive_definite_in_any_dimension():
    grid = np.stack(np.meshgrid(*[np.arange(24)] * 2), -1).reshape(-1, 2) * 0.1
    assert la.eigvalsh(Wendland(0.0, 1.0, dimension=1, smoothness=0)(grid))[0] < -0.1
    assert la.eigvalsh(Wendland(0.0, 1.0, dimension=2, smoothness=0)(grid))[0] > 0.0


def test_smoothness_zero_is_askeys_kernel():
    rows = np.random.default_rng(1).normal(size=(40, 4))
    ours = Wendland(0.3, 0.4, dimension=4, smoothness=0)(rows)
    np.testing.assert_allclose(ours, Compact(0.3, 0.4, 3)(rows), atol=1e-14)


def test_the_kernel_is_the_product_with_the_gaussian():
    rows = np.random.default_rng(2).normal(size=(30, 3))
    distances = euclidean_distances(rows)
    r = np.minimum(0.5 * distances, 1.0)
    expected = (1 - r) ** 4 * (4 * r + 1) * np.exp(-0.2 * distances**2)
    kernel = Wendland(0.2, 0.5, dimension=3, smoothness=1)
    np.testing.assert_allclose(kernel(rows), expected, atol=1e-12)
    assert np.all(kernel(rows)[distances > 2.0] == 0.0)
    np.testing.assert_array_equal(kernel.diag(rows), 1.0)


@pytest.mark.parametrize(("dimension", "smoothness"), [(0, 1), (3, 4), (3, -1)])
def test_what_does_not_exist_is_refused(dimension, smoothness):
    with pytest.raises(ValueError, match="must be"):
        Wendland(1.0, 1.0, dimension, smoothness)
