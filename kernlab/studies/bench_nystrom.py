"""LASN against today's ways to the same machine: seconds, accuracy, gap, in one process.

Peers run at their documented defaults, with the same landmarks' number, gamma and C; every side
may use all threads. Compiled code is warm before the clock starts.
"""

import time

import numpy as np

from kernlab.approximations import Nystrom
from kernlab.baselines import LibSVM, NystroemLinearSVC
from kernlab.datasets import load_dataset
from kernlab.estimators import LASN
from kernlab.solvers import solve_newton
from kernlab.studies.base import Point, Study
from kernlab.studies.fitting import fitted_row, warm_up

C = 10.0
FITS = (("a9a", 200), ("a9a", 1000), ("w8a", 200), ("w8a", 1000), ("ijcnn1", 1000))
EXACT = ("a9a", "ijcnn1")
SWEEP = (50, 100, 200, 500, 1000)
COSTS = 10.0 ** np.arange(-4, 5)
GENERATED = (100_000, 300_000, 1_000_000)


def _grid(profile):
    if profile == "quick":
        return [
            Point.make("magic", method, "fit", n_landmarks=100)
            for method in ("LASN", "Nystroem + LinearSVC")
        ]
    points = [
        Point.make(name, method, "fit", repeat, n_landmarks=k)
        for name, k in FITS
        for method in ("LASN", "Nystroem + LinearSVC")
        for repeat in range(3)
    ]
    points += [Point.make(name, "LIBSVM", "fit", n_landmarks=0) for name in EXACT]
    points += [
        Point.make("w8a", "LASN", variant, n_landmarks=k)
        for variant, k in (("k sweep, one map", 1000), ("path over C", 200))
    ]
    return points + [
        Point.make("generated", "LASN", "scaling", rows=n, n_landmarks=200) for n in GENERATED
    ]


def _measure(point, seed):
    if point.variant == "scaling":
        return _measure_scaling(point)
    data = load_dataset(point.dataset, scaling="standard" if point.dataset == "magic" else None)
    if point.variant == "k sweep, one map":
        return _measure_sweep(data)
    if point.variant == "path over C":
        return _measure_path(data)
    k = point["n_landmarks"]
    if point.method == "LIBSVM":
        model = LibSVM(C=C, gamma="variance", cache_size=2000)
    elif point.method == "LASN":
        model = LASN(n_landmarks=10, C=C, random_state=seed)
        warm_up(model, data)
        model.set_params(n_landmarks=k)
    else:
        model = NystroemLinearSVC(n_components=k, gamma="variance", C=C, random_state=seed)
    return fitted_row(model, data)


def _measure_sweep(data):
    """One map for the largest k; for each k the first columns, and Newton's method."""
    y = _signs(data)
    began = time.perf_counter()
    F = Nystrom(gamma="variance", n_landmarks=max(SWEEP), random_state=0).fit_transform(
        data.X_train
    )
    mapped = time.perf_counter()
    steps = [
        solve_newton(F[:, :k], y, C=C, intercept="penalised").n_iter
        for k in SWEEP
        if k <= F.shape[1]
    ]
    return _timed(data, began, mapped, max(steps))


def _measure_path(data):
    """One map, and all values of C, each from the solution before."""
    y = _signs(data)
    began = time.perf_counter()
    F = Nystrom(gamma="variance", n_landmarks=200, random_state=0).fit_transform(data.X_train)
    mapped = time.perf_counter()
    path = solve_newton(F, y, C=COSTS, intercept="penalised")
    return _timed(data, began, mapped, path.n_iter)


def _measure_scaling(point):
    """Rows in the plane with a wavy boundary: the data do not get harder, only more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((point["rows"], 20)).astype(np.float32)
    y = np.where(np.sin(3 * X[:, 0]) + X[:, 1] > 0.3 * rng.standard_normal(len(X)), 1, -1)
    model = LASN(n_landmarks=200, C=C, random_state=0)
    model.fit(X[:2000], y[:2000])
    began = time.perf_counter()
    model.fit(X, y)
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "fit_seconds": time.perf_counter() - began,
        "solve_seconds": model.timings_["solve"],
        "n_iter": model.n_iter_,
        "gap": model.result_.relative_gap,
    }


def _signs(data):
    return np.where(data.y_train == data.info["positive"], 1.0, -1.0)


def _timed(data, began, mapped, steps):
    finished = time.perf_counter()
    return {
        "n_train": data.X_train.shape[0],
        "n_features": data.X_train.shape[1],
        "fit_seconds": finished - began,
        "approximate_seconds": mapped - began,
        "solve_seconds": finished - mapped,
        "n_iter": steps,
    }


def _key_figures(table):
    """The accuracy of every fit; how fast is the table's affair."""
    rows = table[table["test_accuracy"].notna()]
    return {
        f"{name}, k = {k}, {method}": f"{100 * group['test_accuracy'].mean():.1f} %"
        for (name, k, method), group in rows.groupby(
            ["dataset", "n_landmarks", "method"], sort=False
        )
    }


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
    ),
)
