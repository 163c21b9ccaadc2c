"""The sparse kernel against LIBSVM and against its own first path: seconds, memory, accuracy.

Every side may use all threads; compiled code is warm before the clock starts. LIBSVM is SVC with
scikit-learn's defaults but for the kernel's width and C. On real data the sparse kernel merges
equal rows, of which Skin has many; "LIBSVM, distinct rows" is LIBSVM on these, weighted, so that
merging is not taken for sparsity.
"""

import time
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernlab.approximations.compact import radius_by_quantile
from kernlab.datasets import load_dataset
from kernlab.estimators import SparseCholeskySVC
from kernlab.estimators.sparse import best_sigma, cross_validate_sigma
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import NotRun, Point, Study
from kernlab.lab.engine.measuring import call_limited
from kernlab.lab.papers.common.fitting import accuracy, warm_up
from kernlab.lab.papers.sparse.cost import sigma_for
from kernlab.lab.papers.sparse.matrix import EXPONENT, roll
from kernlab.rows.products import distinct_rows
from kernlab.runtime import MemoryLimitError

NEWTON, CHOLESKY = "sparse Newton", "sparse Cholesky"
EXACT, EXACT_DISTINCT = "LIBSVM", "LIBSVM, distinct rows"
PATHS = {NEWTON: "newton", CHOLESKY: "cholesky"}
MAX_MEMORY = "16GB"
TEST_SHARE = 3  # training rows per test row

# variant: training rows, scaling, sigma, methods, the hard limit on a method's memory
ROLLS = {
    "30,000": (30_000, "unit", 0.02, (NEWTON, CHOLESKY, EXACT), {}),
    "225,000 in [-1, 1]": (225_000, "symmetric", 0.01, (NEWTON, CHOLESKY), {}),
    "225,000 in [0, 1]": (225_000, "unit", 0.01, (NEWTON, CHOLESKY), {NEWTON: 3e9}),
}
QUICK_ROLL = {"3,000": (3000, "unit", 0.06, (NEWTON, CHOLESKY, EXACT), {NEWTON: 3e9})}
SIZES = {"quick": (1000, 4000, 16_000), "standard": (100_000, 200_000, 400_000, 1_000_000)}
REPEATS = 3  # of what takes seconds
NEAR_ROWS = 45
REAL = {"skin_nonskin": (NEWTON, EXACT, EXACT_DISTINCT), "cod-rna": (NEWTON, EXACT)}
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the chosen sigma, for the curve
FLOOR = 0.98  # of the sparsity among the widths to choose from
SECONDS = {  # predicted, of what takes minutes
    ("30,000", EXACT): 60.0,
    ("225,000 in [-1, 1]", CHOLESKY): 30.0,
    ("225,000 in [0, 1]", CHOLESKY): 250.0,
}
SECONDS_OF_CURVES = {  # predicted, for each of the SHARES
    ("skin_nonskin", EXACT): (600.0, 350.0, 90.0, 15.0, 5.0),
    ("skin_nonskin", EXACT_DISTINCT): (60.0, 40.0, 12.0, 3.0, 2.0),
    ("cod-rna", EXACT): (40.0, 30.0, 25.0, 20.0, 20.0),
}
COLUMNS = ["work", "method", "threads", "seconds", "accuracy", "gap", "ratio", "asked"]
ASKED = (  # work, method, what it is compared with, what is asked
    ("30,000", NEWTON, EXACT, "60x faster, accuracy within 0.2 points"),
    ("30,000", CHOLESKY, EXACT, "12x faster"),
    ("225,000 in [-1, 1]", NEWTON, CHOLESKY, "at most 5 s"),
    ("225,000 in [-1, 1]", CHOLESKY, None, "at most 60 s"),
    ("225,000 in [0, 1]", NEWTON, CHOLESKY, "at most 12 s and 3 GB, 10x faster"),
    ("225,000 in [0, 1]", NEWTON, None, "at most 2 s", None, "assemble_seconds"),
)
ASKED_OF_REAL = "5x faster, accuracy within 0.5 points"


def _grid(profile):
    rolls = QUICK_ROLL if profile == "quick" else ROLLS
    points = [
        Point.make("swiss-roll", method, variant, repeat)
        for variant, (_, _, _, methods, _) in rolls.items()
        for method in methods
        for repeat in range(REPEATS if method == NEWTON and profile != "quick" else 1)
    ]
    sizes = SIZES.get(profile, SIZES["standard"])
    points += [
        Point.make("swiss-roll", NEWTON, "scaling", repeat, rows=n)
        for repeat in range(1 if profile == "quick" else REPEATS)
        for n in sizes
    ]
    if profile == "quick":
        return points
    return points + [
        Point.make(name, method, "curve", share=share)
        for name in REAL
        for share in SHARES
        for method in REAL[name]
    ]


def _predict_seconds(point):
    if point.variant == "curve":
        seconds = SECONDS_OF_CURVES.get((point.dataset, point.method))
        return seconds and seconds[SHARES.index(point["share"])]
    return SECONDS.get((point.variant, point.method))


def _measure(point, seed):
    try:
        if point.variant == "scaling":
            return _scaling(point)
        if point.variant == "curve":
            return _curve(point)
        return _roll(point)
    except MemoryLimitError as error:
        raise NotRun(str(error)) from None


def _roll(point):
    limit = (ROLLS | QUICK_ROLL)[point.variant][-1].get(point.method)
    if limit is None:
        return fit_roll(point.variant, point.method)
    row, held = call_limited(fit_roll, (point.variant, point.method), limit)
    return row | {"limit_bytes": limit, "child_peak_bytes": held}


def fit_roll(variant, method):
    """A row for the Swiss roll of a variant; importable, for a process of its own."""
    n, scaling, sigma, _, _ = (ROLLS | QUICK_ROLL)[variant]
    X, y = roll(n + n // TEST_SHARE, scaling=scaling)
    machine = _machine(method, sigma)
    machine.fit(X[:1000], y[:1000])
    return _fit(machine, X[:n], y[:n], X[n:], y[n:]) | {"sigma": sigma}


def _machine(method, sigma):
    if method in (EXACT, EXACT_DISTINCT):
        return LibSVM(C=1.0, gamma=gamma_from_sigma(sigma))
    return SparseCholeskySVC(
        sigma=sigma, l=EXPONENT, solver=PATHS[method], random_state=0, max_memory=MAX_MEMORY
    )


def _fit(machine, X, y, X_new, y_new, weights=None):
    began = time.perf_counter()
    machine.fit(X, y, sample_weight=weights)
    fitted = time.perf_counter()
    predicted = machine.predict(X_new)
    row = {
        "n_train": len(y),
        "n_features": X.shape[1],
        "fit_seconds": fitted - began,
        "approximate_seconds": machine.timings_.get("approximate"),
        "solve_seconds": machine.timings_["solve"],
        "predict_seconds": time.perf_counter() - fitted,
        "test_accuracy": accuracy(predicted, y_new),
    }
    return row | _sparse_columns(machine)


def _sparse_columns(machine):
    if not isinstance(machine, SparseCholeskySVC):
        return {}
    matrix, parts = machine.approximation_, machine.timings_
    columns = {
        "assemble_seconds": sum(
            parts[f"approximate: {part}"] for part in ("predict", "sort", "assemble")
        ),
        "near_rows": matrix.prediction_.per_row,
        "sparsity": machine.sparsity_,
        "kkt_residual": machine.result_.kkt_residual,
        "gap": machine.result_.relative_gap,
        "objective": sum(result.objective for result in machine.results_),
        "n_iter": machine.n_iter_,
        "held_bytes": machine.nbytes_,
    }
    if machine.solver == "cholesky":
        columns["entries_of_factor"] = matrix.factor_nonzeros_
    return columns


def _scaling(point):
    n = point["rows"]
    X, y = roll(n + 1000)
    sigma = sigma_for(n, NEAR_ROWS)
    machine = _machine(NEWTON, sigma)
    machine.fit(X[:1000], y[:1000])
    return _fit(machine, X[:n], y[:n], X[n:], y[n:]) | {"sigma": sigma}


def _curve(point):
    """Around the sigma that cross-validation chooses on the training rows."""
    data = load_dataset(point.dataset, paper="sparse")
    sigma = point["share"] * chosen_sigma(point.dataset)
    machine = _machine(point.method, sigma)
    if point.method == NEWTON:
        machine.set_params(l="askey-odd", merge=True)
        warm_up(machine, data)
    X, y, weights = _dense(data.X_train), data.y_train, None
    if point.method == EXACT_DISTINCT:
        distinct = distinct_rows(X, y)
        if distinct is not None:
            X, y, weights = X[distinct.first], y[distinct.first], distinct.counts
    row = _fit(machine, X, y, _dense(data.X_test), data.y_test, weights)
    return row | {"sigma": sigma, "n_train": len(data.y_train)}


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


@cache
def chosen_sigma(name):
    """By cross-validation on the training rows, among widths that leave their matrix sparse."""
    data = load_dataset(name, paper="sparse")
    machine = SparseCholeskySVC(solver="newton", merge=True, random_state=0)
    X, y = _dense(data.X_train), data.y_train
    distinct = distinct_rows(X, y)
    held = X if distinct is None else X[distinct.first]
    widths = radius_by_quantile(held, FLOOR, random_state=0) / 3.0 * 2.0 ** -np.arange(4)
    table = cross_validate_sigma(machine, X, y, widths, floor=FLOOR, n_folds=3, random_state=0)
    return best_sigma(table)


def _key_figures(table):
    """What was reached; how fast is the table's affair, not a compared text's."""
    figures = {}
    rolls = table[table["test_accuracy"].notna() & (table["variant"] != "curve")]
    for (variant, method), rows in rolls.groupby(["variant", "method"], sort=False):
        figures[f"{variant}, {method}"] = f"test accuracy {rows['test_accuracy'].mean():.1%}"
    return figures


def comparison(table):
    """What was asked of each piece of work beside what was reached, from the rows of a run.

    Columns: work, method, threads, seconds, accuracy, gap, ratio (how many times as long the
    method that it is compared with took), asked.
    """
    rows = table[table["status"] == "ok"]
    lines = [_line(rows, *asked) for asked in ASKED]
    at_hand = [name for name in REAL if (rows["dataset"] == name).any()]
    lines += [_line(rows, name, NEWTON, EXACT, ASKED_OF_REAL, share=1.0) for name in at_hand]
    lines = [line for line in lines if line]
    seconds = rows[rows["variant"] == "scaling"].groupby("n_train")["fit_seconds"].median()
    if len(seconds) > 1:
        n = seconds.index
        exponent = np.polyfit(np.log(n), np.log(seconds), 1)[0]
        work = f"n from {n.min():,.0f} to {n.max():,.0f}, exponent of seconds"
        lines.append({"work": work, "method": NEWTON, "ratio": exponent, "asked": "at most 1.1"})
    return pd.DataFrame(lines, columns=COLUMNS)


def _line(rows, name, method, other, asked, share=None, column="fit_seconds"):
    """One line of the comparison: medians over repeats; None where the method was not run."""
    of_work = rows[(rows["variant"] == name) | (rows["dataset"] == name)]
    if share is not None:
        of_work = of_work[of_work["share"] == share]
    ours, others = (of_work[of_work["method"] == m] for m in (method, other))
    if ours.empty:
        return None
    row = ours.median(numeric_only=True)
    work = f"{name}, assembly" if column == "assemble_seconds" else name
    return {
        "work": work if share is None else f"{name}, sigma = {row['sigma']:.3g}",
        "method": method,
        "threads": row.get("threads"),
        "seconds": row[column],
        "accuracy": row["test_accuracy"],
        "gap": row["gap"],
        "ratio": others["fit_seconds"].median() / row[column] if len(others) else None,
        "asked": asked,
    }


STUDIES = (
    Study(
        id="bench-sparse",
        paper="bench",
        title="The sparse kernel against LIBSVM",
        question="How much faster is the sparse kernel, by a factor and without, and how large?",
        grid=_grid,
        measure=_measure,
        timing=True,
        predict_seconds=_predict_seconds,
        key_figures=_key_figures,
        comparison=comparison,
        needs=tuple(REAL),
    ),
)
