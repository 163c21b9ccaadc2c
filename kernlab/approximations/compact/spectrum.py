"""How far a sparse symmetric matrix is from losing its definiteness."""

import numpy as np
import scipy.linalg as la


def gershgorin_radii(matrix):
    """The sum of the absolute values off the diagonal, for each row (Theorem 3.2 of the thesis)."""
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    return sums - np.abs(matrix.diagonal())


def smallest_eigenvalue(product, n_rows, n_steps=40, random_state=0):
    """About the smallest eigenvalue, by `n_steps` of Lanczos' method: never below the true one.

    `product(V)` multiplies the matrix with the columns of V.
    """
    vector = np.random.default_rng(random_state).standard_normal(n_rows)
    vector /= la.norm(vector)
    before = np.zeros(n_rows)
    diagonal, beside = [], []
    for _ in range(min(n_steps, n_rows)):
        image = product(vector[:, None])[:, 0]
        diagonal.append(float(vector @ image))
        image -= diagonal[-1] * vector
        if beside:
            image -= beside[-1] * before
        length = float(la.norm(image))
        if length <= 1e-12 * max(1.0, abs(diagonal[0])):
            beside.append(0.0)
            break
        beside.append(length)
        before, vector = vector, image / length
    return float(la.eigh_tridiagonal(diagonal, beside[:-1], eigvals_only=True)[0])
