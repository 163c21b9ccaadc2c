"""Fits of LASN and of its peers: at their documented defaults, and at an equal gap."""

import time
from dataclasses import replace

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from kernlab.approximations.landmarks import choose_landmarks
from kernlab.datasets import load_dataset
from kernlab.estimators import LASN
from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines import BASELINES
from kernlab.lab.bench.roofline import seconds_of_landmark_fit
from kernlab.lab.engine import NotRun
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, signs, warm_up
from kernlab.solvers import solve_newton

C = 10.0
GAP = 1e-3
TOLERANCES = tuple(10.0**-e for e in range(7))  # LIBLINEAR's, from the loosest
SCALING = {"magic": "standard", "covtype-2": "standard"}
ROWS = {"covtype-2": (100_000, 20_000)}  # for training and for testing
CERTIFIED_ROWS = 60_000  # an exact kernel's certificate takes all its values


def load(name):
    """A set as the bench takes it: the published files, or the first shuffled rows."""
    if name not in ROWS:
        return load_dataset(name, scaling=SCALING.get(name))
    data = load_dataset(name, split="shuffled", scaling=SCALING.get(name))
    n_train, n_test = ROWS[name]
    return replace(
        data,
        X_train=data.X_train[:n_train],
        y_train=data.y_train[:n_train],
        X_test=data.X_test[:n_test],
        y_test=data.y_test[:n_test],
    )


def measure_fit(point, seed):
    """One machine at its documented defaults, and the gap that they leave."""
    data, k = load(point.dataset), point["n_landmarks"]
    if point.method == "LASN":
        return _warm_lasn(LASN(n_landmarks=k, C=C, random_state=seed), data)
    if point.method == "Nystroem + LinearSVC":
        settings = {"gamma": resolve_gamma("variance", data.X_train), "C": C, "random_state": seed}
        warm_up(BASELINES["nystroem"].make(n_components=10, **settings), data)
        model = BASELINES["nystroem"].make(n_components=k, **settings)
    else:
        model = _exact(point.method)
    row = fitted_row(model, data)
    if k or data.X_train.shape[0] <= CERTIFIED_ROWS:
        certificate = model.certify(data.X_train, data.y_train)
        row |= {"objective": certificate.primal, "gap": certificate.relative_gap}
    return row


def _exact(method):
    spec = BASELINES[{"LIBSVM": "libsvm", "scikit-learn-intelex": "sklearnex"}[method]]
    if said := spec.missing():
        raise NotRun(said)
    return spec.make(C=C, gamma="variance", cache_size=2000)


def _warm_lasn(model, data):
    """The row of a fit after a small one, with the least seconds that it could have taken."""
    k = model.n_landmarks
    landmarks, model.landmarks = model.landmarks, "uniform"
    warm_up(model.set_params(n_landmarks=10), data)
    model.set_params(n_landmarks=k, landmarks=landmarks)
    row = fitted_row(model, data)
    return row | {"roofline_seconds": seconds_of_landmark_fit(data.X_train, model)}


def measure_equal_gap(point, seed):
    """Fits that stop at the same gap, from landmarks that both sides are given."""
    data, k = load(point.dataset), point["n_landmarks"]
    gamma = resolve_gamma("variance", data.X_train)
    points = choose_landmarks(data.X_train, k, "kmeans", kernel=None, random_state=point.repeat)
    if point.method == "LASN":
        return _warm_lasn(
            LASN(
                n_landmarks=k,
                landmarks=points,
                gamma=gamma,
                C=C,
                tol=1.0,  # the gap alone decides
                random_state=seed,
                solver_params={"gap_tol": GAP},
            ),
            data,
        )
    return _liblinear_at_gap(data, points, gamma)


def _liblinear_at_gap(data, points, gamma):
    """scikit-learn's map and LinearSVC with the loosest tolerance that reaches the gap."""
    y = signs(data, data.y_train)
    began = time.perf_counter()
    mapper = Nystroem(gamma=gamma, n_components=len(points), random_state=0).fit(points)
    F = mapper.transform(data.X_train)
    mapped = time.perf_counter() - began
    optimum = solve_newton(F, y, C=C, intercept="penalised").objective
    for tol in TOLERANCES:
        began = time.perf_counter()
        model = LinearSVC(C=C, dual=False, tol=tol).fit(F, y)
        solved = time.perf_counter() - began
        value = objective(F, y, model.coef_.ravel(), float(model.intercept_[0]))
        if value <= (1.0 + GAP) * optimum:
            break
    predicted = model.predict(mapper.transform(data.X_test))
    return {
        "n_train": len(y),
        "n_features": data.X_train.shape[1],
        "fit_seconds": mapped + solved,
        "approximate_seconds": mapped,
        "solve_seconds": solved,
        "n_iter": int(np.max(model.n_iter_)),
        "objective": value,
        "gap": value / optimum - 1.0,
        "peer_tol": tol,
        "test_accuracy": accuracy(predicted, signs(data, data.y_test)),
    }


def objective(F, y, w, b):
    """1/2 |w|^2 + 1/2 b^2 + C sum of squared hinges."""
    slack = np.maximum(0.0, 1.0 - y * (F @ w + b))
    return float(0.5 * (w @ w + b * b) + C * slack @ slack)
