"""Poly2: the map against its kernel, and the machine against the kernel machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from kernlab.approximations import ExactKernel
from kernlab.kernels import Polynomial
from kernlab.lab.baselines import LiblinearDCD, LibSVM, Poly2
from kernlab.lab.baselines.poly2 import degree2_features, degree2_values, degree2_width
from kernlab.runtime import MemoryLimitError
from kernlab.solvers import solve_dcd


def rows(n=120, n_classes=2):
    return make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=2
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(1, 9),
    gamma=st.floats(1e-3, 10.0),
    coef0=st.floats(0.0, 10.0),
)
def test_the_map_is_the_kernels(seed, n_features, gamma, coef0):
    X = np.random.default_rng(seed).normal(size=(7, n_features))
    X[np.abs(X) < 0.4] = 0.0
    K = Polynomial(gamma, 2, coef0)(X)
    F = degree2_features(X, gamma, coef0)
    assert F.shape == (7, degree2_width(n_features))
    np.testing.assert_allclose(F @ F.T, K, rtol=1e-9, atol=1e-12)
    sparse = degree2_features(sp.csr_matrix(X), gamma, coef0)
    assert sp.issparse(sparse)
    assert sparse.nnz == degree2_values(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse.toarray(), F, rtol=1e-12)


def test_a_linear_machine_on_the_map_is_the_kernel_machine():
    """With LIBSVM on both sides the intercept is free on both, and the machines are one."""
    X, y = rows()
    on_map = SVC(kernel="linear", tol=1e-8).fit(degree2_features(X, 0.3, 1.0), y)
    on_kernel = LibSVM(kernel="polynomial", degree=2, gamma=0.3, coef0=1.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        on_map.decision_function(degree2_features(X, 0.3, 1.0)),
        on_kernel.decision_function(X),
        atol=1e-5,
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", ["penalised", "none"])
def test_poly2_is_the_kernel_machine_with_that_intercept(loss, intercept):
    """Against coordinate descent on a factor of the exact kernel matrix."""
    X, y = rows()
    poly2 = Poly2(0.5, gamma=0.3, loss=loss, intercept=intercept, tol=1e-9, max_iter=10**6)
    scores = poly2.fit(X, y).decision_function(X)
    F = ExactKernel("polynomial", gamma=0.3, degree=2, coef0=1.0).fit_transform(X)
    exact = solve_dcd(
        F,
        np.where(y > 0, 1.0, -1.0),
        C=0.5,
        loss=loss,
        intercept=intercept,
        tol=1e-9,
        max_iter=100_000,
    )
    np.testing.assert_allclose(
        scores, F @ exact.coefficients + exact.intercept, rtol=1e-3, atol=1e-4
    )
    assert poly2.certify(X, y).relative_gap < 1e-5


def test_the_penalised_intercept_is_all_that_separates_it_from_libsvm():
    """(gamma x.z + r)^2 + 1 instead of a free intercept: labels agree, scores only nearly."""
    X, y = rows(n=600)
    poly2 = Poly2(gamma=0.3, loss="hinge", max_iter=10**6).fit(X, y)
    libsvm = LibSVM(kernel="polynomial", degree=2, gamma=0.3, coef0=1.0).fit(X, y)
    difference = np.abs(poly2.decision_function(X) - libsvm.decision_function(X))
    assert np.mean(poly2.predict(X) == libsvm.predict(X)) > 0.98
    assert 1e-4 < difference.max() < 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_sees_what_a_linear_machine_cannot(n_classes):
    """Rings around the origin."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, n_classes, 300)
    angle = generator.uniform(0, 2 * np.pi, 300)
    X = (1.0 + y + 0.2 * generator.normal(size=300))[:, None] * np.stack(
        [np.cos(angle), np.sin(angle)], axis=1
    )
    methods = [Poly2(method=method, C=10.0, max_iter=10**5) for method in ("dcd", "tron")]
    scores = [machine.fit(X, y).score(X, y) for machine in methods]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    assert min(scores) > 0.75
    assert min(scores) > LiblinearDCD().fit(X, y).score(X, y) + 0.15


def test_new_points_are_mapped_in_blocks(monkeypatch):
    X, y = rows(n_classes=3)
    poly2 = Poly2().fit(X, y)
    whole = poly2.decision_function(X)
    monkeypatch.setattr("kernlab.lab.baselines.poly2.BLOCK_BYTES", 8 * degree2_width(5) * 7)
    np.testing.assert_allclose(poly2.decision_function(X), whole, rtol=1e-12)


def test_features_that_do_not_fit_are_refused_before_they_are_made(monkeypatch):
    def forbidden(*arguments):
        raise AssertionError("features were computed")

    monkeypatch.setattr("kernlab.lab.baselines.poly2.degree2_features", forbidden)
    X, y = np.random.default_rng(0).normal(size=(50, 400)), np.arange(50) % 2
    with pytest.raises(MemoryLimitError, match=r"50 x 80,601 values x 24 bytes .* Allow more"):
        Poly2(max_memory="50MB").fit(X, y)
    sparse = sp.random(50, 400, density=0.01, random_state=0, format="csr")
    with pytest.raises(MemoryLimitError, match="non-zero values x 28 bytes"):
        Poly2(max_memory="1MB").fit(sparse, y)
    with pytest.raises(AssertionError, match="features were computed"):
        Poly2(max_memory="3MB").fit(sparse, y)  # few are stored


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"coef0": -1.0}, "coef0 must not be negative"),
        ({"method": "newton"}, "method='newton' is not one of 'dcd', 'tron'"),
        ({"method": "tron", "loss": "hinge"}, "needs a smooth loss"),
        ({"intercept": "free"}, "intercept='free' is not one of 'penalised', 'none'"),
        ({"gamma": 0.0}, "gamma must be a positive number"),
    ],
)
def test_refusals_say_what_is_wrong(parameters, text):
    with pytest.raises(ValueError, match=text):
        Poly2(**parameters).fit(*rows())
