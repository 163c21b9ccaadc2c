"""The tidy table of a study: one row per point, columns that all studies share."""

import io
import os
from pathlib import Path

import pandas as pd

# In the table's order; the study's parameters stand between `method` and `seed`, and what else a
# study measures before `threads`.
WHAT = ("study", "variant", "dataset", "method")
MEASURED = (
    "seed",
    "repeat",
    "n_train",
    "n_features",
    "fit_seconds",
    "approximate_seconds",
    "solve_seconds",
    "predict_seconds",
    "peak_bytes",
    "train_accuracy",
    "cv_accuracy",
    "test_accuracy",
    "objective",
    "gap",
    "n_iter",
)
HOW = ("threads", "seconds", "peak_note", "status", "message")
TEXT = (*WHAT, "peak_note", "status", "message")

# The engine fills these in; a study measures all the others.
ENGINES_OWN = frozenset((*WHAT, *HOW, "seed", "repeat", "peak_bytes"))


def to_frame(rows, parameter_names):
    """The table from rows given as dictionaries."""
    known = (*WHAT, *parameter_names, *MEASURED)
    extra = dict.fromkeys(name for row in rows for name in row if name not in {*known, *HOW})
    columns = list(dict.fromkeys((*known, *extra, *HOW)))
    table = pd.DataFrame(rows, columns=columns)
    for name in TEXT:
        table[name] = table[name].fillna("")
    return table


def write_table(table, path):
    """Write the CSV file in one step, so that no reader ever meets half of it."""
    write_atomically(path, table.to_csv(index=False))


def read_table(path_or_text):
    """The table from its CSV file: numbers exactly as written, texts as texts even when empty."""
    source = path_or_text if isinstance(path_or_text, Path) else io.StringIO(path_or_text)
    header = pd.read_csv(source, nrows=0).columns
    if not isinstance(path_or_text, Path):
        source.seek(0)
    return pd.read_csv(
        source,
        keep_default_na=False,
        na_values={name: [""] for name in header if name not in TEXT},
        dtype={name: str for name in TEXT if name in header},
        float_precision="round_trip",
    )


def write_atomically(path, text):
    """Replace a text file in one step."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
