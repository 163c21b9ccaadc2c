"""Download of data files: with progress, resumed where the server allows, checked, then in place.

A file appears under its name only when it is complete and its checksum is right. What was received
before a break stays beside it as NAME.part, and the next attempt goes on from there.
"""

import contextlib
import os
import shutil
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kernlab import paths
from kernlab.datasets.checksums import is_expected, wrong_checksum
from kernlab.datasets.errors import DataError
from kernlab.datasets.streams import text_digest
from kernlab.runtime import wants_progress

try:
    import fcntl
except ImportError:  # not a POSIX system: two downloads of one file at once are not kept apart
    fcntl = None

ATTEMPTS = 3
_TIMEOUT = (10, 60)
# A connection that breaks costs at most the block under way.
_BLOCK = 1 << 16


def offline():
    """Whether KERNLAB_OFFLINE forbids every download."""
    return os.environ.get("KERNLAB_OFFLINE", "").lower() not in ("", "0", "no", "false")


def fetch(file, *, progress=True):
    """Download one file of the registry and return its path; what is there already is kept.

    Raises
    ------
    DataError
        No network, a refusal of the server, a wrong checksum, a folder that cannot be written.
        Nothing is left under the file's name then.
    """
    if offline():
        raise DataError(f"{file.name} is not downloaded: KERNLAB_OFFLINE is set")
    if not file.url:
        raise DataError(f"{file.name} has no address to download it from")
    folder = paths.downloads_dir()
    ending = "" if file.member else Path(urlsplit(file.url).path).suffix
    packed = ending if ending in (".xz", ".bz2", ".gz") else ""
    target = folder / f"{file.name}{packed}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(folder):
            _fetch_to(target, file, progress)
    except OSError as error:
        raise DataError(f"{file.name} could not be downloaded: {error}") from error
    return target


def _fetch_to(target, file, progress):
    """Have the file in place; pooch leaves alone what another process has downloaded meanwhile."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    name = unquote(Path(urlsplit(file.url).path).name) if file.member else target.name
    receive = ResumingDownloader(
        target.parent / f"{name}.part",
        progress=progress,
        check=(lambda part: None) if file.member else (lambda part: _check(part, file)),
    )
    received = Path(
        pooch.retrieve(file.url, None, fname=name, path=target.parent, downloader=receive)
    )
    if file.member:
        _unzip(received, target, file)


class ResumingDownloader:
    """A downloader for pooch that goes on where an earlier attempt broke off.

    Parameters
    ----------
    part : Path
        Where the bytes are collected.
    progress : bool
        Show a bar.
    check : callable
        Called with the complete part; what it raises keeps the file from getting its name.
    """

    def __init__(self, part, *, progress, check):
        self.part = part
        self.progress = progress
        self.check = check

    def __call__(self, url, output_file, pooch, check_only=False):
        import requests

        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._receive(url)
                break
            except requests.HTTPError as error:
                raise DataError(f"{url} cannot be downloaded: {error}") from error
            except (requests.RequestException, _IncompleteError) as error:
                if attempt == ATTEMPTS:
                    raise DataError(self._broken(url, error)) from error
        try:
            self.check(self.part)
        except DataError:
            self._forget()
            raise
        self.part.replace(output_file)
        self._forget()

    def _receive(self, url):
        import requests
        from tqdm import tqdm

        have = self.part.stat().st_size if self.part.exists() else 0
        # Only a server that says what version it serves can go on in the middle of the same one.
        version = self._version.read_text() if have and self._version.exists() else ""
        headers = {"Accept-Encoding": "identity"}
        if version:
            headers |= {"Range": f"bytes={have}-", "If-Range": version}
        with requests.get(url, stream=True, timeout=_TIMEOUT, headers=headers) as response:
            if response.status_code == 416:
                self._forget()
                raise _IncompleteError("the part kept from before does not fit the file")
            response.raise_for_status()
            resumed = response.status_code == 206
            have = have if resumed else 0
            length = response.headers.get("Content-Length")
            total = have + int(length) if length is not None else None
            if not resumed:
                self._note_version(response.headers)
            label = f"downloading {self.part.stem}"
            bar = tqdm(
                total=total, initial=have, unit="B", unit_scale=True, desc=label,
                disable=not (self.progress and wants_progress()),
            )  # fmt: skip
            with bar, self.part.open("ab" if resumed else "wb") as out:
                for block in response.iter_content(_BLOCK):
                    out.write(block)
                    bar.update(len(block))
        received = self.part.stat().st_size
        if total is not None and received != total:
            raise _IncompleteError(f"{received} of {total} bytes were received")

    @property
    def _version(self):
        return self.part.with_name(f"{self.part.name}.version")

    def _note_version(self, headers):
        etag = headers.get("ETag", "")
        version = "" if etag.startswith("W/") else etag
        version = version or headers.get("Last-Modified", "")
        if version:
            self._version.write_text(version)
        else:
            self._version.unlink(missing_ok=True)

    def _forget(self):
        self.part.unlink(missing_ok=True)
        self._version.unlink(missing_ok=True)

    def _broken(self, url, error):
        kept = self.part.stat().st_size if self.part.exists() else 0
        resumable = kept and self._version.exists()
        after = f" The {kept} bytes received are kept: try again to go on." if resumable else ""
        return f"{url} could not be downloaded: {_reason(error)}.{after}"


def _reason(error):
    """The part of a network error that helps; urllib3 wraps it in several layers of its own."""
    text = str(error)
    if "resolve" in text:
        return "its host is not found, perhaps because there is no network"
    if "Connection refused" in text or "unreachable" in text:
        return "its host cannot be reached"
    return text


class _IncompleteError(Exception):
    """The connection ended before the file did."""


def _check(path, file):
    """Raise where what was received is not the expected text, or cannot be decompressed."""
    digest = text_digest(path, progress=False)
    if not is_expected(file, path, digest):
        raise DataError(
            f"what {file.url} sent has the {wrong_checksum(file, digest)}; it was not kept"
        )


def _unzip(archive, target, file):
    part = target.with_name(f"{target.name}.part")
    try:
        with zipfile.ZipFile(archive) as opened, opened.open(file.member) as inside:
            with part.open("wb") as out:
                shutil.copyfileobj(inside, out)
            _check(part, file)
            part.replace(target)
    except (zipfile.BadZipFile, KeyError) as error:
        archive.unlink()
        raise DataError(f"{file.url} does not hold {file.member} ({error})") from error
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _one_at_a_time(folder):
    """Keep another process from writing to the same folder of downloads meanwhile."""
    with (folder / ".lock").open("w") as held:
        if fcntl:
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
