"""Where the files of a data set are: KERNLAB_DATA, embedded, downloaded; and the download."""

import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from kernlab import paths
from kernlab.datasets.readers import digest_of
from kernlab.datasets.registry import ENDINGS, DataFile, get_entry, knows
from kernlab.rows.text import DataError, open_data
from kernlab.runtime import wants_progress, write_whole

TIMEOUT = (10, 60)
PAGES = ("text/html", "application/xhtml+xml")
BLOCK = 1 << 16


class DataNotFound(DataError):  # noqa: N818 - it is a finding, and the name is public
    """A file is not available; the text says what was looked for, where, and how to get it."""


@dataclass(frozen=True)
class Found:
    """A copy of a data set whose files are all there."""

    copy: object
    paths: dict[str, Path]
    missing_test: bool = False

    @property
    def files(self):
        """The files that are there."""
        return self.copy.files(("train",) if self.missing_test else ("train", "test"))

    def path(self, file):
        """The path of a file; one that is a part of another is written at first need."""
        path = self.paths[file.name]
        if file.part_of and path.parent == _parts_dir() and not path.is_file():
            _write_part(file, path)
        return path


def places():
    """The folders that are searched, in order: [(what it is, folder)]."""
    searched = [("embedded", paths.embedded_data_dir()), ("downloaded", paths.downloads_dir())]
    external = paths.external_data_dir()
    return [("KERNLAB_DATA", external), *searched] if external else searched


def find_file(file, folders=None):
    """The path of one file under any of its names and compressions, or None."""
    for folder in [folder for _, folder in places()] if folders is None else folders:
        for name in file.names:
            for ending in ENDINGS:
                path = folder / f"{name}{ending}"
                if os.path.isfile(path):  # noqa: PTH113 - a folder that cannot be read has none
                    return path
    if file.part_of and all(find_file(source, folders) for source in _sources(file)):
        return _parts_dir() / file.name
    return None


def _sources(part):
    """The file that holds the rows of a part, and the one that says which."""
    whole = get_entry(part.part_of).copies[0].train[0]
    return whole, DataFile(f"{part.part_of}-parts")


def _parts_dir():
    return paths.cache_dir() / "datasets" / "parts"


def _write_part(file, path):
    whole, parts = (find_file(source) for source in _sources(file))
    with open_data(parts) as (stream, _):
        bits = dict(line.decode().split() for line in stream)[file.name.removesuffix(".t")]
    taken = np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8)).astype(bool) != file.rest
    with open_data(whole) as (stream, _):
        text = b"".join(line for line, is_taken in zip(stream, taken, strict=False) if is_taken)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise DataError(f"{file.name}, a part of {whole}, cannot be written: {error}") from error


def find(entry):
    """The first copy of a data set that is complete, but for an optional test file, or None."""
    parts = [("train", "test")] + ([("train",)] if entry.test_optional else [])
    for wanted in parts:
        for copy in entry.copies:
            located = {file.name: find_file(file) for file in copy.files(wanted)}
            if all(located.values()):
                return Found(copy, located, missing_test=bool(copy.test) and "test" not in wanted)
    return None


def where(entry):
    """In a word, where a data set is: "KERNLAB_DATA", "embedded", ...; "" where it is not."""
    if entry.kind != "files":
        return entry.kind
    found = find(entry)
    if found is None:
        return ""
    held = set()
    for file in found.files:
        is_part = file.part_of and found.paths[file.name].parent == _parts_dir()
        held.add((find_file(_sources(file)[0]) if is_part else found.paths[file.name]).parent)
    return " and ".join(name for name, folder in places() if folder in held)


def is_bundled(name):
    """Whether a set is there on every machine: generated, scikit-learn's, or embedded."""
    entry, folder = get_entry(name), [paths.embedded_data_dir()]
    return entry.kind != "files" or any(
        all(find_file(file, folder) for file in copy.files()) for copy in entry.copies
    )


def is_path(name):
    """Whether a name of a data set is the path of a file: what the registry knows is not."""
    if isinstance(name, Path):
        return True
    text = str(name)
    return not knows(text) and ("/" in text or bool(Path(text).suffix) or Path(text).is_file())


def not_found(entry, why_no_download=""):
    """The error for a data set that is not there: what was looked for, where, what gets it."""
    wanted = entry.copies[0].files()
    missing = [file for file in wanted if find_file(file) is None]
    lines = [f"{entry.name} is not available. Looked for (also as .xz, .bz2 or .gz):"]
    lines += [f"  {' or '.join(file.names)}" for file in missing]
    others = (", ".join(file.name for file in copy.files()) for copy in entry.copies[1:])
    lines += [*(f"  or in their place {names}" for names in others), "in:"]
    for name, folder in places():
        state = "" if os.access(folder, os.R_OK | os.X_OK) else ", which cannot be read"
        state = state if folder.is_dir() else ", no such folder"
        lines.append(f"  {folder} ({name}{state})")
    if not os.environ.get("KERNLAB_DATA"):
        lines.append("  (KERNLAB_DATA, which names a folder of your own, is not set)")
    if all(file.url for file in missing):
        lines.append(f"To get it: kernlab data get {entry.name}")
        if why_no_download:
            lines.append(why_no_download)
    else:
        lines.append(
            f"kernlab cannot download it: get the files from {entry.page} and put them into one "
            "of these folders."
        )
    return DataNotFound("\n".join(lines))


# ---------------------------------------------------------------------------------------- download
# Checked on the way in, and in place only when complete and right. What was received first is
# recorded: SHA256SUMS in the folder of downloads.
def offline():
    """Whether KERNLAB_OFFLINE forbids every download."""
    return os.environ.get("KERNLAB_OFFLINE", "").lower() not in ("", "0", "no", "false")


def fetch(file, check, *, max_bytes, progress=True):
    """Download one file of the registry and return its path.

    `check` is called with the path of what was received; where it raises DataError, nothing is
    kept. More than `max_bytes` are refused, of the download and of what it unpacks to. DataError
    says what else went wrong.
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
