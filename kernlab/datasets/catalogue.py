"""What data sets there are, which are available, and whether they are what they should be."""

from dataclasses import replace
from functools import cache, partial

import numpy as np

from kernlab.datasets.download import recorded
from kernlab.datasets.files import DataNotFound, find, not_found, where
from kernlab.datasets.load import fetch_missing, generated_sizes, read_rows
from kernlab.datasets.readers import digest_of, is_expected, wrong_checksum
from kernlab.datasets.registry import get_entry, get_protocol, registry
from kernlab.datasets.splits import plan_split, split_rows
from kernlab.kernels import total_variance
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
                "available": bool(place),
                "where": place,
                "licence": entry.licence,
            }
        )
    return pd.DataFrame(rows).astype({"rows": "Int64"})


def get_dataset(name, progress=True):
    """Have a set's files, downloading what is missing; their paths.

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
        made = "generated" if entry.kind == "generated" else "part of scikit-learn"
        raise DataError(f"{entry.name} has no files: it is {made}")
    found = find(entry)
    if found is None:
        raise not_found(entry)
    parts = ("train",) if found.missing_test else ("train", "test")
    return [found.path(file) for file in found.copy.files(parts)]


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
        return [
            {
                "file": file.name,
                "status": "missing",
                "message": f"kernlab data get {entry.name}" if file.url else f"from {entry.page}",
            }
            for file in entry.copies[0].files()
        ]
    parts = ("train",) if found.missing_test else ("train", "test")
    rows = [_verified_file(file, found.path(file), digest) for file in found.copy.files(parts)]
    if all(row["status"] not in ("malformed", "wrong checksum") for row in rows):
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
    if file.sha256:
        return row | {"status": "ok"}
    first = recorded(file.name)
    if first is None:
        known = "no checksum of the site's file is known; its rows are right"
        return row | {"status": "unknown", "message": known}
    if digest != first:
        changed = f"the file that was downloaded had {first}, this one has {digest}"
        return row | {"status": "wrong checksum", "message": changed}
    return row | {"status": "recorded", "message": f"as first downloaded: {digest}"}


def measured_counts(name, paper, seed=0):
    """The numbers of a paper's data table for one set, counted when it is loaded.

    Parameters
    ----------
    name : str
    paper : str
        Whose protocol it is loaded by.
    seed : int

    Returns
    -------
    dict
        dataset, status ("measured", "missing", or "partly missing" where only the published test
        file is not available), message, and the columns of the table; "total variance" is the mean
        squared distance of the training rows, unscaled, to their mean. What is missing is NaN.
        Nothing is downloaded.
    """
    entry = get_entry(name)
    protocol = get_protocol(paper, entry)
    found = {"dataset": name}
    try:
        rows = read_rows(entry, seed=seed, sizes=generated_sizes(entry, protocol))
        sizes = rows.sizes
        if rows.test_missing:
            sizes["test"] = sum(file.rows for file in entry.copies[0].test)
        plan = plan_split(entry, protocol, None, sizes)
        if rows.test_missing:
            plan = replace(plan, test=0)
        parts = split_rows(plan, rows.parts, seed)
    except DataNotFound:
        return found | {"status": "missing", "message": f"kernlab data get {name}"}
    except DataError as error:
        return found | {"status": "missing", "message": str(error)}
    X = parts["train"][0]
    counts = {part: 0 if piece is None else len(piece[1]) for part, piece in parts.items()}
    found |= {
        "status": "measured",
        "message": "; ".join([plan.text, *entry.notes]),
        "rows": sum(counts.values()),
        "training rows": counts["train"],
        "validation rows": counts["valid"],
        "test rows": counts["test"],
        "features": protocol.columns or X.shape[1],
        "classes": len(np.unique(parts["train"][1])),
        "total variance": total_variance(X[:, : protocol.columns]),
    }
    positive = entry.positive if protocol.positive is None else protocol.positive
    if positive is not None:
        for part, column in (("train", "training"), ("test", "test")):
            labels = parts[part][1] if parts[part] else ()
            found[f"positive {column} rows"] = int(np.sum(labels == positive))
    if rows.test_missing:
        found |= {"status": "partly missing", "message": entry.test_optional}
        found |= {"rows": np.nan, "test rows": np.nan, "positive test rows": np.nan}
    return found
