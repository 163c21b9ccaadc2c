"""The ends of the spectrum of a symmetric matrix that is known by its products."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

DENSE_ROWS = 32  # up to here the matrix is formed


def gershgorin_radii(matrix):
    """The sum of the absolute values off the diagonal, for each row (Theorem 3.2 of the thesis)."""
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    return sums - np.abs(matrix.diagonal())


def largest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The largest eigenvalue, by Lanczos' method with restarts (ARPACK).

    Parameters
    ----------
    product : function of an array of shape (n_rows, k) that gives the matrix times its columns.
    tol : the residual |A v - lambda v| relative to lambda.

    Returns
    -------
    float : never above the true one but for rounding.
    """
    if n_rows <= DENSE_ROWS:
        return float(np.linalg.eigvalsh(product(np.eye(n_rows)))[-1])
    operator = LinearOperator(
        (n_rows, n_rows), lambda v: product(np.reshape(v, (-1, 1))).ravel(), dtype=np.float64
    )
    start = np.random.default_rng(random_state).standard_normal(n_rows)
    if not operator.matvec(start).any():
        return 0.0  # ARPACK has no use for a matrix of zeros
    return float(eigsh(operator, 1, which="LA", tol=tol, v0=start, return_eigenvectors=False)[0])


def smallest_eigenvalue(product, n_rows, *, tol=1e-5, random_state=0):
    """The smallest eigenvalue, to `tol` times the largest absolute one; never below the true one.

    It is what the largest eigenvalue of s I - A lacks of s, with s the largest of A: convergence
    does not depend on how small it is.
    """
    shift = max(0.0, largest_eigenvalue(product, n_rows, tol=1e-2, random_state=random_state))
    return shift - largest_eigenvalue(
        lambda V: shift * V - product(V), n_rows, tol=tol, random_state=random_state
    )
