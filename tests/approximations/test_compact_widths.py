"""Where a compact kernel ends by rule: the quantile, and the trade-off of equations 39 to 41."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import CompactKernel
from kernlab.approximations.compact import (
    alpha_by_trade_off,
    predict_entries,
    radius_by_quantile,
    similarity_and_sparsity,
)
from kernlab.kernels import gamma_from_sigma

RNG = np.random.default_rng(0)
ROWS = RNG.random((400, 3))
ALPHAS = np.array([0.3, 0.7, 1.5, 3.0, 8.0])
SIGMA = 0.3


def by_equations(rows, sigma, alpha, l):
    """A and S of equations 39 and 40, from all pairs."""
    d = cdist(rows, rows)
    gaussian = rbf_kernel(rows, gamma=gamma_from_sigma(sigma))
    K = np.maximum(1.0 - alpha * d, 0.0) ** l * gaussian
    inner = np.sum(K * gaussian) / np.sqrt(np.sum(K * K) * np.sum(gaussian * gaussian))
    return inner, np.mean(d * alpha >= 1.0)


@pytest.mark.parametrize("sparsity", [0.2, 0.75, 0.99])
def test_the_quantile_keeps_the_sparsity_and_no_more(sparsity):
    radius = radius_by_quantile(ROWS, sparsity)
    reached = np.mean(cdist(ROWS, ROWS) >= radius * (1.0 - 1e-12))
    assert sparsity - 1e-12 <= reached < sparsity + 1e-4


def test_of_many_rows_quantile_and_entries_are_estimated():
    rows = RNG.random((30_000, 2))
    radius = radius_by_quantile(rows, 0.999, random_state=0)
    predicted = predict_entries(rows, radius, random_state=1)
    assert predicted.entries == pytest.approx(0.001 * 30_000**2, rel=0.1)
    assert 0 < predicted.error < 0.1 * predicted.entries
    kernel = CompactKernel(gamma=4.5 / radius**2, random_state=1).fit(rows)
    assert kernel.prediction_ == predicted
    true = (1.0 - kernel.sparsity_) * 30_000**2
    assert abs(predicted.entries - true) < 4 * predicted.error


def test_distances_of_many_rows_are_not_held():
    """From 32 rows to 300,000 others they would take 77 MB."""
    rows = RNG.random((300_000, 2))
    radius_by_quantile(rows[:3000], 0.99, random_state=0)  # which compiles
    tracemalloc.start()
    radius = radius_by_quantile(rows, 0.999, random_state=0)
    predict_entries(rows, radius, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_the_default_rule_of_the_approximation():
    few = CompactKernel(gamma="quantile").fit(ROWS)
    assert few.sparsity_ == pytest.approx(0.75, abs=0.01)
    assert few.prediction_.error == 0
    many = CompactKernel(gamma="quantile", random_state=0).fit(RNG.random((5000, 2)))
    assert many.prediction_.per_row == pytest.approx(200, rel=0.1)
    assert many.kernel_.alpha == pytest.approx(np.sqrt(2 * many.kernel_.gamma) / 3)
    sparser = CompactKernel(gamma="quantile", sparsity=0.9).fit(ROWS)
    assert sparser.sparsity_ == pytest.approx(0.9, abs=0.01)
    assert CompactKernel(gamma="quantile").fit(ROWS[:2]).sparsity_ <= 0.5


@pytest.mark.parametrize("rows", [ROWS, sp.csr_matrix(ROWS)])
def test_similarity_and_sparsity_are_the_equations(rows):
    similarity, sparsity = similarity_and_sparsity(rows, SIGMA, ALPHAS, 3)
    expected = np.array([by_equations(ROWS, SIGMA, alpha, 3) for alpha in ALPHAS])
    np.testing.assert_allclose(similarity, expected[:, 0], rtol=1e-6)
    np.testing.assert_allclose(sparsity, expected[:, 1], atol=1e-9)
    ends = similarity_and_sparsity(rows, SIGMA, [1e-9, 1e9], 3)  # Lemma 3.1
    np.testing.assert_allclose(ends[0][0], 1.0, atol=1e-6)
    np.testing.assert_allclose(ends[1], [0.0, 1.0 - 1.0 / 400], atol=1e-12)


def test_a_sample_stands_for_all_pairs_and_the_diagonal():
    rows = RNG.random((2000, 3))
    estimate = similarity_and_sparsity(rows, 0.1, [2.0, 10.0], 3, random_state=0)
    expected = np.array([by_equations(rows, 0.1, alpha, 3) for alpha in (2.0, 10.0)])
    np.testing.assert_allclose(estimate[0], expected[:, 0], atol=0.02)
    np.testing.assert_allclose(estimate[1], expected[:, 1], atol=0.01)


@pytest.mark.parametrize("beta", [0.1, 1.0, 10.0])
def test_the_trade_off_is_the_best_of_all_supports(beta):
    chosen = alpha_by_trade_off(ROWS, SIGMA, 3, beta)
    supports = np.quantile(pdist(ROWS), np.linspace(0.01, 1.0, 60))
    alphas = np.append(1.0 / supports, chosen)
    similarity, sparsity = similarity_and_sparsity(ROWS, SIGMA, alphas, 3)
    merit = similarity + beta * sparsity
    assert merit[-1] >= merit.max() - 2e-3 * (1 + beta)
    kernel = CompactKernel(
        gamma=gamma_from_sigma(SIGMA), alpha="trade-off", trade_off=beta, l=3
    ).fit(ROWS)
    assert kernel.kernel_.alpha == pytest.approx(chosen)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: radius_by_quantile(ROWS, 1.0), "sparsity must lie in"),
        (lambda: radius_by_quantile(ROWS, 0.9999), "at most the sparsity 0.9975"),
        (lambda: alpha_by_trade_off(np.ones((5, 2)), 1.0, 3), "all rows are equal"),
        (lambda: similarity_and_sparsity(ROWS, 1.0, [-1.0], 3), "alpha must be"),
    ],
)
def test_what_cannot_be_had_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
