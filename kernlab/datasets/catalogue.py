"""What there is, what is at hand, and whether it is what it should be: `kernlab data ...`."""

from functools import cache, partial

from kernlab.datasets.checksums import digest_of, is_expected, wrong_checksum
from kernlab.datasets.errors import DataError
from kernlab.datasets.files import find, not_found, where
from kernlab.datasets.loader import fetch_missing
from kernlab.datasets.registry import get_entry, registry
from kernlab.datasets.rows import read_rows


def dataset_names():
    """All names, in the order of the registry."""
    return list(registry().sets)


def dataset_available(name):
    """Whether `load_dataset` can serve a set now, without a download."""
    return bool(where(get_entry(name)))


def list_datasets():
    """Every data set as one row: name, title, rows, features, classes, at_hand, where, licence."""
    import pandas as pd

    rows = []
    for entry in registry().sets.values():
        place = where(entry)
        rows.append(
            {
                "name": entry.name,
                "title": entry.title,
                "rows": entry.total_rows,
                "features": entry.features,
                "classes": len(entry.classes),
                "at_hand": bool(place),
                "where": place,
                "licence": entry.licence,
            }
        )
    return pd.DataFrame(rows).astype({"rows": "Int64"})


def get_dataset(name, progress=True):
    """Have a set's files at hand, downloading what is missing; their paths.

    A set that scikit-learn or a generator makes has no files: an empty list.
    """
    entry = get_entry(name)
    if entry.kind != "files":
        return []
    found = find(entry)
    if found is None or found.missing_test:
        fetch_missing(entry, progress=progress)
    return data_path(name)


def data_path(name):
    """The paths of a set's files, training files first."""
    entry = get_entry(name)
    if entry.kind != "files":
        raise DataError(f"{entry.name} has no files: it is {_made(entry)}")
    found = find(entry)
    if found is None:
        raise not_found(entry)
    return list(found.paths.values())


def verify_datasets(names=None):
    """Check every file of the given sets (all by default): dataset, file, status, message.

    Statuses: "ok" (the site's own file, by its checksum), "derived" (a known rebuilt copy of the
    same rows), "unknown" (no checksum of the site's file is known; rows, features and labels are
    right), "wrong checksum", "malformed", "missing". Every file is read again to its end.
    """
    import pandas as pd

    entries = registry().sets.values() if names is None else [get_entry(name) for name in names]
    digest = cache(partial(digest_of, fresh=True))  # variants share their files
    rows = []
    for entry in entries:
        if entry.kind == "files":
            rows += [{"dataset": entry.name, **row} for row in _verified(entry, digest)]
    return pd.DataFrame(rows, columns=["dataset", "file", "status", "message"])


def _verified(entry, digest):
    found = find(entry)
    if found is None:
        return [
            {"file": file.name, "status": "missing", "message": f"kernlab data get {entry.name}"}
            if file.url
            else {"file": file.name, "status": "missing", "message": f"from {entry.page}"}
            for file in entry.copies[0].files()
        ]
    parts = ("train",) if found.missing_test else ("train", "test")
    rows = [_verified_file(file, found.path(file), digest) for file in found.copy.files(parts)]
    if all(row["status"] in ("ok", "derived", "unknown") for row in rows):
        try:
            read_rows(entry)
        except DataError as error:
            rows[0] |= {"status": "malformed", "message": str(error)}
    return rows


def _verified_file(file, path, digest_of_text):
    row = {"file": str(path), "message": ""}
    try:
        digest = digest_of_text(path)
    except DataError as error:
        return row | {"status": "malformed", "message": str(error)}
    if digest in file.copies:
        return row | {"status": "derived", "message": "a known copy of the site's rows"}
    if not is_expected(file, path, digest):
        return row | {"status": "wrong checksum", "message": wrong_checksum(file, digest)}
    if not file.sha256:
        known = "no checksum of the site's file is known; its rows are right"
        return row | {"status": "unknown", "message": known}
    return row | {"status": "ok"}


def _made(entry):
    return "generated" if entry.kind == "generated" else "part of scikit-learn"
