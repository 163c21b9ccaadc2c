"""Samples, wherever they are: arrays, sparse matrices, memory maps, tables, files.

`as_rows` gives them one protocol, `Rows`; `validate_rows` is the door of estimators.
"""

from kernlab.rows.arrays import (
    ArrayRows,
    Rows,
    as_dense,
    as_rows,
    is_at_hand,
    is_collection,
    validate_rows,
)
from kernlab.rows.files import open_rows
from kernlab.rows.products import DistinctRows, distinct_rows, merged_rows
from kernlab.rows.text import DataError
