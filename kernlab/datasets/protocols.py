"""The papers' data tables, measured: what each protocol gives when the sets are loaded."""

from dataclasses import replace

import numpy as np

from kernlab.bandwidth import total_variance
from kernlab.datasets.errors import DataError, DataNotFound
from kernlab.datasets.loader import generated_sizes
from kernlab.datasets.progress import with_progress
from kernlab.datasets.registry import get_entry, get_protocol, protocol_rows
from kernlab.datasets.rows import read_rows
from kernlab.datasets.splits import plan_split, split_rows

COLUMNS = [
    "row", "dataset", "status", "message", "rows", "training rows", "validation rows", "test rows",
    "features", "classes", "positive training rows", "positive test rows", "total variance",
]  # fmt: skip


def protocol_table(table, *, seed=0, progress=True):
    """The data table of a paper, counted in the data themselves.

    Parameters
    ----------
    table : str
        A paper ("llsvm", "lasn", "lasn-cv", "sparse", "hss", "fpc") or its table's study id
        ("llsvm-t2", "lasn-t2", "lasn-t1", "sparse-t1", "hss-t1", "fpc-t1").

    Returns
    -------
    DataFrame
        One row per set of the table. `row` is its label in `kernlab.lab.published`, as are the
        columns of counts, so that the two can be laid side by side. `total variance` is the mean
        squared distance of the training rows, unscaled, to their mean. status is "measured",
        "missing" or, where only the published test file is not at hand, "partly missing"; what is
        missing is NaN, with the reason in `message`. Nothing is downloaded.
    """
    import pandas as pd

    paper, listed = protocol_rows(table)
    if progress:
        listed = with_progress(listed, f"data sets of {paper}")
    measured = [{"row": row, **measured_counts(name, paper, seed)} for name, row in listed]
    return pd.DataFrame(measured, columns=COLUMNS)


def measured_counts(name, paper, seed=0):
    """One set's counts under a paper's protocol: a row of `protocol_table` without its label."""
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
