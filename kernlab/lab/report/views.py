"""Tables and notebooks as the page shows them."""

import math

import pandas as pd

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.plots.registry import finished
from kernlab.lab.report.numbers import as_size, as_text
from kernlab.lab.report.papers import title_of

ROW_LIMIT = 200
"""Rows of one study on the page; a reader who wants all has the CSV file beside it."""

_ALWAYS_SHOWN = ("dataset", "method", "status")
_SIGNS = {"ok": "✓", "failed": "✗", "not run": "–"}


def study_tables(tables, provenance):
    """The tables of all studies: what varies as columns, what does not as one line above them."""
    return [_study_table(study_id, table, provenance.get(study_id)) for study_id, table in
            tables.items()]  # fmt: skip


def notebook_links(notebooks):
    """The executed notebooks with relative links to their files."""
    return [
        {
            "name": run.name,
            "title": run.title,
            "seconds": run.seconds,
            "error": run.error,
            "html": f"notebooks/{run.name}.html" if run.has_html else None,
            "ipynb": f"notebooks/{run.name}.ipynb",
        }
        for run in notebooks
    ]


def _study_table(study_id, table, provenance):
    constant = _constant_columns(table)
    varying = [
        name for name in table.columns if name not in constant and not _is_empty(table[name])
    ]
    shown = table[varying].head(ROW_LIMIT)
    study = STUDIES.get(study_id)
    return {
        "id": study_id,
        "title": title_of(study_id),
        "question": study.question if study else "",
        "rows": len(table),
        "shown": len(shown),
        "finished": len(finished(table)),
        "constant": [(name, _cell(name, value)["text"]) for name, value in constant.items()],
        "columns": [{"name": name, "numeric": _is_numeric(table[name])} for name in varying],
        "cells": [
            [_cell(name, value) for name, value in zip(varying, row, strict=True)]
            for row in shown.itertuples(index=False)
        ],
        "csv": f"tables/{study_id}.csv",
        "provenance": f"tables/{study_id}.provenance.json" if provenance else None,
    }


def _constant_columns(table):
    """Columns with the same value in every row, and that value; none for a table of one row."""
    if len(table) < 2:
        return {}
    return {
        name: table[name].iloc[0]
        for name in table.columns
        if name not in _ALWAYS_SHOWN
        and not _is_empty(table[name])
        and table[name].nunique(dropna=False) == 1
    }


def _is_empty(column):
    return bool((column.isna() | (column == "")).all())


def _is_numeric(column):
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _cell(name, value):
    """A cell's text, and the number that it is sorted by."""
    if isinstance(value, bool | str) or not _is_number(value):
        text = "" if value is None or value is pd.NA else str(value)
        sign = _SIGNS.get(text, "") if name == "status" else ""
        return {"text": "" if text == "nan" else text, "value": None, "sign": sign}
    if math.isnan(value):
        return {"text": "", "value": None, "sign": ""}
    if name.endswith("_bytes"):
        text = as_size(value)
    else:
        text = str(value) if name == "seed" else as_text(value)
    return {"text": text, "value": repr(float(value)), "sign": ""}


def _is_number(value):
    return hasattr(value, "__float__") and value is not pd.NA
