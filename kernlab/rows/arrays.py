"""The protocol of rows, the doors by which they come in, and rows that are arrays: dense, CSR,
memory maps, data sets of h5py."""

from copy import copy
from functools import reduce, singledispatch
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_random_state, column_or_1d, validate_data

from kernlab.runtime import for_each_block, require_memory, row_blocks, thread_count

BLOCK_BYTES = 2**23
# Packages whose collections have a module of their own here, with a function `as_rows(X, y)`.
COLLECTIONS = {"dask": "kernlab.rows.dask", "distributed": "kernlab.rows.dask"}


class Rows:
    """Samples, wherever they are, read a block at a time.

    A subclass sets `shape`, `dtype` (float32 or float64, in which blocks come) and implements
    `block` and `take`; all else follows from them. A collection on a cluster also writes `reduce`.

    Attributes
    ----------
    shape : (int, int)
    dtype : numpy.dtype
    labels : array of shape (n_rows,), or None
    in_memory : bool
        Whether `whole` is free: arrays, CSR matrices, memory maps of floating point numbers.
    """

    labels = None
    in_memory = False
    is_distributed = False  # whether a cluster holds them, labels and weights beside them
    dtype = np.dtype(np.float64)
    _known_finite = False

    def __len__(self):
        return self.shape[0]

    @property
    def n_features(self):
        return self.shape[1]

    @property
    def has_labels(self):
        return self.labels is not None

    @property
    def nbytes(self):
        """Bytes of all rows, once they are in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def block(self, rows):
        """The rows of a slice: an array, or CSR."""
        raise NotImplementedError

    def take(self, indices):
        """The rows at these positions, in their order: an array, or CSR."""
        raise NotImplementedError

    def select(self, indices):
        """The rows at these positions as Rows of their own; nothing is read or copied yet."""
        return SelectedRows(self, indices)

    def labelled(self, labels):
        """The same rows with these labels."""
        rows = copy(self)
        rows.labels = checked_labels(labels, len(self))
        return rows

    def blocks(self, n=None):
        """Yield (slice, block) in order, of `n` rows each or of about 8 MB."""
        for rows in self.slices(n):
            yield rows, self.block(rows)

    def sample(self, n, random_state=None):
        """`n` rows drawn without replacement, in their order; all where there are fewer."""
        if n >= len(self):
            return self.take(np.arange(len(self)))
        chosen = check_random_state(random_state).choice(len(self), n, replace=False)
        return self.take(np.sort(chosen))

    def reduce(self, function, *aligned, combine=None):
        """The sum over all blocks of `function(block, *parts)`, on all threads.

        Parameters
        ----------
        function : callable
            Of a block of rows and the parts of `aligned` that belong to it; gives an array, a
            number, or a tuple of them, which are added one by one.
        *aligned : array
            One entry for each row.
        combine : callable, optional
            What takes the place of the sum: two results into one.
        """
        combine = combine or added
        slices = self.slices()

        def work(stretch):
            results = (
                function(self.block(rows), *(values[rows] for values in aligned))
                for rows in slices[stretch]
            )
            return reduce(combine, results)

        stretches = row_blocks(len(slices), -(-len(slices) // thread_count()))
        return reduce(combine, for_each_block(work, stretches))

    def whole(self, max_memory=None):
        """All rows as one array or CSR matrix; the very array where they are one.

        Raises
        ------
        MemoryLimitError
            Where that needs more than `max_memory` (None: half of what is free).
        """
        require_memory(
            self.nbytes,
            max_memory,
            what=f"reading all {len(self):,} rows into memory",
            arithmetic=f"{len(self):,} rows of {self.n_features:,} features",
            way_out="Allow more with max_memory, or take an estimator that reads rows in blocks.",
        )
        return self.block(slice(0, len(self)))

    def each(self, function):
        """`function(rows)` of these rows; of those on a cluster, a lazy array of their blocks."""
        return function(self)

    def bounds(self):
        """Smallest and largest value of each feature; values that are not finite are refused."""
        low, high = self.reduce(_finite_extremes, np.arange(len(self)), combine=wider)
        return low.astype(np.float64), high.astype(np.float64)

    def check_finite(self):
        """Refuse NaN and infinity, naming the first row that has one; rows are read once for it."""
        if not self._known_finite:
            self.reduce(_refuse_not_finite, np.arange(len(self)), combine=lambda a, b: None)
        self._known_finite = True

    def slices(self, n=None):
        """Slices that cover the rows in order, of `n` rows each or of about 8 MB."""
        bytes_per_row = max(1, self.nbytes // max(1, len(self)))
        return row_blocks(len(self), n or max(1, BLOCK_BYTES // bytes_per_row))


class ArrayRows(Rows):
    """Rows of a matrix: NumPy's, SciPy's, or whatever has a shape and gives rows by slices and by
    sorted positions, a data set of h5py say; numbers that are not floating come as double."""

    def __init__(self, X, labels=None):
        if sp.issparse(X):
            X = canonical_csr(X)
        if getattr(X, "ndim", len(getattr(X, "shape", ()))) != 2:
            raise ValueError(
                f"rows must come as a matrix, not as {type(X).__name__} of shape "
                f"{getattr(X, 'shape', 'unknown')}"
            )
        if X.shape[0] < 1 or X.shape[1] < 1:
            raise ValueError(f"a matrix of {X.shape[0]} rows and {X.shape[1]} features is empty")
        self._X = X
        self.shape = tuple(X.shape)
        self.labels = checked_labels(labels, self.shape[0])
        is_float = X.dtype in (np.float32, np.float64)
        self.dtype = np.dtype(X.dtype if is_float else np.float64)
        self._is_array = isinstance(X, np.ndarray) or sp.issparse(X)
        self.in_memory = self._is_array and is_float

    @property
    def nbytes(self):
        return held_bytes(self._X) if sp.issparse(self._X) else super().nbytes

    def block(self, rows):
        return self._converted(self._X[rows])

    def take(self, indices):
        indices = np.asarray(indices)
        if self._is_array:
            return self._converted(self._X[indices])
        order, back = np.unique(indices, return_inverse=True)  # what h5py asks for
        return self._converted(self._X[order])[back]

    def whole(self, max_memory=None):
        return self._X if self.in_memory else super().whole(max_memory)

    def check_finite(self):
        if self._X.dtype.kind not in "iub":
            super().check_finite()

    def _converted(self, part):
        return part.astype(self.dtype, copy=False)


class SelectedRows(Rows):
    """Some rows of others, by their positions; see `Rows.select`."""

    def __init__(self, rows, indices):
        self._rows, self._indices = rows, np.asarray(indices)
        self.shape = (len(self._indices), rows.shape[1])
        self.dtype = rows.dtype
        self.labels = None if rows.labels is None else rows.labels[self._indices]

    @property
    def nbytes(self):
        return self._rows.nbytes * len(self) // max(1, len(self._rows))

    def block(self, rows):
        return self._rows.take(self._indices[rows])

    def take(self, indices):
        return self._rows.take(self._indices[indices])

    def select(self, indices):
        return SelectedRows(self._rows, self._indices[np.asarray(indices)])


class JoinedRows(Rows):
    """Blocks of finite rows of one kind, one after the other, as if they were one; not copied."""

    _known_finite = True

    def __init__(self, blocks):
        self._blocks, self.dtype = blocks, blocks[0].dtype
        self._starts = np.cumsum([0, *(block.shape[0] for block in blocks)])
        self.shape = int(self._starts[-1]), blocks[0].shape[1]

    def __getitem__(self, rows):
        """The rows of a slice, as views of the blocks."""
        start, stop, _ = rows.indices(len(self))
        first, last = np.searchsorted(self._starts, (start, max(start, stop - 1)), side="right")
        blocks = zip(self._blocks[first - 1 : last], self._starts[first - 1 : last], strict=True)
        return JoinedRows([block[max(0, start - at) : max(0, stop - at)] for block, at in blocks])

    def block(self, rows):
        return stacked(self[rows]._blocks)

    def take(self, indices):
        return stacked([self.block(slice(i, i + 1)) for i in indices] or [self.block(slice(0))])


# ------------------------------------------------------------------------------------------ doors
@singledispatch
def as_rows(X, y=None, *, n_features=None, zero_based=False, label=None):
    """Samples as `Rows`.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, memory map, Rows, path of a file, whatever has a shape and
        gives rows by slices; Dask arrays and DataFrames, or a list of delayed blocks
    y : array, optional
        Labels; those in a file are taken where none are given.
    n_features, zero_based, label
        For files, see `kernlab.rows.files.open_rows`.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab.rows import as_rows
    >>> rows = as_rows(np.arange(6.0).reshape(3, 2), y=[1, -1, 1])
    >>> rows.shape, rows.labels.tolist(), rows.reduce(lambda block: block.sum(axis=0)).tolist()
    ((3, 2), [1, -1, 1], [6.0, 9.0])
    """
    if module := _module_of(X):
        return import_module(module).as_rows(X, y)
    return ArrayRows(X if sp.issparse(X) or _gives_rows(X) else np.asarray(X), y)


@as_rows.register
def _(X: Rows, y=None, **of_files):
    return X if y is None else X.labelled(y)


def validate_rows(
    estimator, X, y=None, *, reset=True, supervised=False, numeric_labels=False, min_rows=1
):
    """The samples that a user hands to an estimator, checked as scikit-learn does, as `Rows`.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets `n_features_in_` (and `feature_names_in_`) when `reset`, else X must have as many.
    X, y
        See `as_rows`.
    reset : bool
        True when fitting.
    supervised : bool
        Labels are needed, from y or from the file; they are `labels` of what is returned.
    numeric_labels : bool
        They are numbers to be regressed on.
    min_rows : int

    Returns
    -------
    Rows
        In double or single precision; sparse rows in canonical form.
    """
    if _is_streamed(X):
        if is_collection(X) and not (reset or supervised):  # to be looked through, block by block
            rows = import_module(_module_of(X)).as_rows(X, keep=False)
        else:
            rows = as_rows(X, y, n_features=None if reset else estimator.n_features_in_)
        return _checked_stream(estimator, rows, reset, supervised, numeric_labels, min_rows)
    if isinstance(X, Rows):
        X, y = X.whole(), X.labels if y is None else y
    checks = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "reset": reset}
    checks |= {"ensure_min_samples": min_rows}
    if not supervised:
        return ArrayRows(validate_data(estimator, X, **checks), y)
    _check_kind(y, numeric_labels)
    return ArrayRows(*validate_data(estimator, X, y, y_numeric=numeric_labels, **checks))


def _check_kind(y, numeric):
    """Refuse labels that no order or, if `numeric`, no number can be made of."""
    if getattr(y, "dtype", None) is not None and y.dtype.kind in "iufbc":
        return
    try:
        if numeric and y is not None:
            np.asarray(y, dtype=np.float64)
        elif np.asarray(y).dtype == object:
            sorted(set(np.asarray(y).flat))
    except (TypeError, ValueError):
        wanted = "numbers, to be regressed on" if numeric else "all words or all numbers"
        raise ValueError(f"the labels y must be {wanted}") from None


def _is_streamed(X):
    """Whether X is read from where it is, rather than checked by scikit-learn as an array."""
    if isinstance(X, Rows):
        return not X.in_memory
    if isinstance(X, str | Path):
        return True
    if isinstance(X, np.memmap):
        return X.dtype not in (np.float32, np.float64)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    return _module_of(X) is not None or _gives_rows(X)


def is_at_hand(X):
    """Whether X is an array or a table in memory."""
    return not (isinstance(X, str | Path | Rows) or is_collection(X))


def is_collection(X):
    """Whether X is a collection of a package that keeps rows elsewhere, Dask's say."""
    return _module_of(X) is not None


def _module_of(X):
    X = X[0] if isinstance(X, list | tuple) and len(X) else X  # delayed blocks
    return COLLECTIONS.get(type(X).__module__.partition(".")[0])


def _gives_rows(X):
    return all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))


def _checked_stream(estimator, rows, reset, supervised, numeric_labels, min_rows):
    name = type(estimator).__name__
    if reset:
        estimator.n_features_in_ = rows.n_features
        vars(estimator).pop("feature_names_in_", None)  # of a table that an earlier fit has seen
    elif rows.n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.n_features} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input"
        )
    if len(rows) < min_rows:
        raise ValueError(f"{len(rows)} rows, while {name} needs at least {min_rows}")
    rows.check_finite()
    if supervised and not rows.has_labels:
        raise ValueError(f"{name} requires y to be passed: these rows bring no labels")
    if not supervised or rows.is_distributed:
        return rows
    _check_kind(rows.labels, numeric_labels)
    y = column_or_1d(rows.labels, warn=True)
    if numeric_labels:
        y = y.astype(np.float64)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("the labels hold NaN or infinity")
    return rows.labelled(y)


# ----------------------------------------------------------------------------- blocks of rows
def stacked(blocks):
    """Blocks of one kind as one: itself where there is one only, which is not copied."""
    if len(blocks) == 1:
        return blocks[0]
    return sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)


def held_bytes(rows):
    """The bytes of an array or a CSR matrix."""
    if sp.issparse(rows):
        return rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    return rows.nbytes


def as_dense(block, dtype=np.float64):
    """A block of rows as a C-ordered array."""
    block = block.toarray() if sp.issparse(block) else block
    return np.ascontiguousarray(block, dtype=dtype)


def canonical_csr(X):
    """The same matrix as CSR with sorted entries, each in one piece; others hold some in parts."""
    X = X if isinstance(X, sp.csr_matrix) else sp.csr_matrix(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def checked_labels(labels, n_rows):
    """Labels as an array, if there are as many as rows."""
    if labels is None:
        return None
    labels = np.asarray(labels)
    if len(labels) != n_rows:
        raise ValueError(f"{n_rows} rows, but {len(labels)} labels")
    return labels


def added(one, other):
    """The sum of two results, tuples one by one."""
    if isinstance(one, tuple):
        return tuple(a + b for a, b in zip(one, other, strict=True))
    return one + other


def wider(one, other):
    """The smaller of the first and the larger of the second of two pairs."""
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


def extremes(block):
    """Smallest and largest value of each feature."""
    if sp.issparse(block):
        return block.min(axis=0).toarray()[0], block.max(axis=0).toarray()[0]
    return block.min(axis=0), block.max(axis=0)


def not_finite(block):
    """The first row that is not finite, and what is wrong there; None where all are."""
    values = block.data if sp.issparse(block) else block
    if values.dtype.kind in "iub" or np.isfinite(values).all():
        return None
    if sp.issparse(block):
        entry = np.flatnonzero(~np.isfinite(values))[0]
        row, feature = np.searchsorted(block.indptr, entry, "right") - 1, block.indices[entry]
    else:
        row, feature = np.argwhere(~np.isfinite(values))[0]
    return int(row), (
        f"feature {feature} is {block[row, feature]}: NaN and infinity are not allowed; fill in or "
        "leave out such rows"
    )


def _finite_extremes(block, places):
    _refuse_not_finite(block, places)
    return extremes(block)


def _refuse_not_finite(block, places):
    if wrong := not_finite(block):
        raise ValueError(f"row {places[wrong[0]]}, {wrong[1]}")
