"""The rows of features as a solver sees them: passes over them, fused and on all cores.

Whatever the features are stored in (single precision, say), sums are taken in double precision. A
pass computes each row's score and, while the row is in the processor's cache, adds the row to the
gradient: the features travel from memory once.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.runtime import for_each_block, njit, row_blocks, thread_count
from kernlab.solvers.rowaccess import add, dot, stored_rows

VALUES_PER_THREAD = 2**18  # below this, starting a thread costs more than it brings
GRAM_BYTES = 2**23


class FeatureRows:
    """Features F, dense or CSR, one row per point."""

    def __init__(self, F):
        if sp.issparse(F):
            self.F = sp.csr_matrix(F)
        else:
            self.F = np.ascontiguousarray(F)
            if self.F.ndim != 2:
                raise ValueError(f"features must be a matrix, not an array of {self.F.ndim} axes")
        if self.F.dtype not in (np.float32, np.float64):
            self.F = self.F.astype(np.float64)
        self.shape, self.dtype = self.F.shape, self.F.dtype
        self._stored = stored_rows(self.F)

    @cached_property
    def squared_norms(self):
        """|F_i|^2"""
        return row_norms(self.F, squared=True).astype(np.float64)

    def leading(self, n_features):
        """The rows with their first features only."""
        return FeatureRows(self.F[:, :n_features])

    def take(self, rows):
        """The rows named, as FeatureRows of their own."""
        return FeatureRows(self._explicit(rows, self.dtype))

    def evaluate(self, w, b, intervals):
        """Scores, sum_i c_i r_i^2, and the gradient of that sum by w and by b, in one pass."""
        scores, w = np.empty(self.shape[0]), self._fold(w)
        limits = intervals.low, intervals.high, intervals.costs

        def part(block):
            gradient = np.zeros(self.F.shape[1])
            value, by_b = _evaluate(
                self._stored, block.start, block.stop, w, b, *limits, scores, gradient
            )
            return value, by_b, gradient

        values, by_b, gradients = zip(*for_each_block(part, self._parts()), strict=True)
        return scores, sum(values), self._unfold(sum(gradients)), sum(by_b)

    def pull(self, a, rows):
        """sum_i a_i F_i over the rows named."""

        def part(block):
            out = np.zeros(self.F.shape[1])
            _pull(self._stored, rows[block], a[block], out)
            return out

        return self._unfold(sum(for_each_block(part, self._parts(len(rows)))))

    def normal_product(self, v, by_b, weights, rows):
        """sum_i c_i (F_i . v + by_b) F_i over the rows named, and the sum without F_i."""

        v = self._fold(v)

        def part(block):
            out = np.zeros(self.F.shape[1])
            return out, _normal(self._stored, rows[block], weights, v, by_b, out)

        products, totals = zip(*for_each_block(part, self._parts(len(rows))), strict=True)
        return self._unfold(sum(products)), sum(totals)

    def rounding(self, w):
        """How far scores are off because of how rows are stored; what is given counts as exact."""
        return 0.0

    # What a subclass changes whose rows are not the features themselves.
    def _explicit(self, rows, dtype):
        """The features of the rows named, in an array of their own."""
        return self.F[rows].astype(dtype, copy=False)

    def _fold(self, w):
        """The weights of what is stored, from those of the features."""
        return w

    def _unfold(self, gradient):
        """The gradient by the features' weights, from that by the weights of what is stored."""
        return gradient

    def _parts(self, n_rows=None):
        n_rows = self.shape[0] if n_rows is None else n_rows
        per_row = self.F.nnz / max(1, self.shape[0]) if sp.issparse(self.F) else self.shape[1]
        worthwhile = int(n_rows * per_row // VALUES_PER_THREAD)
        parts = max(1, min(thread_count(), worthwhile))
        return row_blocks(n_rows, -(-n_rows // parts)) or [slice(0, 0)]

    def add_gram(self, total, rows, weights, dtype, sign=1.0):
        """Add sign * sum_i c_i [F_i; 1] [F_i; 1]^T over the rows named to `total`.

        Products of blocks are taken in `dtype` and summed in double precision.
        """
        k = self.shape[1]
        per_block = max(4 * k, GRAM_BYTES // (k * np.dtype(dtype).itemsize), 256)
        parts = self._parts(len(rows))
        sums = [total, *(np.zeros_like(total) for _ in parts[1:])]

        def add_part(number):
            block = rows[parts[number]]
            for inner in row_blocks(len(block), per_block):
                self._add_products(sums[number], block[inner], weights, dtype, sign)

        for_each_block(add_part, range(len(parts)))
        for other in sums[1:]:
            total += other
        total[k, k] += sign * weights[rows].sum()
        total[k, :k] = total[:k, k]

    def _add_products(self, total, rows, weights, dtype, sign):
        features = self._explicit(rows, dtype)
        root = np.sqrt(weights[rows]).astype(dtype)
        if not np.all(root == 1.0):
            features = (
                sp.diags_array(root).tocsr() @ features
                if sp.issparse(features)
                else np.multiply(features, root[:, None], out=features)
            )
        products = features.T @ features
        products = products.toarray() if sp.issparse(products) else products
        border = features.T @ root
        if sign > 0:
            total[:-1, :-1] += products
            total[:-1, -1] += border
        else:
            total[:-1, :-1] -= products
            total[:-1, -1] -= border


class MappedRows(FeatureRows):
    """Features F = A M that are formed for a few rows at a time only, where a Hessian needs them.

    `values(dtype)` computes A; `map_` has `n_features`, `apply(rows of A)` (which may overwrite
    them), `fold(w)` = M w and `unfold(g)` = M^T g; `squared_norms` is |F_i|^2 or what bounds it;
    `error(dtype)` is how far values of that precision are off, relative to their size.
    """

    def __init__(self, values, map_, squared_norms, error, dtype):
        A = values(np.dtype(dtype))
        super().__init__(A)
        self.map_ = map_
        self.shape = (A.shape[0], map_.n_features)
        self.squared_norms = np.asarray(squared_norms, dtype=np.float64)
        self._values, self._error = values, error

    @cached_property
    def in_double(self):
        return MappedRows(
            self._values, self.map_, self.squared_norms, self._error, np.dtype(np.float64)
        )

    def leading(self, n_features):
        """The rows with their first features only; for a map whose features are nested."""

        def values(dtype):
            whole = self if dtype == self.dtype else self.in_double
            return np.ascontiguousarray(whole.F[:, :n_features])

        map_ = self.map_.leading(n_features)
        return MappedRows(values, map_, self.squared_norms, self._error, self.dtype)

    def rounding(self, w):
        """About how far scores are off: errors of the values, of random sign, times weights."""
        some = self.F[:: max(1, self.F.shape[0] // 1000)].astype(np.float64)
        spread = np.sqrt(np.mean(some**2, axis=0)) * self.map_.fold(w)
        return float(self._error(self.dtype) * np.linalg.norm(spread))

    def _explicit(self, rows, dtype):
        return self.map_.apply(self.F[rows].astype(dtype, copy=False))

    def _fold(self, w):
        return self.map_.fold(w)

    def _unfold(self, gradient):
        return self.map_.unfold(gradient)


@njit
def _evaluate(rows, start, stop, w, b, low, high, costs, scores, gradient):
    value, by_b = 0.0, 0.0
    for i in range(start, stop):
        score = dot(rows, i, w) + b
        scores[i] = score
        residual = score - min(max(score, low[i]), high[i])
        if residual != 0.0 and costs[i] > 0.0:
            slope = 2.0 * costs[i] * residual
            value += costs[i] * residual * residual
            by_b += slope
            add(rows, i, slope, gradient)
    return value, by_b


@njit
def _pull(rows, chosen, a, out):
    for position in range(len(chosen)):
        add(rows, chosen[position], a[position], out)


@njit
def _normal(rows, chosen, weights, v, by_b, out):
    total = 0.0
    for i in chosen:
        step = weights[i] * (dot(rows, i, v) + by_b)
        total += step
        add(rows, i, step, out)
    return total
