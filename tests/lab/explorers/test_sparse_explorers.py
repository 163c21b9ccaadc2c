"""The sparse kernel's explorers: pictures agree with what they are of, and say when it is wrong."""

import numpy as np
import pytest
from scipy.integrate import quad

from kernlab import SparseCholeskySVC
from kernlab.kernels import Compact
from kernlab.lab.explorers import compact_shape, shattering, sparse_kernel
from kernlab.lab.explorers.samples import samples
from kernlab.lab.explorers.sparse import (
    compact_value,
    mean_of_cosine,
    radial_transform,
    taper,
)


def rows_of(name, most):
    return samples((), toys=[name])[name].rows(most)


# ------------------------------------------------------------------------ sigma, K and L
@pytest.mark.parametrize("dataset", ["Swiss roll", "spirals"])
def test_the_fit_is_the_estimators(dataset):
    rows = rows_of(dataset, 150)
    fit = sparse_kernel.compute(rows, 0.3)
    machine = SparseCholeskySVC(sigma=0.3, solver="newton").fit(rows.X, rows.y)
    assert fit.accuracy["newton"] == machine.score(rows.X_test, rows.y_test)
    assert fit.sparsity == machine.sparsity_
    assert fit.agreement > 0.99
    # The two pictures are of one matrix: L L^T is K in the same order.
    assert abs(fit.factor @ fit.factor.T - fit.matrix).max() < 1e-10
    assert min(fit.milliseconds["cholesky"]) > 0.0
    assert fit.milliseconds["newton"][1] == 0.0


# ------------------------------------------------------------------- alpha, l and the shape
def test_the_curve_is_the_kernel():
    d = np.array([0.0, 0.4, 1.1, 2.9, 3.1])
    kernel = Compact(0.5, 1 / 3, 3)(np.zeros((1, 1)), d[:, None]).ravel()
    np.testing.assert_allclose(compact_value(d, 1 / 3, 3), kernel, rtol=1e-7, atol=1e-15)


@pytest.mark.parametrize("order", [-0.5, 0.0, 0.5, 3.0])
def test_the_mean_of_cosine_over_a_sphere(order):
    x = np.array([1e-5, 0.3, 2.0, 9.0])
    if order == -0.5:
        expected = np.cos(x)  # two points
    elif order == 0.5:
        expected = np.sinc(x / np.pi)  # the sphere in space
    else:
        power = 2 * order  # of the density of one coordinate u = cos v

        def mean(f):
            return quad(lambda v: f(np.cos(v)) * np.sin(v) ** power, 0, np.pi)[0]

        expected = [mean(lambda u, z=z: np.cos(z * u)) / mean(lambda u: 1.0) for z in x]
    np.testing.assert_allclose(mean_of_cosine(x, order), expected, atol=1e-9)


def test_the_transform_of_a_kernel_known_in_closed_form():
    """That of (1 - d)_+ in space is proportional to (2 (1 - cos t) - t sin t) / t^4."""
    t, transform = radial_transform(1.0, 1.0, 3, taper)
    expected = 12.0 * (2.0 * (1.0 - np.cos(t)) - t * np.sin(t)) / t**4
    np.testing.assert_allclose(transform, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("alpha", "l", "n_features", "definite"),
    [(1 / 3, 2.0, 3, True), (1 / 3, 1.0, 3, False), (3.0, 1.5, 3, False), (1.0, 3.0, 8, False),
     (1.0, 5.0, 8, True), (1 / 3, 3.0, 54, False), (1 / 3, 28.0, 54, True)],
)  # fmt: skip
def test_the_transform_is_negative_where_the_rule_is_broken(alpha, l, n_features, definite):
    shape = compact_shape.compute(alpha, l, n_features)
    assert (l >= shape.least_l) == definite
    assert shape.negative.any() != definite


# ----------------------------------------------------------------------- points and lines
def test_moving_a_point_changes_what_cannot_be_separated():
    explorer = shattering()
    assert "A, C and of B, D meet" in explorer.caption
    explorer.set(D_x=0.65, D_y=0.35)
    assert "A, B, C and of D meet" in explorer.caption
    explorer.set(count=3)
    assert "<b>shattered</b>" in explorer.caption
    explorer.set(C_x=explorer.values["B_x"], C_y=explorer.values["B_y"])  # on B's place
    assert "2 of 4" in explorer.caption
