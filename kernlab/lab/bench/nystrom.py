"""LASN against today's ways to the same machine: seconds, accuracy, gap, in one process.

Peers run at their documented defaults, with the same landmarks' number, gamma and C, and once more
stopped at an equal relative gap on the same landmarks; solvers run on the same features, to the
same objective. Every side may use all threads; compiled code is warm before the clock starts.
"""

import tempfile
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from kernlab.approximations import Nystrom
from kernlab.approximations.landmarks import choose_landmarks
from kernlab.datasets import load_dataset
from kernlab.estimators import LASN, LLSVM, KernelMachine, sweep
from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines import BASELINES
from kernlab.lab.bench import harness
from kernlab.lab.bench.harness import Asked, Growth, compared, roofline, waves
from kernlab.lab.engine import Choice, NotRun, catalogued, product
from kernlab.lab.engine.measuring import call_limited
from kernlab.lab.papers.common import fitting
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, samples, signs, warm_up
from kernlab.lab.papers.lasn.studies import FIRST_ROWS, SOLVERS, landmarks_per_set
from kernlab.rows import as_rows
from kernlab.solvers import solve_newton

OURS, PEER, EXACT, INTEL = "LASN", "Nystroem + LinearSVC", "LIBSVM", "scikit-learn-intelex"
FROM_FILE, IN_MEMORY = "SBM from a file", "DCD in memory"
TO_GAP, DEFAULT = "solve to 1e-4", "solve, default stop"
K_SWEEP, C_PATH = "k sweep, one map", "path over C"
C, GAP, SOLVER_GAP = 10.0, 1e-3, 1e-4
FITS = {("a9a", 200): 8, ("a9a", 1000): 8, ("w8a", 200): 8, ("w8a", 1000): 8, ("ijcnn1", 1000): 6}
SWEPT = (50, 100, 200, 500, 1000)
COSTS = 10.0 ** np.arange(-4, 5)
MOST_SOLVED = 1000  # landmarks for which LIBLINEAR's solvers are waited for
GENERATED = Choice((2000, 4000, 8000), (100_000, 300_000, 1_000_000))
FILE_ROWS = Choice(6000, 2_000_000)
ROWS = {"covtype-2": (100_000, 20_000)}  # for training and for testing
CERTIFIED_ROWS = 60_000  # an exact kernel's certificate takes all its values
TOLERANCES = tuple(10.0**-e for e in range(7))  # LIBLINEAR's, from the loosest
ENOUGH_SECONDS, MAX_ITER = 20.0, 1000  # of LIBLINEAR: then no tighter tolerance is tried
COLUMNS, LANDMARKS = 22, 200  # of rows in a file
SBM_C, SBM_GAP = 1.0, 1e-3
SBM_BLOCK = 10_000  # half of the paper's: 500 MB are to hold Python and its libraries too
ADDRESSES = 3e9  # of the process that reads the file: libraries and stacks of threads count
BLOCK_OF_TEXT = 50_000


@catalogued("bench-nystrom", "LASN against Nystroem + LinearSVC and LIBSVM")
def on_landmarks(profile):
    """How much faster is LASN than today's ways to the same machine?"""
    quick, points = profile == "quick", []
    fits, swept = ([("magic", 100)], "magic") if quick else (FITS, "w8a")
    solved = {"liver-disorders": 145} if quick else landmarks_per_set()
    repeats, large = (1, 100) if quick else (3, 1000)
    for name, k in fits:
        points += product(name, (OURS, PEER), "fit", repeats, n_landmarks=k)
        points += product(name, OURS, "equal gap", repeats, n_landmarks=k)
        points += product(name, PEER, "equal gap", n_landmarks=k)
    if not quick:
        points += product(("a9a", "ijcnn1"), EXACT, "fit", n_landmarks=0)
        points += product("covtype-2", OURS, "fit", 2, n_landmarks=2000)
        points += product("covtype-2", (EXACT, INTEL), "fit", n_landmarks=0)
    points += product(swept, OURS, K_SWEEP, n_landmarks=large)
    points += product(swept, OURS, C_PATH, n_landmarks=min(200, large))
    points += product("generated", OURS, "scaling", rows=GENERATED.of(profile))
    points += product("generated", (FROM_FILE, IN_MEMORY), "file", rows=FILE_ROWS.of(profile))
    for name, k in solved.items():
        points += product(name, SOLVERS, TO_GAP, n_landmarks=min(k, MOST_SOLVED))
        points += product(name, [*SOLVERS][1:], DEFAULT, n_landmarks=min(k, MOST_SOLVED))
    return points


def _measure(point, seed):
    measures = {
        "fit": measure_fit, "equal gap": measure_equal_gap, K_SWEEP: measure_sweep,
        C_PATH: measure_sweep, "scaling": measure_scaling, "file": measure_file,
    }  # fmt: skip
    return measures.get(point.variant, measure_solver)(point, seed)


def load(name):
    """A set as the bench takes it: the published files, or the first shuffled rows."""
    scaling = "standard" if name in ("magic", "covtype-2") else None
    if name not in ROWS:
        return load_dataset(name, scaling=scaling)
    data, (n, m) = load_dataset(name, split="shuffled", scaling=scaling), ROWS[name]
    parts = {"X_train": n, "y_train": n, "X_test": m, "y_test": m}
    return replace(data, **{part: getattr(data, part)[:size] for part, size in parts.items()})


# ---------------------------------------------------------------------------------- single fits
def measure_fit(point, seed):
    """One machine at its documented defaults, and the gap that they leave."""
    data, k = load(point.dataset), point["n_landmarks"]
    if point.method == OURS:
        return _lasn_row(LASN(n_landmarks=k, C=C, random_state=seed), data)
    if point.method == PEER:
        settings = {"gamma": resolve_gamma("variance", data.X_train), "C": C, "random_state": seed}
        model = BASELINES["nystroem"].make(n_components=k, **settings)
        warm_up(clone(model).set_params(n_components=10), data)
    else:
        model = _exact(point.method)
    row = fitted_row(model, data)
    if k or data.X_train.shape[0] <= CERTIFIED_ROWS:
        certificate = model.certify(data.X_train, data.y_train)
        row |= {"objective": certificate.primal, "gap": certificate.relative_gap}
    return row


def _exact(method):
    spec = BASELINES[{EXACT: "libsvm", INTEL: "sklearnex"}[method]]
    if said := spec.missing():
        raise NotRun(said)
    return spec.make(C=C, gamma="variance", cache_size=2000)


def _lasn_row(model, data):
    """The row of a fit after a small one, with the least seconds that it could have taken."""
    warm_up(clone(model).set_params(n_landmarks=10, landmarks="uniform"), data)
    row = fitted_row(model, data)
    return row | {"roofline_seconds": roofline(data.X_train, row["rank"])}


def measure_equal_gap(point, seed):
    """Fits that stop at the same gap, from landmarks that both sides are given."""
    data, k = load(point.dataset), point["n_landmarks"]
    gamma = resolve_gamma("variance", data.X_train)
    points = choose_landmarks(data.X_train, k, "kmeans", kernel=None, random_state=point.repeat)
    if point.method == OURS:
        settings = {"tol": 1.0, "solver_params": {"gap_tol": GAP}}  # the gap alone decides
        return _lasn_row(LASN(k, landmarks=points, gamma=gamma, C=C, random_state=seed, **settings),
                         data)  # fmt: skip
    y, mapper = signs(data, data.y_train), Nystroem(gamma=gamma, n_components=k, random_state=0)
    F, mapped = fitting.seconds_of(lambda: mapper.fit(points).transform(data.X_train))
    optimum = solve_newton(F, y, C=C, intercept="penalised").objective
    row = liblinear(F, y, optimum, GAP, dual=False)
    w, b = row.pop("solution")
    decided = np.sign(mapper.transform(data.X_test) @ w + b)
    return row | {
        "n_features": data.X_train.shape[1],
        "fit_seconds": mapped + row["solve_seconds"],
        "approximate_seconds": mapped,
        "test_accuracy": accuracy(decided, signs(data, data.y_test)),
    }


# ------------------------------------------------------------------------ solvers on features
def measure_solver(point, seed):
    """Seconds of solving, and how far above the optimum the objective ends."""
    F, y, F_test, y_test, optimum = features_of(point.dataset, point["n_landmarks"])
    solve = partial(solve_newton, C=C, intercept="penalised")
    if point.method == "LA-SN":
        stop = {"tol": 1.0, "gap_tol": SOLVER_GAP} if point.variant == TO_GAP else {}
        solve(F[:500], y[:500])  # compiled before the clock starts
        result, seconds = fitting.seconds_of(lambda: solve(F, y, **stop), 5)
        solution = result.coefficients, result.intercept
        row = _solved(F, y, optimum, solution, seconds, result.n_iter)
    else:
        tolerances = TOLERANCES if point.variant == TO_GAP else (1e-4,)
        row = liblinear(F, y, optimum, SOLVER_GAP, point.method == "LA-DCD", tolerances)
    w, b = row.pop("solution")
    if len(y_test):
        row["test_accuracy"] = accuracy(F_test @ w + b > 0, y_test > 0)
    return row | {"rank": F.shape[1]}


@lru_cache(maxsize=1)
def features_of(name, n_landmarks):
    """The features that all solvers are given, of training and of test rows, and the optimum."""
    data = load_dataset(name, paper="lasn")
    k = min(n_landmarks, data.X_train.shape[0])
    nystrom = Nystrom(gamma="variance", n_landmarks=k, landmark_params=FIRST_ROWS, random_state=0)
    F, y = nystrom.fit_transform(data.X_train), signs(data, data.y_train)
    optimum = solve_newton(F, y, C=C, intercept="penalised").objective
    F_test = nystrom.transform(data.X_test) if len(data.y_test) else None
    return F, y, F_test, signs(data, data.y_test), optimum


def liblinear(F, y, optimum, gap, dual, tolerances=TOLERANCES):
    """LIBLINEAR with the loosest tolerance that reaches the objective, and its solution."""
    for tol in tolerances:
        model = LinearSVC(C=C, dual=dual, tol=tol, max_iter=MAX_ITER, random_state=0)
        with fitting.unfinished():
            _, seconds = fitting.seconds_of(partial(model.fit, F, y), 5)
        solution = model.coef_.ravel(), float(model.intercept_[0])
        row = _solved(F, y, optimum, solution, seconds, int(np.max(model.n_iter_)))
        if row["gap"] <= gap or seconds > ENOUGH_SECONDS or row["n_iter"] >= MAX_ITER:
            break
    return row | {"peer_tol": tol}


def _solved(F, y, optimum, solution, seconds, n_iter):
    value = objective(F, y, *solution)
    return {
        "solution": solution, "n_train": len(y), "solve_seconds": seconds, "fit_seconds": seconds,
        "objective": value, "gap": value / optimum - 1.0, "n_iter": n_iter,
    }  # fmt: skip


def objective(F, y, w, b):
    """1/2 |w|^2 + 1/2 b^2 + C sum of squared hinges."""
    slack = np.maximum(0.0, 1.0 - y * (F @ w + b))
    return float(0.5 * (w @ w + b * b) + C * slack @ slack)


# ---------------------------------------------------------------- many fits, and growing rows
def measure_sweep(point, seed):
    """All points of a grid by `sweep`: the seconds of fitting, and of scoring beside them."""
    data, nested = load(point.dataset), point.variant == K_SWEEP
    ks = [k for k in SWEPT if k <= point["n_landmarks"]]
    grid = {"n_landmarks": ks} if nested else {"C": COSTS}
    machine = LASN(n_landmarks=10, C=C, random_state=seed)
    warm_up(machine, data)
    machine.set_params(n_landmarks=point["n_landmarks"])
    table = sweep(
        machine, data.X_train, data.y_train, grid, validation=(data.X_test, data.y_test),
        nested=nested, progress=False,
    )  # fmt: skip
    seconds = ("fit_seconds", "approximate_seconds", "solve_seconds", "predict_seconds")
    return {name: table[name].sum() for name in seconds} | {
        "n_train": data.X_train.shape[0],
        "n_features": data.X_train.shape[1],
        "gap": table["gap"].max(),
        "n_iter": int(table["n_iter"].max()),
        "test_accuracy": table["validation_accuracy"].max(),
    }


def measure_scaling(point, seed):
    """More and more rows of one kind."""
    data = samples(*waves(point["rows"], 20))
    return harness.timed(LASN(n_landmarks=LANDMARKS, C=C, random_state=0), data, warm=1000)


def measure_file(point, seed):
    """The hinge's optimum on rows of an svmlight file, block by block or all in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "waves.svm"
        X = write_waves(path, point["rows"])
        points = choose_landmarks(X, LANDMARKS, "kmeans", kernel=None, random_state=0)
        if point.method == FROM_FILE:
            row, held = call_limited(fit_file, (str(path), points), ADDRESSES)
            return row | {"child_peak_bytes": held}
        rows = as_rows(path)
        approximation = {"landmarks": points, "dtype": np.float32}
        model = KernelMachine(
            "nystrom", "dcd", gamma=1.0 / COLUMNS, C=SBM_C, loss="hinge", intercept="penalised",
            tol=SBM_GAP, approximation_params=approximation,
        )  # fmt: skip
        return _file_row(model, rows.whole(), rows.labels)


def fit_file(path, points):
    """The row of a fit from a file; importable, for a process of its own."""
    model = LLSVM(
        landmarks=points, gamma=1.0 / COLUMNS, C=SBM_C, runs=None, tol=SBM_GAP, random_state=0,
        block_rows=SBM_BLOCK, dtype=np.float32,
    )  # fmt: skip
    return _file_row(model, as_rows(path))


def _file_row(model, rows, labels=None):
    X, y = waves(3000, COLUMNS, seed=2**31)  # no block of a file has this seed
    model.fit(X[:2000].astype(float), y[:2000])
    return fitted_row(model, samples(rows, labels, X.astype(float), y))


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


# ------------------------------------------------------------------------------ what was asked
def _fit(name, k, asked, method, **more):
    """A fit on k landmarks against an exact machine."""
    of = {"dataset": name, "method": OURS, "variant": "fit", "n_landmarks": k}
    against = {"method": method, "n_landmarks": 0}
    return Asked("{dataset}, k = {n_landmarks:.0f}, against " + method, of, against, asked, **more)


def _swept(variant, k, asked):
    of, one = {"dataset": "w8a", "method": OURS, "variant": variant}, {"variant": "fit"}
    times = f"ratio: at most {asked} times one fit"
    return Asked("w8a, {variant}", of, one | {"n_landmarks": k}, times, cells=harness.times)


def _quicker(row, others):
    return {"ratio": others["solve_seconds"].min() / row["solve_seconds"]}


def _to_memory(row, others):
    off = 100 * (row["objective"] / others["objective"].median() - 1.0)
    asked = f"ratio: at most 4 times memory's; 500 MB (held {row['child_peak_bytes'] / 1e6:.0f} MB)"
    return harness.times(row, others) | {"asked": f"{asked}; objective within 0.1 % ({off:+.3f} %)"}


ASKED = (
    *(
        Asked(
            "{dataset}, k = {n_landmarks:.0f}, {variant}", asked=f"{factor}x faster",
            of={"dataset": name, "method": OURS, "variant": ("fit", "equal gap"), "n_landmarks": k},
            against={"method": PEER}, each=("variant",),
        )
        for (name, k), factor in FITS.items()
    ),
    _fit("a9a", 200, "100x, accuracy no lower", EXACT),
    _fit("ijcnn1", 1000, "", EXACT),
    _fit("ijcnn1", 1000, "predicting 60x faster", EXACT, seconds="predict_seconds"),
    _fit("covtype-2", 2000, "40x, accuracy no lower", EXACT),
    _fit("covtype-2", 2000, "8x", INTEL),
    Asked(
        "{dataset}, {variant}, against the quicker of LA-DCD and LA-TRON", asked="faster",
        of={"method": "LA-SN", "variant": TO_GAP}, each=("dataset",), cells=_quicker,
        against={"method": ("LA-DCD", "LA-TRON"), "variant": (TO_GAP, DEFAULT)},
    ),
    _swept(K_SWEEP, 1000, 1.3),
    _swept(C_PATH, 200, 3.0),
    Growth({"variant": "scaling"}, "exponent at most 1.05, 4 GB"),
    Asked(
        "rows of a file", {"variant": "file", "method": FROM_FILE}, {"method": IN_MEMORY},
        cells=_to_memory,
    ),
)  # fmt: skip

on_landmarks.measure(_measure, timing=True, comparison=partial(compared, ASKED))
