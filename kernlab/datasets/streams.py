"""Files read once, front to end: decompressed by what they hold, hashed on the way, with progress.

The checksum is of the uncompressed text, so that a file is recognised whether it is kept plain or
as gz, bz2 or xz.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import zlib
from contextlib import contextmanager, nullcontext

from kernlab.datasets.errors import DataError
from kernlab.datasets.progress import reading_with_progress

_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
_BLOCK = 1 << 20
_WORTH_A_BAR = 4 << 20


class HashingReader(io.RawIOBase):
    """A readable stream that keeps the SHA-256 of all that went through it, and why it broke."""

    def __init__(self, inner):
        self._inner = inner
        self._sha256 = hashlib.sha256()
        self.failure = None

    def readable(self):
        return True

    def readinto(self, buffer):
        block = self._take(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def digest(self):
        """Of the whole stream: what nobody has read yet is read now."""
        while self._take(_BLOCK):
            pass
        return self._sha256.hexdigest()

    def _take(self, size):
        try:
            block = self._inner.read(size)
        except _DAMAGED as error:
            self.failure = error
            raise
        self._sha256.update(block)
        return block


@contextmanager
def open_data(path, *, progress=True):
    """The uncompressed bytes of a file, as (buffered stream, its HashingReader).

    A file that cannot be read, or breaks off in the middle of its compressed text, is a DataError
    that names it, whatever the reader inside the block made of the break.
    """
    hashing = None
    try:
        with path.open("rb") as raw, _watched(raw, path, progress) as seen:
            start = raw.read(6)
            raw.seek(0)
            opener = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), None)
            hashing = HashingReader(opener(seen) if opener else seen)
            yield io.BufferedReader(hashing, _BLOCK), hashing
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


def text_digest(path, *, unix_lines=False, progress=True):
    """SHA-256 of a file's uncompressed bytes, if wanted with its line ends turned into LF."""
    with open_data(path, progress=progress) as (stream, hashing):
        if not unix_lines:
            return hashing.digest()
        digest = hashlib.sha256()
        for line in stream:
            digest.update(line.replace(b"\r\n", b"\n"))
        return digest.hexdigest()


def _watched(raw, path, progress):
    """The same stream, with a bar that appears when reading takes more than two seconds."""
    size = path.stat().st_size
    if not progress or size < _WORTH_A_BAR:
        return nullcontext(raw)
    return reading_with_progress(raw, f"reading {path.name}", size)
