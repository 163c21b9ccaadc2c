"""The explorer of the hierarchical matrix: its blocks tile the matrix, its figures are right."""

import numpy as np
import pytest

from kernlab.kernels import gamma_from_sigma, make_kernel
from kernlab.lab.explorers.hss_matrix import (
    SETS,
    blocks,
    describe,
    draw_matrix,
    fit_matrix,
    hss_matrix,
)


def test_blocks_tile_the_matrix_and_name_its_ranks():
    fit = fit_matrix("Swiss roll", "2means", 0.5, 1e-3, 300, 32, rows=400)
    cover = np.zeros((400, 400), dtype=int)
    K = fit.kernel.operator() @ np.eye(400)
    order = fit.kernel.matrix_.tree.order
    K = K[np.ix_(order, order)]
    for row, column, height, width, rank in blocks(fit.kernel.matrix_):
        cover[row : row + height, column : column + width] += 1
        if rank is not None:
            found = np.linalg.matrix_rank(K[row : row + height, column : column + width], tol=1e-12)
            assert found <= rank
    assert (cover == 1).all()


def test_the_error_is_that_of_the_matrix():
    fit = fit_matrix("spirals", "2means", 0.3, 1e-1, 300, 32, rows=300)
    K = make_kernel("rbf", gamma=gamma_from_sigma(0.3))(fit.X)
    true = np.linalg.norm(fit.kernel.operator() @ np.eye(300) - K) / np.linalg.norm(K)
    assert fit.quality.sampled_error == pytest.approx(true, rel=0.5)
    assert f"{fit.quality.sampled_error:.1e}" in describe(fit)


@pytest.mark.parametrize("dataset", SETS)
def test_every_set_draws(dataset):
    fit = fit_matrix(dataset, "kdtree", 0.3, 1e-2, 50, 64, rows=200)
    draw_matrix(fit).canvas.draw()


@pytest.mark.parametrize(("rank", "leaf_size"), [(1, 32), (300, 256)])
def test_rank_one_and_a_single_leaf_draw(rank, leaf_size):
    fit = fit_matrix("Swiss roll", "natural", 1.0, 1e-2, rank, leaf_size, rows=150)
    draw_matrix(fit).canvas.draw()
    assert fit.kernel.rank_ <= rank


def test_controls_redraw_and_tighten():
    explorer = hss_matrix()
    before, caption = explorer.png, explorer.caption
    explorer.controls["rel_tol"].value = 1e-6
    assert explorer.png != before
    assert "Not drawn" not in explorer.caption
    assert explorer.caption != caption
    explorer.controls["max_rank"].value = 1.0
    assert "largest rank 1;" in explorer.caption
