"""One call from the name of a data set to arrays that are split and scaled as a paper did."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernlab.datasets.download import fetch, offline
from kernlab.datasets.errors import DataError
from kernlab.datasets.files import find_file, not_found
from kernlab.datasets.own import is_path, read_own
from kernlab.datasets.registry import get_entry, get_protocol
from kernlab.datasets.rows import read_rows
from kernlab.datasets.scaling import scale
from kernlab.datasets.splits import plan_split, split_rows


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Training, validation and test rows of a data set, and all that is known of them.

    X is a dense float64 array or a CSR matrix, y holds the labels as in the file. X_valid and
    y_valid are None where the split has no validation part.
    """

    name: str
    X_train: "np.ndarray | sparse.csr_matrix"
    y_train: np.ndarray
    X_valid: "np.ndarray | sparse.csr_matrix | None"
    y_valid: np.ndarray | None
    X_test: "np.ndarray | sparse.csr_matrix"
    y_test: np.ndarray
    info: Mapping[str, object]

    def __repr__(self):
        rows = self.info["rows"]
        counts = ", ".join(f"{rows[part]} {part}" for part in ("train", "valid", "test"))
        kind = "sparse" if sparse.issparse(self.X_train) else "dense"
        return (
            f"Dataset({self.name!r}: {counts} rows x {self.info['features']} {kind} features, "
            f"{len(self.info['classes'])} classes; {self.info['split']}; "
            f"scaling {self.info['scaling']})"
        )


def load_dataset(name, *, paper=None, split=None, scaling=None, seed=0):
    """Load a data set, split and scaled.

    The files are looked for in the folder KERNLAB_DATA, then among the embedded and the downloaded
    ones; what is nowhere is downloaded, where the network allows it and KERNLAB_OFFLINE does not
    forbid it.

    Parameters
    ----------
    name : str or path
        See `dataset_names`, or the path of a file of your own (svmlight; CSV or NPY with the labels
        in the last column), which is split at random. Variants such as "mnist-round" and
        "covtype-2" and generated sets such as "two-moons" have names of their own.
    paper : {"llsvm", "lasn", "lasn-cv", "sparse", "hss", "fpc"}, optional
        That paper's protocol: split, validation part, scaling, columns. "lasn-cv" is LASN with a
        fifth of the training rows set aside, as in its figures.
    split : {"site", "printed", "shuffled"}, optional
        The published files; the first rows, as many as the paper prints; or random, stratified.
        By default what the paper does, else "site" where a test file is published, else
        "shuffled" with 75 % for training.
    scaling : {"none", "unit", "symmetric", "standard"}, optional
        Learnt on the training rows. By default what the paper does, else "none".
    seed : int
        Of random splits and generated rows.

    Returns
    -------
    Dataset
        Its `info` tells what was done: title, rows, features, classes, positive, licence,
        citation, source, checksum (of each file), split (name), split_text, scaling, paper,
        variant, seed, notes.

    Raises
    ------
    DataNotFound
        What was looked for, where, and the command that gets it.
    DataError
        Any other reason why the set cannot be used.
    """
    if is_path(name):
        entry, rows = read_own(name)
        protocol, split = get_protocol(paper, entry), "shuffled"
    else:
        entry = get_entry(name)
        protocol = get_protocol(paper, entry)
        rows = read_rows(entry, seed=seed, sizes=generated_sizes(entry, protocol), fetch=_download)
    if rows.test_missing and split in ("site", "printed"):
        raise not_found(entry)
    plan = plan_split(entry, protocol, split, rows.sizes, test_missing=rows.test_missing)
    parts = split_rows(plan, rows.parts, seed)
    Xs = [None if part is None else part[0] for part in parts.values()]
    ys = [None if part is None else part[1] for part in parts.values()]
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
    info = _info(entry, protocol, rows, plan, scaling, seed)
    info |= {
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


def _info(entry, protocol, rows, plan, scaling, seed):
    source = {
        "generated": f"kernlab.datasets.generators.{entry.generator}",
        "scikit-learn": f"sklearn.datasets.{entry.sklearn}",
    }.get(entry.kind, entry.page)
    return {
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
    }


def _download(entry):
    """Get a missing set, or explain why not beside what is missing."""
    if offline():
        raise not_found(entry, "(No download was tried, because KERNLAB_OFFLINE is set.)")
    try:
        fetch_missing(entry)
    except DataError as error:
        raise not_found(entry, f"(A download was tried. {error})") from None


def fetch_missing(entry, *, progress=True):
    """Download those files of a set's first copy that are not at hand."""
    missing = [file for file in entry.copies[0].files() if find_file(file) is None]
    if not all(file.url for file in missing):
        raise not_found(entry)
    for file in missing:
        fetch(file, progress=progress)
