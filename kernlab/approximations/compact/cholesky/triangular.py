"""A sparse lower triangle in CSC: its rows, and solves; a sparse right-hand side stays sparse."""

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import REORDERED_SUMS, njit


def rows_in_order(L, permutation, drop=0.0):
    """The rows of L as CSR, row i at place permutation[i].

    Entries of absolute value `drop` or less are left out.
    """
    n = L.shape[0]
    starts = _count_rows(L.indices, L.data, permutation, drop)
    index_type = np.int32 if starts[-1] < 2**31 else np.int64
    columns, values = np.empty(starts[-1], index_type), np.empty(starts[-1])
    _fill_rows(L.indptr, L.indices, L.data, permutation, drop, starts[:-1].copy(), columns, values)
    return sp.csr_matrix((values, columns, starts.astype(index_type)), shape=(n, n))


def solve_lower(L, B):
    """X with L X = B; `B` is dense, of one or two dimensions."""
    X = np.array(B, dtype=np.float64, order="C", copy=True)
    _forward(L.indptr, L.indices, L.data, X.reshape(len(X), -1))
    return X


def solve_upper(L, B):
    """X with L^T X = B."""
    X = np.array(B, dtype=np.float64, order="C", copy=True)
    _backward(L.indptr, L.indices, L.data, X.reshape(len(X), -1))
    return X


def solve_lower_sparse(L, parent, rows, drop=0.0):
    """X with L x = b for each row b of a CSR matrix, as the rows of a CSR matrix.

    Entries of absolute value `drop` or less are left out. A solution is zero but for the columns
    on the paths from the entries of b up the elimination tree, so a solve costs the entries of L
    in those columns alone.
    """
    rows = rows.tocsr()
    starts, columns, values = _forward_sparse(
        *(L.indptr, L.indices, L.data, np.asarray(parent, np.int64)),
        *(rows.indptr, rows.indices, rows.data, drop),
    )
    return sp.csr_matrix((values, columns, starts), shape=rows.shape)


@njit
def _count_rows(indices, values, permutation, drop):
    """Where each row starts."""
    starts = np.zeros(len(permutation) + 1, np.int64)
    for k in range(len(values)):
        starts[permutation[indices[k]] + 1] += abs(values[k]) > drop
    for row in range(len(permutation)):
        starts[row + 1] += starts[row]
    return starts


@njit
def _fill_rows(col_starts, indices, values, permutation, drop, ends, columns, out):
    for column in range(len(col_starts) - 1):
        for k in range(col_starts[column], col_starts[column + 1]):
            if abs(values[k]) > drop:
                row = permutation[indices[k]]
                columns[ends[row]] = column
                out[ends[row]] = values[k]
                ends[row] += 1


@njit(fastmath=REORDERED_SUMS)
def _forward(starts, indices, values, X):
    for column in range(len(starts) - 1):
        first = starts[column]  # the diagonal
        for c in range(X.shape[1]):
            X[column, c] /= values[first]
        for k in range(first + 1, starts[column + 1]):
            for c in range(X.shape[1]):
                X[indices[k], c] -= values[k] * X[column, c]


@njit(fastmath=REORDERED_SUMS)
def _backward(starts, indices, values, X):
    for column in range(len(starts) - 2, -1, -1):
        first = starts[column]
        for k in range(first + 1, starts[column + 1]):
            for c in range(X.shape[1]):
                X[column, c] -= values[k] * X[indices[k], c]
        for c in range(X.shape[1]):
            X[column, c] /= values[first]


@njit(fastmath=REORDERED_SUMS)
def _forward_sparse(starts, indices, values, parent, b_starts, b_columns, b_values, drop):
    n, n_rows = len(parent), len(b_starts) - 1
    x = np.zeros(n)
    seen = np.full(n, -1, np.int64)
    reach = np.empty(n, np.int64)
    out_starts = np.zeros(n_rows + 1, np.int64)
    out_columns = np.empty(max(1024, 4 * len(b_values)), np.int64)
    out_values = np.empty(len(out_columns))
    for row in range(n_rows):
        size = 0
        for k in range(b_starts[row], b_starts[row + 1]):
            column = b_columns[k]
            x[column] = b_values[k]
            while column >= 0 and seen[column] != row:
                seen[column] = row
                reach[size] = column
                size += 1
                column = parent[column]
        ordered = np.sort(reach[:size])  # a parent comes after its children
        begin = out_starts[row]
        if begin + size > len(out_columns):
            out_columns = _grown(out_columns, begin + size)
            out_values = _grown(out_values, begin + size)
        end = begin
        for place in range(size):
            column = ordered[place]
            first = starts[column]
            solved = x[column] / values[first]
            x[column] = 0.0
            for k in range(first + 1, starts[column + 1]):
                x[indices[k]] -= values[k] * solved
            if abs(solved) > drop:
                out_columns[end] = column
                out_values[end] = solved
                end += 1
        out_starts[row + 1] = end
    total = out_starts[n_rows]
    return out_starts, out_columns[:total].copy(), out_values[:total].copy()


@njit
def _grown(array, at_least):
    larger = np.empty(max(2 * len(array), at_least), array.dtype)
    larger[: len(array)] = array
    return larger
