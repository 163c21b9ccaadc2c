"""All rows of a data set: from its files, from scikit-learn, or made by its generator.

What comes out are the set's parts as they were published, {"train": (X, y)} and mostly "test" too,
before any split or scaling of ours.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernlab.datasets import cache, generators
from kernlab.datasets.checksums import is_expected, wrong_checksum
from kernlab.datasets.errors import DataError
from kernlab.datasets.files import find, not_found
from kernlab.datasets.formats import parse
from kernlab.runtime import require_memory


@dataclass(frozen=True)
class Rows:
    """The published parts of a data set, and the checksums of the files they come from."""

    parts: dict[str, tuple]
    checksums: dict[str, str]
    test_missing: bool = False

    @property
    def sizes(self):
        return {part: len(y) for part, (_, y) in self.parts.items()}


def read_rows(entry, *, seed=0, sizes=None, fetch=None):
    """The parts of a data set.

    Parameters
    ----------
    entry : DataSet
        From the registry.
    seed : int
        For generated sets.
    sizes : (int, int), optional
        Training and test rows of a generated set, where not those of the registry.
    fetch : callable, optional
        Called with the entry when its files are not at hand; may get them, or raise.
    """
    if entry.kind == "generated":
        parts = _generated(entry, sizes or (entry.train_rows, entry.test_rows), seed)
        return Rows(parts, {})
    if entry.kind == "scikit-learn":
        from sklearn import datasets

        X, y = getattr(datasets, entry.sklearn)(return_X_y=True)
        return Rows({"train": (X, y.astype(np.int64))}, {})
    found = find(entry)
    if found is None and fetch is not None:
        fetch(entry)
        found = find(entry)
    if found is None:
        raise not_found(entry)
    return _from_files(entry, found)


def read_file(path, file, layout, *, features, text_labels=False, keep_sparse=False):
    """One file, from the cache where it was read before; its checksum and rows are checked."""
    recipe = cache.recipe_of(layout, features, text_labels, keep_sparse)
    parsed = cache.recall(path, recipe)
    if parsed is None:
        if file.rows and not keep_sparse:
            _require_memory(path, file.rows, features)
        parsed = parse(
            path, layout, features=features, text_labels=text_labels, keep_sparse=keep_sparse
        )
        _require_expected(path, file, parsed)
        cache.keep(path, recipe, parsed)
    else:
        _require_expected(path, file, parsed)
    return parsed


def _require_expected(path, file, parsed):
    if not is_expected(file, path, parsed.sha256):
        raise DataError(
            f"{path} has the {wrong_checksum(file, parsed.sha256)}. Remove it and get it again."
        )
    if file.rows is not None and parsed.rows != file.rows:
        raise DataError(
            f"{path} holds {parsed.rows} rows, {file.rows} expected: it is truncated, or another "
            "file of that name"
        )


def _from_files(entry, found):
    copy = found.copy
    classes = copy.classes or entry.classes
    parts, checksums = {}, {}
    for part in ("train", "test"):
        if not getattr(copy, part) or (part == "test" and found.missing_test):
            continue
        pieces = [
            _piece(entry, found, file, copy.layout, classes, checksums)
            for file in getattr(copy, part)
        ]
        X, y = _joined(pieces)
        if entry.row_order == "fixed random":
            X, y = _fixed_random_order(X, y)
        parts[part] = X, y
    if entry.binarise:
        positive = _positive_classes(entry, classes, parts)
        parts = {part: (X, np.where(np.isin(y, positive), 1, -1)) for part, (X, y) in parts.items()}
    return Rows(parts, checksums, found.missing_test)


def _piece(entry, found, file, layout, classes, checksums):
    read = {
        "layout": layout,
        "features": entry.features,
        "text_labels": isinstance(classes[0], str),
        "keep_sparse": entry.sparse,
    }
    path = found.path(file)
    parsed = read_file(path, file, **read)
    checksums[file.name] = parsed.sha256
    X, y = parsed.X, parsed.y
    if file.labels:
        label_path = found.path(file.labels)
        labels = read_file(label_path, file.labels, **read)
        checksums[file.labels.name] = labels.sha256
        if X is None or labels.y is None:
            raise DataError(f"{path} must hold images and {label_path} labels; they do not")
        y = labels.y
        if len(y) != X.shape[0]:
            raise DataError(
                f"{label_path} does not match {path}: {len(y)} labels for {X.shape[0]} images"
            )
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise DataError(
            f"{path} has labels that {entry.name} does not: {', '.join(map(str, unknown[:5]))}; "
            f"expected are {', '.join(map(str, classes))}"
        )
    return X, y


def _joined(pieces):
    if len(pieces) == 1:
        return pieces[0]
    Xs, ys = zip(*pieces, strict=True)
    stack = sparse.vstack if sparse.issparse(Xs[0]) else np.concatenate
    X = stack(Xs)
    return (X.tocsr() if sparse.issparse(X) else X), np.concatenate(ys)


def _positive_classes(entry, classes, parts):
    """Which labels of the files mean +1; a file with two labels is understood by its counts."""
    if entry.positive_rows is None:
        return entry.binarise
    y = np.concatenate([y for _, y in parts.values()])
    candidates = [entry.binarise] if len(classes) > 2 else [(label,) for label in classes]
    for positive in candidates:
        if np.isin(y, positive).sum() == entry.positive_rows:
            return positive
    raise DataError(
        f"no class of {entry.name} has {entry.positive_rows} rows, as its positive one must have"
    )


def _fixed_random_order(X, y):
    """The same order whatever order a copy has, and one that is not sorted by anything."""
    order = np.lexsort((y, *X.T[::-1]))
    order = order[np.random.default_rng(0).permutation(len(order))]
    return X[order], y[order]


def _generated(entry, sizes, seed):
    make = getattr(generators, entry.generator)
    train_rows, test_rows = sizes
    test_params = entry.params | ({"noise": 0.0} if entry.clean_test else {})
    streams = np.random.SeedSequence(seed).spawn(2)
    return {
        "train": make(train_rows, seed=streams[0], **entry.params),
        "test": make(test_rows, seed=streams[1], **test_params),
    }


def _require_memory(path, rows, features):
    # The parsed text and the matrix made of it stand side by side for a moment.
    require_memory(
        2 * rows * features * 8,
        None,
        what=f"reading {path.name}",
        arithmetic=f"2 x {rows} rows x {features} features x 8 bytes",
        way_out="Free memory, or use a smaller set (`kernlab data list`).",
    )
