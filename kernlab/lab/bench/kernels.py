"""What kernlab's own building blocks cost, beside those of today's libraries."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.kernels import make_kernel
from kernlab.lab.engine import Choice, catalogued, product
from kernlab.lab.papers.common.fitting import seconds_of, shape_of

METHODS = {"kernlab": make_kernel("rbf", gamma=0.5), "scikit-learn": partial(rbf_kernel, gamma=0.5)}
SHAPES = Choice(((20_000, 500, 22),), ((50_000, 1000, 22), (50_000, 1000, 300)))
KINDS = ("float64", "float32", "sparse")
DENSITY = 0.04  # of w8a


@catalogued("bench-kernels", "Kernel blocks")
def kernel_blocks(profile):
    """How long does a block of RBF values take, here and in scikit-learn?"""
    return [
        point
        for n, k, p in SHAPES.of(profile)
        for point in product("random rows", METHODS, KINDS, rows=n, landmarks=k, columns=p)
    ]


@kernel_blocks.measure(timing=True)
def _measure(point, seed):
    """One block of RBF values: the median of some evaluations after one that is not counted."""
    rng = np.random.default_rng(seed)
    n, k, p = point["rows"], point["landmarks"], point["columns"]
    if point.variant == "sparse":
        X = sp.random(n, p, DENSITY, format="csr", random_state=rng)
    else:
        X = rng.standard_normal((n, p)).astype(point.variant)
    METHODS[point.method](X, X[:k])
    values, seconds = seconds_of(lambda: METHODS[point.method](X, X[:k]), 5)
    row = {"approximate_seconds": seconds, "nanoseconds_per_value": 1e9 * seconds / values.size}
    return shape_of(X) | row
