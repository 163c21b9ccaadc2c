"""Parsed files in a fast binary form, so that a text is read once.

A file's entry is keyed by the SHA-256 of its uncompressed text and by how it is read, so a9a,
a9a.xz and a copy of it elsewhere share one. Which checksum a path has is remembered with its size
and time of change, so a second load neither decompresses nor hashes. Everything is written beside
its place and moved there, so that processes at once do no harm; a cache that cannot be written, or
that is damaged, is only slower. It is safe to delete at any time.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from scipy import sparse

from kernlab.datasets.formats import Parsed
from kernlab.paths import cache_dir

_VERSION = 1
_NARROW = (np.uint8, np.int8, np.int16, np.int32, np.float32)


def recall(path, recipe):
    """What `keep` stored for this very file and way of reading, or None."""
    digest = known_digest(path)
    if digest is None:
        return None
    try:
        with np.load(_entry(digest, recipe), allow_pickle=False) as stored:
            return _unpacked(stored, digest)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def keep(path, recipe, parsed):
    """Store a parsed file and the checksum of its text; a cache that cannot be written is left."""
    with suppress(OSError):
        _write(_entry(parsed.sha256, recipe), lambda file: np.savez(file, **_packed(parsed)))
        remember_digest(path, parsed.sha256)


def known_digest(path):
    """The checksum of a file's text, if it was ever computed and the file is still the same."""
    try:
        note = json.loads(_note(path).read_bytes())
        return note["sha256"] if note["stamp"] == _stamp(path) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember_digest(path, digest):
    """Note the checksum of a file's text for `known_digest`."""
    note = json.dumps({"path": str(path), "stamp": _stamp(path), "sha256": digest}).encode()
    with suppress(OSError):
        _write(_note(path), lambda file: file.write(note))


def recipe_of(*details):
    """A short name for a way of reading a file; another version of the readers is another way."""
    return hashlib.sha256(repr((_VERSION, details)).encode()).hexdigest()[:12]


def _entry(digest, recipe):
    return cache_dir() / "datasets" / f"{digest[:40]}-{recipe}.npz"


def _note(path):
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:40]
    return cache_dir() / "datasets" / "checksums" / f"{place}.json"


def _stamp(path):
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _write(target, write):
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as file:
        temporary = Path(file.name)
        try:
            write(file)
            file.close()
            os.replace(temporary, target)  # noqa: PTH105 - Path.replace reads as str.replace
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise


def _packed(parsed):
    arrays = {}
    if sparse.issparse(parsed.X):
        arrays |= {"data": _narrow(parsed.X.data), "shape": np.array(parsed.X.shape)}
        arrays |= {"indices": parsed.X.indices, "indptr": parsed.X.indptr}
    elif parsed.X is not None:
        arrays["X"] = _narrow(parsed.X)
    if parsed.y is not None:
        arrays["y"] = parsed.y
    return arrays


def _unpacked(stored, digest):
    X = None
    if "data" in stored:
        parts = stored["data"].astype(np.float64), stored["indices"], stored["indptr"]
        X = sparse.csr_matrix(parts, shape=tuple(stored["shape"]))
    elif "X" in stored:
        X = stored["X"].astype(np.float64)
    return Parsed(X, stored.get("y"), digest)


def _narrow(values):
    """The same numbers in the smallest type that holds every one of them exactly."""
    sample = values.reshape(-1)[:1000]
    for dtype in _NARROW:
        with np.errstate(invalid="ignore", over="ignore"):
            if np.array_equal(sample.astype(dtype), sample):
                narrowed = values.astype(dtype)
                if np.array_equal(narrowed, values):
                    return narrowed
    return values
