"""Inner products and distances between the rows of two matrices, dense or sparse, the cheap way.

Three ways lead to X Y^T for sparse rows: fill them in and use BLAS; sparse times dense; sparse
times sparse. Which is fastest depends on the densities alone, so it is chosen once per product
from the operations that each would need.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

# Nanoseconds per multiplication, measured on one core in double precision; only ratios matter.
BLAS, SPARSE_DENSE, SPARSE_SPARSE = 0.04, 0.5, 3.0
FILLED_BYTES = 2**30  # the largest right-hand side that is filled in


@dataclass(frozen=True)
class RightRows:
    """The right-hand rows of a product, brought into the form that makes it cheapest."""

    rows: object  # dense, or CSR
    norms: np.ndarray  # squared
    fill_left: bool  # whether sparse left-hand rows are filled in, block by block
    shift: np.ndarray | None = None  # what was subtracted, and is to be on the left as well
    extended: np.ndarray | None = None  # dense rows with the columns 1 and |z|^2, for distances

    def from_row(self, first):
        """Only the rows behind the first ones."""
        behind = None if self.extended is None else self.extended[first:]
        return replace(self, rows=self.rows[first:], norms=self.norms[first:], extended=behind)


def prepare_right(X, Y, distances=False):
    """Choose how X Y^T is computed, from the densities of both.

    For `distances` the mean of Y is subtracted from dense rows: distances stay, and far from the
    origin they would drown in the rounding of |x|^2 + |z|^2 - 2 x . z otherwise.
    """
    Y = Y.astype(result_type(X, Y), copy=False)
    shift = None
    if distances and not sp.issparse(X) and not sp.issparse(Y):
        shift = Y.mean(axis=0)
        Y = Y - shift
    norms = row_norms(Y, squared=True)
    dense_y = 1.0 if not sp.issparse(Y) else Y.nnz / max(1, Y.shape[0] * Y.shape[1])
    dense_x = 1.0 if not sp.issparse(X) else X.nnz / max(1, X.shape[0] * X.shape[1])
    may_fill = Y.shape[0] * Y.shape[1] * Y.dtype.itemsize <= FILLED_BYTES
    costs = {"blas": BLAS if may_fill else np.inf}
    if sp.issparse(X):
        costs["sparse-dense"] = SPARSE_DENSE * dense_x if may_fill else np.inf
        if sp.issparse(Y):
            costs["sparse-sparse"] = SPARSE_SPARSE * dense_x * dense_y
    elif sp.issparse(Y):
        costs["sparse-dense"] = SPARSE_DENSE * dense_y
    way = min(costs, key=costs.get)
    fill_right = sp.issparse(Y) and (way == "blas" or (way == "sparse-dense" and sp.issparse(X)))
    rows = Y.toarray() if fill_right else Y
    extended = None
    if distances and not sp.issparse(rows):
        extended = np.column_stack([rows, np.ones_like(norms), norms])
        rows = extended[:, :-2]
    return RightRows(rows, norms, way == "blas", shift, extended)


def result_type(X, Y):
    """Single precision where both are; otherwise double, also of whole numbers."""
    both_single = X.dtype == np.float32 and Y.dtype == np.float32
    return np.dtype(np.float32 if both_single else np.float64)


def inner_products(X, right, out):
    """Write x . z for all rows x of X and z on the right to `out`."""
    Y = right.rows
    if sp.issparse(X) and right.fill_left:
        X = X.toarray()
    if sp.issparse(X) and sp.issparse(Y):
        (X @ Y.T).toarray(out=out) if X.dtype == out.dtype else np.copyto(out, (X @ Y.T).toarray())
    elif sp.issparse(Y):
        out[...] = (Y @ X.T).T
    elif not sp.issparse(X) and X.dtype == Y.dtype == out.dtype:
        np.matmul(X, Y.T, out=out)
    else:
        out[...] = X @ Y.T


def squared_distances(X, right, out, factor=1.0):
    """`factor` |x - z|^2 for all rows x of X and z on the right, which know of `distances`.

    With two more columns one product gives all of |x|^2 + |z|^2 - 2 x . z, and `out` is written
    once. Rounding to the wrong side of zero is removed.
    """
    X = X.astype(out.dtype, copy=False)
    if right.shift is not None:
        X = X - right.shift
    norms = row_norms(X, squared=True)
    whole = right.extended is not None and right.extended.dtype == out.dtype
    if whole and (right.fill_left or not sp.issparse(X)):
        left = np.empty((X.shape[0], right.extended.shape[1]), dtype=out.dtype)
        left[:, :-2] = X.toarray() if sp.issparse(X) else X
        left[:, :-2] *= -2.0 * factor
        left[:, -2] = factor * norms
        left[:, -1] = factor
        np.matmul(left, right.extended.T, out=out)
    else:
        inner_products(-2.0 * X, right, out)  # the rows are fewer numbers than the products
        out += norms[:, None]
        out += right.norms
        if factor != 1.0:
            out *= factor
    (np.maximum if factor > 0 else np.minimum)(out, 0.0, out=out)
