"""LLSVM's Proposition 2 and Tables 1 and 4: the reduced machine, kernel maps, predicting."""

import time

import numpy as np
import scipy.linalg as la
from scipy.optimize import LinearConstraint, minimize

from kernlab.approximations import Nystrom
from kernlab.approximations.reduced import ReducedMap
from kernlab.datasets import load_dataset
from kernlab.estimators import KernelMachine
from kernlab.kernels import make_kernel, resolve_gamma
from kernlab.lab.baselines import BASELINES
from kernlab.lab.engine import Study, catalogued, per_cent, product
from kernlab.lab.papers.common.equivalence import below, two_class_rows
from kernlab.lab.papers.common.fitting import accuracy
from kernlab.solvers import solve_dcd


# ----------------------------------------------------------------------- Proposition 2
@catalogued("llsvm-prop2", "Proposition 2: the reduced machine is linear on the Nystrom map")
def reduced_machine(datasets=None, landmarks=(5, 15), C=1.0, seed=0):
    """Does a linear SVM on K_rz U L^-1/2 solve the reduced SVM exactly?"""

    def grid(profile):
        names = datasets or ("two-moons", "breast-cancer")
        return product(names, "linear SVM on the map", n_landmarks=landmarks, C=C)

    return Study(grid=grid, measure=measure_reduced, key_figures=_reduced_figures)


def measure_reduced(point, seed):
    """Eq. 21 (with the labels that it misses) by a QP solver, and as a linear machine."""
    X, y, X_test, _ = two_class_rows(point.dataset, seed)
    X, y, C = X[:80], y[:80], point["C"]
    gamma = resolve_gamma("variance", X)
    kernel = make_kernel(gamma=gamma)
    Z = X[np.linspace(0, len(X) - 1, point["n_landmarks"]).astype(int)]
    mu, b, objective = solve_reduced(kernel(X, Z), kernel(Z), y, C)
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


def solve_reduced(K_rz, K_zz, y, C=1.0):
    """Minimise 1/2 mu K_zz mu + 1/2 b^2 + C sum xi, y (K_rz mu + b) >= 1 - xi, by SLSQP."""
    n, k = K_rz.shape
    H = la.block_diag(K_zz, [[1.0]], np.zeros((n, n)))
    linear = np.concatenate([np.zeros(k + 1), np.full(n, C)])
    margins = np.hstack([y[:, None] * K_rz, y[:, None], np.eye(n)])
    found = minimize(
        lambda v: 0.5 * v @ H @ v + linear @ v,
        np.concatenate([np.zeros(k + 1), np.ones(n)]),
        jac=lambda v: H @ v + linear,
        method="SLSQP",
        bounds=[(None, None)] * (k + 1) + [(0.0, None)] * n,
        constraints=[LinearConstraint(margins, 1.0, np.inf)],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.x[:k], found.x[k], float(found.fun)


def _reduced_figures(table):
    return {
        "agreement of the decisions": per_cent(table["agreement"].min()),
        "largest relative difference of the objective": below(table["objective_difference"].max()),
        "largest difference of a decision": below(table["decision_difference"].max(), finest=-4),
    }


# ----------------------------------------------------------------------------- Table 1
MAPS = ("square root of K", "kernel values", "Nystrom map")


@catalogued("llsvm-t1", "Table 1: three empirical kernel maps")
def kernel_maps(datasets=None, n_landmarks=100, C=1.0, seed=0):
    """What do the three maps cost, and what accuracy do they give?"""

    def grid(profile):
        quick = ("magic", "breast-cancer") if profile == "quick" else ("magic", "svmguide1", "a1a")
        return product(datasets or quick, MAPS, n_landmarks=n_landmarks, C=C)

    return Study(grid=grid, measure=measure_map, key_figures=_map_figures)


def measure_map(point, seed):
    """The same rows through one of the three maps: its size, its cost, and the accuracy."""
    X, y, X_test, y_test = two_class_rows(point.dataset, seed)
    gamma = resolve_gamma("variance", X)
    began = time.perf_counter()
    to_features = _map(point.method, X, gamma, min(point["n_landmarks"], len(y)), seed)
    F = to_features(X)
    mapped = time.perf_counter()
    result = solve_dcd(F, y, C=point["C"], tol=1e-3, max_iter=2000)
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
    if method == "square root of K":
        kernel = make_kernel(gamma=gamma)
        values, vectors = la.eigh(kernel(X))
        kept = values > 1e-12 * values[-1]
        inverse_root = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        return lambda rows: kernel(rows, X) @ inverse_root
    nystrom = Nystrom(gamma=gamma, n_landmarks=k, random_state=seed).fit(X)
    if method == "kernel values":
        return ReducedMap(gamma=gamma, landmarks=nystrom.landmarks_).fit(X).transform
    return nystrom.transform


def _map_figures(table):
    return {
        f"{row.dataset}, {row.method}": f"dimension {row.dimension:.0f}, "
        f"accuracy {per_cent(row.test_accuracy)}"
        for row in table.itertuples()
    }


# ----------------------------------------------------------------------------- Table 4
LANDMARK_METHODS = ("LLSVM, unfolded", "LLSVM, folded")


@catalogued("llsvm-t4", "Table 4: the cost of a prediction")
def prediction_cost(datasets=("magic",), landmarks=(50, 100, 200, 400), sizes=None, seed=0):
    """How does the cost of a prediction grow, and is the k^2 of the map needed?"""

    def grid(profile):
        rows = sizes or ((500, 2000) if profile == "quick" else (500, 2000, 8000))
        others = product(datasets, ("LinearSVM", "RBFsvm", "Poly2SVM"), rows=rows, n_landmarks=0)
        return others + product(datasets, LANDMARK_METHODS, rows=2000, n_landmarks=landmarks)

    return Study(
        grid=grid, measure=measure_prediction, timing=True, key_figures=_prediction_figures
    )


def _predictor(method, k):
    if method in LANDMARK_METHODS:
        return KernelMachine(
            "nystrom", "newton", gamma="variance", random_state=0,
            approximation_params={"n_landmarks": k},
        )  # fmt: skip
    if method == "RBFsvm":
        return BASELINES["libsvm"].make(gamma="variance")
    return BASELINES["poly2" if method == "Poly2SVM" else "linear"].make()


def measure_prediction(point, seed):
    """Microseconds per predicted row, the median of five runs over 4,000 rows."""
    data = load_dataset(point.dataset, scaling="standard")
    X, y, new = data.X_train[: point["rows"]], data.y_train[: point["rows"]], data.X_test[:4000]
    model = _predictor(point.method, point["n_landmarks"]).fit(X, y)

    def unfolded(rows):
        return model.approximation_.transform(rows) @ model.coef_.ravel()

    predict = unfolded if point.method == "LLSVM, unfolded" else model.predict
    seconds = []
    for _ in range(6):
        began = time.perf_counter()
        predict(new)
        seconds.append(time.perf_counter() - began)
    middle = float(np.median(seconds[1:]))
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "support_vectors": len(model.support_) if point.method == "RBFsvm" else None,
        "predict_seconds": middle,
        "microseconds_per_row": 1e6 * middle / new.shape[0],
        "test_accuracy": accuracy(model.predict(data.X_test), data.y_test),
    }


def _prediction_figures(table):
    rows = table[table["method"] == "RBFsvm"].sort_values("rows")
    return {
        f"support vectors of {row.rows} rows": f"{row.support_vectors:.0f}"
        for row in rows.itertuples()
    }
