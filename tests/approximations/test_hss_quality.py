"""What an HSS approximation must reach; a stand-in of diagonal blocks alone must fail it.

Ten steps of ADMM hardly notice the difference; these figures do.
"""

import numpy as np
import pytest

from kernlab.approximations import HSSKernel
from kernlab.datasets import load_dataset
from kernlab.kernels import gamma_from_sigma

MOST_RESIDUAL = 1e-10
MOST_ERROR = 10.0  # times rel_tol
CUBE = np.random.default_rng(0).normal(size=(20_000, 3))


def shortcomings(kernel, rel_tol, beta=1.0):
    """In words, what falls short: the error, a rank, the residual of a solve."""
    quality, found = kernel.quality(32), []
    if not quality.sampled_error <= MOST_ERROR * rel_tol:
        found.append(f"error {quality.sampled_error:.1e}")
    if not (quality.levels["smallest rank"][1:] > 0).all():
        found.append("a rank of zero")
    beta += 2.0 * max(0.0, -quality.smallest_eigenvalue)
    b = np.random.default_rng(1).normal(size=kernel.matrix_.shape[0])
    x = kernel.shifted(beta).solve(b)
    residual = np.linalg.norm(kernel.operator() @ x + beta * x - b) / np.linalg.norm(b)
    if not residual <= MOST_RESIDUAL:
        found.append(f"residual {residual:.1e}")
    return found


@pytest.mark.parametrize("rel_tol", [1e-2, 1e-4])
def test_decaying_ranks(rel_tol):
    kernel = HSSKernel(gamma=0.5, rel_tol=rel_tol, random_state=0).fit(CUBE)
    assert shortcomings(kernel, rel_tol) == []


def test_a_block_diagonal_stand_in_is_found_out():
    blocks = HSSKernel(gamma=0.5, max_rank=0, random_state=0).fit(CUBE)
    found = shortcomings(blocks, 1e-2)
    assert len(found) == 2
    assert found[0].startswith("error 9")
    assert found[1] == "a rank of zero"


def test_a_factor_of_other_numbers_is_found_out():
    kernel = HSSKernel(gamma=0.5, random_state=0).fit(CUBE[:2000])
    kernel._factor = HSSKernel(gamma=0.501, random_state=0).fit(CUBE[:2000]).shifted(2.0)
    smallest = kernel.quality(32).smallest_eigenvalue
    found = shortcomings(kernel, 1e-2, beta=2.0 - 2.0 * max(0.0, -smallest))
    assert [text.split()[0] for text in found] == ["residual"]


def test_ranks_of_a9a_are_positive_at_every_level(real_data):
    rows = load_dataset("a9a", paper="hss").X_train[:4000]
    kernel = HSSKernel(gamma=gamma_from_sigma(1.0), rel_tol=1e-2, random_state=0).fit(rows)
    assert (kernel.quality(32).levels["smallest rank"][1:] > 0).all()
