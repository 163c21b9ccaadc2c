"""One fit in a process of its own, by whichever kernlab PYTHONPATH shows it.

Read by path, so that it may run with another edition's package: it knows public names alone, and
of fitted machines what every edition has. The job comes on standard input, the row goes to output.
"""

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

WARM_ROWS, WARM_LANDMARKS = 3000, 40
ENOUGH_SECONDS = 20.0  # of fits that are repeated


def write(folder, X, y, X_test, y_test):
    """Rows and labels as files that `read` finds."""
    for name, rows in (("train", X), ("test", X_test)):
        if sp.issparse(rows):
            sp.save_npz(folder / f"{name}.npz", rows, compressed=False)
        else:
            np.save(folder / f"{name}.npy", rows)
    np.savez(folder / "labels.npz", train=y, test=y_test)


def read(folder):
    """Training rows and labels, test rows and labels."""
    labels = np.load(folder / "labels.npz")
    found = []
    for name in ("train", "test"):
        stored = folder / f"{name}.npz"
        rows = sp.csr_matrix(sp.load_npz(stored)) if stored.exists() else None
        found += [np.load(folder / f"{name}.npy") if rows is None else rows, labels[name]]
    return found


def fit(job, X, y, X_test, y_test):
    """The row of a job: the median of its repeats, and what they ended with."""
    import kernlab

    make = getattr(kernlab, job["machine"])
    parameters, costs = job["parameters"], job["costs"]
    some = np.linspace(0, len(y) - 1, min(len(y), WARM_ROWS)).astype(int)
    small = make(**{**parameters, "n_landmarks": WARM_LANDMARKS}).fit(X[some], y[some])
    small.predict(X_test[:100])
    row, seconds = {}, []
    while not seconds or (len(seconds) < job["repeats"] and sum(seconds) < ENOUGH_SECONDS):
        began = time.perf_counter()
        if costs:
            table = kernlab.sweep(
                make(**parameters), X, y, {"C": list(costs)}, validation=(X_test, y_test),
                progress=False,
            )  # fmt: skip
            seconds.append(float(table["fit_seconds"].sum()))
            row = {
                "gap": float(table["gap"].max()),
                "test_accuracy": float(table["validation_accuracy"].max()),
                "n_iter": int(table["n_iter"].sum()),
                "solve_seconds": float(table["solve_seconds"].sum()),
            }
            continue
        model = make(**parameters).fit(X, y)
        seconds.append(time.perf_counter() - began)
    row["fit_seconds"] = float(np.median(seconds))
    if not costs:
        result, timings = model.result_, model.timings_
        row |= {
            "landmark_seconds": timings.get("approximate: landmarks"),
            "value_seconds": timings.get("approximate: features"),
            "solve_seconds": timings.get("solve"),
            "objective": float(result.objective),
            "gap": float(result.relative_gap),
            "n_iter": int(np.max(model.n_iter_)),
            "rank": int(model.approximation_.rank_),
            "test_accuracy": float(model.score(X_test, y_test)),
            "how": str(result.message),
        }
    row["child_peak_bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return row


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(fit(json.load(sys.stdin), *read(Path(sys.argv[1])))))
