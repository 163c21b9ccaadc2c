"""The tidy table of a study: one row per point, columns that all studies share."""

import math
import os
from contextlib import suppress
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
    "rank",
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
    texts = table[list(TEXT)].astype(object)
    return table.assign(**texts.where(texts.notna(), ""))


def write_table(table, path):
    """Write the CSV file in one step, so that no reader ever meets half of it."""
    write_atomically(path, table.to_csv(index=False))


def read_table(path):
    """The table from its CSV file: numbers exactly as written, texts as texts even when empty."""
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in cells:
        if name not in TEXT:
            cells[name] = _typed(cells[name].to_list())
    return cells


def _typed(texts):
    """A column of whole numbers, numbers or truth values where all its cells are such."""
    if all(text in ("True", "False") for text in texts):
        return [text == "True" for text in texts]
    for number in (int, float):
        with suppress(ValueError):
            return [math.nan if text == "" else number(text) for text in texts]
    return [math.nan if text == "" else text for text in texts]


def write_atomically(path, text):
    """Replace a text file in one step."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
