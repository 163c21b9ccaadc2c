"""Features as solvers see them: through products, wherever and in whatever form they are kept.

A solver minimises over weights w of features F (n rows, k features) and needs scores F w + b, sums
F^T a, and Gram matrices of weighted rows, never F itself. So F may be

- an array or a CSR matrix in memory;
- A M, of values A in memory (kernel values at landmarks, say) and a linear map M: weights of the
  features are weights M w of the values, and only a Hessian forms the features of a few rows;
- formed a block of rows at a time, whenever it is asked for, and forgotten again.

Whatever A is stored in (single precision, say), sums are taken in double precision.
"""

import time
import warnings
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numba.extending import overload
from sklearn.utils.extmath import row_norms
from tqdm.auto import tqdm

from kernlab.rows.arrays import held_bytes, stacked
from kernlab.runtime import (
    REORDERED_SUMS,
    bar_options,
    end_if_given_up,
    for_each_block,
    format_bytes,
    interruptible,
    levels_to_the_user,
    memory_limit,
    njit,
    require_memory,
    row_blocks,
    thread_count,
)

VALUES_PER_THREAD = 2**18  # below this, starting a thread costs more than it brings
BLOCK_BYTES = 2**23
SLOW_PASS = 0.5  # seconds to form all features once, from which on it is told
LONG_PRODUCTS = 1000  # features, from which on a block's Gram matrix takes its time
FLOATING = (np.float32, np.float64)
MOST_READ_AGAIN = 1000  # rows
RECOMPUTED = 6.0  # times as long as a pass over it takes a kernel value to be computed


def as_features(F):
    """`Features` of an array, a CSR matrix, whatever gives rows by slices, or `Features`."""
    if isinstance(F, Features):
        return F
    on_disk = isinstance(F, np.memmap) and F.dtype not in FLOATING  # conversion would load it
    if sp.issparse(F) or not hasattr(F, "shape") or (isinstance(F, np.ndarray) and not on_disk):
        return Features(F)
    return Features.formed(F.shape, lambda rows, room: F[rows], getattr(F, "dtype", np.float64))


def warn_of_slow_passes(features, max_memory, passes="20 to 60"):
    """Say beforehand what it costs that features have no room, and are formed in every pass."""
    if features.is_kept or not features.shape[0]:
        return
    seconds = features.seconds_of_a_pass()
    if seconds > SLOW_PASS:
        needed, limit = format_bytes(features.nbytes), format_bytes(memory_limit(max_memory))
        warnings.warn(
            f"the {features.shape[1]:,} features of {features.shape[0]:,} rows would take "
            f"{needed}, more than the {limit} that may be used: they are computed again in each of "
            f"{passes} passes, about {seconds:.2g} s each. Allow more with max_memory, take fewer "
            "features or dtype='float32', or solver='sbm' (LLSVM), which takes few passes.",
            UserWarning,
            stacklevel=levels_to_the_user(),
        )


class Features:
    """Features F of n rows: one row per sample, one column per feature.

    Parameters
    ----------
    F : array or CSR matrix of n rows; integers are taken as double precision.
    dual_of : function, default None
        Where F is square: of weights w, a with F^T a = w.
    kernel_product : function, default None
        Beside `dual_of`, where F leaves out small entries of the features: of v, the product of
        the features themselves with their transpose and v.
    """

    map_, error = None, 0.0
    dual_of = kernel_product = combination = None  # of others: (those features, S)
    gram_sum = shared = None
    _room = _form = _values = _value_block = _whole = _in_double = _exactly = None

    def __init__(self, F, *, dual_of=None, kernel_product=None):
        self.dual_of, self.kernel_product = dual_of, kernel_product
        F = sp.csr_matrix(F) if sp.issparse(F) else np.ascontiguousarray(F)
        if F.ndim != 2:
            raise ValueError(f"features must be a matrix, not an array of {F.ndim} axes")
        self.A = F if F.dtype in FLOATING else F.astype(np.float64)
        self.shape, self.dtype = self.A.shape, self.A.dtype

    @classmethod
    def formed(
        cls, shape, form, dtype=np.float64, *, room=None, gram_sum=None, whole=None, shared=None
    ):
        """Features that are formed a block at a time, whenever asked for, and not kept.

        Parameters
        ----------
        shape : (n, k)
        form : function of a slice of rows and a workspace, that gives their features: dense in
            either order of memory, or CSR.
        dtype : of the features.
        room : function of a number of rows, default None
            A workspace for blocks of so many rows; `form` may give parts of it away.
        gram_sum : function without arguments, default None
            What knows a faster way to the Gram matrix than products of features (see
            `hinge.passes.GramSum`).
        whole : function without arguments, default None
            All features at once, where that is quicker than by `form`.
        shared : dict, default None
            Where a solver leaves the Gram matrix for features of the same rows that these begin
            with.
        """
        self = cls.__new__(cls)
        dtype = np.dtype(dtype)
        self.A, self.shape = None, tuple(shape)
        self.dtype = dtype if dtype in FLOATING else np.dtype(np.float64)
        self._form, self._room, self._whole, self.gram_sum = form, room, whole, gram_sum
        self.shared = {} if shared is None else shared
        return self

    def combined(self, mix, whole=None):
        """Combinations F[:, :r] S of the first features, formed in blocks; S has r rows."""
        mix = np.ascontiguousarray(mix, dtype=np.float64)

        def form(rows, room):
            return self.block(rows, room)[:, : len(mix)] @ mix

        shape = self.shape[0], mix.shape[1]
        made = Features.formed(shape, form, room=self._room, whole=whole)
        made.combination = self, mix
        return made

    def kept(self, max_memory=None):
        """Stored, where the rows are in memory and half of it holds features; else these."""
        storable = self._form is not None and self.is_storable(max_memory)
        return Features(self.stored(max_memory)) if storable else self

    def is_storable(self, max_memory=None):
        """Whether features are stored, or their rows are, and half of it holds them."""
        if self._form is None or self._whole is None:
            return self._form is None
        return self.nbytes <= memory_limit(max_memory) // 2

    def explicit(self, dtype):
        """All features of kept values as an array of this precision."""
        return self._filled(
            self.shape[1],
            dtype,
            lambda rows: self._explicit(np.arange(rows.start, rows.stop), dtype),
        )

    def _filled(self, width, dtype, part):
        """An array of `part(rows)` for all blocks of rows."""
        whole = np.empty((self.shape[0], width), dtype)

        def fill(rows):
            whole[rows] = part(rows)

        for_each_block(fill, self._blocks())
        return whole

    @classmethod
    def mapped(cls, values, map_, form, dtype, *, squared_norms, again=None, **others):
        """Features F = A M of values A and a linear map M.

        Parameters
        ----------
        values : function without arguments that computes A, when a product is first asked for.
        map_ : M, an object with `n_landmarks` and `n_features` (its shape), `apply(rows of A)`
            (their features; it may overwrite them), `fold(w)` = M w, `unfold(g)` = M^T g and
            `leading(k)`.
        form, dtype, whole : as of `formed`, for solvers that ask for the features themselves.
        squared_norms : array of n, |F_i|^2 or what bounds it.
        again : function of a slice of rows and a number of columns, default None
            Computes these first columns of the rows of A, in every pass: then A is not kept, and
            `values` not called.
        error : float, default 0
            How far the values of A are off, relative to their size.
        in_double : function without arguments, default None
            The same with values in double precision, for a solver that `error` keeps from its
            tolerance.
        exactly : function of positions, default None
            Computes these rows of A in double precision, where A itself is not.
        """
        squared_norms = np.asarray(squared_norms, dtype=np.float64)
        shape = len(squared_norms), map_.n_features
        self = cls.formed(shape, form, dtype, whole=others.get("whole"))
        self._values, self.map_, self.squared_norms = values, map_, squared_norms
        self._value_block = again
        if again is None:
            del self.A  # computed when first used
        self.error, self._in_double = others.get("error", 0.0), others.get("in_double")
        self._exactly = others.get("exactly")
        return self

    @cached_property
    def A(self):
        """What products are taken with: the features, or a map's values; None of formed ones."""
        return np.ascontiguousarray(self._values())

    # ---------------------------------------------------------------------------- what it is
    @property
    def is_kept(self):
        """Whether products are taken with A, in memory, instead of with blocks as they come."""
        return self._form is None or (self._values is not None and self._value_block is None)

    def seconds_of_a_pass(self):
        """What forming all features once takes on all threads, by the time of one block."""
        blocks, began = self._blocks(), time.perf_counter()
        self._used(blocks[0])
        spent = (time.perf_counter() - began) * self.shape[0] / blocks[0].stop
        return spent / min(thread_count(), len(blocks))

    @property
    def nbytes(self):
        """Bytes of the features as an array or CSR matrix."""
        if self._form is None:
            return held_bytes(self.A)
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def precision(self):
        """The dtype of what products are taken with."""
        if self._value_block is not None:
            return self._used(slice(0, 1)).dtype
        return self.A.dtype if self.is_kept else self.dtype

    @cached_property
    def squared_norms(self):
        """|F_i|^2 of every row (where F is mapped, perhaps a bound)."""
        if self._form is None:
            return row_norms(self.A, squared=True).astype(np.float64)
        form = self.block
        lengths = for_each_block(lambda rows: row_norms(form(rows), squared=True), self._blocks())
        return np.concatenate([np.empty(0), *lengths]).astype(np.float64)

    @cached_property
    def in_double(self):
        """The same features in double precision, or these where there are no better ones."""
        return self if self._in_double is None else self._in_double()

    def rounding(self, w):
        """About how far scores are off: errors of the values, of random sign, times weights."""
        if self.error == 0.0:
            return 0.0
        n = self.shape[0]
        some = self.A[:: max(1, n // 1000)] if self.is_kept else self._used(slice(0, min(1000, n)))
        with np.errstate(over="ignore"):
            spread = np.sqrt(np.mean(some.astype(np.float64) ** 2, axis=0)) * self._fold(w)
            return float(self.error * np.linalg.norm(spread))

    def misread(self, w):
        """Positions of some rows, at most `MOST_READ_AGAIN`, and by how much their scores are off
        because values are kept in single precision; none where they are not."""
        n = self.shape[0]
        if self._exactly is None or not n:
            return np.empty(0, np.int64), np.empty(0)
        some = np.arange(0, n, -(-n // MOST_READ_AGAIN))
        return some, (self._kept(some) - self._exactly(some)) @ self._fold(w)

    # ------------------------------------------------------------------------------- parts
    def room(self, n_rows):
        """A workspace for `block`, for blocks of up to so many rows."""
        return None if self._room is None else self._room(n_rows)

    def block(self, rows, room=None):
        """The features of a slice of rows, dense or CSR: to be read only, for they may be a view
        of what is stored, or lie in `room`, where the next block overwrites them."""
        if self._form is None:
            return self.A[rows]
        features = self._form(rows, room)
        features = sp.csr_matrix(features) if sp.issparse(features) else features
        return features.astype(self.dtype, copy=False)

    def take(self, rows):
        """The rows at these ascending positions, as Features of their own, kept in memory: as a
        view where they follow one another."""
        some = _as_slice(rows)
        if self.map_ is None:
            return Features(self.A[some] if self.is_kept else self._gathered(rows))

        return Features.mapped(
            lambda: self.A[some] if self.is_kept else self._gathered(rows),
            self.map_,
            lambda part, room: self._explicit(rows[part], self.dtype),
            self.dtype,
            squared_norms=self.squared_norms[rows],
            error=self.error,
            in_double=lambda: self.in_double.take(rows),
            exactly=self._exactly and (lambda some: self._exactly(rows[some])),
        )

    def leading(self, n_features, kept=False):
        """The first features only; of a map, those of its `leading`, whose values are kept if
        `kept`, or where those of all are."""
        if self._form is None:
            return Features(self.A[:, :n_features])

        def form(rows, room):
            return self.block(rows, room)[:, :n_features]

        if self.map_ is None:
            return Features.formed((self.shape[0], n_features), form, self.dtype, room=self._room)
        map_ = self.map_.leading(n_features)

        def values():
            k = map_.n_landmarks
            if self.is_kept:
                return self.A[:, :k]
            return self._filled(k, self.precision, lambda rows: self._value_block(rows, k))

        return Features.mapped(
            values,
            map_,
            form,
            self.dtype,
            squared_norms=self.squared_norms,
            error=self.error,
            in_double=lambda: self.in_double.leading(n_features, kept),
            exactly=self._exactly and (lambda some: self._exactly(some)[:, : map_.n_landmarks]),
            again=None if kept else self._value_block,
        )

    def stored(self, max_memory=None):
        """The features as one array or CSR matrix, or a refusal with the arithmetic."""
        if self._form is None:
            return self.A
        (n, k), item = self.shape, self.dtype.itemsize
        require_memory(
            self.nbytes,
            max_memory,
            what=f"the {k:,} features of {n:,} rows",
            arithmetic=f"{n:,} x {k:,} x {item} bytes",
            way_out="Allow more with max_memory, take dtype=float32 or fewer features, or let "
            "solver='sbm' read the features in blocks.",
        )
        if self._whole is not None:
            return self._whole()
        blocks = self._blocks()
        first = self.block(blocks[0]) if blocks else np.empty((0, k), self.dtype)
        if sp.issparse(first):
            return stacked([first, *map(self.block, blocks[1:])])
        return self._filled(k, self.dtype, self.block)

    # ---------------------------------------------------------------------------- products
    def dot(self, W):
        """F W in double precision, for one column of weights or several."""
        folded = self._fold(np.asarray(W, dtype=np.float64))
        if folded.ndim == 1:
            out = np.empty(self.shape[0])
            self._over(
                lambda arrays, first, rows: _scores(arrays, first, rows.start, folded, out[rows])
            )
            return out

        return self._filled(
            folded.shape[1],
            np.float64,
            lambda rows: self._used(rows).astype(np.float64, copy=False) @ folded,
        )

    def rdot(self, a, rows=None):
        """sum_i a_i F_i in double precision, over the ascending rows named (None: all), for one
        column of coefficients or several."""
        a = np.asarray(a, dtype=np.float64)
        if rows is None:
            rows = np.flatnonzero(a) if a.ndim == 1 else np.arange(len(a))
            a = a[rows]
        if a.ndim == 2:
            total = np.zeros((self._width, a.shape[1]))
            for part in self._blocks(len(rows)):
                total += self._kept(rows[part]).T @ a[part]
            return self._unfold(total)

        def part(arrays, first, chosen):
            out = np.zeros(self._width)
            _pull(arrays, first, rows[chosen], a[chosen], out)
            return out

        return self._unfold(sum(self._over(part, rows), np.zeros(self._width)))

    def evaluate(self, w, b, low, high, costs):
        """Scores F w + b, sum_i c_i r_i^2 with r_i the distance of score i from [low_i, high_i],
        and the gradient of that sum by w and by b, in one pass."""
        scores, w = np.empty(self.shape[0]), self._fold(w)
        total = np.zeros(self._width)

        def part(arrays, first, rows):
            gradient = np.zeros(len(w))
            value, by_b = _evaluate(
                arrays, first, rows.start, rows.stop, w, b, low, high, costs, scores, gradient
            )
            return value, by_b, gradient

        value, total_b = 0.0, 0.0
        for loss, by_b, gradient in self._over(part):
            value += loss
            total_b += by_b
            total += gradient
        return scores, value, self._unfold(total), total_b

    def normal_product(self, v, by_b, weights, rows, dtype=np.float64):
        """sum_i c_i (F_i . v + by_b) F_i over the ascending rows named, and the sum without F_i; of
        rows and threads in `dtype`."""
        v, total_b = self._fold(v.astype(dtype)).astype(dtype, copy=False), 0.0
        total = np.zeros(self._width, dtype)

        def part(arrays, first, chosen):
            out = np.zeros(len(v), dtype)
            add_up = _normal if len(arrays) > 1 else _normal_by_fours
            return out, add_up(arrays, first, rows[chosen], weights, v, by_b, out)

        for product, by_intercept in self._over(part, rows):
            total += product
            total_b += by_intercept
        return self._unfold(total).astype(np.float64, copy=False), total_b

    def gram(self, weights=None, rows=None):
        """F^T diag(weights) F over the ascending rows named (None: all), in double precision."""
        n, k = self.shape
        total = np.zeros((k + 1, k + 1))
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        self.add_gram(total, np.arange(n) if rows is None else rows, weights, np.float64)
        return total[:k, :k]

    def add_gram(self, total, rows, weights, dtype, sign=1.0):
        """Add sign * sum_i c_i [F_i; 1] [F_i; 1]^T over the ascending rows named to `total`, with
        products of blocks in `dtype`."""
        k = self.shape[1]
        per_block = max(4 * k, BLOCK_BYTES // (max(1, k) * np.dtype(dtype).itemsize), 256)
        parts = self._parts(len(rows))
        sums = [total, *(np.zeros_like(total) for _ in parts[1:])]

        def add_part(number):
            block = rows[parts[number]]
            for inner in row_blocks(len(block), per_block):
                end_if_given_up()
                self._add_products(sums[number], block[inner], weights, dtype, sign)

        for_each_block(add_part, range(len(parts)))
        for other in sums[1:]:
            total += other
        total[k, k] += sign * weights[rows].sum()
        total[k, :k] = total[:k, k]

    @property
    def is_nested(self):
        """Whether the first features are those of the first landmarks alone."""
        return self.map_ is not None and self.map_.is_nested

    @cached_property
    def groups(self):
        """For each row the place of its largest value."""
        return np.concatenate(
            for_each_block(
                lambda rows: self._used(rows).argmax(axis=1).astype(np.int32), self._blocks()
            )
        )

    def add_group_sums(self, sums, totals, rows, costs):
        """Add c_i A_i of the rows named to the sums of their groups, and c_i to the totals."""
        groups = self.groups[rows]
        totals += np.bincount(groups, weights=costs[rows], minlength=len(totals))
        width = -(-self._width // thread_count())
        whole = slice(0, self.shape[0]), slice(0, len(rows))
        for block, chosen in [whole] if self.is_kept else self._blocks_with(rows):
            values, positions = self._used(block), rows[chosen] - block.start
            arguments = values, positions, groups[chosen], costs[block]

            def add_columns(columns, arguments=arguments):
                _add_groups(*arguments, columns.start, columns.stop, sums)

            for_each_block(add_columns, row_blocks(self._width, width))

    def _add_products(self, total, rows, weights, dtype, sign):
        features = self._explicit(rows, dtype)
        wide = features.shape[1] > LONG_PRODUCTS and not sp.issparse(features)
        root = np.sqrt(weights[rows]).astype(dtype)
        if not np.all(root == 1.0):
            features = (
                sp.diags_array(root).tocsr() @ features
                if sp.issparse(features)
                else np.multiply(features, root[:, None], out=features)
            )
        products = interruptible(np.matmul, features.T, features) if wide else features.T @ features
        products = products.toarray() if sp.issparse(products) else products
        change = np.add if sign > 0 else np.subtract
        for part, sums in ((total[:-1, :-1], products), (total[:-1, -1], features.T @ root)):
            change(part, sums, out=part)

    # ------------------------------------------------------------------------ how rows are kept
    @property
    def value_cost(self):
        """How many times as long a value of a row takes in a product as one that is kept."""
        return 1.0 if self.is_kept else RECOMPUTED

    @property
    def _width(self):
        """The number of values that a row is kept as."""
        return self.shape[1] if self.map_ is None else self.map_.n_landmarks

    def _fold(self, w):
        """The weights of what is kept, from those of the features."""
        return w if self.map_ is None else self.map_.fold(w)

    def _unfold(self, gradient):
        """The gradient by the features' weights, from that by the weights of what is kept."""
        return gradient if self.map_ is None else self.map_.unfold(gradient)

    def _explicit(self, rows, dtype):
        """The features of the rows at ascending positions, in an array of their own."""
        values = self.A[rows] if self.is_kept else self._gathered(rows)
        values = values.astype(dtype, copy=False)
        return values if self.map_ is None else self.map_.apply(values)

    def _kept(self, rows):
        """What rows at ascending positions are kept as, in double precision."""
        values = self.A[_as_slice(rows)] if self.is_kept else self._gathered(rows)
        return values.astype(np.float64, copy=False)

    def _used(self, rows):
        """What products with a slice of rows are taken with."""
        if self.is_kept:
            return self.A[rows]
        return self.block(rows) if self.map_ is None else self._value_block(rows, self._width)

    def _gathered(self, rows):
        """Rows at ascending positions of what is formed, from the blocks they are in."""
        parts = [
            self._used(block)[rows[chosen] - block.start]
            for block, chosen in self._blocks_with(rows)
        ]
        if not parts:
            return np.empty((0, self.shape[1]), self.dtype)
        return stacked(parts)

    def _blocks_with(self, rows):
        """Blocks that hold some of these ascending rows, and which of them."""
        for block in self._blocks():
            chosen = slice(*np.searchsorted(rows, (block.start, block.stop)))
            if chosen.stop > chosen.start:
                yield block, chosen

    def _blocks(self, n_rows=None):
        """Slices of all rows, or of so many."""
        least = 256 if self._value_block is None else 1024
        step = max(least, BLOCK_BYTES // (8 * max(1, self._width)))
        return row_blocks(self.shape[0] if n_rows is None else n_rows, step)

    @cached_property
    def _arrays(self):
        return stored_rows(self.A)

    def _over(self, work, rows=None):
        """work(arrays, number of their first row, part) for parts of the rows, on all threads: a
        part is a slice of all rows, or of the positions in `rows`."""
        if self.is_kept:
            parts, arrays = self._parts(self.shape[0] if rows is None else len(rows)), self._arrays
            return for_each_block(lambda part: work(arrays, 0, part), parts)
        blocks = [(b, b) for b in self._blocks()] if rows is None else list(self._blocks_with(rows))

        def form_and_work(pair):
            features = self._used(pair[0])
            if not sp.issparse(features):
                features = np.ascontiguousarray(features)
            worked = work(stored_rows(features), pair[0].start, pair[1])
            bar.update()
            return worked

        with tqdm(total=len(blocks), desc="features, formed in blocks", **bar_options()) as bar:
            return for_each_block(form_and_work, blocks)

    def _parts(self, n_rows):
        sparse = self.is_kept and sp.issparse(self.A)
        per_row = self.A.nnz / max(1, self.shape[0]) if sparse else self.shape[1]
        worthwhile = int(n_rows * per_row // VALUES_PER_THREAD)
        parts = max(1, min(thread_count(), worthwhile))
        return row_blocks(n_rows, -(-n_rows // parts)) or [slice(0, 0)]


def _as_slice(rows):
    """Ascending positions without gaps as a slice, which copies nothing."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return slice(rows[0], rows[-1] + 1)
    return rows


# --------------------------------------------------------------------------- compiled passes
# One loop for dense and for sparse rows: `dot` and `add` know how a row is stored.
def stored_rows(F):
    """The rows as compiled loops take them: one array if dense, three if CSR."""
    return (F.data, F.indices, F.indptr) if sp.issparse(F) else (F,)


def _dot_with_row(rows, i, w):
    """Chosen by the type of `rows` when a caller is compiled."""
    raise TypeError("only compiled code may call this")


def _add_row(rows, i, step, w):
    raise TypeError("only compiled code may call this")


@overload(_dot_with_row, inline="always")
def _compile_dot(rows, i, w):
    if len(rows) == 1:

        def dense(rows, i, w):
            F = rows[0]
            total = w.dtype.type(0)
            for j in range(F.shape[1]):
                total += F[i, j] * w[j]
            return total

        return dense

    def sparse(rows, i, w):
        data, indices, indptr = rows
        total = w.dtype.type(0)
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        return total

    return sparse


@overload(_add_row, inline="always")
def _compile_add(rows, i, step, w):
    if len(rows) == 1:

        def dense(rows, i, step, w):
            F = rows[0]
            for j in range(F.shape[1]):
                w[j] += step * F[i, j]

        return dense

    def sparse(rows, i, step, w):
        data, indices, indptr = rows
        for k in range(indptr[i], indptr[i + 1]):
            w[indices[k]] += step * data[k]

    return sparse


@njit(fastmath=REORDERED_SUMS)
def dot(rows, i, w):
    """Row i times the vector w, summed in the precision of w."""
    return _dot_with_row(rows, i, w)


@njit(fastmath=REORDERED_SUMS)
def add(rows, i, step, w):
    """Add step times row i to the vector w."""
    return _add_row(rows, i, step, w)


@njit
def _scores(arrays, first, start, w, out):
    for i in range(len(out)):
        out[i] = dot(arrays, start + i - first, w)


@njit
def _evaluate(arrays, first, start, stop, w, b, low, high, costs, scores, gradient):
    value, by_b = 0.0, 0.0
    for i in range(start, stop):
        score = dot(arrays, i - first, w) + b
        scores[i] = score
        residual = score - min(max(score, low[i]), high[i])
        if residual != 0.0 and costs[i] > 0.0:
            slope = 2.0 * costs[i] * residual
            value += costs[i] * residual * residual
            by_b += slope
            add(arrays, i - first, slope, gradient)
    return value, by_b


@njit
def _add_groups(A, rows, groups, costs, start, stop, sums):
    for position in range(len(rows)):
        i, group = rows[position], groups[position]
        for j in range(start, stop):
            sums[group, j] += costs[i] * A[i, j]


@njit
def _pull(arrays, first, chosen, a, out):
    for position in range(len(chosen)):
        add(arrays, chosen[position] - first, a[position], out)


@njit
def _normal(arrays, first, chosen, weights, v, by_b, out):
    total = 0.0
    for i in chosen:
        step = weights[i] * (dot(arrays, i - first, v) + by_b)
        total += step
        add(arrays, i - first, out.dtype.type(step), out)
    return total


@njit(fastmath=REORDERED_SUMS)
def _normal_by_fours(arrays, first, chosen, weights, v, by_b, out):
    """As `_normal`, for dense rows: four come from memory at a time, which is quicker."""
    F, total, fours = arrays[0], 0.0, len(chosen) // 4 * 4
    for at in range(0, fours, 4):
        i, j, k, l = chosen[at], chosen[at + 1], chosen[at + 2], chosen[at + 3]
        a, b, c, d = F[i - first], F[j - first], F[k - first], F[l - first]
        p = q = r = s = v.dtype.type(0)
        for m in range(len(v)):
            p += a[m] * v[m]
            q += b[m] * v[m]
            r += c[m] * v[m]
            s += d[m] * v[m]
        step_a, step_b = weights[i] * (p + by_b), weights[j] * (q + by_b)
        step_c, step_d = weights[k] * (r + by_b), weights[l] * (s + by_b)
        total += (step_a + step_b) + (step_c + step_d)
        p, q = out.dtype.type(step_a), out.dtype.type(step_b)
        r, s = out.dtype.type(step_c), out.dtype.type(step_d)
        for m in range(len(out)):
            out[m] += (p * a[m] + q * b[m]) + (r * c[m] + s * d[m])
    return total + _normal(arrays, first, chosen[fours:], weights, v, by_b, out)
