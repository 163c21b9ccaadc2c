"""What kernlab's own building blocks cost, beside those of today's libraries."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.kernels import make_kernel
from kernlab.lab.bench.harness import bench
from kernlab.lab.engine import product
from kernlab.lab.papers.common.fitting import seconds_of, shape_of

METHODS = {"kernlab": make_kernel("rbf", gamma=0.5), "scikit-learn": partial(rbf_kernel, gamma=0.5)}
SHAPES = {"quick": ((20_000, 500, 22),), "standard": ((50_000, 1000, 22), (50_000, 1000, 300))}
KINDS = ("float64", "float32", "sparse")
DENSITY = 0.04  # of w8a


def _grid(profile):
    return [
        point
        for n, k, p in SHAPES.get(profile, SHAPES["standard"])
        for point in product("random rows", METHODS, KINDS, rows=n, landmarks=k, columns=p)
    ]


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


STUDY = bench(
    "bench-kernels",
    "Kernel blocks",
    "How long does a block of RBF values take, here and in scikit-learn?",
    _grid,
    _measure,
)
