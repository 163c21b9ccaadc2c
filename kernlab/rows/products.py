"""Inner products and distances between the rows of two matrices, dense or sparse, the cheap way.

Three ways lead to X Y^T for sparse rows: fill them in and use BLAS; sparse times dense; sparse
times sparse. Which is fastest depends on the densities, so it is chosen once per product.

Squared distances come from one product, |x|^2 + |z|^2 - 2 x . z, whose rounding is of the size of
eps (|x|^2 + |z|^2): all there is where rows are many times as far from the origin as from each
other. `gaussian_exponents`, which must be right for every pair, knows this bound for each pair and
takes differences where it does not suffice.

Equal rows have equal dual variables, so that m of them are one row with m times the weight and
m times the dual variable. A shift s that each has on its diagonal is then one of s / m.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.rows.arrays import ArrayRows, as_rows, canonical_csr
from kernlab.runtime import REORDERED_SUMS, for_each_block, njit, row_blocks

# Nanoseconds per multiplication, measured on one core in double precision; only ratios matter.
BLAS, COLUMN_SUMS, SPARSE_DENSE, SPARSE_SPARSE = 0.03, 0.09, 0.5, 3.0
FILLED_BYTES = 2**30  # the largest right-hand side that is filled in
ROWS_FOR_CENTRE = 33
COLUMNS_AT_ONCE = 256
PRODUCTS_AT_ONCE = 512
COPIED_VALUES = 2**19  # of left-hand rows that are centred, scaled or filled in at a time
WIDE = 256  # from so many features on, norms are not worth columns of their own
# How far an exponent may be off, and from which on exp(-exponent) is zero.
LARGEST_ERROR = {np.dtype(np.float64): 3e-7, np.dtype(np.float32): 3e-4}
VANISHING = {np.dtype(np.float64): 746.0, np.dtype(np.float32): 104.0}


@dataclass(frozen=True)
class RightRows:
    """The right-hand rows of a product, brought into the form that makes it cheapest."""

    rows: object  # dense, or CSR; centred and scaled for distances
    norms: np.ndarray  # squared
    fill_left: bool  # whether sparse left-hand rows are filled in, block by block
    shift: np.ndarray | None = None  # what was subtracted, and is to be on the left as well
    gamma: float = 1.0  # whose root was multiplied with
    extended: np.ndarray | None = None  # dense rows with the columns 1 and |z|^2, for distances
    given: object = None  # the rows as they came, for differences
    columns: np.ndarray | None = None  # dense rows transposed, for sums of columns

    def from_row(self, first):
        """Only the rows behind the first ones."""
        parts = {
            name: None if value is None else value[first:]
            for name in ("rows", "norms", "extended", "given")
            for value in [getattr(self, name)]
        }
        if self.columns is not None:
            parts["columns"] = np.ascontiguousarray(self.columns[:, first:])
        return replace(self, **parts)


def prepare_right(X, Y, distances=False, gamma=None):
    """`RightRows` for X Y^T, from the type and the density of both.

    With `distances` (for `squared_distances`) or `gamma` (for `gaussian_exponents`) a point amidst
    the rows of Y is subtracted from dense rows; with gamma they are multiplied by its root, so that
    norms neither overflow nor vanish.
    """
    given, Y = Y, Y.astype(result_type(X, Y), copy=False)
    shift = None
    if (distances or gamma is not None) and not sp.issparse(X) and not sp.issparse(Y):
        shift = _centre(Y)
        Y = Y - shift
    if gamma is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # then differences are taken
            scale = Y.dtype.type(np.sqrt(gamma))
            Y = Y * scale if shift is None else np.multiply(Y, scale, out=Y)
    norms = squared_norms(Y)
    dense_y = 1.0 if not sp.issparse(Y) else Y.nnz / max(1, Y.shape[0] * Y.shape[1])
    dense_x = 1.0 if not sp.issparse(X) else X.nnz / max(1, X.shape[0] * X.shape[1])
    may_fill = Y.shape[0] * Y.shape[1] * Y.dtype.itemsize <= FILLED_BYTES
    costs = {"blas": BLAS if may_fill else np.inf}
    if sp.issparse(X):
        costs["sparse-dense"] = COLUMN_SUMS * dense_x if may_fill else np.inf
        if sp.issparse(Y):
            costs["sparse-sparse"] = SPARSE_SPARSE * dense_x * dense_y
    elif sp.issparse(Y):
        costs["sparse-dense"] = SPARSE_DENSE * dense_y
    way, rows, extended, columns = min(costs, key=costs.get), Y, None, None
    if way == "sparse-dense" and sp.issparse(X):
        rows = Y.toarray(order="F") if sp.issparse(Y) else Y
        columns = np.ascontiguousarray(rows.T)
    elif way == "blas":
        rows = Y.toarray() if sp.issparse(Y) else Y
        if (distances or gamma is not None) and Y.shape[1] < WIDE:
            extended = np.column_stack([rows, np.ones_like(norms), norms])
            rows = extended[:, :-2]
    gamma = 1.0 if gamma is None else gamma
    return RightRows(rows, norms, way == "blas", shift, gamma, extended, given, columns)


def _centre(Y):
    """A point amidst the rows: medians of some, which a few rows far away do not move."""
    some = Y[:: max(1, -(-Y.shape[0] // ROWS_FOR_CENTRE))]
    if not len(some):
        return np.zeros(Y.shape[1], Y.dtype)
    return np.partition(some, len(some) // 2, axis=0)[len(some) // 2]


def result_type(X, Y):
    """Single precision where both are; otherwise double, also of whole numbers."""
    both_single = X.dtype == np.float32 and Y.dtype == np.float32
    return np.dtype(np.float32 if both_single else np.float64)


def squared_norms(X):
    """|x|^2 of all rows."""
    return row_norms(X, squared=True) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)


def unit_rows(X, spread=False):
    """Rows in single precision, for what only compares them, shift (None of sparse rows) and scale,
    with X near `rows * scale + shift`: of size one, and dense ones about zero, so that nothing
    overflows and nothing far from the origin is blurred; with `spread` of size one thereafter."""
    if sp.issparse(X):
        scale = float(np.abs(X.data).max(initial=0.0)) or 1.0
        parts = (X.data / scale).astype(np.float32), X.indices, X.indptr
        return sp.csr_matrix(parts, shape=X.shape), None, scale
    blocks = row_blocks(X.shape[0], max(1, 2**20 // max(1, X.shape[1])))
    scale = max((float(np.abs(X[part]).max(initial=0.0)) for part in blocks), default=0.0) or 1.0
    mean = sum((X[part] / scale).sum(axis=0, dtype=np.float64) for part in blocks) / X.shape[0]
    size, rows = 1.0, np.empty(X.shape, np.float32)
    if spread:
        size = max(float(np.abs(X[part] / scale - mean).max()) for part in blocks) or 1.0
    for part in blocks:
        rows[part] = (X[part] / scale - mean) / size
    return rows, mean * scale, scale * size


def inner_products(X, right, out):
    """Write x . z for all rows x of X and z on the right to `out`."""
    Y = right.rows
    if right.columns is not None:
        zeros = np.zeros(max(out.shape), out.dtype)
        X = X.astype(out.dtype, copy=False)
        _column_sums(X.data, X.indices, X.indptr, right.columns, 1.0, zeros, zeros, out)
        return
    if sp.issparse(X) and right.fill_left:
        X = X.toarray()
    with np.errstate(over="ignore", invalid="ignore"):  # who uses infinite products refuses them
        if sp.issparse(X) and sp.issparse(Y) and X.dtype == out.dtype:
            (X @ Y.T).toarray(out=out)
        elif sp.issparse(X) and sp.issparse(Y):
            out[...] = (X @ Y.T).toarray()
        elif sp.issparse(Y):
            out[...] = (Y @ X.T).T
        elif not sp.issparse(X) and X.dtype == Y.dtype == out.dtype:
            np.matmul(X, Y.T, out=out)
        else:
            out[...] = X @ Y.T


@njit(fastmath=REORDERED_SUMS)
def _column_sums(data, indices, indptr, columns, factor, by_row, by_column, out):
    """out_ij = by_row_i + by_column_j + factor x_i . z_j, with z_j the columns of `columns`.

    A stretch of a row of `out` stays in the nearest cache while the columns are added to it, four
    at a time.
    """
    factor = out.dtype.type(factor)
    for start in range(0, out.shape[1], PRODUCTS_AT_ONCE):
        stop = min(start + PRODUCTS_AT_ONCE, out.shape[1])
        constant = by_column[start:stop]
        for i in range(out.shape[0]):
            total, first = out[i, start:stop], by_row[i]
            for j in range(len(total)):
                total[j] = first + constant[j]
            at, end = indptr[i], indptr[i + 1]
            while at + 4 <= end:
                a, b = factor * data[at], factor * data[at + 1]
                c, d = factor * data[at + 2], factor * data[at + 3]
                u, v = columns[indices[at], start:stop], columns[indices[at + 1], start:stop]
                w, z = columns[indices[at + 2], start:stop], columns[indices[at + 3], start:stop]
                for j in range(len(total)):
                    total[j] += (a * u[j] + b * v[j]) + (c * w[j] + d * z[j])
                at += 4
            while at < end:
                a, u = factor * data[at], columns[indices[at], start:stop]
                for j in range(len(total)):
                    total[j] += a * u[j]
                at += 1


def squared_distances(X, right, out):
    """|x - z|^2 for all rows x of X and z on the right, which know of `distances`, to `out`.

    Rounded by about eps (|x|^2 + |z|^2), with norms about a point amidst the right-hand rows, of
    which those of X are returned; rounding to the wrong side of zero is removed.
    """
    norms = _signed_squares(X, right, out, 1.0)
    np.maximum(out, 0.0, out=out)
    return norms


def gaussian_exponents(X, right, out):
    """-gamma |x - z|^2 for all rows x of X and z on the right, which know `gamma`, to `out`.

    Where exp of them is not zero, they are right to 3e-7 (in single precision to 3e-4) for every
    pair of rows; between equal rows they are 0.
    """
    norms = _signed_squares(X, right, out, -1.0)  # what overflows is in doubt below
    eps, p = float(np.finfo(out.dtype).eps), X.shape[1]
    # Rounding adds up by chance; only a bound excludes that what is zero seems not to be.
    tolerable = LARGEST_ERROR[out.dtype] / (eps * (8.0 + np.sqrt(p)))
    limits = (eps * (16.0 + p / 8.0), tolerable, VANISHING[out.dtype])
    pairs = _doubtful_pairs(out, norms, right.norms, *(out.dtype.type(limit) for limit in limits))
    if len(pairs[0]):
        with np.errstate(over="ignore"):
            exact = right.gamma * exact_squares(X, right.given, *pairs)
        out[pairs] = -np.minimum(exact, np.finfo(out.dtype).max)


def _signed_squares(X, right, out, sign):
    """`sign` times the scaled squared distances; returned are the norms on the left."""
    n, p = X.shape
    copied = right.fill_left or not sp.issparse(X)
    parts = row_blocks(n, COPIED_VALUES // p if copied else n)
    norms = np.empty(n, out.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parts:
            block = (X if len(parts) == 1 else X[part]).astype(out.dtype, copy=False)
            norms[part] = _scaled_squares(block, right, out[part], sign)
    return norms


def _scaled_squares(X, right, out, sign):
    """With two more columns one product gives all of |x|^2 + |z|^2 - 2 x . z."""
    scale = out.dtype.type(np.sqrt(right.gamma))
    if right.shift is not None:
        X = X - right.shift
        X *= scale
    elif scale != 1.0:
        X = X * scale
    norms = squared_norms(X)
    if right.columns is not None:
        parts = X.data, X.indices, X.indptr, right.columns
        _column_sums(*parts, -2.0 * sign, sign * norms, sign * right.norms, out)
        return norms
    whole = right.extended is not None and right.extended.dtype == out.dtype
    if whole and (right.fill_left or not sp.issparse(X)):
        left = np.empty((X.shape[0], right.extended.shape[1]), dtype=out.dtype)
        np.multiply(X.toarray() if sp.issparse(X) else X, -2.0 * sign, out=left[:, :-2])
        left[:, -2] = sign * norms
        left[:, -1] = sign
        np.matmul(left, right.extended.T, out=out)
    else:
        inner_products(-2.0 * sign * X, right, out)  # the rows are fewer numbers than the products
        out += sign * norms[:, None]
        out += sign * right.norms
    return norms


@njit
def _doubtful_pairs(values, left, right, bound, tolerable, vanishing):
    """The pairs whose value in `values`, at most zero in truth, rounding may have spoilt.

    Of norms a and b together rounding is at most bound (a + b). A value within it may be zero; one
    whose rounding is more than tolerable is of use only where it is surely vanishing. Values above
    zero are set to zero.
    """
    zero, found = bound * 0, 0
    rows, columns = np.empty(64, np.int64), np.empty(64, np.int64)
    limits = np.empty(len(right), right.dtype)
    largest = right.max() if len(right) else zero
    for i in range(values.shape[0]):
        limit, is_simple = -bound * (left[i] + largest), left[i] + largest <= tolerable
        for j in range(0 if is_simple else len(right)):
            size = left[i] + right[j]
            limits[j] = -bound * size - (zero if size <= tolerable else vanishing)
        for start in range(0, len(right), COLUMNS_AT_ONCE):
            stop = min(start + COLUMNS_AT_ONCE, len(right))
            if is_simple and _count_and_clip(values[i, start:stop], limit) == 0:
                continue
            if found + stop - start > len(rows):
                rows, columns = _longer(rows, found), _longer(columns, found)
            for j in range(start, stop):
                if not values[i, j] < (limit if is_simple else limits[j]):
                    values[i, j] = min(values[i, j], zero)
                    rows[found], columns[found] = i, j
                    found += 1
    return rows[:found], columns[:found]


@njit
def _count_and_clip(values, limit):
    """How many are not below the limit; those above zero become zero."""
    count = 0
    for j in range(len(values)):
        count += not values[j] < limit
        values[j] = min(values[j], limit * 0)
    return count


@njit
def _longer(kept, found):
    larger = np.empty(2 * found + COLUMNS_AT_ONCE, kept.dtype)
    larger[:found] = kept[:found]
    return larger


def exact_squares(X, Y, rows, columns):
    """|x - z|^2 of the pairs of rows X[rows[k]] and Y[columns[k]], by differences, in float64."""
    X, Y = (canonical_csr(Z) if sp.issparse(Z) else Z for Z in (X, Y))
    if sp.issparse(X) and not sp.issparse(Y):
        X, Y, rows, columns = Y, X, columns, rows
    squares = np.empty(len(rows))
    if not sp.issparse(Y):
        _squares_dense(X, Y, rows, columns, squares)
    elif not sp.issparse(X):
        _squares_mixed(X, Y.indptr, Y.indices, Y.data, rows, columns, squares)
    else:
        _squares_sparse(
            X.indptr, X.indices, X.data, Y.indptr, Y.indices, Y.data, rows, columns, squares
        )
    return squares


@njit(fastmath=REORDERED_SUMS)
def _squares_dense(X, Y, rows, columns, squares):
    for k in range(len(squares)):
        i, j, total = rows[k], columns[k], 0.0
        for f in range(X.shape[1]):
            difference = np.float64(X[i, f]) - np.float64(Y[j, f])
            total += difference * difference
        squares[k] = total


@njit
def _squares_mixed(X, starts, features, values, rows, columns, squares):
    for k in range(len(squares)):
        i, at, end, total = rows[k], starts[columns[k]], starts[columns[k] + 1], 0.0
        for f in range(X.shape[1]):
            difference = np.float64(X[i, f])
            if at < end and features[at] == f:
                difference -= np.float64(values[at])
                at += 1
            total += difference * difference
        squares[k] = total


@njit
def _squares_sparse(X, x_features, x_values, Y, y_features, y_values, rows, columns, squares):
    for k in range(len(squares)):
        x, y = slice(X[rows[k]], X[rows[k] + 1]), slice(Y[columns[k]], Y[columns[k] + 1])
        squares[k] = sparse_square(x_features[x], x_values[x], y_features[y], y_values[y])


@njit
def sparse_square(x_features, x, z_features, z):
    """|x - z|^2 of two sparse rows with sorted features."""
    a, b, total = 0, 0, 0.0
    while a < len(x) or b < len(z):
        # Two sorted lists of features: take the smaller one, or both where they agree.
        if b == len(z) or (a < len(x) and x_features[a] < z_features[b]):
            difference = np.float64(x[a])
            a += 1
        elif a == len(x) or z_features[b] < x_features[a]:
            difference = np.float64(z[b])
            b += 1
        else:
            difference = np.float64(x[a]) - np.float64(z[b])
            a += 1
            b += 1
        total += difference * difference
    return total


class DistinctRows(NamedTuple):
    """The first of every set of equal rows, ascending, and how many they are."""

    first: np.ndarray
    counts: np.ndarray


def distinct_rows(X, *others):
    """The distinct rows of X, together with the entries of `others` that belong to them.

    Parameters
    ----------
    X : array or CSR matrix
    *others : array
        A label, a weight, a group for each row: rows that differ there are not equal.

    Returns
    -------
    DistinctRows or None
        None where all are distinct.
    """
    tables = [ArrayRows(X)]
    if others:
        others = np.column_stack([np.asarray(values, np.float64) for values in others])
        tables.append(ArrayRows(others))
    keys = sum(_keys(table, seed) for seed, table in enumerate(tables))
    _, first, inverse, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    stands_for = first[inverse]
    repeated = np.flatnonzero(stands_for != np.arange(len(stands_for)))
    pairs = repeated, stands_for[repeated]
    if not (len(repeated) and all(_agree(table, *pairs) for table in tables)):
        return None
    order = np.argsort(first)
    return DistinctRows(first[order], counts[order])


def merged_rows(X, weights=None):
    """Equal rows as one, with the sum of their weights; rows of weight zero are left out.

    Parameters
    ----------
    X : array, CSR matrix or Rows
    weights : array of n numbers that are not negative, default None
        How often each row counts; None for once.

    Returns
    -------
    (array of positions, array of weights) or None
        The first of each set of equal rows, in an order that the values of the rows alone decide:
        repeating rows, or shuffling them, changes nothing. None where there is nothing to merge.
    """
    keys = _keys(as_rows(X), 0)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if weights is None and len(first) == len(inverse):
        return None
    sums = np.bincount(inverse, weights).astype(np.float64)
    return first[sums > 0], sums[sums > 0]


def _agree(table, one, other):
    """Whether rows of one key are equal indeed, as all but one in 2^64 pairs of others are."""
    one, other = table.select(one), table.select(other)
    return all((one.block(rows) != other.block(rows)).sum() == 0 for rows in one.slices())


def _keys(table, seed):
    """A number for each row that is the same for equal rows: a sum over its features, mod 2^64."""
    seed, keys = np.uint64(seed + 1) << np.uint64(50), np.empty(len(table), np.uint64)

    def compute(rows):
        part = table.block(rows)
        if sp.issparse(part):
            _sum_stored(part.indptr, part.indices, _bits(part.data), seed, keys[rows])
        else:
            _sum_dense(_bits(part), seed, keys[rows])

    for_each_block(compute, table.slices())
    return keys


def _bits(values):
    """Numbers as patterns of bits; 0 and -0 have the same."""
    return (np.ascontiguousarray(values, np.float64) + 0.0).view(np.uint64)


@njit
def _mixed(bits):
    """Bits of which each depends on all (the finaliser of MurmurHash3); 0 stays 0."""
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return bits ^ (bits >> np.uint64(33))


@njit
def _factor(feature, seed):
    """An odd number of a feature's own."""
    return _mixed(np.uint64(feature) + seed) | np.uint64(1)


@njit
def _sum_dense(bits, seed, keys):
    for i in range(bits.shape[0]):
        key = np.uint64(0)
        for j in range(bits.shape[1]):
            key += _mixed(bits[i, j]) * _factor(j, seed)
        keys[i] = key


@njit
def _sum_stored(indptr, indices, bits, seed, keys):
    for i in range(len(indptr) - 1):
        key = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            key += _mixed(bits[k]) * _factor(indices[k], seed)
        keys[i] = key
