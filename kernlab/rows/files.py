"""Rows of files, read when asked for: svmlight and CSV, NPY by memory map, Parquet by row groups.

Opening a text runs over it once, checks every value, and keeps a label and a place per row, 16
bytes; a file may so be larger than memory. Compressed texts have no places to go to: they are read
into memory, if they fit.
"""

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.rows.arrays import ArrayRows, Rows, as_rows, checked_labels
from kernlab.rows.text import (
    LONGEST_LINE,
    DataError,
    Svmlight,
    Table,
    UnreadableError,
    is_compressed,
    open_data,
    parsed_pieces,
    read_whole,
)

DENSE_SHARE = 0.25  # of entries that are not zero; above, blocks are dense arrays
LABEL_NAMES = ("label", "target", "class", "y")


@as_rows.register(str)
@as_rows.register(Path)
def open_rows(path, y=None, *, n_features=None, zero_based=False, label=None):
    """The rows of a file: svmlight, CSV and other tables, NPY, Parquet; told by what it holds.

    Parameters
    ----------
    path : str or Path
        Texts may be compressed as gz, bz2 or xz.
    y : array, optional
        Labels instead of those in the file.
    n_features : int, optional
        More than the file shows (svmlight), or what tells a table without labels from one with.
    zero_based : bool or "auto"
        Whether indices of an svmlight file begin with 0; "auto" where one is 0 in the file, which
        says nothing of another file of the same data.
    label : str, int or False, optional
        The label's column of a table; False: there is none. By default the one called "label",
        "target", "class" or "y", else the last; none where `y` is given or without it there
        are `n_features` columns.

    Returns
    -------
    Rows
        `labels` are those of the file, or those given.

    Raises
    ------
    DataError
        Where the file is malformed: the line, and what is wrong there.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    with path.open("rb") as file:
        magic = file.read(6)
    if magic == b"\x93NUMPY":
        return ArrayRows(_mapped(path), y)
    if magic[:4] == b"PAR1":
        return ParquetRows(path, y, n_features=n_features, label=label)
    header, first = 0, _first_rows(path)
    if _is_svmlight(first):
        form = Svmlight(_has_index_zero(path) if zero_based == "auto" else zero_based)
    else:
        if y is not None and label is None:
            label = False
        try:
            form, header, n_features = _table_of(first, path, n_features, label)
        except DataError as error:
            raise DataError(f"{path}, at its beginning: {error}") from error
    read = _in_memory if is_compressed(path) else TextRows
    return read(path, form, n_features=n_features, header=header, labels=y)


class TextRows(Rows):
    """Rows of a text that is not compressed; `form` says how a piece of it is parsed."""

    def __init__(self, path, form, *, n_features=None, header=0, labels=None):
        self.path, self.form = path, form
        self._stamp = _stamp(path.stat())
        found, places, largest, self._entries = [], [], 1, 0
        with open_data(path) as (stream, _):
            for X, y, starts in parsed_pieces(stream, path, form, n_features, header):
                found.append(y)
                places.append(starts)
                largest = max(largest, X.shape[1])
                self._entries += X.nnz if sp.issparse(X) else X.size
        self.shape = (sum(len(starts) for starts in places), largest)
        self._places = np.append(np.concatenate(places), self._stamp[0])
        if labels is None and found[0] is not None:
            labels = np.concatenate(found)
        self.labels = checked_labels(labels, self.shape[0])
        self._dense = self._entries > DENSE_SHARE * self.shape[0] * self.shape[1]

    @property
    def nbytes(self):
        return super().nbytes if self._dense else 12 * self._entries + 4 * len(self)

    def block(self, rows):
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("rows of a file are read in order: slices must have step 1")
        return self._parsed([(start, stop)]) if stop > start else self.block(slice(0, 1))[:0]

    def take(self, indices):
        order, back = np.unique(np.asarray(indices), return_inverse=True)
        if not len(order):
            return self.block(slice(0, 0))
        runs = np.split(order, np.flatnonzero(np.diff(order) != 1) + 1)
        part = self._parsed([(run[0], run[-1] + 1) for run in runs])
        return part if len(back) == len(order) and np.all(np.diff(back) > 0) else part[back]

    def check_finite(self):
        """Every value was looked at when the file was opened."""

    def _parsed(self, runs):
        pieces, n_rows = [], sum(stop - start for start, stop in runs)
        with self.path.open("rb") as file:
            status = _stamp(self.path.stat())
            for start, stop in runs:
                file.seek(self._places[start])
                pieces.append(file.read(self._places[stop] - self._places[start]))
        try:
            X, _ = self.form.parse(b"\n".join(pieces), self.shape[1])
        except UnreadableError:
            X = None
        if X is None or X.shape[0] != n_rows or status != self._stamp:
            raise DataError(f"{self.path} has changed since it was opened: open it again")
        return X.toarray() if self._dense and sp.issparse(X) else X


class ParquetRows(Rows):
    """Rows of a Parquet file, one row group in memory at a time; needs pyarrow."""

    def __init__(self, path, labels=None, *, n_features=None, label=None):
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise DataError(f"reading {path} takes pyarrow: pip install pyarrow") from error
        self.path, self._open = path, ParquetFile
        file = ParquetFile(path)
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        names = list(file.schema_arrow.names)
        label = False if labels is not None and label is None else label
        target = _target(names, names, n_features, label)
        self._columns = [name for j, name in enumerate(names) if j != target]
        self.shape = (int(self._starts[-1]), len(self._columns))
        if target is not None:
            labels = file.read(columns=[names[target]]).column(0).to_numpy()
        self.labels = checked_labels(labels, self.shape[0])

    def block(self, rows):
        start, stop, _ = rows.indices(len(self))
        return self.take(np.arange(start, stop))

    def take(self, indices):
        indices = np.asarray(indices)
        found = np.empty((len(indices), self.shape[1]))
        file = self._open(self.path)
        groups = np.searchsorted(self._starts, indices, side="right") - 1
        for group in np.unique(groups):
            table = file.read_row_group(int(group), columns=self._columns)
            values = table.to_pandas().to_numpy(np.float64)
            chosen = groups == group
            found[chosen] = values[indices[chosen] - self._starts[group]]
        return found

    def slices(self, n=None):
        if n is not None:
            return super().slices(n)
        return [slice(int(a), int(b)) for a, b in zip(self._starts, self._starts[1:], strict=False)]


# ------------------------------------------------------------------------------------------ reading
def _in_memory(path, form, *, n_features, header, labels):
    with open_data(path) as (stream, _):
        X, y = read_whole(stream, path, form, n_features, header)
    if sp.issparse(X) and X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return ArrayRows(X, y if labels is None else labels)


def _mapped(path):
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        if matrix.ndim != 2 or matrix.dtype.kind not in "iufb":
            raise ValueError(f"an array of {matrix.ndim} axes of {matrix.dtype}")
    except Exception as error:  # a damaged head may be anything to NumPy's parser
        raise DataError(
            f"{path} is not a matrix in NumPy's .npy format ({error}); write it with numpy.save"
        ) from error
    return matrix


def _stamp(status):
    return status.st_size, status.st_mtime_ns


# ------------------------------------------------------------------------------- what a text holds
def _first_rows(path):
    """The first two lines of a text that are neither blank nor comments."""
    rows, seen = [], 0
    with open_data(path) as (stream, _):
        while len(rows) < 2 and seen < LONGEST_LINE and (line := stream.readline(LONGEST_LINE)):
            if b"\0" in line:
                raise DataError(f"{path} is neither a text of rows, nor NPY, nor Parquet")
            try:
                line = line.decode("utf-8" if seen else "utf-8-sig").strip()
            except UnicodeDecodeError as error:
                raise DataError(f"{path} is not a text: {error}") from error
            seen += len(line)
            rows += [line] if line and not line.startswith("#") else []
    if not rows:
        raise DataError(f"{path} holds no rows")
    return rows


def _is_svmlight(rows):
    bare = [row.partition("#")[0].split() for row in rows]
    if any(len(words) > 1 and ":" in words[1] for words in bare):
        return True
    return all(len(words) == 1 and not re.search("[,;]", words[0]) for words in bare)


def _has_index_zero(path):
    with open_data(path) as (stream, _):
        return any(re.search(rb"^[^#]*\s0+:", line) for line in stream)


def _table_of(rows, path, n_features, label):
    """Table, lines of its head, number of features."""
    separator = next((s for s in (",", ";", "\t") if s in rows[0]), "blank")
    fields = Table(separator).fields(rows[0])
    header = int(not any(_is_number(field) for field in fields))
    names = fields if header else None
    if header and len(rows) == 1:
        raise DataError("there is a head, but no rows follow")
    values = Table(separator).fields(rows[1]) if header else fields
    target = _target(names, fields, n_features, label)
    words = target is not None and target < len(values) and not _is_number(values[target])
    form = Table(separator, target=target, text_labels=words)
    return form, header, len(fields) - (target is not None)


def _target(names, columns, n_features, label):
    """The place of the label's column, or None."""
    if label is False or (label is None and n_features == len(columns)):
        return None
    if isinstance(label, str):
        if names is None or label not in names:
            raise DataError(f"there is no column {label!r}")
        return list(names).index(label)
    if label is not None:
        return range(len(columns))[label]
    named = [j for j, name in enumerate(names or ()) if name.strip().lower() in LABEL_NAMES]
    return named[0] if len(named) == 1 else len(columns) - 1


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True
