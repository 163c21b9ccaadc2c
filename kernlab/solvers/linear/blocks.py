"""Features that come block by block: computed when asked for, and the next block meanwhile."""

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import prefetched, row_blocks


def feature_blocks(F, rows_per_block):
    """Yield (rows, features) in order, computing each block while the one before is in use."""
    blocks = row_blocks(F.shape[0], rows_per_block)
    features = prefetched(F.block, blocks)
    for rows, block in zip(blocks, features, strict=True):
        yield rows, block if sp.issparse(block) else np.ascontiguousarray(block)
