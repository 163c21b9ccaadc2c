"""LASN against today's ways to the same machine: seconds, accuracy, gap, in one process.

Peers run at their documented defaults, with the same landmarks' number, gamma and C, and once more
stopped at an equal relative gap on the same landmarks. Every side may use all threads; compiled
code is warm before the clock starts. Beside the seconds of LASN stands the roofline: what the
kernel values and products of the fit would take at this machine's measured rates.
"""

import numpy as np
import pandas as pd

from kernlab.lab.bench.nystrom import fits as bench_nystrom_fits
from kernlab.lab.bench.nystrom import solvers as bench_nystrom_solvers
from kernlab.lab.bench.nystrom import work as bench_nystrom_work
from kernlab.lab.bench.nystrom.solvers import DEFAULT, TO_GAP
from kernlab.lab.engine import Point, Study
from kernlab.lab.papers.lasn.tables import SOLVERS, landmarks_per_set

LASN, PEER, EXACT, INTEL = "LASN", "Nystroem + LinearSVC", "LIBSVM", "scikit-learn-intelex"
FITS = (("a9a", 200, 8), ("a9a", 1000, 8), ("w8a", 200, 8), ("w8a", 1000, 8), ("ijcnn1", 1000, 6))
REPEATS = 3
COVTYPE = ("covtype-2", 2000)
MOST_SOLVED = 1000  # landmarks for which LIBLINEAR's solvers are waited for
SWEEP = (50, 100, 200, 500, 1000)
COSTS = 10.0 ** np.arange(-4, 5)
GRIDS = {
    "k sweep, one map": ({"n_landmarks": SWEEP}, True),
    "path over C": ({"C": COSTS}, False),
}
GENERATED = {"quick": (2000, 4000, 8000), "standard": (100_000, 300_000, 1_000_000)}
FILE_ROWS = {"quick": 6000, "standard": 2_000_000}
FROM_FILE, IN_MEMORY = "SBM from a file", "DCD in memory"
COLUMNS = [
    "work", "method", "threads", "seconds", "roofline", "accuracy", "gap", "ratio", "asked",
]  # fmt: skip


def _grid(profile):
    if profile == "quick":
        fits, k_sweep, path, exact, repeats = (("magic", 100, None),), "magic", "magic", (), 1
        solver_sets = {"liver-disorders": 145}
    else:
        fits, k_sweep, path, exact, repeats = FITS, "w8a", "w8a", ("a9a", "ijcnn1"), REPEATS
        solver_sets = {name: min(k, MOST_SOLVED) for name, k in landmarks_per_set().items()}
    points = []
    for name, k, _ in fits:
        for variant in ("fit", "equal gap"):
            points += [
                Point.make(name, method, variant, repeat, n_landmarks=k)
                for method in (LASN, PEER)
                for repeat in range(repeats if variant == "fit" or method == LASN else 1)
            ]
    points += [Point.make(name, EXACT, "fit", n_landmarks=0) for name in exact]
    if profile != "quick":
        name, k = COVTYPE
        points += [Point.make(name, LASN, "fit", repeat, n_landmarks=k) for repeat in range(2)]
        points += [Point.make(name, method, "fit", n_landmarks=0) for method in (EXACT, INTEL)]
    largest = 1000 if profile != "quick" else 100
    points.append(Point.make(k_sweep, LASN, "k sweep, one map", n_landmarks=largest))
    points.append(Point.make(path, LASN, "path over C", n_landmarks=min(200, largest)))
    sizes, file_rows = (sized.get(profile, sized["standard"]) for sized in (GENERATED, FILE_ROWS))
    points += [Point.make("generated", LASN, "scaling", rows=n) for n in sizes]
    points += [
        Point.make("generated", method, "file", rows=file_rows) for method in (FROM_FILE, IN_MEMORY)
    ]
    return points + [
        Point.make(name, method, variant, n_landmarks=k)
        for name, k in solver_sets.items()
        for variant in (TO_GAP, DEFAULT)
        for method in SOLVERS
        if (method, variant) != ("LA-SN", DEFAULT)
    ]


def _measure(point, seed):
    if point.variant in GRIDS:
        grid, nested = GRIDS[point.variant]
        if nested:
            grid = {"n_landmarks": [k for k in SWEEP if k <= point["n_landmarks"]]}
        return bench_nystrom_work.measure_sweep(point, seed, grid, nested)
    return {
        "fit": bench_nystrom_fits.measure_fit,
        "equal gap": bench_nystrom_fits.measure_equal_gap,
        "scaling": bench_nystrom_work.measure_scaling,
        "file": bench_nystrom_work.measure_file,
        TO_GAP: bench_nystrom_solvers.measure_solver,
        DEFAULT: bench_nystrom_solvers.measure_solver,
    }[point.variant](point, seed)


def _key_figures(table):
    """The accuracy of every fit; how fast is the table's affair."""
    rows = table[table["test_accuracy"].notna()]
    return {
        f"{name}, {variant}, {method}": f"{100 * group['test_accuracy'].mean():.1f} %"
        for (name, variant, method), group in rows.groupby(
            ["dataset", "variant", "method"], sort=False
        )
    }


# ------------------------------------------------------------------------ what was asked
def comparison(table):
    """What was asked of each piece of work beside what was reached, from the rows of a run.

    `ratio` is how many times as long the method compared with took; for sweeps, scaling and files
    what the line of `asked` says. `roofline`: the least seconds for LASN's arithmetic.
    """
    rows = table[table["status"] == "ok"]
    lines = []
    for name, k, factor in FITS:
        for variant in ("fit", "equal gap"):
            for method, other in ((LASN, PEER), (PEER, None)):
                asked = f"{factor}x faster" if other else ""
                work = f"{name}, k = {k}" + (", gap 1e-3" if variant == "equal gap" else "")
                lines.append(_line(rows, work, (name, method, variant, k), (other, k), asked))
    for name, k, asked in (("a9a", 200, "100x, accuracy no lower"), ("ijcnn1", 1000, "")):
        work = f"{name}, k = {k}, against SVC"
        lines.append(_line(rows, work, (name, LASN, "fit", k), (EXACT, 0), asked))
    lines.append(
        _line(rows, "ijcnn1, predict", ("ijcnn1", LASN, "fit", 1000), (EXACT, 0), "60x faster",
              "predict_seconds")
    )  # fmt: skip
    name, k = COVTYPE
    for other, asked in ((EXACT, "40x, accuracy no lower"), (INTEL, "8x")):
        work = f"{name}, k = {k}, against {other}"
        lines.append(_line(rows, work, (name, LASN, "fit", k), (other, 0), asked))
    lines += [_solver_line(rows, name) for name in landmarks_per_set()]
    lines += _further_lines(rows)
    return pd.DataFrame([line for line in lines if line], columns=COLUMNS)


def _chosen(rows, name, method, variant, k=None):
    chosen = (rows["dataset"] == name) & (rows["method"] == method) & (rows["variant"] == variant)
    return rows[chosen if k is None else chosen & (rows["n_landmarks"] == k)]


def _line(rows, work, ours, other, asked, column="fit_seconds"):
    """Medians over repeats; None where the method was not run."""
    name, method, variant, _ = ours
    found = _chosen(rows, *ours)
    if found.empty:
        return None
    row = found.median(numeric_only=True)
    seconds = row[column]
    others = _chosen(rows, name, other[0], variant, other[1])[column]
    fitting = column == "fit_seconds"
    return {
        "work": work,
        "method": method,
        "threads": row["threads"],
        "seconds": seconds,
        "roofline": row.get("roofline_seconds") if fitting else None,
        "accuracy": row["test_accuracy"],
        "gap": row["gap"],
        "ratio": others.median() / seconds if len(others) else None,
        "asked": asked,
    }


def _solver_line(rows, name):
    """LA-SN beside the quicker of the two, each at the same objective and at its own stop."""
    ours = _chosen(rows, name, "LA-SN", TO_GAP)
    others = rows[
        (rows["dataset"] == name)
        & rows["method"].isin(("LA-DCD", "LA-TRON"))
        & rows["variant"].isin((TO_GAP, DEFAULT))
    ]
    if ours.empty or others.empty:
        return None
    row = ours.iloc[0]
    return {
        "work": f"{name}, {TO_GAP}, against the quicker of LA-DCD and LA-TRON",
        "method": "LA-SN",
        "threads": row["threads"],
        "seconds": row["solve_seconds"],
        "accuracy": row["test_accuracy"],
        "gap": row["gap"],
        "ratio": others["solve_seconds"].min() / row["solve_seconds"],
        "asked": "faster",
    }


def _further_lines(rows):
    """Sweeps against one fit, the exponent of growing rows, and the file against memory."""
    lines = []
    for variant, k, asked in (("k sweep, one map", 1000, 1.3), ("path over C", 200, 3.0)):
        whole, one = _chosen(rows, "w8a", LASN, variant), _chosen(rows, "w8a", LASN, "fit", k)
        if len(whole) and len(one):
            line = _line(rows, f"w8a, {variant}", ("w8a", LASN, variant, k), (None, 0), "")
            ratio = line["seconds"] / one["fit_seconds"].median()
            lines.append(line | {"ratio": ratio, "asked": f"at most {asked} times one fit"})
    scaling = rows[rows["variant"] == "scaling"]
    if len(scaling) > 1:
        last = scaling.iloc[-1]
        lines.append(
            {
                "work": f"n from {scaling['n_train'].min():,.0f} to {last['n_train']:,.0f}",
                "method": LASN,
                "threads": last["threads"],
                "seconds": last["fit_seconds"],
                "gap": last["gap"],
                "ratio": np.polyfit(*np.log([scaling["n_train"], scaling["fit_seconds"]]), 1)[0],
                "asked": f"exponent at most 1.05, 4 GB (took {last['peak_bytes'] / 1e9:.1f} GB)",
            }
        )
    file, memory = (_chosen(rows, "generated", m, "file") for m in (FROM_FILE, IN_MEMORY))
    if len(file) and len(memory):
        off = file["objective"].iloc[0] / memory["objective"].iloc[0] - 1.0
        held = file["child_peak_bytes"].iloc[0] / 1e6
        lines.append(
            _line(rows, "rows of a file", ("generated", FROM_FILE, "file", None), (None, 0), "")
            | {
                "ratio": file["fit_seconds"].iloc[0] / memory["fit_seconds"].iloc[0],
                "asked": f"at most 4 times memory's, 500 MB (held {held:.0f} MB), objective "
                f"within 0.1 % ({100 * off:+.3f} %)",
            }
        )
    return lines


STUDIES = (
    Study(
        id="bench-nystrom",
        paper="bench",
        title="LASN against Nystroem + LinearSVC and LIBSVM",
        question="How much faster is LASN than today's ways to the same machine?",
        grid=_grid,
        measure=_measure,
        timing=True,
        key_figures=_key_figures,
        comparison=comparison,
    ),
)
