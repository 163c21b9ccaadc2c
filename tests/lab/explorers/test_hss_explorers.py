"""ADMM-HSS' explorers: blocks tile the matrix, and one compression serves every C."""

import numpy as np
import pytest

from kernlab import HSSSVC
from kernlab.approximations.hss import HSSKernel
from kernlab.lab.explorers import hss_admm, hss_matrix
from kernlab.lab.explorers.hss import GRID, REL_TOL, blocks, compress
from kernlab.lab.explorers.plane import square
from kernlab.lab.explorers.samples import samples


def rows_of(name, most):
    return samples((), toys=[name])[name].rows(most)


def test_blocks_tile_the_matrix_and_name_its_ranks():
    fit = hss_matrix.compute(rows_of("Swiss roll", 400), 0.5, "2means", 1e-3, 300, 32)
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


def test_the_picture_shows_the_estimator():
    rows = rows_of("two moons", 400)
    fit = hss_admm.compute(rows, 0.3, 10.0, 5.0, 20)
    machine = HSSSVC(C=5.0, h=0.3, beta=10.0, max_iter=20, rel_tol=REL_TOL, random_state=0)
    machine.fit(rows.X, rows.y)
    expected = machine.decision_function(square(GRID)[1])
    np.testing.assert_allclose(fit.decisions, expected, atol=1e-4)
    assert [row["iteration"] for row in fit.machine.result_.trace] == list(range(1, 21))


def test_c_needs_no_other_compression_and_h_does(monkeypatch):
    counted, fit = [], HSSKernel.fit

    def counting(self, X, y=None):
        counted.append(len(X))
        return fit(self, X, y)

    compress.cache_clear()
    monkeypatch.setattr(HSSKernel, "fit", counting)
    explorer, rows = hss_admm(), hss_admm.given.rows
    assert counted == [rows]
    explorer.set(C=0.1)
    explorer.set(C=10.0, steps=10.0, beta=100.0)
    assert counted == [rows]
    explorer.set(h=1.0)
    assert counted == [rows, rows]


def test_a_beta_that_is_too_small_is_refused_in_words():
    with pytest.raises(ValueError, match="does not converge at beta"):
        hss_admm.compute(rows_of("checkerboard", 1000), 3.0, 1e-6, 1.0, 10)
