"""One fit in a process of its own, by whichever kernlab PYTHONPATH shows it.

Read by path, so that it may run with another edition's package: it knows public names alone, and
of fitted machines what every edition has. The job comes on standard input, the row goes to output.
"""

import json
import resource
import sys
import time
import warnings

import joblib
import numpy as np

WARM_ROWS, WARM_LANDMARKS = 3000, 40
ENOUGH_SECONDS = 20.0  # of fits that are repeated


def fit(job, X, y, X_test, y_test):
    """The row of a job: the median of its repeats, and what they ended with."""
    import kernlab

    make = getattr(kernlab, job["machine"])
    parameters, grid = job["parameters"], {"C": job["costs"]}
    some = np.linspace(0, len(y) - 1, min(len(y), WARM_ROWS)).astype(int)
    small = make(**{**parameters, "n_landmarks": WARM_LANDMARKS}).fit(X[some], y[some])
    small.predict(X_test[:100])
    if job["costs"]:
        table = kernlab.sweep(
            make(**parameters), X, y, grid, validation=(X_test, y_test), progress=False
        )
        return {
            "fit_seconds": float(table["fit_seconds"].sum()),
            "solve_seconds": float(table["solve_seconds"].sum()),
            "gap": float(table["gap"].max()),
            "n_iter": int(table["n_iter"].sum()),
            "test_accuracy": float(table["validation_accuracy"].max()),
        }
    seconds = []
    while not seconds or (len(seconds) < job["repeats"] and sum(seconds) < ENOUGH_SECONDS):
        began = time.perf_counter()
        model = make(**parameters).fit(X, y)
        seconds.append(time.perf_counter() - began)
    result, timings = model.result_, model.timings_
    return {
        "fit_seconds": float(np.median(seconds)),
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    row = fit(json.load(sys.stdin), *joblib.load(sys.argv[1]))
    held = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({**row, "child_peak_bytes": held}))
