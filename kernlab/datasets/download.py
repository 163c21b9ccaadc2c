"""Download of data files: checked on the way in, and in place only when complete and right.

A page where a file should be, more bytes than the file can have, an archive that is not one: all
this is refused, and nothing of it stays. What was received first is recorded: SHA256SUMS in the
folder of downloads holds the checksum of every uncompressed text.
"""

import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

from kernlab import paths
from kernlab.datasets.readers import digest_of
from kernlab.rows.text import DataError
from kernlab.runtime import wants_progress, write_whole

TIMEOUT = (10, 60)
PAGES = ("text/html", "application/xhtml+xml")
BLOCK = 1 << 16


def offline():
    """Whether KERNLAB_OFFLINE forbids every download."""
    return os.environ.get("KERNLAB_OFFLINE", "").lower() not in ("", "0", "no", "false")


def fetch(file, check, *, max_bytes, progress=True):
    """Download one file of the registry and return its path.

    Parameters
    ----------
    file : DataFile
    check : callable
        Called with the path of what was received; where it raises DataError, nothing is kept.
    max_bytes : int
        More than these are refused, of the download and of what it unpacks to.
    progress : bool

    Raises
    ------
    DataError
        No network, a refusal of the server, content that is not the file, a folder that cannot be
        written.
    """
    if offline():
        raise DataError(f"{file.name} is not downloaded: KERNLAB_OFFLINE is set")
    if not file.url:
        raise DataError(f"{file.name} has no address to download it from")
    folder = paths.downloads_dir()
    ending = Path(urlsplit(file.url).path).suffix
    packed = ending if ending in (".xz", ".bz2", ".gz") and not file.member else ""
    target = folder / f"{file.name}{packed}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".receiving-") as temporary:
            received = _received(file, Path(temporary) / "received", max_bytes, progress)
            if file.member:
                received = _member(received, file, max_bytes)
            check(received)
            digest = digest_of(received)
            received.replace(target)
        _record(folder, file.name, digest)
    except OSError as error:
        raise DataError(f"{file.name} could not be downloaded: {error}") from error
    return target


def recorded(name):
    """The checksum that a file's text had when it was downloaded, or None."""
    try:
        lines = (paths.downloads_dir() / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    known = dict(reversed(line.split("  ", 1)) for line in lines if "  " in line)
    return known.get(name)


def _record(folder, name, digest):
    sums = folder / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines() if sums.exists() else []
    lines = [line for line in lines if not line.endswith(f"  {name}")] + [f"{digest}  {name}"]
    write_whole(sums, "\n".join(lines) + "\n")


def _received(file, path, max_bytes, progress):
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(
        progressbar=progress and wants_progress(),
        chunk_size=BLOCK,
        timeout=TIMEOUT,
        hooks={"response": lambda response, **_: _guard(response, file.url, max_bytes)},
    )
    try:
        found = pooch.retrieve(
            file.url, None, fname=path.name, path=path.parent, downloader=downloader
        )
    except requests.HTTPError as error:
        raise DataError(f"{file.url} cannot be downloaded: {error}") from error
    except requests.RequestException as error:
        raise DataError(f"{file.url} could not be downloaded: {_reason(error)}") from error
    return Path(found)


def _guard(response, url, max_bytes):
    """Refuse an answer that cannot be the file, by its head or while it is received."""
    if response.is_redirect or not response.ok:
        return
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind in PAGES:
        raise DataError(f"{url} answers with a page ({kind}), not with the file: is a login asked?")
    length = response.headers.pop("Content-Length", "")
    length = int(length) if length.isdecimal() else None
    if length is not None:
        response.headers["Content-Length"] = str(length)
    if (length or 0) > max_bytes:
        raise DataError(f"{url} announces {length:,} bytes; it may have {max_bytes:,} at most")
    encoded, blocks = response.headers.get("Content-Encoding"), response.iter_content

    def counted(*arguments, **named):
        received = 0
        for block in blocks(*arguments, **named):
            received += len(block)
            if received > max_bytes:
                raise DataError(f"{url} sends more than the {max_bytes:,} bytes that it may have")
            yield block
        # Some versions of the libraries below do not notice that a connection broke.
        if length is not None and not encoded and received != length:
            raise DataError(f"{url} broke off: {received} of {length} bytes were received")

    response.iter_content = counted


def _reason(error):
    """The part of a network error that helps; urllib3 wraps it in several layers of its own."""
    text = str(error)
    if "resolve" in text:
        return "its host is not found, perhaps because there is no network"
    if "Connection refused" in text or "unreachable" in text:
        return "its host cannot be reached"
    return text


def _member(archive, file, max_bytes):
    target = archive.with_name("member")
    try:
        with zipfile.ZipFile(archive) as opened:
            size = opened.getinfo(file.member).file_size
            if size > max_bytes:
                raise DataError(f"{file.url} holds {file.member} with {size:,} bytes, too many")
            with opened.open(file.member) as inside, target.open("wb") as out:
                shutil.copyfileobj(inside, out)
    except (zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{file.url} does not hold {file.member} ({error})") from error
    return target
