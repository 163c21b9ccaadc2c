"""Where a compact kernel ends by rule: the quantile, and the trade-off of equations 39 to 41."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.approximations import CompactKernel
from kernlab.approximations.compact import (
    alpha_by_trade_off,
    radius_by_quantile,
    similarity_and_sparsity,
)
from kernlab.approximations.compact.sampling import distances_from, predict_entries, sample_rows
from kernlab.kernels import Compact, gamma_from_sigma

RNG = np.random.default_rng(0)
ROWS = RNG.random((400, 3))
ALPHAS = np.array([0.3, 0.7, 1.5, 3.0, 8.0])
SIGMA = 0.3


@pytest.mark.parametrize("sparsity", [0.2, 0.75, 0.99])
def test_the_quantile_keeps_the_sparsity_and_no_more(sparsity):
    radius = radius_by_quantile(ROWS, sparsity)
    K = Compact(1.0, 1.0 / radius, 3)(ROWS)
    reached = 1.0 - np.count_nonzero(K) / K.size
    assert sparsity - 1e-12 <= reached < sparsity + 1e-4


def test_the_quantile_of_many_rows_is_estimated():
    rows = RNG.random((30_000, 2))
    radius = radius_by_quantile(rows, 0.999, random_state=0)
    true = predict_entries(rows, radius, random_state=1)
    assert true.entries == pytest.approx(0.001 * 30_000**2, rel=0.1)


def test_the_default_rule_of_the_approximation():
    few = CompactKernel(gamma="quantile").fit(ROWS)
    assert few.sparsity_ == pytest.approx(0.75, abs=0.01)
    many = CompactKernel(gamma="quantile", random_state=0).fit(RNG.random((5000, 2)))
    assert many.prediction_.per_row == pytest.approx(200, rel=0.1)
    assert many.kernel_.alpha == pytest.approx(np.sqrt(2 * many.kernel_.gamma) / 3)
    asked = CompactKernel(gamma="quantile", sparsity=0.9).fit(ROWS)
    assert asked.sparsity_ == pytest.approx(0.9, abs=0.01)
    assert CompactKernel(gamma="quantile").fit(ROWS[:2]).sparsity_ <= 0.5


@pytest.mark.parametrize("rows", [ROWS, sp.csr_matrix(ROWS)])
def test_similarity_and_sparsity_are_the_equations(rows):
    similarity, sparsity = similarity_and_sparsity(rows, SIGMA, ALPHAS, 3)
    gaussian = rbf_kernel(ROWS, gamma=gamma_from_sigma(SIGMA))
    for k, alpha in enumerate(ALPHAS):
        K = Compact(gamma_from_sigma(SIGMA), alpha, 3)(ROWS)
        inner = np.sum(K * gaussian) / np.sqrt(np.sum(K * K) * np.sum(gaussian * gaussian))
        assert similarity[k] == pytest.approx(inner, rel=1e-6)
        assert sparsity[k] == pytest.approx(1.0 - np.count_nonzero(K) / K.size, abs=1e-9)


def test_a_sample_stands_for_all_pairs_and_the_diagonal():
    rows = RNG.random((4000, 3))
    estimate = similarity_and_sparsity(rows, 0.1, [2.0, 10.0], 3, random_state=0)
    gaussian = rbf_kernel(rows, gamma=gamma_from_sigma(0.1))
    for k, alpha in enumerate([2.0, 10.0]):
        K = Compact(gamma_from_sigma(0.1), alpha, 3)(rows)
        inner = np.sum(K * gaussian) / np.sqrt(np.sum(K * K) * np.sum(gaussian * gaussian))
        assert estimate[0][k] == pytest.approx(inner, abs=0.02)
        assert estimate[1][k] == pytest.approx(1.0 - np.count_nonzero(K) / K.size, abs=0.01)


def test_lemma_3_1_in_the_limits():
    similarity, sparsity = similarity_and_sparsity(ROWS, SIGMA, [1e-9, 1e9], 3)
    assert similarity[0] == pytest.approx(1.0, abs=1e-6)
    assert sparsity[0] == 0.0
    assert sparsity[1] == pytest.approx(1.0 - 1.0 / 400)


@pytest.mark.parametrize("beta", [0.05, 0.5, 5.0])
def test_the_trade_off_is_the_best_on_a_fine_grid(beta):
    chosen = alpha_by_trade_off(ROWS, SIGMA, 3, beta=beta)
    alphas = 1.0 / np.append(np.linspace(pdist(ROWS).min(), 2.0, 400), [10.0, 100.0])
    similarity, sparsity = similarity_and_sparsity(ROWS, SIGMA, [chosen, *alphas], 3)
    merit = similarity + beta * sparsity
    assert merit[0] >= merit[1:].max() - 2e-3


def test_a_dearer_sparsity_gives_a_smaller_support():
    chosen = [alpha_by_trade_off(ROWS, SIGMA, 3, beta=beta) for beta in (0.1, 1.0, 10.0)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]
    kernel = CompactKernel(gamma=gamma_from_sigma(SIGMA), alpha="trade-off", trade_off=10.0, l=3)
    assert kernel.fit(ROWS).kernel_.alpha == chosen[-1]


def test_sampled_distances_are_distances():
    sample = sample_rows(ROWS, random_state=0, n_pairs=1)
    assert len(sample) == 32
    blocks = np.concatenate(list(distances_from(ROWS, sample, rows_per_block=10)))
    for row, distances in zip(sample, blocks, strict=True):
        np.testing.assert_allclose(distances, np.linalg.norm(ROWS - ROWS[row], axis=1), atol=1e-7)
        assert distances[row] == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: radius_by_quantile(ROWS, 1.0), "sparsity must lie in"),
        (lambda: radius_by_quantile(ROWS, 0.9999), "at most the sparsity 0.9975"),
        (lambda: radius_by_quantile(ROWS[:1], 0.5), "n_samples=1"),
        (lambda: alpha_by_trade_off(ROWS, 0.0, 3), "sigma must be"),
        (lambda: alpha_by_trade_off(ROWS, 1.0, 3, beta=0.0), "beta must be"),
        (lambda: alpha_by_trade_off(np.ones((5, 2)), 1.0, 3), "all rows are equal"),
        (lambda: similarity_and_sparsity(ROWS, 1.0, [-1.0], 3), "alpha must be"),
    ],
)
def test_what_cannot_be_had_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
