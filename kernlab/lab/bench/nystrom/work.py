"""More than one fit: sweeps over k and C, more and more rows, and rows read from a file."""

import tempfile
import time
from pathlib import Path

import numpy as np

from kernlab.approximations.landmarks import choose_landmarks
from kernlab.estimators import LASN, LLSVM, KernelMachine, sweep
from kernlab.lab.bench.nystrom.fits import C, load
from kernlab.lab.engine.measuring import call_limited
from kernlab.lab.papers.common.fitting import warm_up
from kernlab.rows import as_rows

COLUMNS = 22
LANDMARKS = 200
SBM_C = 1.0
SBM_GAP = 1e-3
ADDRESSES = 3e9  # of the process that reads the file: libraries and stacks of threads count
BLOCK_OF_TEXT = 50_000
SBM_BLOCK = 10_000  # half of the paper's: 500 MB are to hold Python and its libraries too
TEST_SEED = 2**31  # no block of a file has it


def measure_sweep(point, seed, grid, nested):
    """All points of a grid by `sweep`: the seconds of fitting, and of scoring beside them."""
    data = load(point.dataset)
    machine = LASN(n_landmarks=10, C=C, random_state=seed)
    warm_up(machine, data)
    machine.set_params(n_landmarks=point["n_landmarks"])
    table = sweep(
        machine,
        data.X_train,
        data.y_train,
        grid,
        validation=(data.X_test, data.y_test),
        nested=nested,
        progress=False,
    )
    return {
        "n_train": data.X_train.shape[0],
        "n_features": data.X_train.shape[1],
        "fit_seconds": table["fit_seconds"].sum(),
        "approximate_seconds": table["approximate_seconds"].sum(),
        "solve_seconds": table["solve_seconds"].sum(),
        "predict_seconds": table["predict_seconds"].sum(),
        "gap": table["gap"].max(),
        "n_iter": int(table["n_iter"].max()),
        "test_accuracy": table["validation_accuracy"].max(),
    }


def waves(n_rows, n_columns, seed=0):
    """Rows with a wavy boundary in the first two columns: not harder as they become more."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n_rows, n_columns), dtype=np.float32)
    noise = 0.3 * generator.standard_normal(n_rows, dtype=np.float32)
    return X, np.where(np.sin(3 * X[:, 0]) + X[:, 1] > noise, 1, -1)


def measure_scaling(point, seed):
    X, y = waves(point["rows"], 20)
    model = LASN(n_landmarks=LANDMARKS, C=C, random_state=0)
    model.fit(X[:2000], y[:2000])
    began = time.perf_counter()
    model.fit(X, y)
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "fit_seconds": time.perf_counter() - began,
        "approximate_seconds": model.timings_["approximate"],
        "solve_seconds": model.timings_["solve"],
        "n_iter": model.n_iter_,
        "gap": model.result_.relative_gap,
    }


# ----------------------------------------------------------------------- rows from a file
def measure_file(point, seed):
    """The hinge's optimum on rows of an svmlight file, block by block or all in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "waves.svm"
        X = write_waves(path, point["rows"])
        points = choose_landmarks(X, LANDMARKS, "kmeans", kernel=None, random_state=0)
        gamma = 1.0 / X.shape[1]
        if point.method == "SBM from a file":
            row, held = call_limited(fit_file, (str(path), points, gamma), ADDRESSES)
            return row | {"child_peak_bytes": held}
        rows = as_rows(path)
        model = KernelMachine(
            "nystrom",
            "dcd",
            gamma=gamma,
            C=SBM_C,
            loss="hinge",
            intercept="penalised",
            tol=SBM_GAP,
            approximation_params={"landmarks": points, "dtype": np.float32},
        )
        return _fitted(model, rows.whole(), rows.labels)


def fit_file(path, points, gamma):
    """The row of a fit from a file; importable, for a process of its own."""
    model = LLSVM(
        landmarks=points,
        gamma=gamma,
        C=SBM_C,
        runs=None,
        tol=SBM_GAP,
        block_rows=SBM_BLOCK,
        dtype=np.float32,
        random_state=0,
    )
    return _fitted(model, path)


def _fitted(model, rows, labels=None):
    X, y = waves(3000, COLUMNS, seed=TEST_SEED)
    model.fit(X[:2000].astype(float), y[:2000])
    began = time.perf_counter()
    model.fit(rows, labels)
    seconds = time.perf_counter() - began
    return {
        "n_train": len(model.result_.dual_variables),
        "n_features": COLUMNS,
        "fit_seconds": seconds,
        "solve_seconds": model.timings_["solve"],
        "objective": model.result_.objective,
        "gap": model.result_.relative_gap,
        "n_iter": model.n_iter_,
        "test_accuracy": model.score(X.astype(float), y),
    }


def write_waves(path, n_rows):
    """Write rows as svmlight text, block by block; returns the first block's rows."""
    form = "%d " + " ".join(f"{j}:%.4f" for j in range(1, COLUMNS + 1)) + "\n"
    first = None
    with path.open("w") as file:
        for number, start in enumerate(range(0, n_rows, BLOCK_OF_TEXT)):
            X, y = waves(min(BLOCK_OF_TEXT, n_rows - start), COLUMNS, seed=number)
            first = X if first is None else first
            file.writelines(form % (sign, *row) for sign, row in zip(y, X.tolist(), strict=True))
    return first.astype(np.float64)
