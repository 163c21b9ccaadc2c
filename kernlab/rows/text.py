"""Rows written as text, svmlight or tables: opened whatever compresses them, parsed in pieces.

A compiled loop for svmlight and pandas' reader for tables do the work. Only when one of them
refuses are the lines looked at one by one, for the first bad one and what is wrong with it.
"""

import bz2
import csv
import gzip
import hashlib
import io
import lzma
import math
import re
import zlib
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernlab.rows.arrays import stacked
from kernlab.runtime import MemoryLimitError, format_bytes, memory_limit, njit

PIECE_BYTES = 2**22
LONGEST_LINE = 2**28
COMPRESSIONS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
# From 3.1 on pandas reads every number to its last bit, and warns whoever asks; before, it has
# to be told.
HAS_TO_BE_TOLD = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
EXACT_NUMBERS = {"float_precision": "round_trip"} if HAS_TO_BE_TOLD else {}  # of pandas.read_csv
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


class DataError(ValueError):
    """Data cannot be used as asked; the text says what is wrong, where, and what to do."""


# ------------------------------------------------------------------------------------------- bytes
class HashingReader(io.RawIOBase):
    """A readable stream of at most `max_bytes` that keeps the SHA-256 of all that went through it,
    and why it broke."""

    def __init__(self, inner, max_bytes=None):
        self._inner, self._max_bytes = inner, max_bytes
        self._sha256 = hashlib.sha256()
        self.n_bytes, self.failure = 0, None

    def readable(self):
        return True

    def readinto(self, buffer):
        block = self._read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def digest(self):
        """Of the whole stream: what nobody has read yet is read now."""
        while self._read(PIECE_BYTES):
            pass
        return self._sha256.hexdigest()

    def _read(self, size):
        try:
            block = self._inner.read(size)
            self.n_bytes += len(block)
            if self._max_bytes is not None and self.n_bytes > self._max_bytes:
                raise OSError(f"it holds more than the {self._max_bytes:,} bytes that it may")
        except DAMAGED as error:
            self.failure = error
            raise
        self._sha256.update(block)
        return block


def is_compressed(path):
    """Whether a file is one of gzip, bzip2 or xz, by what it begins with."""
    return _opener(path) is not None


def _opener(path):
    with path.open("rb") as file:
        start = file.read(6)
    return next((o for magic, o in COMPRESSIONS.items() if start.startswith(magic)), None)


@contextmanager
def open_data(path, *, max_bytes=None, watch=nullcontext):
    """The uncompressed bytes of a file, as (buffered stream, its HashingReader).

    A file that cannot be read, or breaks off in the middle of its compressed text, is a DataError
    that names it. `watch` gives a context in which the compressed stream is watched, for a bar.
    """
    hashing = None
    try:
        opener = _opener(path)
        with path.open("rb") as raw, watch(raw) as raw:
            hashing = HashingReader(opener(raw) if opener else raw, max_bytes)
            yield io.BufferedReader(hashing, 2**20), hashing
    except Exception as error:
        broken = hashing.failure if hashing else error if isinstance(error, OSError) else None
        if broken is None:
            raise
        if getattr(broken, "errno", None) is not None:
            raise DataError(f"{path} cannot be read: {broken.strerror}") from error
        raise DataError(
            f"{path} is damaged or truncated: it cannot be decompressed to its end ({broken}). "
            "Replace the file."
        ) from error


# ------------------------------------------------------------------------------------------ formats
class UnreadableError(Exception):
    """A compiled reader gave up; its text serves where no line is found to blame."""


@dataclass(frozen=True)
class Svmlight:
    """`label index:value ...`; indices increase, from 1, or from 0 with `zero_based`."""

    zero_based: bool = False
    leaves_out = False

    def parse(self, text, n_features=None):
        """CSR rows and labels of a text, or an UnreadableError."""
        bare = re.sub(rb"#[^\n]*", b"", text) if b"#" in text else text
        found = np.frombuffer(bare, np.uint8)
        n_entries = int(np.count_nonzero(found == ord(":")))
        n_lines = int(np.count_nonzero(found == ord("\n"))) + 1
        first = 0 if self.zero_based else 1
        data, indices = np.empty(n_entries), np.empty(n_entries, np.int32)
        labels, starts = np.empty(n_lines), np.zeros(n_lines + 1, np.int64)
        hard = np.empty((n_entries + n_lines, 3), np.int64)
        most = MOST_FEATURES if n_features is None else n_features
        n_rows, n_hard, width = _svmlight_rows(
            found, first, most, data, indices, starts, labels, hard
        )
        if n_rows < 0:
            raise UnreadableError("an entry, a label or the order of indices is not as it must be")
        for start, stop, entry in hard[:n_hard].tolist():
            try:
                value = float(bare[start:stop])
            except ValueError as error:
                raise UnreadableError(str(error)) from error
            if not math.isfinite(value):
                raise UnreadableError("not every value is a finite number")
            if entry >= 0:
                data[entry] = value
            else:
                labels[-1 - entry] = value
        n_entries = starts[n_rows]
        small = np.int32 if n_entries < 2**31 else np.int64
        parts = data[:n_entries], indices[:n_entries], starts[: n_rows + 1].astype(small)
        shape = n_rows, max(width, 1) if n_features is None else n_features
        return sp.csr_matrix(parts, shape=shape), labels[:n_rows]

    def is_row(self, line):
        return bool(line.partition(b"#")[0].strip())

    def fault(self, line, n_features=None):
        """What is wrong with a line, or ""."""
        words = line.partition("#")[0].split()
        if not words:
            return ""
        if not is_finite(words[0]):
            return f"a label that is not a number: {quoted(words[0])}"
        last, first = -1, 0 if self.zero_based else 1
        for word in words[1:]:
            index, colon, value = word.partition(":")
            if not colon or not index.isdecimal():
                return f"an entry that is not index:value: {quoted(word)}"
            index = int(index)
            if index < first:
                return f"an index below {first}: indices count from 1, and from 0 with zero_based"
            if index - first >= 2**31 - 1:
                return f"the index {index} is beyond 2^31 - 1, the most that can be read"
            if n_features is not None and index - first >= n_features:
                return f"{quoted(word)} is beyond the {n_features} features that there may be"
            if index <= last:
                return f"index {index} comes after {last}: indices must increase"
            if not is_finite(value):
                return f"a value that is not a finite number: {quoted(word)}"
            last = index
        return ""


POWERS = np.array([float(f"1e{power}") for power in range(23)])  # all that are exact
MOST_FEATURES = 2**31 - 1
EXACT = 2**53  # whole numbers up to here are, and their products and quotients with such powers


@njit
def _svmlight_rows(text, first, most, data, indices, starts, labels, hard):
    """Fill in entries and labels; the numbers of rows and of hard numbers, and the width.

    The number of rows is -1 where something is not as it must be. Numbers that a product or a
    quotient does not give to the last bit are listed in `hard`: where they begin and end in the
    text, and which entry (or -1 - row, of a label) they are.
    """
    n, at, rows, entries, n_hard, width = len(text), 0, 0, 0, 0, 0
    while at < n:
        c = text[at]
        if c == 10 or _is_blank(c):
            at += 1
            continue
        begin = at
        at, value, is_exact = _number(text, at)
        if at < 0 or (at < n and text[at] != 10 and not _is_blank(text[at])):
            return -1, 0, 0
        labels[rows] = value
        if not is_exact:
            hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = begin, at, -1 - rows
            n_hard += 1
        last = -1
        while True:
            while at < n and _is_blank(text[at]):
                at += 1
            if at == n or text[at] == 10:
                break
            index, begin = 0, at
            while at < n and 48 <= text[at] <= 57 and index <= most:
                index = 10 * index + (text[at] - 48)
                at += 1
            if at in (begin, n) or text[at] != 58:
                return -1, 0, 0
            index -= first
            if index < 0 or index >= most or index <= last:
                return -1, 0, 0
            last, begin = index, at + 1
            at, value, is_exact = _number(text, begin)
            if at < 0 or (at < n and text[at] != 10 and not _is_blank(text[at])):
                return -1, 0, 0
            data[entries], indices[entries] = value, index
            if not is_exact:
                hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = begin, at, entries
                n_hard += 1
            entries += 1
        width = max(width, last + 1)
        rows += 1
        starts[rows] = entries
    return rows, n_hard, width


@njit
def _is_blank(c):
    return c == 32 or c == 9 or c == 13


@njit
def _number(text, at):
    """Where a decimal number that begins here ends (-1: there is none), its value, and whether
    that is right to the last bit."""
    n, whole, digits, power, seen = len(text), 0, 0, 0, False
    is_negative = at < n and text[at] == 45
    if at < n and (text[at] == 45 or text[at] == 43):
        at += 1
    after_point = False
    while at < n:
        c = text[at]
        if 48 <= c <= 57:
            seen = True
            if digits < 18:
                whole = 10 * whole + (c - 48)
                digits += whole > 0
                power -= after_point
            else:  # not one to be held in an integer
                digits += 1
        elif c == 46 and not after_point:
            after_point = True
        else:
            break
        at += 1
    if not seen:
        return -1, 0.0, False
    if at < n and (text[at] == 101 or text[at] == 69):
        at += 1
        below = at < n and text[at] == 45
        if at < n and (text[at] == 45 or text[at] == 43):
            at += 1
        begin, exponent = at, 0
        while at < n and 48 <= text[at] <= 57:
            exponent = min(10 * exponent + (text[at] - 48), 10_000)
            at += 1
        if at == begin:
            return -1, 0.0, False
        power += -exponent if below else exponent
    is_exact = digits <= 18 and whole <= EXACT and (whole == 0 or -22 <= power <= 22)
    value = float(whole)
    if is_exact and whole:
        value = value * POWERS[power] if power >= 0 else value / POWERS[-power]
    return at, -value if is_negative else value, is_exact


@dataclass(frozen=True)
class Table:
    """Fields side by side, one of which may be the label."""

    separator: str = ","  # "blank" for spaces and tabs
    target: int | None = -1  # the label's column, None where there is none
    drop: tuple[int, ...] = ()  # columns to leave out
    missing: str = ""  # what stands for a missing value; such rows are left out
    text_labels: bool = False  # labels are words

    @property
    def leaves_out(self):
        """Whether some rows are left out."""
        return bool(self.missing)

    def width(self, n_features):
        """Fields of a line."""
        return n_features + len(self.drop) + (self.target is not None)

    def parse(self, text, n_features):
        """Dense rows and labels (or None) of a text, or an UnreadableError."""
        width = self.width(n_features)
        target = None if self.target is None else self.target % width
        try:
            frame = pd.read_csv(
                io.BytesIO(text),
                sep=r"\s+" if self.separator == "blank" else self.separator,
                header=None,
                dtype={target: str} if self.text_labels else None,
                na_values=[self.missing] if self.missing else None,
                keep_default_na=not self.missing,
                skipinitialspace=True,
                low_memory=False,
                **EXACT_NUMBERS,
            )
        except pd.errors.EmptyDataError:
            return np.empty((0, n_features)), None if target is None else np.empty(0)
        except (ValueError, OverflowError) as error:
            raise UnreadableError(str(error)) from error
        if frame.shape[1] != width:
            raise UnreadableError(f"{frame.shape[1]} fields, {width} expected")
        if self.missing:
            frame = frame.dropna()
        columns = [j for j in range(width) if j != target and j not in self.drop]
        numbers = columns if self.text_labels or target is None else [*columns, target]
        words = [j for j in numbers if frame[j].dtype.kind not in "iufb"]
        if words:
            raise UnreadableError(f"field {words[0] + 1} is not always a number")
        X = np.ascontiguousarray(frame[columns].to_numpy(np.float64))
        if not np.isfinite(X).all():
            raise UnreadableError("not every value is a finite number")
        return X, None if target is None else self._labels(frame[target])

    def _labels(self, y):
        if not self.text_labels:
            y = y.to_numpy(np.float64)
            if not np.isfinite(y).all():
                raise UnreadableError("a label is missing or not finite")
            return y
        if y.isna().any():
            raise UnreadableError("a label is missing")
        return np.array([word.strip() for word in y], dtype=np.str_)

    def is_row(self, line):
        return bool(line.strip())

    def fault(self, line, n_features):
        """What is wrong with a line, or ""."""
        if not line:
            return ""
        if "\r" in line:
            return "a carriage return within the line; lines must end with LF or CR LF"
        fields, width = self.fields(line), self.width(n_features)
        if len(fields) != width:
            return f"{len(fields)} field{'s' * (len(fields) != 1)}, {width} expected"
        if self.missing and self.missing in fields:
            return ""
        target = None if self.target is None else self.target % width
        for place, word in enumerate(fields):
            is_label = place == target
            if place in self.drop or (is_label and self.text_labels and word.strip()):
                continue
            if not is_finite(word):
                what = "the label" if is_label else f"field {place + 1}"
                return f"{what} is {quoted(word) or 'empty'}, not a finite number"
        return ""

    def fields(self, line):
        """The fields of a line."""
        if self.separator == "blank":
            return line.split()
        try:
            return next(csv.reader([line], delimiter=self.separator, skipinitialspace=True))
        except csv.Error as error:
            raise DataError(f"a line cannot be parted at its separators: {error}") from error


# ------------------------------------------------------------------------------------------ reading
def parsed_pieces(stream, name, form, n_features=None, header=0):
    """Yield rows, labels (or None) and the places in a stream where the rows begin, piece by piece.

    `name` is what errors call the stream; there are at most (svmlight) or exactly `n_features`, and
    `header` lines to skip. A DataError says what is wrong with the first bad line.
    """
    offset, lines, found = sum(len(stream.readline()) for _ in range(header)), header, False
    for piece in _whole_lines(stream, name):
        starts = _line_starts(piece, form)
        try:
            X, y = form.parse(piece, n_features)
            if X.shape[0] != len(starts) and not form.leaves_out:
                raise UnreadableError("its lines cannot be told apart: they must end with LF")
        except UnreadableError as error:
            fault = _first_fault(piece.split(b"\n"), form, n_features, lines)
            raise DataError(f"{name}{fault or f' cannot be read: {error}'}") from error
        if len(starts):
            found = True
            yield X, y, starts + offset
        offset, lines = offset + len(piece), lines + piece.count(b"\n")
    if not found:
        raise DataError(f"{name} holds no rows")


def read_whole(stream, name, form, n_features=None, header=0):
    """All rows of a stream and their labels, refused where they exceed half of the free memory."""
    limit, held, blocks, labels = memory_limit(), 0, [], []
    for X, y, _ in parsed_pieces(stream, name, form, n_features, header):
        blocks.append(X)
        labels.append(y)
        held += 12 * X.nnz if sp.issparse(X) else X.nbytes
        if 2 * held > limit:
            raise MemoryLimitError(
                f"the rows of {name} take more than the {format_bytes(limit)} that may be used. "
                "Decompress the file: then its rows are read in blocks"
            )
    if sp.issparse(blocks[0]):
        width = max(block.shape[1] for block in blocks)
        for block in blocks:
            block.resize(block.shape[0], width)
    return stacked(blocks), None if labels[0] is None else stacked(labels)


def _whole_lines(stream, name):
    """The stream in pieces of bytes that end with a line."""
    begun = []
    while piece := stream.read(PIECE_BYTES):
        if b"\0" in piece:
            raise DataError(f"{name} is not a text: it holds bytes that are zero")
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, piece[:end]])
            begun = []
        begun.append(piece[end:])
        if sum(map(len, begun)) > LONGEST_LINE:
            raise DataError(f"{name} is not a text of rows: no line ends within 256 MB")
    if rest := b"".join(begun):
        yield rest


def _line_starts(piece, form):
    """Where the lines of a piece that hold rows begin."""
    data = np.frombuffer(piece, np.uint8)
    ends = np.flatnonzero(data == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(data):
        ends = np.append(ends, len(data))
    starts = np.concatenate([[0], ends[:-1]])
    is_row = data[starts] > ord("#")  # most lines; others begin with blanks or a comment
    for i in np.flatnonzero(~is_row):
        is_row[i] = form.is_row(piece[starts[i] : ends[i]])
    return starts[is_row]


def _first_fault(lines, form, n_features, lines_before):
    """ ", line 12: what is wrong", or "" where nothing is found."""
    for number, line in enumerate(lines, start=lines_before + 1):
        try:
            wrong = form.fault(line.decode("utf-8").strip(), n_features)
        except UnicodeDecodeError:
            wrong = "this is not text"
        if wrong:
            return f", line {number}: {wrong}"
    return ""


def is_finite(word):
    """Whether a word is a finite number."""
    try:
        return math.isfinite(float(word)) and "_" not in word
    except ValueError:
        return False


def quoted(word):
    """A word of a file for an error, cut if it is long."""
    return repr(word if len(word) <= 40 else f"{word[:37]}...") if word else ""
