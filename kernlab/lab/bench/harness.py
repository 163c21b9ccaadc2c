"""What all benches share: fits timed alike, and lines of what was asked beside what was reached."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernlab.costs import fastest
from kernlab.lab.papers.common.fitting import fitted_row, warm_up
from kernlab.runtime import for_each_block, row_blocks, thread_count

COLUMNS = [
    "work", "method", "threads", "seconds", "roofline", "memory", "accuracy", "gap", "ratio",
    "asked",
]  # fmt: skip


# -------------------------------------------------------------------------------------- timing
def timed(model, data, warm=200, **given):
    """The row of a fit, after one to `warm` rows of each class, which compiles."""
    warm_up(model, data, warm)
    return fitted_row(model, data, **given)


def waves(n, columns=20, seed=0):
    """Rows with a wavy boundary in the first two columns: not harder as they become more."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, columns), dtype=np.float32)
    noise = 0.3 * generator.standard_normal(n, dtype=np.float32)
    return X, np.where(np.sin(3 * X[:, 0]) + X[:, 1] > noise, 1, -1)


# -------------------------------------------------------------------------------- the roofline
@cache
def rates(threads):
    """What this machine does in a second on so many threads: operations of products of large
    matrices, exponentials, and bytes read from memory, in single precision but for factors."""
    values, size, long = np.linspace(-5.0, 0.0, 2**22, dtype=np.float32), 1536, np.ones(2**26, "f4")
    out, blocks = np.empty_like(values), row_blocks(len(values), 2**16)
    parts = row_blocks(len(long), -(-len(long) // threads))

    def product(dtype):
        A = np.ones((size, size), dtype=dtype)
        return 2.0 * size**3 / fastest(lambda: A @ A)

    def exponentials():
        for_each_block(lambda block: np.exp(values[block], out=out[block]), blocks)

    def reading():
        for_each_block(lambda part: long[part].max(), parts)

    return SimpleNamespace(
        operations=product(np.float32),
        double_operations=product(np.float64),
        exponentials=len(values) / fastest(exponentials),
        bytes=long.nbytes / fastest(reading),
    )


def roofline(X, k):
    """The least seconds for a fit on k landmarks, if the machine did nothing else: the kernel
    values once, one pass over them in single precision, and the factor of the landmarks' own."""
    n, entries, rate = X.shape[0], X.nnz if sp.issparse(X) else X.size, rates(thread_count())
    values = 2.0 * entries * k / rate.operations + n * k / rate.exponentials
    return values + 4.0 * n * k / rate.bytes + k**3 / 3.0 / rate.double_operations


# ------------------------------------------------------------------------------ what was asked
@dataclass(frozen=True)
class Asked:
    """What was asked of a piece of work, beside the medians of its rows.

    Parameters
    ----------
    work, asked : str
        Words, in which {columns} of the rows are filled in.
    of : mapping
        Column -> value (or a tuple of values) that the rows have.
    against : mapping, optional
        The columns in which the rows compared with differ; `ratio` is how many times as long they
        took.
    each : tuple of str
        Columns that stay the same in a line: one line for each of their values.
    seconds : str
        The column that is compared.
    cells : callable, optional
        (our medians, the rows compared with) -> cells with another meaning.
    """

    work: str
    of: Mapping
    against: Mapping | None = None
    asked: str = ""
    each: tuple = ()
    seconds: str = "fit_seconds"
    cells: Callable = field(default=lambda row, others: {})

    def lines(self, rows):
        """The lines for the rows that are there."""
        for values, row in _medians(_chosen(rows, self.of), self.each):
            same = {**self.of, **values}
            others = rows[:0] if self.against is None else _chosen(rows, {**same, **self.against})
            seconds = row.get(self.seconds)
            other = others[self.seconds].median() if len(others) else np.nan
            told = _told(row) | {"seconds": seconds, "ratio": other / seconds if seconds else None}
            told |= {"work": self.work, "asked": self.asked} | self.cells(row, others)
            yield told | {name: told[name].format_map(row) for name in ("work", "asked")}


@dataclass(frozen=True)
class Growth:
    """What was asked of growing rows: `ratio` is the exponent of the seconds in a column `size`."""

    of: Mapping
    asked: str
    each: tuple = ()
    size: str = "n_train"

    def lines(self, rows):
        """A line where more than one size is there."""
        for values, _ in _medians(_chosen(rows, self.of), self.each):
            own = _chosen(rows, {**self.of, **values})
            seconds = own.groupby(self.size)["fit_seconds"].median()
            if len(seconds) > 1:
                n = seconds.index.to_numpy(float)
                last = own[own[self.size] == n[-1]].iloc[-1]
                work = f"{self.size} from {n[0]:,.0f} to {n[-1]:,.0f}; ratio: exponent of seconds"
                told = {"work": work, "asked": self.asked, "memory": last.get("peak_bytes")}
                told["ratio"] = np.polyfit(np.log(n), np.log(seconds), 1)[0]
                yield _told(last) | told


def compared(asked, table):
    """What was asked of each piece of work beside what was reached, from the rows of a run."""
    rows = table[table["status"] == "ok"]
    found = [line for one in asked for line in one.lines(rows)]
    return pd.DataFrame(found, columns=COLUMNS)


def times(row, others):
    """Cells of `Asked`: how many times as long as the others ours took, not the others ours."""
    return {"ratio": row["fit_seconds"] / others["fit_seconds"].median()}


def _chosen(rows, of):
    for name, value in of.items():
        values = value if isinstance(value, tuple) else (value,)
        rows = rows[rows[name].isin(values)] if name in rows else rows[:0]
    return rows


def _medians(rows, each):
    """(what stays the same, medians over the rows; texts as in the first), group by group."""
    if rows.empty:
        return
    for values, group in rows.groupby(list(each), sort=False) if each else [((), rows)]:
        told = {**group.iloc[0], **group.median(numeric_only=True)}
        yield dict(zip(each, values, strict=True)), told


def _told(row):
    """The cells that a line has from a row."""
    columns = {"seconds": "fit_seconds", "roofline": "roofline_seconds"}
    columns |= {"accuracy": "test_accuracy", "method": "method", "threads": "threads", "gap": "gap"}
    return {name: row.get(column) for name, column in columns.items()}
