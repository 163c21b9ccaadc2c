"""What a stranger gets who turns nothing: accuracy by default, and memory as promised.

"trust-defaults" fits every machine with the defaults of its class on sets that nobody tuned for,
beside a support vector machine, a linear one, and the most frequent class. "trust-memory" fits in
processes of their own, and sets what they grew by beside `max_memory`.
"""

import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from kernlab import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.datasets import generators as made
from kernlab.datasets import load_dataset
from kernlab.lab.engine import Choice, catalogued, means, product
from kernlab.lab.engine.measuring import call_limited, peak_memory
from kernlab.lab.papers.common.fitting import seconds_of, shape_of
from kernlab.runtime import MemoryLimitError, parse_bytes

MACHINES = {
    "LASN": partial(LASN, random_state=0),
    "LLSVM": partial(LLSVM, random_state=0),
    "SparseCholeskySVC": partial(SparseCholeskySVC, random_state=0),
    "SparseCholeskySVC, sigma by cross-validation": partial(
        SparseCholeskySVC, sigma="cv", random_state=0
    ),
    "HSSSVC": partial(HSSSVC, random_state=0),
    "FPC": partial(FPC, random_state=0),
    "KernelMachine": partial(KernelMachine, random_state=0),
    "SVC": SVC,
    "LinearSVC": partial(LinearSVC, random_state=0),
    "most frequent class": DummyClassifier,
}
SETS = (
    "a9a", "banknote", "breast-cancer", "heart_scale", "htru2", "ijcnn1", "magic", "mushrooms",
    "occupancy", "shuttle", "skin_nonskin", "svmguide1",
)  # fmt: skip
FEW = ("checkerboard", "68 features", "rare class")  # of the quick profile
GENERATED = {
    "swiss roll": made.swiss_roll,
    "checkerboard": made.checkerboard,
    "two moons": made.two_moons,
    "circles": made.circles,
    "spirals": made.spirals,
    "gaussians": made.gaussians,
    "68 features": partial(make_classification, n_features=68, n_informative=20, random_state=0),
    "8 features": partial(make_classification, n_features=8, n_informative=6, random_state=1),
    "rare class": partial(make_classification, n_features=9, weights=[0.95], random_state=2),
    "300 features": partial(make_classification, n_features=300, n_informative=5, random_state=3),
}
ROWS = Choice(400, 4000, 10_000)
CHOSEN = Choice(FEW, (*GENERATED, *SETS))
LIMITS = Choice(("30MB",), ("30MB", "100MB", "500MB"))
SHAPES = {  # rows, columns, entries in a row (None: dense), precision, classes
    "dense": (20_000, 20, None, "float64", 2),
    "single": (20_000, 20, None, "float32", 2),
    "ten classes": (20_000, 20, None, "float64", 10),
    "sparse": (20_000, 20_000, 20, "float64", 2),
    "wide": (1000, 5000, None, "float64", 2),
}
LARGE = {"long": (100_000, 20, None, "float64", 2)}


# ---------------------------------------------------------------------------------- defaults
@catalogued("trust-defaults", "What the defaults give on data that nobody tuned for", paper="bench")
def defaults(profile, datasets=CHOSEN, seed=0):
    """Are the defaults of every machine better than the most frequent class and a linear machine?

    Parameters
    ----------
    datasets : sequence of str, optional
        By default ten generated sets and twelve of the registry; of the quick profile, three.
    """
    return product(datasets, list(MACHINES), rows=ROWS.of(profile))


@defaults.measure(key_figures=means("test_accuracy", by=["method"]))
def measure_default(point, seed):
    """Accuracy on rows that were set aside, and what the machine warned of."""
    X, y = _rows(point.dataset, point["rows"], seed)
    cut = 2 * len(y) // 3
    machine = MACHINES[point.method]()
    with warnings.catch_warnings(record=True, action="always") as told:
        _, seconds = seconds_of(lambda: machine.fit(X[:cut], y[:cut]))
    result = getattr(machine, "result_", None)
    return shape_of(X[:cut]) | {
        "fit_seconds": seconds,
        "test_accuracy": float(machine.score(X[cut:], y[cut:])),
        "gap": None if result is None else result.relative_gap,
        "warned": "; ".join(sorted({w.category.__name__ for w in told})),
    }


def _rows(name, n, seed):
    """Rows in random order, each feature scaled to [-1, 1]."""
    if name in GENERATED:
        X, y = GENERATED[name](n)
    else:
        data = load_dataset(name)
        X, y = data.X_train, data.y_train
    order = np.random.default_rng(seed).permutation(len(y))[:n]
    return MaxAbsScaler().fit_transform(X[order]), np.asarray(y)[order]


# ------------------------------------------------------------------------------------ memory
@catalogued(
    "trust-memory", "What fits grow by beside the max_memory that they were given", paper="bench"
)
def memory(profile, seed=0):
    """Does no fit grow by more than 1.1 times its max_memory and 50 MB, or is it refused before?"""
    shapes = ("dense", "sparse") if profile == "quick" else SHAPES | LARGE
    machines = [name for name, make in MACHINES.items() if hasattr(make(), "max_memory")]
    return product(shapes, machines if profile != "quick" else ["LASN"], LIMITS.of(profile))


@memory.measure
def measure_memory(point, seed):
    """One fit in a process of its own: promise, growth, and their ratio."""
    arguments = (point.dataset, point.method, point.variant, seed)
    (grown, refused, seconds), _ = call_limited(fit_within, arguments)
    promise = parse_bytes(point.variant)
    return {
        "promise_bytes": promise,
        "grown_bytes": grown,
        "memory_ratio": grown / promise,
        "is_kept": grown <= 1.1 * promise + 50e6,
        "is_refused": refused,
        "fit_seconds": seconds,
    }


def fit_within(shape, method, limit, seed):
    """What that process does: a small fit, which compiles, and then the one that counts."""
    X, y = _random_rows((SHAPES | LARGE)[shape], seed)
    MACHINES[method]().fit(X[:200], y[:200])
    machine, refused = MACHINES[method]().set_params(max_memory=limit), False
    began = time.perf_counter()
    with peak_memory() as peak:
        try:
            machine.fit(X, y)
        except MemoryLimitError:
            refused = True
    return peak.bytes_added, refused, time.perf_counter() - began


def _random_rows(shape, seed):
    n, p, entries, dtype, classes = shape
    draw = np.random.default_rng(seed)
    if entries is None:
        X = draw.standard_normal((n, p)).astype(dtype)
        return X, np.digitize(X[:, 0], np.linspace(-1, 1, classes + 1)[1:-1])
    places = np.repeat(np.arange(n), entries), draw.integers(0, p, n * entries)
    return sp.csr_matrix((np.ones(n * entries, dtype), places), (n, p)), draw.integers(0, 2, n)


@memory.key_figures
def _promises(table):
    """How many promises were kept, and the largest ratio among those that were not refused."""
    kept, refused = table["is_kept"].astype(bool), table["is_refused"].astype(bool)
    return {
        "promises kept": f"{int(kept.sum())} of {len(table)}",
        "refused beforehand": f"{int(refused.sum())}",
    }
