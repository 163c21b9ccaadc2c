"""What kernlab's own building blocks cost, beside those of today's libraries."""

import time

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from kernlab.kernels import make_kernel
from kernlab.lab.engine import Point, Study

METHODS = {
    "kernlab": lambda X, Z: make_kernel("rbf", gamma=0.5)(X, Z),
    "scikit-learn": lambda X, Z: rbf_kernel(X, Z, gamma=0.5),
}
SHAPES = {"quick": ((20_000, 500, 22),), "standard": ((50_000, 1000, 22), (50_000, 1000, 300))}
KINDS = ("float64", "float32", "sparse")
DENSITY = 0.04  # of w8a


def _grid(profile):
    return [
        Point.make("random rows", method, variant=kind, rows=n, landmarks=k, columns=p)
        for n, k, p in SHAPES.get(profile, SHAPES["standard"])
        for kind in KINDS
        for method in METHODS
    ]


def _measure(point, seed):
    """One block of RBF values, the median of five evaluations after one that is not counted."""
    rng = np.random.default_rng(seed)
    n, k, p = point["rows"], point["landmarks"], point["columns"]
    if point.variant == "sparse":
        X = sp.random(n, p, DENSITY, format="csr", random_state=rng)
    else:
        X = rng.standard_normal((n, p)).astype(point.variant)
    Z = X[:k]
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        values = METHODS[point.method](X, Z)
        seconds.append(time.perf_counter() - began)
    return {
        "n_train": n,
        "n_features": p,
        "approximate_seconds": float(np.median(seconds[1:])),
        "nanoseconds_per_value": 1e9 * float(np.median(seconds[1:])) / values.size,
    }


def _key_figures(table):
    """How many values were computed; how fast is the table's affair, not a compared text's."""
    return {
        f"{row.variant}, {row.method}": f"{row.rows * row.landmarks:,} values"
        for row in table.itertuples()
    }


STUDIES = (
    Study(
        id="bench-kernels",
        paper="bench",
        title="Kernel blocks",
        question="How long does a block of RBF values take, here and in scikit-learn?",
        grid=_grid,
        measure=_measure,
        timing=True,
        key_figures=_key_figures,
    ),
)
