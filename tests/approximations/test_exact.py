"""The exact kernel as features, as an operator and in shifted solves."""

import numpy as np
import pytest
import scipy.linalg as la
from scipy.sparse.linalg import cg
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import ExactKernel
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5))
NEW = RNG.normal(size=(30, 5))


def test_features_reproduce_the_kernel_on_fitted_and_on_new_rows():
    exact = ExactKernel(gamma=0.4)
    F = exact.fit_transform(X)
    np.testing.assert_allclose(F @ F.T, rbf_kernel(X, gamma=0.4), atol=1e-12)
    np.testing.assert_allclose(exact.transform(X), F, atol=1e-9)
    np.testing.assert_allclose(exact.transform(NEW) @ F.T, rbf_kernel(NEW, X, 0.4), atol=1e-9)
    assert exact.residual_ < 1e-13


def test_the_rank_is_that_of_the_kernel():
    exact = ExactKernel("linear").fit(X)
    assert exact.rank_ == 5
    repeated = ExactKernel(gamma=0.4).fit(np.repeat(X[:20], 3, axis=0))
    assert repeated.rank_ == 20
    assert len(repeated.pivots_) == 20


def test_weights_fold_into_an_expansion_in_kernel_functions():
    exact = ExactKernel(gamma=0.4)
    exact.fit(X)
    w = RNG.normal(size=(exact.rank_, 2))
    np.testing.assert_allclose(exact.decision(NEW, w), exact.transform(NEW) @ w, atol=1e-8)


def test_feature_blocks_are_the_features():
    exact = ExactKernel(gamma=0.4).fit(X)
    blocks = {rows.start: F for rows, F in exact.iter_features(NEW, rows_per_block=7)}
    stacked = np.vstack([blocks[start] for start in sorted(blocks)])
    np.testing.assert_allclose(stacked, exact.transform(NEW), atol=1e-12)


def test_the_operator_works_in_scipys_solvers():
    K = rbf_kernel(X, gamma=0.4)
    operator = ExactKernel(gamma=0.4).fit(X).operator()
    b = RNG.normal(size=120)
    np.testing.assert_allclose(operator @ b, K @ b, atol=1e-12)
    solution, status = cg(operator, K @ b, rtol=1e-12, maxiter=2000)
    assert status == 0
    np.testing.assert_allclose(K @ solution, K @ b, atol=1e-8)


@pytest.mark.parametrize("columns", [(), (4,)])
def test_shifted_solves(columns):
    exact = ExactKernel(gamma=0.4).fit(X)
    B = RNG.normal(size=(120, *columns))
    solution = exact.shifted(0.5).solve(B)
    np.testing.assert_allclose(rbf_kernel(X, gamma=0.4) @ solution + 0.5 * solution, B, atol=1e-10)
    assert exact.shifted(0.5) is exact.shifted(0.5)  # factorised once
    assert exact.nbytes > exact.matrix_.nbytes


def test_dual_decisions_use_the_named_rows_only():
    exact = ExactKernel(gamma=0.4).fit(X)
    rows = np.array([3, 50, 7])
    values = exact.dual_decision(NEW, np.array([1.0, -2.0, 0.5]), rows)
    np.testing.assert_allclose(values, rbf_kernel(NEW, X[rows], 0.4) @ [1.0, -2.0, 0.5])
    assert not exact.dual_decision(NEW, np.zeros(0), rows[:0]).any()


def test_a_kernel_that_is_not_positive_semidefinite_has_no_features():
    sigmoid = ExactKernel("sigmoid", gamma=1.0, coef0=-1.0).fit(X)
    smallest = la.eigvalsh(sigmoid.matrix_)[0]
    assert smallest < -0.1
    with pytest.raises(ValueError, match=r"not positive semidefinite.*smallest eigenvalue -"):
        sigmoid.transform(X)
    with pytest.raises(ValueError, match="raise beta"):
        sigmoid.shifted(-0.5 * smallest)


def test_too_many_rows_are_refused_with_the_arithmetic():
    with pytest.raises(MemoryLimitError, match=r"5 x 120\^2 x 8 bytes"):
        ExactKernel(max_memory="300kB").fit(X)


def test_it_says_whether_a_shifted_matrix_is_definite():
    sigmoid = ExactKernel("sigmoid", gamma=1.0, coef0=-1.0).fit(X)
    smallest = np.linalg.eigvalsh(sigmoid.matrix_)[0]
    assert smallest < 0
    assert sigmoid.is_definite(-1.01 * smallest)
    assert not sigmoid.is_definite(-0.99 * smallest)
    assert ExactKernel(gamma=1.0).fit(X).is_definite(1e-12)


def test_the_last_shifted_factor_is_kept():
    exact = ExactKernel(gamma=1.0).fit(X)
    before = exact.nbytes
    exact.shifted(1.0)
    exact.shifted(2.0)
    assert exact.nbytes == before + exact.matrix_.nbytes


def test_single_precision_rows_have_the_features_that_they_were_fitted_with():
    X = np.random.default_rng(0).normal(size=(120, 2)).astype(np.float32)
    exact = ExactKernel(gamma=0.1)  # so smooth that the triangle is all but singular
    features = exact.fit_transform(X)
    again = exact.transform(X)
    np.testing.assert_allclose(again @ again.T, exact.matrix_, atol=1e-6)
    np.testing.assert_allclose(again, features, atol=1e-3)
