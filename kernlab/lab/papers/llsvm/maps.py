"""LLSVM's propositions and its theorem, Tables 1, 2 and 4, and random features beside landmarks."""

from functools import partial

import numpy as np
import scipy.linalg as la
from scipy.optimize import LinearConstraint, minimize
from sklearn.svm import SVC

from kernlab.approximations import ExactKernel, Nystrom, ReducedMap
from kernlab.datasets import load_dataset
from kernlab.estimators import KernelMachine
from kernlab.kernels import make_kernel, resolve_gamma
from kernlab.lab.baselines import BASELINES
from kernlab.lab.engine import Choice, catalogued, figures_by, per_cent, product
from kernlab.lab.papers.common import theory
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, seconds_of, shape_of, warm_up
from kernlab.solvers import solve_dcd


def _libsvm(F, y, C):
    """The same solver on the same problem, but in the features: nothing else may differ."""
    machine = SVC(kernel="linear", C=C, tol=1e-10).fit(F, y)
    dual = np.zeros(len(y))
    dual[machine.support_] = np.abs(machine.dual_coef_.ravel())
    return machine.coef_.ravel(), machine.intercept_[0], dual


@catalogued("llsvm-prop1", "Proposition 1: a kernel machine is a linear machine on any factor")
def factors(datasets=theory.SETS, C=1.0, seed=0):
    """Does a linear SVM on F decide as the kernel SVM does, for any F with F F^T = K?"""
    return product(datasets, "linear SVM on a factor", theory.FACTORS, C=C)


factors.measure(partial(theory.compare_machines, loss="hinge", fit_linear=_libsvm))
factors.key_figures(theory.equivalence_figures)


@catalogued("llsvm-thm1", "Theorem 1: a bound on the weights, and what it is worth")
def weight_bound(datasets=theory.BOUND_SETS, ranks=theory.BOUND_RANKS, C=1.0, seed=0):
    """How far are weights on Nystrom features from those on the best features?"""
    return product(datasets, "hinge", rank=ranks, C=C)


weight_bound.measure(partial(theory.measure_bound, loss="hinge"))
weight_bound.key_figures(theory.bound_figures)

data_sets = data_table(
    "llsvm-t2", "Data sets of LLSVM", "LLSVM", "Are the data sets that are there those of Table 2?",
    "training rows", "test rows", "features", "classes",
)  # fmt: skip


@catalogued("llsvm-prop2", "Proposition 2: the reduced machine is linear on the Nystrom map")
def reduced_machine(
    datasets=Choice(("two-moons", "breast-cancer")), landmarks=(5, 15), C=1.0, seed=0
):
    """Does a linear SVM on K_rz U L^-1/2 solve the reduced SVM exactly?"""
    return product(datasets, "linear SVM on the map", n_landmarks=landmarks, C=C)


@reduced_machine.measure
def measure_reduced(point, seed):
    """Eq. 21 (with the labels that it misses) by a QP solver, and as a linear machine."""
    X, y, X_test, _ = theory.two_class_rows(point.dataset, seed)
    X, y, C = X[:80], y[:80], point["C"]
    gamma = resolve_gamma("variance", X)
    kernel = make_kernel(gamma=gamma)
    Z = X[np.linspace(0, len(X) - 1, point["n_landmarks"]).astype(int)]
    mu, b, objective = solve_reduced(kernel(X, Z), kernel(Z), y, C)
    nystrom = Nystrom(gamma=gamma, landmarks=Z, factor="eigen-replace", floor=1e-12).fit(X)
    linear = solve_dcd(nystrom.transform(X), y, C=C, tol=1e-10, max_iter=200_000)
    direct = kernel(X_test, Z) @ mu + b
    mapped = nystrom.decision(X_test, linear.coefficients) + linear.intercept
    return shape_of(X) | {
        "objective": objective,
        "objective_difference": abs(objective - linear.objective) / linear.objective,
        "decision_difference": float(np.abs(direct - mapped).max()),
        "agreement": accuracy(direct > 0, mapped > 0),
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


@reduced_machine.key_figures
def _reduced_figures(table):
    return {
        "agreement of the decisions": per_cent(table["agreement"].min()),
        "largest relative difference of the objective": theory.below(
            table["objective_difference"].max()
        ),
        "largest difference of a decision": theory.below(
            table["decision_difference"].max(), finest=-4
        ),
    }


MAPS = ("square root of K", "kernel values", "Nystrom map")


@catalogued("llsvm-t1", "Table 1: three empirical kernel maps")
def kernel_maps(datasets=theory.BOUND_SETS, n_landmarks=100, C=1.0, seed=0):
    """What do the three maps cost, and what accuracy do they give?"""
    return product(datasets, MAPS, n_landmarks=n_landmarks, C=C)


@kernel_maps.key_figures("{dataset}, {method}")
def _dimension(rows):
    row = rows.iloc[-1]
    return f"dimension {row['dimension']:.0f}, accuracy {per_cent(row['test_accuracy'])}"


@kernel_maps.measure
def measure_map(point, seed):
    """The same rows through one of the three maps: its size, its cost, and the accuracy."""
    X, y, X_test, y_test = theory.two_class_rows(point.dataset, seed)
    gamma = resolve_gamma("variance", X)
    k = min(point["n_landmarks"], len(y))
    to_features, spent = seconds_of(lambda: _map(point.method, X, gamma, k, seed))
    F, seconds = seconds_of(lambda: to_features(X))
    result = solve_dcd(F, y, C=point["C"], tol=1e-3, max_iter=2000)
    scores = to_features(X_test) @ result.coefficients + result.intercept
    return shape_of(X) | {
        "dimension": F.shape[1],
        "map_bytes": F.nbytes,
        "approximate_seconds": spent + seconds,
        "solve_seconds": result.seconds,
        "test_accuracy": accuracy(scores > 0, y_test > 0),
        "objective": result.objective,
        "gap": result.relative_gap,
        "n_iter": result.n_iter,
    }


def _map(method, X, gamma, k, seed):
    if method == "square root of K":
        exact = ExactKernel(gamma=gamma).fit(X)
        return theory.factor("square root", exact.matrix_, exact)
    nystrom = Nystrom(gamma=gamma, n_landmarks=k, random_state=seed).fit(X)
    if method == "kernel values":
        return ReducedMap(gamma=gamma, landmarks=nystrom.landmarks_).fit(X).transform
    return nystrom.transform


LANDMARK_METHODS = ("LLSVM, unfolded", "LLSVM, folded")


@catalogued("llsvm-t4", "Table 4: the cost of a prediction")
def prediction_cost(
    datasets=("magic",), landmarks=(50, 100, 200, 400),
    sizes=Choice((500, 2000), (500, 2000, 8000)), seed=0,
):  # fmt: skip
    """How does the cost of a prediction grow, and is the k^2 of the map needed?"""
    others = product(datasets, ("LinearSVM", "RBFsvm", "Poly2SVM"), rows=sizes, n_landmarks=0)
    return others + product(datasets, LANDMARK_METHODS, rows=2000, n_landmarks=landmarks)


def _predictor(method, k):
    if method in LANDMARK_METHODS:
        return KernelMachine(
            "nystrom", "newton", gamma="variance", random_state=0,
            approximation_params={"n_landmarks": k},
        )  # fmt: skip
    if method == "RBFsvm":
        return BASELINES["libsvm"].make(gamma="variance")
    return BASELINES["poly2" if method == "Poly2SVM" else "linear"].make()


SUPPORT = figures_by(
    "support vectors of {rows} rows", "{support_vectors:.0f}", lambda t: t["method"] == "RBFsvm"
)


@prediction_cost.measure(timing=True, key_figures=SUPPORT)
def measure_prediction(point, seed):
    """Microseconds per predicted row, the median of five runs over 4,000 rows."""
    data = load_dataset(point.dataset, scaling="standard")
    X, y, new = data.X_train[: point["rows"]], data.y_train[: point["rows"]], data.X_test[:4000]
    model = _predictor(point.method, point["n_landmarks"]).fit(X, y)

    def unfolded(rows):
        return model.approximation_.transform(rows) @ model.coef_.ravel()

    predict = unfolded if point.method == "LLSVM, unfolded" else model.predict
    predict(new)
    _, middle = seconds_of(lambda: predict(new), 5)
    return shape_of(X) | {
        "support_vectors": len(model.support_) if point.method == "RBFsvm" else None,
        "predict_seconds": middle,
        "microseconds_per_row": 1e6 * middle / new.shape[0],
        "test_accuracy": accuracy(model.predict(data.X_test), data.y_test),
    }


# ------------------------------------------------------- what landmarks must beat
FEATURES = {
    "Nystrom, k-means": ("nystrom", {"landmarks": "kmeans"}),
    "Nystrom, uniform": ("nystrom", {"landmarks": "uniform"}),
    "Fourier": ("fourier", {}),
}
RANKS = (20, 50, 100, 200, 500, 1000)
SETS = Choice(("magic", "spambase"), ("magic", "a9a", "ijcnn1", "mnist-round"))
SCALINGS = {"magic": "standard", "spambase": "standard", "mnist-round": "unit"}
SAMPLED = 500  # rows of the block on which the kernel's error is seen


@catalogued("llsvm-fourier", "Random Fourier features beside landmarks")
def fourier_features(
    datasets=SETS, ranks=Choice(RANKS[:4], RANKS), C=1.0, repeats=Choice(2, 3, 10), seed=0
):
    """How many features does it take, from landmarks and from draws that do not see the data?

    Features of other sets than the catalogue's are standardised.
    """
    known = SETS.standard + SETS.quick
    return product(
        datasets, FEATURES, repeats=repeats, features=ranks, C=C,
        scaling=lambda name: SCALINGS.get(name, "none" if name in known else "standard"),
    )  # fmt: skip


@fourier_features.measure(timing=True)
def measure_features(point, seed):
    """The error of the kernel, and of the machine on the features."""
    data = load_dataset(point.dataset, scaling=point["scaling"])
    name, further = FEATURES[point.method]
    size = "n_components" if name == "fourier" else "n_landmarks"
    machine = KernelMachine(
        name, "newton", gamma="variance", C=point["C"], intercept="penalised", random_state=seed,
        approximation_params=further | {size: 10},
    )  # fmt: skip
    warm_up(machine, data)
    k = min(point["features"], data.X_train.shape[0])
    row = fitted_row(machine.set_params(**{f"approximation_params__{size}": k}), data)
    kernel_error = machine.approximation_.error(data.X_train, SAMPLED)
    return row | {"kernel_error": kernel_error, "error": 1.0 - row["test_accuracy"]}


@fourier_features.key_figures
def _near_the_best(table):
    figures = {}
    means = table.groupby(["dataset", "method", "features"], sort=False)["error"].mean()
    for name, errors in means.groupby("dataset", sort=False):
        for method, own in errors.groupby("method", sort=False):
            near = own[own <= errors.min() + 0.005]
            few = near.index.get_level_values("features").min()
            told = f"near the best from k = {few}" if len(near) else "not near the best"
            figures[f"{name}, {method}"] = f"{per_cent(own.iloc[-1])}, {told}"
    return figures
