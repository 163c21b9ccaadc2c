"""What data sets there are, which are available, and whether they are what they should be."""

from functools import cache, partial

from kernlab.datasets.files import find, not_found, recorded, where
from kernlab.datasets.load import fetch_missing, read_rows
from kernlab.datasets.readers import digest_of, is_expected, wrong_checksum
from kernlab.datasets.registry import get_entry, registry
from kernlab.rows.text import DataError


def dataset_names():
    """All names, in the order of the registry."""
    return list(registry().sets)


def dataset_available(name):
    """Whether `load_dataset` can serve a set now, without a download."""
    return bool(where(get_entry(name)))


def list_datasets():
    """Every data set as a row: name, title, rows, features, classes, available, where, licence."""
    import pandas as pd

    sets = list(registry().sets.values())
    places = [where(entry) for entry in sets]
    listed = {
        "name": [entry.name for entry in sets],
        "title": [entry.title for entry in sets],
        "rows": pd.array([entry.total_rows for entry in sets], "Int64"),
        "features": [entry.features for entry in sets],
        "classes": [len(entry.classes) for entry in sets],
        "available": [bool(place) for place in places],
        "where": places,
        "licence": [entry.licence for entry in sets],
    }
    return pd.DataFrame(listed)


def get_dataset(name, progress=True):
    """Have a set's files, downloading what is missing: their paths, of a generated set none."""
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
        made = "generated" if entry.kind == "generated" else "part of scikit-learn"
        raise DataError(f"{entry.name} has no files: it is {made}")
    found = find(entry)
    if found is None:
        raise not_found(entry)
    return [found.path(file) for file in found.files]


def verify_datasets(names=None):
    """Check every file of the given sets (all by default): dataset, file, status, message.

    Statuses: "ok" (the site's own file, by its checksum), "derived" (a known rebuilt copy of the
    same rows), "recorded" (no checksum of the site's file is known; it is what was downloaded
    first), "unknown" (nor is that known; rows, features and labels are right), "wrong checksum",
    "malformed", "missing". Every file is read again to its end.
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
        get, ask = f"kernlab data get {entry.name}", f"from {entry.page}"
        return [
            {"file": file.name, "status": "missing", "message": get if file.url else ask}
            for file in entry.copies[0].files()
        ]
    rows = [_verified_file(file, found.path(file), digest) for file in found.files]
    if all(row["status"] not in ("malformed", "wrong checksum") for row in rows):
        try:
            read_rows(entry)
        except DataError as error:
            rows[0] |= {"status": "malformed", "message": str(error)}
    return rows


def _verified_file(file, path, digest_of_text):
    def told(status, message=""):
        return {"file": str(path), "status": status, "message": message}

    try:
        digest = digest_of_text(path)
    except DataError as error:
        return told("malformed", str(error))
    if digest in file.copies:
        return told("derived", "a known copy of the site's rows")
    if not is_expected(file, path, digest):
        return told("wrong checksum", wrong_checksum(file, digest))
    if file.sha256:
        return told("ok")
    first = recorded(file.name)
    if first is None:
        return told("unknown", "no checksum of the site's file is known; its rows are right")
    if digest == first:
        return told("recorded", f"as first downloaded: {digest}")
    changed = f"the file that was downloaded had {first}, this one has {digest}"
    return told("wrong checksum", changed)
