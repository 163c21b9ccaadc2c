"""A few rows compared with all rows: what is known of distances before a matrix is assembled."""

from dataclasses import dataclass

import numpy as np

from kernlab.approximations.compact.assembly import (
    WAY_OUT,
    assembly_bytes,
    entry_bytes,
)
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import require_memory

SAMPLED_PAIRS = 2**20


def sample_rows(X, random_state=None, n_pairs=SAMPLED_PAIRS):
    """A few rows to compare with all rows, so that about `n_pairs` distances are computed."""
    n = X.shape[0]
    size = int(np.clip(n_pairs // n, 32, 1024))
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, size, replace=False))


def distances_from(X, sample, rows_per_block=32):
    """Yield distances from the sampled rows to all rows, in blocks; from a row to itself 0."""
    X = X.astype(np.float64, copy=False)
    right = prepare_right(X, X, distances=True)
    for start in range(0, len(sample), rows_per_block):
        rows = sample[start : start + rows_per_block]
        squares = np.empty((len(rows), X.shape[0]))
        squared_distances(X[rows], right, squares)
        squares[np.arange(len(rows)), rows] = 0.0
        yield np.sqrt(squares, out=squares)


@dataclass(frozen=True)
class Prediction:
    """The entries that the kernel matrix will have, with the standard error of the sample."""

    entries: int
    error: int
    n_rows: int

    @property
    def per_row(self):
        return self.entries / self.n_rows

    def refuse_beyond(self, max_memory):
        """Refuse what cannot fit, before the search: twice the standard error is in its favour."""
        entries = max(self.n_rows, self.entries - 2 * self.error)
        require_memory(
            assembly_bytes(entries),
            max_memory,
            what=f"the sparse kernel matrix of {self.n_rows:,} rows",
            arithmetic=f"about {self.entries:,} entries predicted from a sample, "
            f"{self.per_row:,.0f} a row, {entry_bytes(self.entries)} bytes each and half of them "
            "twice while it is assembled",
            way_out=WAY_OUT,
        )


def predict_entries(X, radius, random_state=None):
    """How many entries the matrix of pairs nearer than `radius` will have, from a sample."""
    sample = sample_rows(X, random_state)
    blocks = distances_from(X, sample)
    near = np.concatenate([np.count_nonzero(block < radius, axis=1) for block in blocks])
    others = near - 1.0  # a row is near itself
    n = X.shape[0]
    exact = len(sample) == n
    error = 0.0 if exact or len(sample) < 2 else n * others.std(ddof=1) / np.sqrt(len(sample))
    return Prediction(round(n + n * others.mean()), round(error), n)
