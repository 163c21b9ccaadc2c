"""LASN's Tables 3 and 4: linear solvers on the same features, and the whole against LIBSVM."""

from math import nan

from kernlab.approximations import Nystrom
from kernlab.datasets import load_dataset
from kernlab.datasets.files import comes_with_kernlab
from kernlab.datasets.registry import get_entry
from kernlab.estimators import LASN
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine.base import Point, Study, Tolerance
from kernlab.lab.papers.common.cells import as_cells, spread_cell
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, warm_up
from kernlab.lab.papers.lasn.sweeps import signs
from kernlab.lab.published import published
from kernlab.solvers import get_solver

SOLVERS = {"LA-SN": "newton", "LA-DCD": "liblinear-dcd", "LA-TRON": "liblinear-tron"}
REPEATS = {"quick": 2, "standard": 5, "paper": 10}
ACCURACY = Tolerance(absolute=1.0, better="higher")
SECONDS = Tolerance(relative=0.5, better="lower")
C = 10.0
# The paper clusters the first 20,000 rows. skin_nonskin is sorted: there it is worth two points.
FIRST_ROWS = {"candidates": "first"}


def landmarks_per_set():
    """k of every set, as Table 4 lists it."""
    table = published("lasn-t4")
    rows = table[table["column"] == "LASN landmarks"]
    return {row: int(k) for row, k in zip(rows["row"], rows["value"], strict=True)}


def _names(profile):
    names = landmarks_per_set()
    if profile == "quick":
        return [name for name in names if comes_with_kernlab(get_entry(name))]
    return list(names)


# -------------------------------------------------------------------------- Table 3
def _solver_grid(profile):
    k = landmarks_per_set()
    return [
        Point.make(name, method, repeat=repeat, n_landmarks=k[name])
        for name in _names(profile)
        for repeat in range(REPEATS[profile])
        for method in SOLVERS
    ]


def _measure_solver(point, seed):
    """One linear solver on the features that all three are given; only solving is timed."""
    data = load_dataset(point.dataset, paper="lasn")
    k = min(point["n_landmarks"], data.X_train.shape[0])
    nystrom = Nystrom(
        gamma="variance", n_landmarks=k, landmark_params=FIRST_ROWS, random_state=point.repeat
    )
    features, y = nystrom.fit_transform(data.X_train), signs(data, data.y_train)
    solver = get_solver(SOLVERS[point.method])
    problem = {"C": C, "loss": "squared_hinge", "intercept": "penalised"}
    solver.solve(features[:500], y[:500], **problem)  # compiled before the clock starts
    result = solver.solve(features, y, **problem)
    row = {
        "n_train": len(y),
        "n_features": data.X_train.shape[1],
        "solve_seconds": result.seconds,
        "objective": result.objective,
        "gap": result.relative_gap,
        "n_iter": result.n_iter,
    }
    if len(data.y_test):
        scores = nystrom.decision(data.X_test, result.coefficients) + result.intercept
        row["test_accuracy"] = accuracy(scores > 0, data.y_test == data.info["positive"])
    return row


def _solver_key_figures(table):
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        means = 100 * rows.groupby("method", sort=False)["test_accuracy"].mean()
        figures[name] = ", ".join(f"{method} {value:.1f} %" for method, value in means.items())
    return figures


def _solver_measured(table):
    cells = []
    for (name, method), rows in table.groupby(["dataset", "method"], sort=False):
        cells.append((name, f"{method} solve time", rows["solve_seconds"].mean()))
        if "test_accuracy" in rows:
            cells.append((name, f"{method} accuracy", 100 * rows["test_accuracy"].mean()))
    return as_cells(cells)


# -------------------------------------------------------------------------- Table 4
LIBSVM_GAMMAS = {"gamma = 1": 1.0, "the paper's gamma": "variance"}
LIBSVM_MEMORY = "4GB"  # of the kernel matrix that the squared hinge needs


def _comparison_grid(profile):
    """On the printed rows and, where the file has others, on the file's own split."""
    k = landmarks_per_set()
    points = []
    for name in _names(profile):
        for split in _splits(name):
            points += [
                Point.make(name, "LASN", split, repeat, n_landmarks=k[name])
                for repeat in range(REPEATS[profile])
            ]
            points += [
                Point.make(name, "LIBSVM", f"{split}, {text}", n_landmarks=0)
                for text in LIBSVM_GAMMAS
            ]
    return points


def _splits(name):
    """The printed rows; and the whole file, where Table 2 prints fewer rows than it has."""
    notes = published("lasn-t2")
    rows = notes[(notes["row"] == name) & (notes["column"] == "training rows")]
    shortened = rows["note"].str.contains("the file has").any()
    return ("printed", "site") if shortened and get_entry(name).copies[0].test else ("printed",)


def _measure_comparison(point, seed):
    split, _, gamma = point.variant.partition(", ")
    data = load_dataset(point.dataset, paper="lasn", split=split)
    if point.method == "LASN":
        k = min(point["n_landmarks"], data.X_train.shape[0])
        model = LASN(n_landmarks=min(10, k), C=C, random_state=seed)
        warm_up(model, data)
        model.set_params(n_landmarks=k, landmark_params=FIRST_ROWS if split == "printed" else None)
    else:
        model = LibSVM(
            C=C, loss="squared_hinge", gamma=LIBSVM_GAMMAS[gamma], max_memory=LIBSVM_MEMORY
        )
    return fitted_row(model, data)


def _comparison_key_figures(table):
    figures = {}
    for (name, method, variant), rows in table.groupby(
        ["dataset", "method", "variant"], sort=False
    ):
        if rows["test_accuracy"].notna().any():
            mean = 100 * rows["test_accuracy"].mean()
            figures[f"{name}, {method}, {variant}"] = f"{mean:.1f} %"
    return figures


def _comparison_measured(table):
    """The printed columns: LIBSVM's was run with gamma = 1, on the printed rows."""
    cells = []
    printed = table[table["variant"].isin(["printed", "printed, gamma = 1"])]
    for (name, method), rows in printed.groupby(["dataset", "method"], sort=False):
        cells.append((name, f"{method} time", rows["fit_seconds"].mean()))
        cells.append((name, f"{method} accuracy", 100 * rows["test_accuracy"].mean()))
        if method == "LASN" and rows["test_accuracy"].notna().any():
            cells.append(spread_cell(name, "LASN time sd", rows["fit_seconds"]))
            cells.append(spread_cell(name, "LASN accuracy sd", 100 * rows["test_accuracy"]))
            cells.append((name, "LASN landmarks", nan, "taken over from the table, not measured"))
    return as_cells(cells)


STUDIES = (
    Study(
        id="lasn-t3",
        paper="lasn",
        title="Table 3: three linear solvers on the same features",
        question="Is semismooth Newton faster than LIBLINEAR's two solvers, as accurate?",
        grid=_solver_grid,
        measure=_measure_solver,
        timing=True,
        key_figures=_solver_key_figures,
        measured=_solver_measured,
        tolerances={
            f"{method} {column}": tolerance
            for method in SOLVERS
            for column, tolerance in (("solve time", SECONDS), ("accuracy", ACCURACY))
        },
    ),
    Study(
        id="lasn-t4",
        paper="lasn",
        title="Table 4: LASN against LIBSVM",
        question="How do LASN and LIBSVM compare, and with which gamma was LIBSVM run?",
        grid=_comparison_grid,
        measure=_measure_comparison,
        timing=True,
        key_figures=_comparison_key_figures,
        measured=_comparison_measured,
        tolerances={
            f"{method} {column}": tolerance
            for method in ("LASN", "LIBSVM")
            for column, tolerance in (("time", SECONDS), ("accuracy", ACCURACY))
        }
        | {
            "LASN time sd": Tolerance(relative=1.0, better="lower"),
            "LASN accuracy sd": Tolerance(absolute=0.5, better="lower"),
        },
    ),
)
