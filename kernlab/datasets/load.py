"""One call from the name of a data set to arrays that are split and scaled as a paper did."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.datasets import generators
from kernlab.datasets.files import DataNotFound, fetch, find, find_file, is_path, not_found, offline
from kernlab.datasets.readers import digest_of, read_file
from kernlab.datasets.registry import DataSet, Protocol, get_entry, get_protocol
from kernlab.datasets.splits import joined, plan_split, scale, split_rows
from kernlab.rows import as_rows
from kernlab.rows.text import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Training, validation and test rows of a data set, and all that is known of them.

    X is a dense float64 array or a CSR matrix, y holds the labels as in the file. X_valid and
    y_valid are None where the split has no validation part. `info`: title, rows, features, classes,
    positive, licence, citation, source, checksum (of each file), split (name), split_text, scaling,
    paper, variant, seed, notes.
    """

    name: str
    X_train: "np.ndarray | sp.csr_matrix"
    y_train: np.ndarray
    X_valid: "np.ndarray | sp.csr_matrix | None"
    y_valid: np.ndarray | None
    X_test: "np.ndarray | sp.csr_matrix"
    y_test: np.ndarray
    info: Mapping[str, object]

    def __repr__(self):
        rows = self.info["rows"]
        counts = ", ".join(f"{rows[part]} {part}" for part in ("train", "valid", "test"))
        kind = "sparse" if sp.issparse(self.X_train) else "dense"
        return (
            f"Dataset({self.name!r}: {counts} rows x {self.info['features']} {kind} features, "
            f"{len(self.info['classes'])} classes; {self.info['split']}; "
            f"scaling {self.info['scaling']})"
        )


@dataclass(frozen=True)
class Published:
    """All rows of a data set as they were published, {"train": (X, y)} and mostly "test" too,
    and the checksums of the files they come from."""

    parts: dict[str, tuple]
    checksums: dict[str, str]
    test_missing: bool = False

    @property
    def sizes(self):
        return {part: len(y) for part, (_, y) in self.parts.items()}


def load_dataset(name, *, paper=None, split=None, scaling=None, seed=0):
    """Load a data set, split and scaled.

    The files are looked for in the folder KERNLAB_DATA, then among the embedded and the downloaded
    ones; what is nowhere is downloaded, where KERNLAB_OFFLINE does not forbid it.

    Parameters
    ----------
    name : str or path
        See `dataset_names`. Variants such as "mnist-round" and "covtype-2" and generated sets such
        as "two-moons" have names of their own. Or the path of a file of your own (svmlight, CSV and
        other tables, NPY, Parquet), with the labels in it: of NPY the last column.
    paper : {"llsvm", "lasn", "lasn-cv", "sparse", "hss", "fpc"}, optional
        That paper's protocol: split, validation part, scaling, columns. "lasn-cv" is LASN with a
        fifth of the training rows set aside, as in its figures.
    split : {"site", "printed", "shuffled"}, optional
        The published files; the first rows, as many as the paper prints; or random, stratified.
        By default what the paper does, else "site" where a test file is published, else
        "shuffled" with 75 % for training, of a file of your own 80 %.
    scaling : {"none", "unit", "symmetric", "standard"}, optional
        Learnt on the training rows. By default what the paper does, else "none".
    seed : int, of random splits and generated rows

    Returns
    -------
    Dataset, whose `info` tells what was done

    Raises
    ------
    DataNotFound : what was looked for, where, and the command that gets it.
    DataError : any other reason why the set cannot be used.
    """
    if is_path(name):
        entry, rows = _own_file(Path(name).expanduser())
        protocol = Protocol(train=0.8) if paper is None else get_protocol(paper, entry)
        split = "shuffled"
    else:
        entry = get_entry(name)
        protocol = get_protocol(paper, entry)
        rows = read_rows(entry, seed=seed, sizes=generated_sizes(entry, protocol), fetch=_download)
    if rows.test_missing and split in ("site", "printed"):
        raise not_found(entry)
    plan = plan_split(entry, protocol, split, rows.sizes, test_missing=rows.test_missing)
    parts = split_rows(plan, rows.parts, seed)
    Xs, ys = zip(*(part or (None, None) for part in parts.values()), strict=True)
    if protocol.columns:
        Xs = [None if X is None else X[:, : protocol.columns] for X in Xs]
    classes = np.unique(ys[0])
    if len(classes) < 2:
        raise DataError(
            f"the training rows of {entry.name} hold one class only ({classes[0]}): "
            f"{plan.text}. Use split='shuffled'."
        )
    scaling = scaling or protocol.scaling or "none"
    Xs = scale(scaling, *Xs)
    source = {
        "generated": f"kernlab.datasets.generators.{entry.generator}",
        "scikit-learn": f"sklearn.datasets.{entry.sklearn}",
    }.get(entry.kind, entry.page)
    info = {
        "title": entry.title,
        "positive": entry.positive if protocol.positive is None else protocol.positive,
        "licence": entry.licence,
        "citation": entry.citation,
        "source": source,
        "checksum": rows.checksums,
        "split": plan.name,
        "split_text": plan.text,
        "scaling": scaling,
        "paper": protocol.paper,
        "variant": entry.base or None,
        "seed": seed,
        "notes": [*entry.notes, *([plan.note] if plan.note else [])],
        "rows": {part: 0 if y is None else len(y) for part, y in zip(parts, ys, strict=True)},
        "features": Xs[0].shape[1],
        "classes": classes.tolist(),
    }
    (X_train, X_valid, X_test), (y_train, y_valid, y_test) = Xs, ys
    return Dataset(entry.name, X_train, y_train, X_valid, y_valid, X_test, y_test, info)


def generated_sizes(entry, protocol):
    """Rows of a generated set where a paper has its own, else None."""
    if entry.kind == "generated" and protocol.train_rows:
        return protocol.train_rows, protocol.test_rows
    return None


# ----------------------------------------------------------------------------------- published rows
def read_rows(entry, *, seed=0, sizes=None, fetch=None):
    """The parts of a data set (`Published`), before any split or scaling.

    Parameters
    ----------
    entry : DataSet, from the registry
    seed, sizes
        For generated sets; training and test rows where not those of the registry.
    fetch : callable, optional
        Called with the entry when its files are not available; may get them, or raise.
    """
    if entry.kind == "generated":
        return Published(_generated(entry, sizes or (entry.train_rows, entry.test_rows), seed), {})
    if entry.kind == "scikit-learn":
        from sklearn import datasets

        X, y = getattr(datasets, entry.sklearn)(return_X_y=True)
        return Published({"train": (X, y.astype(np.int64))}, {})
    if fetch is not None and find(entry) is None:
        fetch(entry)
    found = find(entry)
    if found is None:
        raise not_found(entry)
    return _from_files(entry, found)


def fetch_missing(entry, *, progress=True):
    """Download those files of a set's first copy that are not available; what is not right, or
    cannot be read to its end, is not kept."""
    copy = entry.copies[0]
    missing = [file for file in copy.files() if find_file(file) is None]
    if not all(file.url for file in missing):
        raise not_found(entry)
    for file in missing:
        check = partial(read_file, file=file, **_reading(entry, copy))
        room = 2 * file.limit(entry.features) + 2**26
        fetch(file, check, max_bytes=room, progress=progress)


def _download(entry):
    """Get a missing set, or explain why not beside what is missing."""
    if offline():
        raise not_found(entry, "(No download was tried, because KERNLAB_OFFLINE is set.)")
    try:
        fetch_missing(entry)
    except DataError as error:
        raise not_found(entry, f"(A download was tried. {error})") from None


def _reading(entry, copy):
    """How the files of a copy are read."""
    text_labels = isinstance((copy.classes or entry.classes)[0], str)
    shape = {"features": entry.features, "text_labels": text_labels, "keep_sparse": entry.sparse}
    return {"layout": copy.layout, **shape}


def _from_files(entry, found):
    copy = found.copy
    classes = copy.classes or entry.classes
    parts, checksums = {}, {}
    for part in ("train", "test") if copy.test and not found.missing_test else ("train",):
        pieces = [_piece(entry, found, file, checksums) for file in getattr(copy, part)]
        parts[part] = joined(*zip(*pieces, strict=True))
        if entry.row_order == "fixed random":
            parts[part] = _fixed_random_order(*parts[part])
    if copy.scaling:
        scaled = scale(copy.scaling, *(X for X, _ in parts.values()))
        parts = {part: (X, parts[part][1]) for part, X in zip(parts, scaled, strict=True)}
    if entry.binarise:
        positive = _positive_classes(entry, classes, parts)
        parts = {part: (X, np.where(np.isin(y, positive), 1, -1)) for part, (X, y) in parts.items()}
    return Published(parts, checksums, found.missing_test)


def _piece(entry, found, file, checksums):
    read, path = _reading(entry, found.copy), found.path(file)
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
    classes = found.copy.classes or entry.classes
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise DataError(
            f"{path} has labels that {entry.name} does not: {', '.join(map(str, unknown[:5]))}; "
            f"expected are {', '.join(map(str, classes))}"
        )
    return X, y


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
    make, streams = getattr(generators, entry.generator), np.random.SeedSequence(seed).spawn(2)
    test_params = entry.params | ({"noise": 0.0} if entry.clean_test else {})
    return {
        "train": make(sizes[0], seed=streams[0], **entry.params),
        "test": make(sizes[1], seed=streams[1], **test_params),
    }


def _own_file(path):
    """An entry such as the registry's, and the rows, of a file of the user's own."""
    if not path.is_file():
        raise DataNotFound(f"there is no file {path}")
    rows = as_rows(path, zero_based="auto")
    X, y = rows.whole(), rows.labels
    if y is None:
        X, y = np.array(X[:, :-1]), np.array(X[:, -1])
    if X.shape[1] < 1:
        raise DataError(f"{path} has no features beside its labels")
    rows.check_finite()
    if y.dtype.kind == "f" and np.array_equal(y, np.round(y)):
        y = y.astype(np.int64)
    classes = np.unique(y).tolist()
    entry = DataSet(str(path), path.name, X.shape[1], tuple(classes), positive=classes[-1])
    return entry, Published({"train": (X, y)}, {path.name: digest_of(path)})
