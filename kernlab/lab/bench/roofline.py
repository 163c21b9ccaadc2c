"""What a fit would take if this machine did nothing but the arithmetic that it cannot do without.

The rates are measured in the same process: products of large matrices, and exponentials in blocks
that stay in the cache. The operations are counted: a lower bound on what training on landmarks
needs, without the passes over memory, the start on a sample, and all that joins the pieces.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.landmarks import MAX_ROWS
from kernlab.costs import fastest
from kernlab.runtime import for_each_block, row_blocks, thread_count

PRODUCT_SIZE = 1536
EXPONENTIALS = 2**22
BYTES_READ = 2**28
LLOYD_STEPS = 3


@dataclass(frozen=True)
class Rates:
    """Per second, on all threads, in single precision; factors are taken in double."""

    operations: float
    double_operations: float
    exponentials: float
    bytes: float  # read from memory


def rates():
    """This machine's rates with the threads that are allowed now; measured once for each number."""
    return _measured(thread_count())


@cache
def _measured(threads):
    def product(dtype):
        A = np.ones((PRODUCT_SIZE, PRODUCT_SIZE), dtype=dtype)
        return 2.0 * PRODUCT_SIZE**3 / fastest(lambda: A @ A)

    values = np.linspace(-5.0, 0.0, EXPONENTIALS, dtype=np.float32)
    out = np.empty_like(values)
    blocks = row_blocks(EXPONENTIALS, 2**16)

    def exponentials():
        for_each_block(lambda block: np.exp(values[block], out=out[block]), blocks)

    long = np.ones(BYTES_READ // 4, dtype=np.float32)
    parts = row_blocks(len(long), -(-len(long) // threads))

    def reading():
        for_each_block(lambda part: long[part].max(), parts)

    return Rates(
        product(np.float32),
        product(np.float64),
        EXPONENTIALS / fastest(exponentials),
        long.nbytes / fastest(reading),
    )


def seconds_of_landmark_fit(X, model):
    """The least seconds for what a fitted LASN did: k-means, values, Hessians and factors."""
    n, k = X.shape[0], model.approximation_.rank_
    entries = X.nnz if sp.issparse(X) else X.size
    clustered = LLOYD_STEPS if isinstance(model.landmarks, str) else 0
    passes = 1.0 + clustered * min(1.0, MAX_ROWS / n)
    hessian_rows = sum(step["work"] for step in model.result_.trace)
    # A triangular solve for a row's features, and half of the products of its Gram matrix.
    operations = 2.0 * entries * k * passes + 2.0 * k * k * hessian_rows
    factors = model.n_iter_ * k**3 / 3.0
    rate = rates()
    return (
        operations / rate.operations + n * k / rate.exponentials + factors / rate.double_operations
    )
