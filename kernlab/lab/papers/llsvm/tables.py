"""LLSVM's Proposition 2 and Tables 1 and 4: reduced machines, kernel maps, cost of predicting."""

import time

import numpy as np
import scipy.linalg as la
from scipy.optimize import LinearConstraint, minimize

from kernlab.approximations import Nystrom
from kernlab.datasets import load_dataset
from kernlab.estimators import KernelMachine
from kernlab.kernels import make_kernel, resolve_gamma
from kernlab.lab.baselines import BASELINES, LibSVM, LinearSVM
from kernlab.lab.engine.base import Point, Study
from kernlab.lab.papers.common.equivalence import below, two_class_rows
from kernlab.lab.papers.common.fitting import accuracy
from kernlab.solvers import solve_dcd

C = 1.0


# -------------------------------------------------------------------- Proposition 2
def _reduced_grid(profile):
    names = ("two-moons", "breast-cancer")
    return [
        Point.make(name, "linear SVM on the map", n_landmarks=k) for name in names for k in (5, 15)
    ]


def _measure_reduced(point, seed):
    """Eq. 21 (with the labels that it misses) by a QP solver, and as a linear machine."""
    X, y, X_test, _ = two_class_rows(point.dataset, seed)
    X, y, k = X[:80], y[:80], point["n_landmarks"]
    gamma = resolve_gamma("variance", X)
    kernel = make_kernel(gamma=gamma)
    Z = X[np.linspace(0, len(X) - 1, k).astype(int)]
    K_rz, K_zz = kernel(X, Z), kernel(Z)
    mu, b, objective = solve_reduced(K_rz, K_zz, y)
    nystrom = Nystrom(gamma=gamma, landmarks=Z, factor="eigen-replace", floor=1e-12).fit(X)
    linear = solve_dcd(nystrom.transform(X), y, C=C, tol=1e-10, max_iter=200_000)
    direct = kernel(X_test, Z) @ mu + b
    mapped = nystrom.decision(X_test, linear.coefficients) + linear.intercept
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "objective": objective,
        "objective_difference": abs(objective - linear.objective) / linear.objective,
        "decision_difference": float(np.abs(direct - mapped).max()),
        "agreement": float(np.mean((direct > 0) == (mapped > 0))),
        "gap": linear.relative_gap,
    }


def solve_reduced(K_rz, K_zz, y):
    """Minimise 1/2 mu K_zz mu + 1/2 b^2 + C sum xi, y (K_rz mu + b) >= 1 - xi, by SLSQP."""
    n, k = K_rz.shape
    H = la.block_diag(K_zz, [[1.0]], np.zeros((n, n)))
    linear = np.concatenate([np.zeros(k + 1), np.full(n, C)])
    margins = np.hstack([y[:, None] * K_rz, y[:, None], np.eye(n)])
    bounds = [(None, None)] * (k + 1) + [(0.0, None)] * n
    start = np.concatenate([np.zeros(k + 1), np.ones(n)])
    found = minimize(
        lambda v: 0.5 * v @ H @ v + linear @ v,
        start,
        jac=lambda v: H @ v + linear,
        method="SLSQP",
        bounds=bounds,
        constraints=[LinearConstraint(margins, 1.0, np.inf)],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.x[:k], found.x[k], float(found.fun)


def _reduced_key_figures(table):
    return {
        "agreement of the decisions": f"{100 * table['agreement'].min():.1f} %",
        "largest relative difference of the objective": below(table["objective_difference"].max()),
        "largest difference of a decision": below(table["decision_difference"].max(), finest=-4),
    }


# -------------------------------------------------------------------------- Table 1
MAPS = ("square root of K", "kernel values", "Nystrom map")


def _maps_grid(profile):
    names = ("magic", "breast-cancer") if profile == "quick" else ("magic", "svmguide1", "a1a")
    return [Point.make(name, method, n_landmarks=100) for name in names for method in MAPS]


def _measure_map(point, seed):
    """The same data through one of the three maps: its size, its cost, and the accuracy."""
    X, y, X_test, y_test = two_class_rows(point.dataset, seed)
    gamma = resolve_gamma("variance", X)
    began = time.perf_counter()
    to_features = _map(point.method, X, gamma, min(point["n_landmarks"], len(y)), seed)
    F = to_features(X)
    mapped = time.perf_counter()
    result = solve_dcd(F, y, C=C, tol=1e-3, max_iter=2000)
    scores = to_features(X_test) @ result.coefficients + result.intercept
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "dimension": F.shape[1],
        "map_bytes": F.nbytes,
        "approximate_seconds": mapped - began,
        "solve_seconds": result.seconds,
        "test_accuracy": accuracy(scores > 0, y_test > 0),
        "objective": result.objective,
        "gap": result.relative_gap,
        "n_iter": result.n_iter,
    }


def _map(method, X, gamma, k, seed):
    kernel = make_kernel(gamma=gamma)
    if method == "square root of K":
        values, vectors = la.eigh(kernel(X))
        kept = values > 1e-12 * values[-1]
        to_root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        return lambda new: kernel(new, X) @ to_root
    nystrom = Nystrom(gamma=gamma, n_landmarks=k, random_state=seed).fit(X)
    if method == "kernel values":
        return lambda new: kernel(new, nystrom.landmarks_)
    return nystrom.transform


def _maps_key_figures(table):
    return {
        f"{row.dataset}, {row.method}": f"dimension {row.dimension:.0f}, "
        f"accuracy {100 * row.test_accuracy:.1f} %"
        for row in table.itertuples()
    }


# -------------------------------------------------------------------------- Table 4
PREDICTORS = {
    "LinearSVM": lambda k: LinearSVM(dual=False),
    "RBFsvm": lambda k: LibSVM(gamma="variance"),
    "Poly2SVM": lambda k: BASELINES["poly2"].make(),
    "LLSVM, unfolded": lambda k: _nystrom_machine(k),
    "LLSVM, folded": lambda k: _nystrom_machine(k),
}


def _nystrom_machine(k):
    return KernelMachine(
        "nystrom",
        "newton",
        gamma="variance",
        random_state=0,
        approximation_params={"n_landmarks": k},
    )


def _prediction_grid(profile):
    sizes = (500, 2000) if profile == "quick" else (500, 2000, 8000)
    points = [
        Point.make("magic", method, rows=n, n_landmarks=0)
        for method in ("LinearSVM", "RBFsvm", "Poly2SVM")
        for n in sizes
    ]
    return points + [
        Point.make("magic", method, rows=2000, n_landmarks=k)
        for method in ("LLSVM, unfolded", "LLSVM, folded")
        for k in (50, 100, 200, 400)
    ]


def _measure_prediction(point, seed):
    """Microseconds per predicted row, the median of five runs over 4,000 rows."""
    data = load_dataset("magic", scaling="standard")
    X, y, new = data.X_train[: point["rows"]], data.y_train[: point["rows"]], data.X_test[:4000]
    model = PREDICTORS[point.method](point["n_landmarks"]).fit(X, y)
    predict = model.predict
    if point.method == "LLSVM, unfolded":
        weights = model.coef_.ravel()
        predict = lambda rows: model.approximation_.transform(rows) @ weights  # noqa: E731
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        predict(new)
        seconds.append(time.perf_counter() - began)
    support = len(model.support_) if hasattr(model, "support_") else None
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "support_vectors": support,
        "predict_seconds": float(np.median(seconds[1:])),
        "microseconds_per_row": 1e6 * float(np.median(seconds[1:])) / len(new),
        "test_accuracy": accuracy(model.predict(data.X_test), data.y_test),
    }


def _prediction_key_figures(table):
    rows = table[table["method"] == "RBFsvm"].sort_values("rows")
    return {
        f"support vectors of {row.rows} rows": f"{row.support_vectors:.0f}"
        for row in rows.itertuples()
    }


STUDIES = (
    Study(
        id="llsvm-prop2",
        paper="llsvm",
        title="Proposition 2: the reduced machine is linear on the Nystrom map",
        question="Does a linear SVM on K_rz U L^-1/2 solve the reduced SVM exactly?",
        grid=_reduced_grid,
        measure=_measure_reduced,
        key_figures=_reduced_key_figures,
    ),
    Study(
        id="llsvm-t1",
        paper="llsvm",
        title="Table 1: three empirical kernel maps",
        question="What do the three maps cost, and what accuracy do they give?",
        grid=_maps_grid,
        measure=_measure_map,
        key_figures=_maps_key_figures,
    ),
    Study(
        id="llsvm-t4",
        paper="llsvm",
        title="Table 4: the cost of a prediction",
        question="How does the cost of a prediction grow, and is the k^2 of the map needed?",
        grid=_prediction_grid,
        measure=_measure_prediction,
        timing=True,
        key_figures=_prediction_key_figures,
    ),
)
