"""Newton's method against LIBLINEAR's two solvers on the same features, to the same objective."""

import time
import warnings
from functools import lru_cache, partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernlab.approximations import Nystrom
from kernlab.datasets import load_dataset
from kernlab.lab.bench.nystrom.fits import objective
from kernlab.lab.papers.common.fitting import accuracy, signs
from kernlab.lab.papers.lasn.tables import FIRST_ROWS
from kernlab.solvers import solve_newton

TO_GAP, DEFAULT = "solve to 1e-4", "solve, default stop"
C, GAP = 10.0, 1e-4
DUAL = {"LA-DCD": True, "LA-TRON": False}
TOLERANCES = tuple(10.0**-e for e in range(7))  # LIBLINEAR's, from the loosest
ENOUGH_SECONDS = 20.0  # after a solve this long no tighter tolerance is tried
MAX_ITER = 1000  # LIBLINEAR's default
REPEATS = 5


def measure_solver(point, seed):
    """Seconds of solving, and how far above the optimum the objective ends."""
    F, y, F_test, y_test, optimum = features_of(point.dataset, point["n_landmarks"])
    if point.method == "LA-SN":
        found = _newton(F, y, point.variant)
    else:
        found = _liblinear(F, y, DUAL[point.method], point.variant, optimum)
    w, b, seconds, steps, more = found
    value = objective(F, y, w, b)
    row = {
        "n_train": len(y),
        "rank": F.shape[1],
        "solve_seconds": seconds,
        "fit_seconds": seconds,
        "objective": value,
        "gap": value / optimum - 1.0,
        "n_iter": steps,
    }
    if len(y_test):
        row["test_accuracy"] = accuracy(F_test @ w + b > 0, y_test > 0)
    return row | more


@lru_cache(maxsize=1)
def features_of(name, n_landmarks):
    """The features that all solvers are given, of training and of test rows, and the optimum."""
    data = load_dataset(name, paper="lasn")
    k = min(n_landmarks, data.X_train.shape[0])
    nystrom = Nystrom(gamma="variance", n_landmarks=k, landmark_params=FIRST_ROWS, random_state=0)
    F, y = nystrom.fit_transform(data.X_train), signs(data, data.y_train)
    optimum = solve_newton(F, y, C=C, intercept="penalised").objective
    has_test = len(data.y_test) > 0
    F_test = nystrom.transform(data.X_test) if has_test else None
    return F, y, F_test, signs(data, data.y_test), optimum


def _newton(F, y, variant):
    solve_newton(F[:500], y[:500], C=C, intercept="penalised")  # compiled before the clock starts
    stop = {"tol": 1.0, "gap_tol": GAP} if variant == TO_GAP else {}
    result, seconds = _timed(lambda: solve_newton(F, y, C=C, intercept="penalised", **stop))
    return result.coefficients, result.intercept, seconds, result.n_iter, {}


def _liblinear(F, y, dual, variant, optimum):
    """LIBLINEAR at its default tolerance, or at the loosest that reaches the objective."""
    tolerances = TOLERANCES if variant == TO_GAP else (1e-4,)
    for tol in tolerances:
        model = LinearSVC(C=C, dual=dual, tol=tol, max_iter=MAX_ITER, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap of the row says it
            _, seconds = _timed(partial(model.fit, F, y))
        w, b, steps = model.coef_.ravel(), float(model.intercept_[0]), int(np.max(model.n_iter_))
        reached = objective(F, y, w, b) <= (1.0 + GAP) * optimum
        if reached or seconds > ENOUGH_SECONDS or steps >= MAX_ITER:
            break
    return w, b, seconds, steps, {"peer_tol": tol}


def _timed(solve):
    """What it returns and the seconds it takes: their median, where milliseconds allow repeats."""
    seconds = []
    while not seconds or (len(seconds) < REPEATS and sum(seconds) < 1.0):
        began = time.perf_counter()
        found = solve()
        seconds.append(time.perf_counter() - began)
    return found, float(np.median(seconds))
