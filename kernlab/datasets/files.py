"""Where the files of a data set are: KERNLAB_DATA, the embedded ones, what was downloaded."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernlab import paths
from kernlab.datasets.registry import ENDINGS, DataFile, get_entry, knows
from kernlab.rows.text import DataError, open_data
from kernlab.runtime import write_whole


class DataNotFound(DataError):  # noqa: N818 - it is a finding, and the name is public
    """A file is not available; the text says what was looked for, where, and how to get it."""


@dataclass(frozen=True)
class Found:
    """A copy of a data set whose files are all there."""

    copy: object
    paths: dict[str, Path]
    missing_test: bool = False

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
    """The first copy of a data set that is complete, or None.

    Where the registry calls the test file optional, a copy without it counts too.
    """
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
    for file in found.copy.files():
        path = found.paths.get(file.name)
        if file.part_of and path and path.parent == _parts_dir():
            path = find_file(_sources(file)[0])
        held |= {path.parent} if path else set()
    return " and ".join(name for name, folder in places() if folder in held)


def is_bundled(name):
    """Whether a set is there on every machine: generated, scikit-learn's, or embedded."""
    entry = get_entry(name)
    folder = [paths.embedded_data_dir()]
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
    for other in entry.copies[1:]:
        lines.append(f"  or in their place {', '.join(file.name for file in other.files())}")
    lines.append("in:")
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
