"""Rows that are read a block at a time, from wherever they are kept.

An array, a memory map, a CSR matrix, a ``.npy`` file named by its path, or any object that has a
shape and gives rows by slices and by sorted positions (a data set of h5py, say): what reads them
sees dense blocks in double precision and never more than a block.
"""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import for_each_block, row_blocks

BLOCK_BYTES = 2**23


class RowSource:
    """The rows of `X`, all of them or those at the sorted positions `index`, in blocks."""

    def __init__(self, X, index=None):
        if isinstance(X, RowSource):
            X, index = X._X, X._positions(index)
        self._X = _opened(X)
        self._index = None if index is None else np.asarray(index)
        n_rows = self._X.shape[0] if index is None else len(self._index)
        self.shape = (n_rows, self._X.shape[1])

    def take(self, index):
        """The rows at these sorted positions, as a source of their own; nothing is copied."""
        return RowSource(self, index)

    def block(self, rows):
        """The rows of a slice: dense, C-ordered, in double precision."""
        chosen = rows if self._index is None else self._index[rows]
        part = self._X[chosen]
        part = part.toarray() if sp.issparse(part) else part
        return np.ascontiguousarray(part, dtype=np.float64)

    def rows(self, positions):
        """The rows at these positions, which need not be sorted."""
        order, back = np.unique(positions, return_inverse=True)
        chosen = order if self._index is None else self._index[order]
        part = self._X[chosen]
        part = part.toarray() if sp.issparse(part) else part
        return np.asarray(part, dtype=np.float64)[back]

    def bounds(self):
        """Smallest and largest value of each feature; values that are not finite are refused."""
        blocks = row_blocks(self.shape[0], max(1, BLOCK_BYTES // (8 * max(1, self.shape[1]))))
        extremes = for_each_block(self._extremes, blocks)
        low = np.min([low for low, _ in extremes], axis=0)
        high = np.max([high for _, high in extremes], axis=0)
        return low, high

    def _extremes(self, rows):
        part = self.block(rows)
        low, high = part.min(axis=0), part.max(axis=0)
        if not np.all(np.isfinite(low) & np.isfinite(high)):
            place = np.argwhere(~np.isfinite(part))[0]
            raise ValueError(
                f"row {rows.start + place[0]}, feature {place[1]} is {part[tuple(place)]}: NaN and "
                "infinity are not allowed; fill in or leave out such rows"
            )
        return low, high

    def _positions(self, index):
        if index is None or self._index is None:
            return index if self._index is None else self._index
        return self._index[index]


def _opened(X):
    if isinstance(X, str | Path):
        return _mapped(Path(X))
    if sp.issparse(X):
        X = X.tocsr()
    if getattr(X, "ndim", len(getattr(X, "shape", ()))) != 2:
        raise ValueError(
            f"rows must come as a matrix, not as {type(X).__name__} of shape "
            f"{getattr(X, 'shape', 'unknown')}"
        )
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise ValueError(f"a matrix of {X.shape[0]} rows and {X.shape[1]} features has no values")
    return X


def _mapped(path):
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        return _opened(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is not a matrix in NumPy's .npy format ({error}); write it with numpy.save"
        ) from error
