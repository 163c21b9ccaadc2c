"""The exact kernel: rank, kernels that are not definite, and what is kept."""

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import ExactKernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))


def test_the_rank_is_that_of_the_kernel():
    exact = ExactKernel("linear").fit(X)
    assert exact.rank_ == 5
    repeated = ExactKernel(gamma=0.4).fit(np.repeat(X[:20], 3, axis=0))
    assert repeated.rank_ == len(repeated.pivots_) == 20
    assert ExactKernel(gamma=0.4).fit(X).residual_ < 1e-13


@pytest.mark.parametrize("large", [1e155, 1e160])  # some of the values are infinite, or all
def test_values_that_are_too_large_are_refused(large):
    with pytest.raises(ValueError, match="too large for double precision: scale the features"):
        ExactKernel("linear").fit(large * X)


def test_the_root_is_symmetric():
    F = ExactKernel(gamma=0.4, factor="root").fit_transform(X)
    np.testing.assert_allclose(F, F.T, atol=1e-10)
    np.testing.assert_allclose(F, la.sqrtm(rbf_kernel(X, gamma=0.4)).real, atol=1e-8)


@pytest.mark.parametrize("factor", ["cholesky", "root"])
def test_a_kernel_that_is_not_positive_semidefinite_has_no_features(factor):
    sigmoid = ExactKernel("sigmoid", gamma=1.0, coef0=-1.0, factor=factor).fit(X)
    smallest = la.eigvalsh(sigmoid.matrix_)[0]
    assert smallest < -0.1
    assert not sigmoid.is_kernel_map
    with pytest.raises(ValueError, match=r"not positive semidefinite.*smallest eigenvalue -"):
        sigmoid.transform(X)
    with pytest.raises(ValueError, match="raise beta"):
        sigmoid.shifted(-0.5 * smallest)
    assert sigmoid.is_definite(-1.01 * smallest)
    assert not sigmoid.is_definite(-0.99 * smallest)
    definite = ExactKernel(gamma=1.0).fit(X)
    assert definite.is_kernel_map
    assert definite.is_definite(1e-12)


def test_the_last_shifted_factor_is_kept():
    exact = ExactKernel(gamma=1.0).fit(X)
    before = exact.nbytes
    assert exact.shifted(0.5) is exact.shifted(0.5)
    exact.shifted(2.0)
    assert exact.nbytes == before + exact.matrix_.nbytes


def test_single_precision_rows_have_the_features_that_they_were_fitted_with():
    rows = np.random.default_rng(0).normal(size=(120, 2)).astype(np.float32)
    exact = ExactKernel(gamma=0.1)  # so smooth that the triangle is nearly singular
    features, again = exact.fit_transform(rows), exact.transform(rows)
    np.testing.assert_allclose(again @ again.T, exact.matrix_, atol=1e-6)
    np.testing.assert_allclose(again, features, atol=1e-3)
