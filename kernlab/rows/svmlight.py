"""The rows of an svmlight file, read when asked for: a file may be larger than memory.

Opening runs over the file once and keeps a label and a place per row, 16 bytes. Slices are then
read and parsed by compiled code, at about the speed at which the disk delivers them.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import njit

CHUNK_BYTES = 2**22
DENSE_SHARE = 0.25  # of entries that are not zero; above, blocks are dense arrays
FAULTS = {
    1: "a label that is not a number",
    2: "an entry that is not index:value",
    3: "an index below 1: indices count from 1, and from 0 with zero_based=True",
    4: "a value that is not a finite number",
}


class SvmlightRows:
    """A file's rows: `shape`, `labels`, slices and `take(rows)`; dense blocks, or CSR if sparse.

    `n_features` may be more than the file shows (its test file may show more); `zero_based` says
    where indices begin.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, path, *, n_features=None, zero_based=False):
        self.path, self.zero_based = Path(path), zero_based
        if not self.path.is_file():
            raise ValueError(f"there is no file {path}")
        self.labels, self._places, entries, largest = self._scanned()
        n_rows = len(self.labels)
        if n_rows == 0:
            raise ValueError(f"{path} holds no rows")
        if n_features is not None and n_features < largest:
            raise ValueError(f"{path} has {largest} features, more than n_features={n_features}")
        self.shape = (n_rows, max(1, n_features or largest))
        self._dense = entries > DENSE_SHARE * n_rows * self.shape[1]

    def _scanned(self):
        """Labels, the place where each row begins and the last ends, entries, largest index."""
        labels, places, entries, largest, row, offset = [], [], 0, 0, 0, 0
        for text in _whole_lines(self.path):
            found, starts, count, highest, fault, at = _scan(text, self.zero_based)
            if fault:
                raise ValueError(f"{self.path}, row {row + at + 1}: {FAULTS[fault]}")
            labels.append(found)
            places.append(starts + offset)
            entries, largest, row = entries + count, max(largest, highest), row + len(found)
            offset += len(text)
        places.append(np.array([offset]))
        return np.concatenate([*labels, []]), np.concatenate(places), entries, largest

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, rows):
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError("rows of a file are read in order: slices must have step 1")
        if stop <= start:
            return self._parsed(np.empty(0, dtype=np.uint8), 0, start)
        with self.path.open("rb") as file:
            file.seek(self._places[start])
            text = file.read(self._places[stop] - self._places[start])
        return self._parsed(np.frombuffer(text, dtype=np.uint8), stop - start, start)

    def take(self, rows):
        """The rows named, which must be sorted."""
        with self.path.open("rb") as file:
            pieces = []
            for row in rows:
                file.seek(self._places[row])
                pieces.append(file.read(self._places[row + 1] - self._places[row]).rstrip() + b"\n")
        return self._parsed(np.frombuffer(b"".join(pieces), dtype=np.uint8), len(rows), 0)

    def _parsed(self, text, n_rows, first):
        entries = int(np.count_nonzero(text == ord(":")))
        values = np.empty(entries)
        indices = np.empty(entries, dtype=np.int32 if self.shape[1] < 2**31 else np.int64)
        ends = np.zeros(n_rows + 1, dtype=np.int32 if entries < 2**31 else np.int64)
        found, fault, at = _parse(text, self.zero_based, values, indices, ends)
        if fault:
            raise ValueError(f"{self.path}, row {first + at + 1}: {FAULTS[fault]}")
        used = int(ends[-1])
        # SciPy would write a value beyond the columns to some place in memory.
        if found != n_rows or indices[:used].max(initial=0) >= self.shape[1]:
            raise ValueError(f"{self.path} has changed since it was opened: open it again")
        block = sp.csr_matrix((values[:used], indices[:used], ends), shape=(n_rows, self.shape[1]))
        return block.toarray() if self._dense else block


def _whole_lines(path):
    """The file in pieces that end with a line, as arrays of bytes."""
    rest = b""
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            piece = rest + piece
            end = piece.rfind(b"\n") + 1
            rest = piece[end:]
            if end:
                yield np.frombuffer(piece[:end], dtype=np.uint8)
    if rest:
        yield np.frombuffer(rest, dtype=np.uint8)


# ------------------------------------------------------------------------- compiled parsing
@njit
def _is_blank(byte):
    return byte in (32, 9, 13)


@njit
def _line_end(text, at):
    while at < len(text) and text[at] != 10:
        at += 1
    return at


@njit
def _number(text, at, end):
    """A decimal number from `at`: its value, and where it ends (`at` itself if there is none)."""
    start, sign = at, 1.0
    if at < end and text[at] in (43, 45):
        sign = -1.0 if text[at] == 45 else 1.0
        at += 1
    mantissa, digits, scale, fraction = 0.0, 0, 0, False
    while at < end:
        byte = text[at]
        if 48 <= byte <= 57:
            mantissa = 10.0 * mantissa + (byte - 48)
            digits += 1
            scale -= fraction
        elif byte == 46 and not fraction:
            fraction = True
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, start
    if at < end and text[at] in (101, 69):
        power, after = _number_of_power(text, at + 1, end)
        if after == at + 1:
            return 0.0, start
        scale, at = scale + power, after
    # Powers up to 10^22 are exact, so that usual numbers are rounded once and correctly.
    while scale > 22:
        mantissa *= 1e22
        scale -= 22
    while scale < -22:
        mantissa /= 1e22
        scale += 22
    value = mantissa * 10.0**scale if scale >= 0 else mantissa / 10.0 ** (-scale)
    return sign * value, at


@njit
def _number_of_power(text, at, end):
    start, sign, power, digits = at, 1, 0, 0
    if at < end and text[at] in (43, 45):
        sign = -1 if text[at] == 45 else 1
        at += 1
    while at < end and 48 <= text[at] <= 57:
        power = min(10 * power + (text[at] - 48), 1000)
        digits += 1
        at += 1
    return sign * power, at if digits else start


@njit
def _content(text, at):
    """The next row's beginning and end, without comment; the end of the text if there is none."""
    while at < len(text):
        end = _line_end(text, at)
        stop = at
        while stop < end and text[stop] != 35:
            stop += 1
        begin = at
        while begin < stop and _is_blank(text[begin]):
            begin += 1
        if begin < stop:
            return begin, stop, end + 1
        at = end + 1
    return len(text), len(text), len(text)


@njit
def _index(text, at, stop, zero_based):
    """A feature's index from 0, where its value begins, and what is wrong."""
    index, start = 0, at
    while at < stop and 48 <= text[at] <= 57:
        index = 10 * index + (text[at] - 48)
        at += 1
    if at == start or at >= stop or text[at] != 58 or at - start > 10:
        return 0, at, 2
    if not zero_based:
        index -= 1
    return index, at + 1, 3 if index < 0 else 0


@njit
def _scan(text, zero_based):
    """Labels and beginnings of rows, the number of entries, the largest index, and any fault."""
    n_lines = 1
    for byte in text:
        n_lines += byte == 10
    labels, starts = np.empty(n_lines), np.empty(n_lines, dtype=np.int64)
    row, entries, largest = 0, 0, 0
    begin, stop, following = _content(text, 0)
    while begin < len(text):
        label, at = _number(text, begin, stop)
        if at == begin or (at < stop and not _is_blank(text[at])):
            return labels[:row], starts[:row], entries, largest, 1, row
        labels[row], starts[row] = label, begin
        while at < stop:
            if _is_blank(text[at]):
                at += 1
                continue
            index, at, fault = _index(text, at, stop, zero_based)
            if fault:
                return labels[:row], starts[:row], entries, largest, fault, row
            entries, largest = entries + 1, max(largest, index + 1)
            while at < stop and not _is_blank(text[at]):
                at += 1
        row += 1
        begin, stop, following = _content(text, following)
    return labels[:row], starts[:row], entries, largest, 0, row


@njit
def _parse(text, zero_based, values, indices, ends):
    """Fill in values and indices of all entries; the number of rows, and any fault and its row."""
    row, entry = 0, 0
    begin, stop, following = _content(text, 0)
    while begin < len(text) and row + 1 < len(ends):
        at = begin
        while at < stop and not _is_blank(text[at]):
            at += 1
        while at < stop:
            if _is_blank(text[at]):
                at += 1
                continue
            index, at, fault = _index(text, at, stop, zero_based)
            if fault:
                return row, fault, row
            value, after = _number(text, at, stop)
            if (
                after == at
                or not np.isfinite(value)
                or (after < stop and not _is_blank(text[after]))
            ):
                return row, 4, row
            values[entry], indices[entry] = value, index
            entry, at = entry + 1, after
        row += 1
        ends[row] = entry
        begin, stop, following = _content(text, following)
    return row, 0, row
