"""A sparse matrix that holds its entries in parts is the matrix that they add up to."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from kernlab import FPC, HSSSVC, LASN, KernelMachine, SparseCholeskySVC
from kernlab.approximations import CompactKernel, Nystrom
from kernlab.kernels import gamma_from_sigma

X, y = make_moons(150, noise=0.2, random_state=0)
WHOLE = sp.csr_matrix(X)
IN_PARTS = sp.csr_matrix(
    (np.repeat(WHOLE.data / 2, 2), np.repeat(WHOLE.indices, 2), 2 * WHOLE.indptr), WHOLE.shape
)


@pytest.mark.parametrize(
    "machine",
    [
        LASN(n_landmarks=20, gamma=1.0, random_state=0),
        HSSSVC(h=0.5, random_state=0),
        SparseCholeskySVC(sigma=0.3, solver="newton"),
        FPC(2),
        KernelMachine("exact", "newton", gamma=1.0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_learn_and_decide_alike(machine):
    expected = machine.fit(WHOLE, y).decision_function(WHOLE)
    np.testing.assert_allclose(machine.decision_function(IN_PARTS), expected, atol=1e-9)
    np.testing.assert_allclose(
        machine.fit(IN_PARTS, y).decision_function(WHOLE), expected, atol=1e-6
    )
    assert IN_PARTS.nnz == 2 * WHOLE.nnz, "the user's matrix stays as it is"


def test_approximations_see_the_same_rows():
    nystrom = Nystrom(gamma=1.0, n_landmarks=10, random_state=0)
    np.testing.assert_allclose(nystrom.fit_transform(IN_PARTS), nystrom.fit_transform(WHOLE))
    near = [
        CompactKernel(gamma=gamma_from_sigma(0.3), search="products").fit(stored).matrix_.toarray()
        for stored in (WHOLE, IN_PARTS)
    ]
    np.testing.assert_allclose(*near)
