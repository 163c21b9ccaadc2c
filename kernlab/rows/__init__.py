"""Samples, wherever they are: arrays, sparse matrices, memory maps, tables, files.

`as_rows` gives them one protocol, `Rows`; `validate_rows` is the door of estimators.
"""

from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d, validate_data

from kernlab.rows.arrays import ArrayRows, Rows, as_dense
from kernlab.rows.files import open_rows
from kernlab.rows.products import DistinctRows, distinct_rows, merged_rows
from kernlab.rows.text import DataError

__all__ = [
    "ArrayRows",
    "DataError",
    "DistinctRows",
    "Rows",
    "as_dense",
    "as_rows",
    "distinct_rows",
    "is_collection",
    "merged_rows",
    "validate_rows",
]

# Packages whose collections have a module of their own here, with a function `as_rows(X, y)`.
COLLECTIONS = {"dask": "kernlab.rows.dask", "distributed": "kernlab.rows.dask"}


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
    if isinstance(X, Rows):
        return X if y is None else X.labelled(y)
    if isinstance(X, str | Path):
        return open_rows(X, y, n_features=n_features, zero_based=zero_based, label=label)
    if module := _module_of(X):
        return import_module(module).as_rows(X, y)
    return ArrayRows(X if sp.issparse(X) or _gives_rows(X) else np.asarray(X), y)


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
