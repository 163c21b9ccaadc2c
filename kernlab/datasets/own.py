"""A file of the user's own as a data set: svmlight, CSV or NPY, with the labels in it."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from kernlab.datasets.checksums import digest_of
from kernlab.datasets.errors import DataError, DataNotFound
from kernlab.datasets.registry import ENDINGS, DataSet, knows
from kernlab.datasets.rows import Rows
from kernlab.datasets.streams import open_data

TABLES = {".csv": ",", ".tsv": "\t"}
DENSE = 0.25  # the share of entries from which on svmlight rows are kept as a dense array


def is_path(name):
    """Whether a name of a data set is the path of a file: what the registry knows is not."""
    if isinstance(name, Path):
        return True
    text = str(name)
    return not knows(text) and ("/" in text or bool(Path(text).suffix) or Path(text).is_file())


def read_own(path):
    """An entry such as the registry's and the rows of a file.

    Parameters
    ----------
    path : path
        svmlight, compressed or not; or .csv, .tsv or .npy with the labels in the last column (CSV
        with or without one line of names).
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise DataNotFound(f"there is no file {path}")
    kind = Path(path.name.removesuffix(next(e for e in ENDINGS[::-1] if path.name.endswith(e))))
    try:
        X, y = _labelled(path, kind.suffix.lower())
    except DataError:
        raise
    except (ValueError, OSError, IndexError) as error:
        raise DataError(f"{path.name} cannot be read as a data set: {error}") from error
    classes = np.unique(y)
    if np.all(y == np.round(y)):
        y, classes = y.astype(np.int64), classes.astype(np.int64)
    entry = DataSet(
        name=str(path),
        title=path.name,
        features=X.shape[1],
        classes=tuple(classes.tolist()),
        positive=classes[-1].item(),
    )
    return entry, Rows({"train": (X, y)}, {path.name: digest_of(path)})


def _labelled(path, suffix):
    if suffix == ".npy":
        table = np.load(path, allow_pickle=False).astype(np.float64)
    elif suffix in TABLES:
        import pandas as pd

        table = pd.read_csv(path, sep=TABLES[suffix], header=None, low_memory=False)
        if not np.issubdtype(table.dtypes.iloc[0], np.number):
            table = table.iloc[1:]
        table = table.to_numpy(dtype=np.float64)
    else:
        with open_data(path, progress=False) as (stream, _):
            X, y = load_svmlight_file(stream)
        filled = X.nnz / max(1, X.shape[0] * X.shape[1])
        return (X.toarray() if filled > DENSE else X), y
    if table.ndim != 2 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise ValueError("it must hold numbers: features, and the labels in the last column")
    return table[:, :-1], table[:, -1]
