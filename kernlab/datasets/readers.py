"""The files of data sets into matrices and labels: svmlight, tables, ARFF, idx; parsed once."""

import hashlib
import io
import json
import re
import warnings
import zipfile
from contextlib import nullcontext, suppress
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.paths import cache_dir
from kernlab.rows.text import DataError, Svmlight, Table, is_finite, open_data, quoted, read_whole
from kernlab.runtime import bar_options, require_memory, write_whole

VERSION = 2  # of the readers: another one is another way of reading
WORTH_A_BAR = 4 << 20
NARROW = (np.uint8, np.int8, np.int16, np.int32, np.float32)
IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


@dataclass(frozen=True)
class Parsed:
    """What one file holds. X is None for a file of labels, y for a file of images."""

    X: "np.ndarray | sp.csr_matrix | None"
    y: np.ndarray | None
    sha256: str

    @property
    def rows(self):
        return len(self.y) if self.X is None else self.X.shape[0]


# ------------------------------------------------------------------------------------------ reading
def read_file(path, file, layout, *, features, text_labels=False, keep_sparse=False):
    """One file of a data set, checked: its text, its rows, every value.

    Parameters
    ----------
    path : Path, plain, or compressed as gz, bz2 or xz
    file, layout : what the registry knows of it
    features : int, columns that X must have
    text_labels : bool, whether labels are words rather than numbers (tables only)
    keep_sparse : bool, for X as a CSR matrix rather than a dense one (svmlight only)

    Returns
    -------
    Parsed : X in float64; y as integers where all labels are whole numbers.

    Raises
    ------
    DataError : with the file, the line and what is wrong there.
    """
    recipe = repr((VERSION, layout, features, text_labels, keep_sparse)).encode()
    recipe = hashlib.sha256(recipe).hexdigest()[:12]
    parsed = recalled = _recalled(path, recipe)
    if recalled is None:
        if file.rows and not keep_sparse:
            # The parsed text and the matrix made of it stand side by side for a moment.
            require_memory(
                2 * file.rows * features * 8,
                None,
                what=f"reading {path.name}",
                arithmetic=f"2 x {file.rows} rows x {features} features x 8 bytes",
                way_out="Free memory, or use a smaller set (`kernlab data list`).",
            )
        parsed = _parsed(path, layout, features, text_labels, keep_sparse, file.limit(features))
    if not is_expected(file, path, parsed.sha256):
        raise DataError(
            f"{path} has the {wrong_checksum(file, parsed.sha256)}. Remove it and get it again."
        )
    if file.rows is not None and parsed.rows != file.rows:
        raise DataError(
            f"{path} holds {parsed.rows} rows, {file.rows} expected: it is truncated, or another "
            "file of that name"
        )
    if recalled is None:
        _keep(path, recipe, parsed)
    return parsed


def _parsed(path, layout, features, text_labels, keep_sparse, max_bytes):
    with open_data(path, max_bytes=max_bytes, watch=_watched(path)) as (stream, hashing):
        if layout.format in ("arff", "idx"):
            X, y = (_arff if layout.format == "arff" else _idx)(stream, path, features)
        else:
            how = (layout.separator, layout.target, layout.drop, layout.missing, text_labels)
            form = Table(*how) if layout.format == "csv" else Svmlight()
            X, y = read_whole(stream, path, form, features, layout.header)
        digest = hashing.digest()
    if sp.issparse(X):
        X.eliminate_zeros()
        X = X if keep_sparse else X.toarray()
    return Parsed(X, None if y is None else _whole_numbers(y), digest)


def _arff(stream, path, features):
    """ARFF with numbers and nominal values, which become their place in the declared list."""
    declared, rows, in_data = [], [], False
    for number, line in enumerate(stream, start=1):
        try:
            line = line.decode("utf-8").strip()
            if not line or line.startswith("%"):
                continue
            if in_data:
                rows.append(_arff_row(line, declared))
                continue
            if re.match(r"@attribute\b", line, re.IGNORECASE):
                listed = re.search(r"\{(.*)\}", line)
                declared.append([w.strip(" '\"") for w in listed[1].split(",")] if listed else None)
            elif re.match(r"@data\b", line, re.IGNORECASE):
                in_data = True
                if len(declared) != features + 1:
                    raise ValueError(
                        f"{len(declared)} attributes declared, {features + 1} expected"
                    )
            elif not re.match(r"@relation\b", line, re.IGNORECASE):
                raise ValueError(f"{quoted(line)} is not part of an ARFF head")
        except ValueError as error:
            what = "this is not text" if isinstance(error, UnicodeDecodeError) else error
            raise DataError(f"{path}, line {number}: {what}") from error
    if not rows:
        raise DataError(f"{path} holds no rows")
    table = np.array(rows)
    return table[:, :-1], table[:, -1]


def _arff_row(line, declared):
    words = [word.strip(" '\"") for word in line.split(",")]
    if len(words) != len(declared):
        raise ValueError(f"{len(words)} fields, {len(declared)} expected")
    values = []
    for place, (word, listed) in enumerate(zip(words, declared, strict=True), start=1):
        if listed is not None and word not in listed:
            raise ValueError(f"field {place} is {quoted(word)}, not one of {', '.join(listed)}")
        is_place = listed is not None and place < len(words)  # labels are numbers in quotes
        if not is_place and not is_finite(word):
            raise ValueError(f"field {place} is {quoted(word)}, not a finite number")
        values.append(listed.index(word) if is_place else float(word))
    return values


def _idx(stream, path, features):
    """The format of MNIST: images, or labels."""
    head = stream.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in IDX_TYPES or head[3] == 0:
        raise DataError(f"{path} starts with {head.hex(' ')}, which no idx file does")
    dtype, axes = np.dtype(IDX_TYPES[head[2]]), head[3]
    sizes = stream.read(4 * axes)
    if len(sizes) < 4 * axes:
        raise DataError(f"{path} ends within its head")
    sizes = np.frombuffer(sizes, dtype=">u4").astype(np.int64)
    body = stream.read()
    if len(body) != sizes.prod() * dtype.itemsize:
        shape = " x ".join(str(size) for size in sizes)
        raise DataError(f"{path}: its head announces {shape} values, {len(body)} bytes follow")
    values = np.frombuffer(body, dtype).reshape(sizes).astype(np.float64)
    if axes == 1:
        return None, values
    if values[0].size != features:
        raise DataError(f"{path} has {values[0].size} features, not {features}")
    return values.reshape(len(values), -1), None


def _whole_numbers(y):
    if y.dtype.kind != "f":
        return y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        whole = y.astype(np.int64)
    return whole if np.array_equal(whole, y) else y


def _watched(path):
    """What shows a bar when reading takes more than two seconds."""
    from tqdm import tqdm

    size = path.stat().st_size if path.is_file() else 0
    if size < WORTH_A_BAR:
        return nullcontext
    title = f"reading {path.name}"
    return lambda raw: tqdm.wrapattr(raw, "read", total=size, desc=title, **bar_options())


# ---------------------------------------------------------------------------------------- checksums
def digest_of(path, *, fresh=False):
    """SHA-256 of a file's uncompressed text; of an unchanged file it is remembered."""
    digest = None if fresh else _noted_digest(path)
    if digest is None:
        with open_data(path, watch=_watched(path)) as (_, hashing):
            digest = hashing.digest()
        _note_digest(path, digest)
    return digest


def is_expected(file, path, digest):
    """Whether a text is the site's own, or a copy of the same rows.

    Where no checksum of the site's own file is known, every text may be it: then rows, features
    and labels are what is checked. Line ends of another system make no difference.
    """
    if not file.sha256 or digest in (file.sha256, *file.copies):
        return True
    unix = hashlib.sha256()
    with open_data(path) as (stream, _):
        for line in stream:
            unix.update(line.replace(b"\r\n", b"\n"))
    return unix.hexdigest() == file.sha256


def wrong_checksum(file, digest):
    """What to say of a text that is not the expected one."""
    return (
        f"wrong checksum: damaged, or another file of that name (SHA-256 of its uncompressed text "
        f"is {digest}, that of {file.name} is {file.sha256})"
    )


# -------------------------------------------------------------------------------------------- cache
# What a file holds is kept under the SHA-256 of its uncompressed text and the way in which it is
# read, so that a9a, a9a.xz and a copy of it elsewhere share one entry. Which checksum a path has is
# noted with its size and time of change: a second load neither decompresses nor hashes.
def _recalled(path, recipe):
    digest = _noted_digest(path)
    if digest is None:
        return None
    try:
        with np.load(_entry(digest, recipe), allow_pickle=False) as kept:
            X = kept["X"].astype(np.float64) if "X" in kept else None
            if "data" in kept:
                parts = kept["data"].astype(np.float64), kept["indices"], kept["indptr"]
                X = sp.csr_matrix(parts, shape=tuple(kept["shape"]))
            return Parsed(X, kept.get("y"), digest)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _keep(path, recipe, parsed):
    X, arrays = parsed.X, {} if parsed.y is None else {"y": parsed.y}
    if sp.issparse(X):
        arrays |= {"data": _narrow(X.data), "indices": X.indices, "indptr": X.indptr}
        arrays["shape"] = np.array(X.shape)
    elif X is not None:
        arrays["X"] = _narrow(X)
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    if _written(_entry(parsed.sha256, recipe), packed.getbuffer()):
        _note_digest(path, parsed.sha256)


def _narrow(values):
    """The same numbers in the smallest type that holds every one of them exactly."""
    some = values.reshape(-1)[:1000]
    for dtype in NARROW:
        with np.errstate(invalid="ignore", over="ignore"):
            if np.array_equal(some.astype(dtype), some):
                narrowed = values.astype(dtype)
                if np.array_equal(narrowed, values):
                    return narrowed
    return values


def _noted_digest(path):
    try:
        note = json.loads(_note(path).read_bytes())
        return note["sha256"] if note["stamp"] == _stamp(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note_digest(path, digest):
    note = {"path": str(path), "stamp": _stamp(path), "sha256": digest}
    _written(_note(path), json.dumps(note))


def _written(target, content):
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)
        return True
    return False


def _entry(digest, recipe):
    return cache_dir() / "datasets" / f"{digest[:40]}-{recipe}.npz"


def _note(path):
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:40]
    return cache_dir() / "datasets" / "checksums" / f"{place}.json"


def _stamp(path):
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
