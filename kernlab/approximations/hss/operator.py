"""K~ as a SciPy LinearOperator, and how good an approximation it is."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.linalg as la
from scipy.sparse.linalg import LinearOperator

from kernlab.approximations.hss.factor import NotPositiveDefiniteError, ShiftedHSS


class HSSOperator(LinearOperator):
    """Products with K~ in the order of the data, for vectors and blocks of vectors."""

    def __init__(self, matrix):
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix = matrix

    def _matmat(self, x):
        order = self.matrix.tree.order
        y = np.empty(x.shape, dtype=np.result_type(x.dtype, self.dtype))
        y[order] = self.matrix.product(x[order].astype(self.dtype, copy=False))
        return y

    def _matvec(self, x):
        return self._matmat(x.reshape(-1))

    def _adjoint(self):
        return self

    _transpose = _adjoint


@dataclass(frozen=True)
class HSSQuality:
    """`sampled_error`: the relative Frobenius error on `n_sampled` random columns;
    `smallest_eigenvalue` and `largest_eigenvalue` of K~; `levels`: ranks and bytes by level."""

    sampled_error: float
    n_sampled: int
    smallest_eigenvalue: float
    largest_eigenvalue: float
    levels: pd.DataFrame


def sampled_error(matrix, kernel, rows, n_columns, generator):
    """|K - K~| / |K| over some columns, in the Frobenius norm; `rows` in the order of the data."""
    n = matrix.shape[0]
    chosen = np.sort(generator.choice(n, min(n_columns, n), replace=False))
    units = np.zeros((n, len(chosen)), dtype=matrix.dtype)
    units[chosen, np.arange(len(chosen))] = 1.0
    true = kernel(rows, rows[chosen])
    missed = true - HSSOperator(matrix) @ units
    return float(np.linalg.norm(missed) / max(np.linalg.norm(true), np.finfo(float).tiny))


def extreme_eigenvalues(matrix, *, steps=60, random_state=0, max_memory=None):
    """(smallest, largest) eigenvalue of K~.

    The largest by Lanczos' method on K~. The smallest is lost among thousands of tiny ones there;
    it is found on (K~ + s I)^-1, of which it gives the largest eigenvalue, for an s so large that
    Cholesky factors exist.
    """
    largest = _largest(matrix.product, matrix, steps, random_state)
    shift = max(1e-5 * abs(largest), np.finfo(matrix.dtype).tiny)
    factor = None
    while factor is None:
        try:
            factor = ShiftedHSS(matrix, shift, max_memory)
        except NotPositiveDefiniteError:
            shift *= 4.0
    of_inverse = _largest(factor.solve_in_order, matrix, steps, random_state)
    return 1.0 / of_inverse - shift, largest


def _largest(product, matrix, steps, random_state, tol=1e-4):
    """The largest eigenvalue, to `tol` or as far as so many of Lanczos' steps lead.

    The basis is not kept, which costs repeated copies of eigenvalues that have converged and
    nothing else.
    """
    n = matrix.shape[0]
    steps = min(steps, n)
    v = np.random.default_rng(random_state).normal(size=n)
    v, before = v / np.linalg.norm(v), np.zeros(n)
    diagonal, beside = [], []
    for _ in range(steps):
        w = product(v.astype(matrix.dtype)).astype(np.float64)
        diagonal.append(float(w @ v))
        w -= diagonal[-1] * v
        if beside:
            w -= beside[-1] * before
        length = float(np.linalg.norm(w))
        values, vectors = la.eigh_tridiagonal(diagonal, beside)
        if length * abs(vectors[-1, -1]) <= tol * abs(values[-1]):
            break
        beside.append(length)
        v, before = w / length, v
    return float(values[-1])
