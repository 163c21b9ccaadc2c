"""The text of a file into a matrix and its labels: svmlight, CSV and TSV, ARFF, idx.

Compiled readers do the work. Only when one of them refuses, or lets something doubtful through, a
slow second reading (`faults`) finds the first bad line and says what is wrong with it.
"""

import io
import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernlab.datasets.errors import DataError
from kernlab.datasets.faults import describe_fault
from kernlab.datasets.streams import open_data


@dataclass(frozen=True)
class Parsed:
    """What one file holds. X is None for a file of labels, y for a file of images."""

    X: "np.ndarray | sparse.csr_matrix | None"
    y: np.ndarray | None
    sha256: str

    @property
    def rows(self):
        return len(self.y) if self.X is None else self.X.shape[0]


def parse(path, layout, *, features, text_labels=False, keep_sparse=False, progress=True):
    """Read one file.

    Parameters
    ----------
    path : Path
        Plain, or compressed as gz, bz2 or xz.
    layout : Layout
        The format and its details.
    features : int
        Columns that X must have.
    text_labels : bool
        Labels are words rather than numbers (CSV only).
    keep_sparse : bool
        X as a CSR matrix rather than a dense one (svmlight only).

    Returns
    -------
    Parsed
        X in float64; y as integers where all labels are whole numbers.

    Raises
    ------
    DataError
        With the file, the line and what is wrong there.
    """
    reader = _READERS[layout.format]
    with open_data(path, progress=progress) as (stream, hashing):
        try:
            X, y = reader(stream, layout, features, text_labels)
        except _UnreadableError as error:
            hashing.digest()
            raise _fault(path, layout, features, text_labels, str(error)) from error
        digest = hashing.digest()
    if layout.format == "arff" and describe_fault(path, layout, features, text_labels):
        # SciPy passes over surplus fields in silence; ARFF files are small enough to look twice.
        raise _fault(path, layout, features, text_labels, "")
    if X is not None:
        if X.shape[0] == 0:
            raise DataError(f"{path} holds no rows")
        if X.shape[1] != features:
            raise _fault(
                path, layout, features, text_labels, f"{X.shape[1]} features, not {features}"
            )
        values = X.data if sparse.issparse(X) else X
        if not np.isfinite(values).all():
            raise _fault(path, layout, features, text_labels, "not every value is a finite number")
        if sparse.issparse(X) and not keep_sparse:
            X = X.toarray()
    if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
        raise _fault(path, layout, features, text_labels, "a label is missing or not finite")
    return Parsed(X, None if y is None else _whole_numbers(y), digest)


class _UnreadableError(Exception):
    """A reader gave up; its text is for the case that the second reading finds nothing."""


def _svmlight(stream, layout, features, text_labels):
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(stream, n_features=features, zero_based=False)
    except (ValueError, OverflowError, IndexError) as error:
        raise _UnreadableError(str(error)) from error
    X.eliminate_zeros()
    return X, y


def _table(stream, layout, features, text_labels):
    import pandas as pd

    width = features + 1 + len(layout.drop)
    target = layout.target % width
    try:
        frame = pd.read_csv(
            stream,
            sep=r"\s+" if layout.separator == "blank" else layout.separator,
            header=None,
            skiprows=layout.header,
            dtype={target: str} if text_labels else None,
            na_values=[layout.missing] if layout.missing else None,
            keep_default_na=not layout.missing,
            skipinitialspace=True,
            low_memory=False,
            **_exact_numbers(pd),
        )
    except pd.errors.EmptyDataError:
        return np.empty((0, features)), np.empty(0)
    except (ValueError, OverflowError) as error:
        raise _UnreadableError(str(error)) from error
    if frame.shape[1] != width:
        raise _UnreadableError(f"{frame.shape[1]} fields, {width} expected")
    if layout.missing:
        frame = frame.dropna()
    columns = [j for j in range(width) if j != target and j not in layout.drop]
    numbers = columns if text_labels else [*columns, target]
    words = [j for j in numbers if frame[j].dtype.kind not in "iufb"]
    if words:
        raise _UnreadableError(f"field {words[0] + 1} is not always a number")
    y = frame[target]
    if text_labels:
        if y.isna().any():
            raise _UnreadableError("a label is missing")
        y = np.array([word.strip() for word in y], dtype=np.str_)
    else:
        y = y.to_numpy(np.float64)
    return np.ascontiguousarray(frame[columns].to_numpy(np.float64)), y


def _exact_numbers(pd):
    """From 3.1 on pandas reads every number to its last bit; before, it has to be told."""
    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _arff(stream, layout, features, text_labels):
    from scipy.io import arff

    try:
        rows, meta = arff.loadarff(io.TextIOWrapper(stream, encoding="utf-8"))
    except Exception as error:  # SciPy's reader stumbles over bad rows in many ways
        raise _UnreadableError(f"{type(error).__name__}: {error}") from error
    names = meta.names()
    if len(names) != features + 1:
        raise _UnreadableError(f"{len(names)} attributes, {features + 1} expected")
    target = names[layout.target]
    X = np.empty((len(rows), features))
    for column, name in enumerate(name for name in names if name != target):
        X[:, column] = _numbered(rows[name], meta[name])
    try:
        y = np.array([float(label) for label in rows[target]])
    except ValueError as error:
        raise _UnreadableError(f"a label is not a number: {error}") from error
    return X, y


def _numbered(values, attribute):
    """Nominal values as their place in the list that the file declares."""
    kind, declared = attribute
    if kind != "nominal":
        return values
    places = {word.encode(): place for place, word in enumerate(declared)}
    return np.array([places.get(word, math.nan) for word in values])


_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def _idx(stream, layout, features, text_labels):
    head = stream.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES or head[3] == 0:
        raise _UnreadableError(f"it starts with {head.hex(' ')}, which no idx file does")
    dtype, axes = np.dtype(_IDX_TYPES[head[2]]), head[3]
    sizes = np.frombuffer(stream.read(4 * axes), dtype=">u4").astype(np.int64)
    body = stream.read()
    if len(sizes) < axes or len(body) != sizes.prod() * dtype.itemsize:
        shape = " x ".join(str(size) for size in sizes)
        raise _UnreadableError(f"its head announces {shape} values, {len(body)} bytes follow")
    values = np.frombuffer(body, dtype).reshape(sizes)
    if axes == 1:
        return None, values.astype(np.float64)
    return values.reshape(len(values), -1).astype(np.float64), None


_READERS = {"svmlight": _svmlight, "csv": _table, "arff": _arff, "idx": _idx}


def _whole_numbers(y):
    if y.dtype.kind != "f":
        return y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def _fault(path, layout, features, text_labels, otherwise):
    found = describe_fault(path, layout, features, text_labels)
    return DataError(f"{path}{found}" if found else f"{path} cannot be read: {otherwise}")
