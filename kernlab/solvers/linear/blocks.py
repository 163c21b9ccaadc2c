"""Features that come block by block: computed when asked for, and the next block meanwhile.

Whatever has `shape` and gives the features of a slice of rows can be solved block by block: an
array, a memory map, a CSR matrix, or `TransformedRows`, which holds no features at all.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.rows import as_rows
from kernlab.runtime import computed_ahead, row_blocks


class TransformedRows:
    """The features `transform(X[rows])`, computed when `rows` are asked for and then forgotten.

    X is whatever `kernlab.rows.as_rows` takes.
    """

    def __init__(self, X, transform, n_features, dtype):
        self.X, self.transform, self.dtype = as_rows(X), transform, np.dtype(dtype)
        self.shape = (len(self.X), n_features)

    def __getitem__(self, rows):
        return self.transform(self.X.block(rows)).astype(self.dtype, copy=False)


def feature_blocks(F, rows_per_block):
    """Yield (rows, features) in order, computing each block while the one before is in use."""
    blocks = row_blocks(F.shape[0], rows_per_block)
    features = computed_ahead(lambda rows: _block(F, rows), blocks)
    yield from zip(blocks, features, strict=True)


def _block(F, rows):
    features = F[rows]
    if sp.issparse(features):
        return sp.csr_matrix(features)
    features = np.ascontiguousarray(features)
    if not np.issubdtype(features.dtype, np.floating):
        return features.astype(np.float64)
    return features
