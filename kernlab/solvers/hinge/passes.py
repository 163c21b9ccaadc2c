"""What ADMM and the interior point method for the hinge loss share: passes, factors, certificates.

Both read the features A, of m rows, a block at a time and hold a few numbers per row; a pass takes
sums over the rows (`LOSS` and the others below) and products A^T times vectors of such numbers. On
a cluster it makes the numbers of each part anew from those before, so that what dies with a worker
is computed again; what workers send is `Sums`.

The dual of the mean hinge loss is Proposition 2's linear programme: maximise sum_i a_i over
0 <= a_i <= c_i / M with A^T (y a) = 0. Either method has multipliers a within the bounds; they sum
to more than the optimum only as far as they violate the equation, which is measured here.
"""

import time
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.features import Features, as_features
from kernlab.runtime import (
    add_squares,
    bar_options,
    cholesky_factor,
    eigenvalues,
    for_each_block,
    interruptible,
    require_memory,
    row_blocks,
    thread_count,
)
from kernlab.solvers.problems import row_costs, signs, start_values

PASS_BYTES = 2**21  # a block of features in a pass: half a second-level cache is not too much
GRAM_BYTES = 2**23  # larger: matrix products like long rows
VALUES_WORTH_A_BAR = 2**29
VALUES_PER_THREAD = 2**17  # below this, starting a thread costs more than it brings
OFFERED = ("none", "penalised")  # intercepts
LOSS, DUAL, SCORES, MULTIPLIERS = range(4)  # sums over rows; those of one method alone follow
N_SHARED = 4
WIDE = 2500  # features: factors of smaller matrices wait longer for BLAS threads than they gain
TINY = np.finfo(float).tiny


class OutOfTimeError(Exception):
    """A pass has reached the time at which the search is to end."""


class Data:
    """The rows of a problem: features A, read in blocks and never held, labels' weights, A^T W A.

    Where F are combinations A S of other features (and their weights are not `penalised`), those
    are read, of which there may be fewer, and S is `mix`. `weights` is empty where all rows count
    once; intercept="penalised" makes a last feature of value 1.
    """

    state = None  # what a method keeps of each row
    deadline = np.inf  # of the clock, after which no block is read

    def __init__(self, F, sample_weight=None, intercept="none", penalised=False):
        self.features, self.mix = as_features(F), None
        if self.features.combination and not penalised and intercept == "none":
            self.features, self.mix = self.features.combination
        self.m, self.n = self.features.shape
        if intercept == "penalised":
            self.features, self.n = _with_ones(self.features), self.n + 1
        self.weights = np.empty(0)
        if sample_weight is not None:
            self.weights = row_costs(1.0, self.m, sample_weight)
            if not np.any(self.weights > 0):
                raise ValueError("all sample weights are zero: nothing is left to learn from")
        self.total = float(self.weights.sum()) if len(self.weights) else float(self.m)

    def weights_of(self, rows):
        return self.weights[rows] if len(self.weights) else None

    def require_room(self, per_row, max_memory):
        """Refuse before the first pass what would not fit."""
        m, n = self.m, self.n
        require_memory(
            8 * (m * per_row + 6 * n * n),
            max_memory,
            what=f"the hinge loss on {m:,} rows with {n:,} features",
            arithmetic=f"8 bytes x ({m:,} rows x {per_row} + 6 x {n:,}^2)",
            way_out="Take fewer features (of a polynomial, a lower degree or fewer centres), fewer "
            "classes or C at a time, or allow more with max_memory.",
        )

    def over(self, function, *arguments):
        """`function(data, state, *arguments)`, a pass over the rows with what is kept of each."""
        return function(self, self.state, *arguments)

    def read(self, state, use, block_bytes, what, limited=True):
        """Call use(state, rows, block) for every block of features (a row per feature), on all
        threads, each with a `state()` of its own; returned is the first, merged with the others.
        `limited`: with `OutOfTimeError` where the deadline comes first."""
        m, n = self.m, self.n
        step = int(np.clip(block_bytes // (8 * max(1, n)), 32, 4096))
        threads = max(1, min(thread_count(), m * n // VALUES_PER_THREAD))
        options = bar_options(wanted=m * n >= VALUES_WORTH_A_BAR)
        with (
            tqdm(total=m, desc=what, unit=" rows", unit_scale=True, **options) as bar,
            np.errstate(over="ignore", invalid="ignore"),  # what is not finite is refused in sums
        ):

            def work(stretch):
                mine, room = state(), self.features.room(min(step, m))
                for start in range(stretch.start, stretch.stop, step):
                    if limited and time.perf_counter() > self.deadline:
                        raise OutOfTimeError
                    rows = slice(start, min(start + step, stretch.stop))
                    block = self.features.block(rows, room)
                    block = block.toarray() if sp.issparse(block) else block
                    use(mine, rows, block.astype(np.float64, copy=False).T)
                    bar.update(rows.stop - rows.start)
                return mine

            total, *others = for_each_block(work, row_blocks(m, -(-m // threads)))
        for other in others:
            total.merge(other)
        return total

    # ------------------------------------------------------------------------ the Gram matrix
    def gram_sum(self):
        """What adds up A^T W A: the features' own way, if they have one."""
        own = None if self.features.gram_sum is None else self.features.gram_sum()
        return GramSum(self.n) if own is None else own

    def known_gram(self):
        """A^T W A, if features of the same rows that begin with these have left it, or None."""
        left, gram = (self.features.shared or {}).get("gram", (None, ()))
        if len(gram) < self.n or not np.array_equal(left, self.weights):
            return None
        return gram[: self.n, : self.n]

    def leave_gram(self, gram):
        """Leave A^T W A for features of the same rows that these begin with."""
        shared = self.features.shared
        if shared is not None and len(shared.get("gram", ((), ()))[1]) < len(gram):
            shared["gram"] = self.weights, gram

    def gram(self):
        """A^T W A, known or in a pass of its own."""
        gram = self.known_gram()
        if gram is None:

            def use(total, rows, block):
                total.add(block, self.weights_of(rows))

            gram = self.read(self.gram_sum, use, GRAM_BYTES, "Gram matrix").matrix()
            self.leave_gram(gram)
        return gram


def _with_ones(given):
    """Features with a last one of value 1."""

    def form(rows, room):
        block = given.block(rows, room)
        block = block.toarray() if sp.issparse(block) else block
        return np.column_stack([block, np.ones(len(block))])

    return Features.formed((given.shape[0], given.shape[1] + 1), form, room=given.room)


class ClusterData(Data):
    """The rows of a problem on a cluster, see `Data`: for each `Column` of labels, `along` times.

    `started` gives what is kept of a part's rows, with `copied()`, from their labels.
    """

    def __init__(self, F, columns, along, started, intercept="none", certified=False):
        # One row here tells which features are read, and how those asked for are combined of them.
        row = F.approximation.features(np.zeros((1, F.rows.n_features)))
        super().__init__(row, None, intercept, certified)
        self.m, self._parts = len(F.rows), F.row_pieces
        self._of_part = columns, intercept, certified
        self.total = self._parts.sum(_total_weight, columns[0])
        self._states = self._parts.each(_started, columns, along, started)

    def known_gram(self):
        return None

    def leave_gram(self, gram):
        """Nothing that is fitted together on a cluster has use for it."""

    def over(self, function, *arguments):
        given = self._of_part, function, arguments
        self._states = self._parts.each(_passed, *given, beside=self._states)
        return self._states.sum(_sums, combine=_merged)


def _total_weight(part, column):
    return float(column.weights(part.y, part.w).sum())


def _started(part, columns, along, started):
    labels = [labels_of(column.of(part.y), len(part)) for column in columns]
    return started([y for y in labels for _ in range(along)]), None


def _passed(part, before, of_part, function, arguments):
    """The next state of a part, and the sums of the pass."""
    columns, intercept, certified = of_part
    weights = None
    if part.w is not None or columns[0].factors is not None:
        weights = columns[0].weights(part.y, part.w)
    features = part.approximation.features(part.X)
    data, state = Data(features, weights, intercept, certified), before[0].copied()
    return state, function(data, state, *arguments)


def _sums(result):
    return deepcopy(result[1])  # adding up changes them


def _merged(one, other):
    one.merge(other)
    return one


class Sums:
    """What a thread adds up in a pass: A^T times vectors, sums over rows, a Gram matrix.

    `longest` are the longest steps that keep all rows inside their bounds.
    """

    def __init__(self, n_features, n_vectors, sums, gram=None):
        self.vectors, self.rows = np.zeros((n_features, n_vectors)), np.zeros(sums)
        self.longest, self.gram = np.full(2, np.inf), gram

    def pull(self, block, values):
        """Add the features of a block times each row of values."""
        if len(values) <= 2:  # a matrix times a vector is faster than one times a thin matrix
            for total, vector in zip(self.vectors.T, values, strict=True):
                total += block @ vector
        else:
            self.vectors += block @ values.T

    def merge(self, other):
        self.vectors += other.vectors
        self.rows += other.rows
        np.minimum(self.longest, other.longest, out=self.longest)
        if self.gram is not None:
            self.gram.merge(other.gram)


class GramSum:
    """Adds up A^T W A from blocks of features, by BLAS in place."""

    def __init__(self, n_features):
        self._sum = np.zeros((n_features, n_features), order="F")

    def add(self, block, weights):
        """Take in a block of features; `weights`: one for each of its rows, or None."""
        if not len(block):  # a kernel that is zero has no features
            return
        if weights is not None:
            block = block * np.sqrt(weights)
        add_squares(self._sum, block)

    def merge(self, other):
        self._sum += other._sum

    def matrix(self):
        whole = self._sum
        for rows in row_blocks(len(whole), 512):  # in place: there may be no room for another
            corner = np.tril(whole[rows, rows])
            whole[rows, rows] = corner + np.tril(corner, -1).T
            whole[rows, rows.stop :] = whole[rows.stop :, rows].T
        return whole


def start_of(start, data, intercept):
    """The weights to begin from, given or those of a result; None for none."""

    def weights(result):
        w = result.coefficients
        return np.append(w, result.intercept) if intercept == "penalised" else w

    start = start_values(start, weights)
    if start is not None:
        start = np.array(start, dtype=np.float64)
        if start.shape != (data.n,) or data.mix is not None:
            raise ValueError(f"start must be {data.n} weights of the features")
    return start


def labels_of(y, n_rows):
    """Labels -1 and 1 in a byte each; anything else is refused."""
    y = np.asarray(y)
    with np.errstate(invalid="ignore"):
        small = y.astype(np.int8, copy=False)
    if y.shape != (n_rows,) or np.any(small != y) or np.any(np.abs(small) != 1):
        signs(y, n_rows)  # which says what is wrong
    return small


def require_finite(*arrays):
    if not all(np.all(np.isfinite(array)) for array in arrays):
        raise ValueError(
            "the features hold values that are not finite, or are too large: scale the data, or "
            "take a lower degree"
        )


# ----------------------------------------------------------------------------- linear systems
class GramFactor:
    """(beta G + ridge I + diag(alpha)) u = diag(alpha) u_before + g, by one Cholesky factor; where
    rounding left the Gram matrix G indefinite, its eigenvalues below zero are taken as zero.

    Solved so many `steps` in turn, what lies along an eigenvector of eigenvalue l < 0 grows by
    alpha / (alpha + beta l + ridge) in each: more than a factor e in all is indefinite, too.
    """

    def __init__(self, gram, *, alpha, beta=1.0, ridge=0.0, steps=1):
        self.alpha = np.broadcast_to(np.asarray(alpha, dtype=np.float64), len(gram))
        self.gram = gram  # as it is, or repaired
        try:
            if steps > 1:
                self._factorised(beta * gram, ridge, 1.0 / steps)
            self._factor = self._factorised(beta * gram, ridge)
        except la.LinAlgError:
            values, vectors = eigenvalues(gram)
            floor = len(gram) * np.finfo(float).eps * max(values[-1], TINY)
            lifted = vectors * np.maximum(values, floor)
            self.gram = interruptible(np.matmul, lifted, vectors.T)
            self._factor = self._factorised(beta * self.gram, ridge)

    def _factorised(self, matrix, ridge, share=1.0):
        matrix[np.diag_indices_from(matrix)] += share * self.alpha + ridge
        return cholesky_factor(matrix.T if matrix.flags.c_contiguous else matrix, overwrite=True)

    def __call__(self, u, g):
        """The next u, and the weights of the features given, which are the same here."""
        u = la.cho_solve(self._factor, self.alpha * u + g, check_finite=False)
        return u, u

    def squared_norm(self, change):
        """|change|^2_alpha"""
        return float(self.alpha @ change**2)


def rounding(gram):
    """What each diagonal entry may gain unnoticed: the rounding of the Gram matrix."""
    diagonal = np.diag(gram)
    floor = max(float(diagonal.max(initial=0.0)), TINY) * 1e-12
    return 10 * len(gram) * np.finfo(float).eps * np.maximum(diagonal, floor)


# ------------------------------------------------------------------------------- certificates
@dataclass(frozen=True)
class Measured:
    """Of an iterate: objective, KKT residual, and what bounds the optimum from below.

    Any function f of the span has a loss of at least `dual` - `reach` |f|, with |f| the root of the
    sum of its squared scores; `size` is that of the iterate. With a penalty `reach` is zero, and
    the bound is that of the dual variables times `share`, which makes the most of them.
    """

    objective: float
    residual: float
    dual: float
    reach: float
    size: float
    share: float = 1.0

    def bound(self, size=None):
        """A lower bound on the objective of all functions of at most this size."""
        return max(self.dual - self.reach * (self.size if size is None else size), 0.0)


class Certifier:
    """Measures iterates, with row weights that sum to `total`; the KKT residual is |P w| / |w| for
    w = -y a, P the projection on the span of the features: |P w|^2 = A^T w . G^-1 A^T w."""

    def __init__(self, gram, total):
        self._factor, self._total = GramFactor(gram, alpha=rounding(gram)), total

    def __call__(self, u, pulled, sums, C=None):
        """From weights, A^T w, and the sums of a pass in which a sums to less than 1."""
        squared = float(pulled @ self._factor(np.zeros_like(pulled), pulled)[0])
        seen, length = np.sqrt(max(0.0, squared)), np.sqrt(float(sums[MULTIPLIERS]))
        residual = float(min(1.0, seen / length)) if length > 0 else 0.0
        objective, dual = float(sums[LOSS]) / self._total, float(sums[DUAL])
        size = float(np.sqrt(sums[SCORES]))
        if C is None:
            return Measured(objective, residual, dual, float(seen), size)
        scale = C * self._total
        objective += 0.5 / scale * float(u @ u)
        length = scale * float(pulled @ pulled)
        share = max(dual, 0.0) / length if length > max(dual, 0.0) else 1.0
        dual = share * (dual - 0.5 * share * length)
        return Measured(scale * objective, residual, scale * dual, 0.0, size, share)
