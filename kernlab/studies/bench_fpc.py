"""FPC against support vector machines, and alone on millions of rows: seconds, bytes, steps.

The support vector machines on MAGIC have the parameters that a grid search on the validation rows
finds best. All run in one process with all threads that they can use, compiled code warm.
"""

import time
from functools import partial

import numpy as np
from sklearn.svm import SVC

from kernlab.datasets import load_dataset
from kernlab.estimators import FPC
from kernlab.studies.base import Point, Study
from kernlab.studies.fitting import accuracy
from kernlab.studies.fpc_massive import generated_rows
from kernlab.studies.fpc_toy import course_of, toy

MAGIC = {
    "FPC": partial(FPC, 3),
    "ridge": partial(FPC, 3, max_iter=1),
    "hinge optimum": partial(FPC, 3, basis="chebyshev", to_optimum=True),
    "SVC-RBF": partial(SVC, C=32.0, gamma=4.0, cache_size=1000),
    "SVC-Poly": partial(SVC, C=4.0, kernel="poly", degree=5, gamma=1.0, coef0=1.0, cache_size=1000),
}
# rows, features, degree, centres: those of the spaces, and the paper's
MASSIVE = (
    (4_000_000, 8, 5, 1287),
    (4_000_000, 8, 5, 1652),
    (10_000_000, 28, 2, 435),
    (10_000_000, 28, 2, 498),
)
SCALING = (400_000, 800_000, 1_600_000, 4_000_000)
SHARE = {"quick": 200, "standard": 1, "paper": 1}
REPEATS = {"quick": 1, "standard": 5, "paper": 20}


def _grid(profile):
    methods = MAGIC if profile != "quick" else [m for m in MAGIC if not m.startswith("SVC")]
    points = [
        Point.make("magic", method, "fit", repeat)
        for method in methods
        for repeat in range(REPEATS[profile])
    ]
    share = SHARE[profile]
    points += [
        Point.make("generated", "FPC", "massive", rows=m // share, columns=d, degree=s, centres=n)
        for m, d, s, n in MASSIVE
    ]
    points += [
        Point.make(
            "generated", "FPC", "scaling", rows=m // share, columns=8, degree=5, centres=1287
        )
        for m in SCALING
    ]
    return points + [
        Point.make("fpc-toy", "FPC", "tolerance", repeat, exponent=exponent)
        for exponent in (3.2, 5.0)
        for repeat in range(2 * REPEATS[profile])
    ]


def _measure(point, seed):
    if point.dataset == "magic":
        return _measure_magic(point)
    if point.dataset == "fpc-toy":
        return _measure_tolerance(point)
    X, y = generated_rows(point["rows"], point["columns"], seed=0)
    FPC(point["degree"]).fit(X[:2000], y[:2000])
    began = time.perf_counter()
    model = FPC(point["degree"], n_centres=point["centres"], tol=0.0, max_iter=5).fit(X, y)
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "fit_seconds": time.perf_counter() - began,
        "solve_seconds": model.timings_["solve"],
        "data_bytes": X.nbytes + y.nbytes,
        "n_iter": model.n_iter_,
        "train_accuracy": accuracy(model.predict(X[:100_000]), y[:100_000]),
    }


def _measure_magic(point):
    data = load_dataset("magic", paper="fpc", seed=point.repeat)
    model = MAGIC[point.method]()
    MAGIC[point.method]().fit(data.X_train[:500], data.y_train[:500])
    began = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    predicted = model.predict(data.X_test)
    return {
        "n_train": len(data.y_train),
        "n_features": data.X_train.shape[1],
        "fit_seconds": fitted - began,
        "predict_seconds": time.perf_counter() - fitted,
        "test_accuracy": accuracy(predicted, data.y_test),
    }


def _measure_tolerance(point):
    X, y, X_test, y_test = toy(1000, point.repeat)
    result, fitted = course_of(X, y, tol=10.0 ** -point["exponent"], max_iter=20_000)
    decided = np.sign(fitted.decision(X_test, result.coefficients))
    return {
        "n_train": len(y),
        "n_features": 2,
        "solve_seconds": result.seconds,
        "n_iter": result.n_iter,
        "test_accuracy": accuracy(decided, y_test),
    }


def _key_figures(table):
    """What does not depend on the machine: accuracies and steps."""
    figures = {}
    magic = table[table["dataset"] == "magic"]
    for method, rows in magic.groupby("method", sort=False):
        figures[f"magic, {method}"] = f"{100 * rows['test_accuracy'].mean():.1f} %"
    toys = table[table["dataset"] == "fpc-toy"]
    for exponent, rows in toys.groupby("exponent"):
        figures[f"toy, tolerance 10^-{exponent:g}"] = (
            f"{rows['n_iter'].min():.0f} to {rows['n_iter'].max():.0f} iterations"
        )
    return figures


STUDIES = (
    Study(
        id="bench-fpc",
        paper="bench",
        title="FPC against support vector machines, and on millions of rows",
        question="How fast and how small is FPC, on thousands of rows and on ten millions?",
        grid=_grid,
        measure=_measure,
        timing=True,
        key_figures=_key_figures,
    ),
)
