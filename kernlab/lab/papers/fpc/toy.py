"""What the simulations share: the toy's rows, and the machines that are compared on it.

Beside FPC stand ridge regression on the labels (its own first step) and the minimiser of the hinge
loss that it approximates.
"""

import numpy as np

from kernlab.approximations import PolynomialMap
from kernlab.approximations.polynomial import chebyshev_features
from kernlab.datasets import generators
from kernlab.estimators import FPC
from kernlab.estimators.machine import fit_together
from kernlab.lab.papers.common.fitting import shape_of, solved
from kernlab.rows import as_rows
from kernlab.solvers import solve_hinge_admm

DEGREE = 9  # of Simulations 1 to 3 and 6, with 55 centres
MACHINES = {
    "FPC": {},
    "ridge": {"max_iter": 1},
    "hinge optimum": {"basis": "chebyshev", "to_optimum": True},
}


def toy(rows, repeat, *, test_rows=1000, **noise):
    """Training rows with noise, and test rows without."""
    X, y = generators.fpc_toy(rows, seed=[repeat, 0], **noise)
    X_test, y_test = generators.fpc_toy(test_rows, noise=0.0, seed=[repeat, 1])
    return X, y, X_test, y_test


def fit(method, X, y, degree=DEGREE, **settings):
    """One of `MACHINES`, with other settings if wished."""
    return FPC(degree, **MACHINES[method] | settings).fit(X, y)


def errors(machine, X, y, X_test, y_test):
    """The shares of wrong labels."""
    return {
        "train_error": float(np.mean(machine.predict(X) != y)),
        "test_error": float(np.mean(machine.predict(X_test) != y_test)),
    }


def judged(method, X, y, X_test, y_test, degree=DEGREE, **settings):
    """One of `MACHINES`, fitted: what all rows on the toy say of it, and its errors."""
    machine = fit(method, X, y, degree, **settings)
    return described(machine, X) | errors(machine, X, y, X_test, y_test)


def described(machine, X):
    """The columns that all rows on the toy share."""
    columns = solved(machine.result_, "objective", "gap", "kkt_residual", "n_iter")
    return shape_of(X) | {"n_centres": machine.n_centres_} | columns


def fit_degrees(X, y, degrees, **settings):
    """A function of rows that gives their scores, for every degree, as when FPC chooses one."""
    machines, shared = {}, {}
    for degree in sorted(degrees, reverse=True):  # the largest leaves its Gram matrix to the others
        machines[degree] = FPC(degree, **settings)
        fit_together([machines[degree]], X, y, shared=shared)
    return {degree: machines[degree].decision_function for degree in degrees}


def course_of(X, y, degree=DEGREE, *, map_settings=None, **settings):
    """ADMM's result on the paper's features, with all settings of the solver open; and the map."""
    fitted = PolynomialMap(degree, **(map_settings or {})).fit(X)
    features = chebyshev_features(as_rows(X), fitted.chebyshev_)
    features = features.combined(fitted.change_of_basis_)
    return solve_hinge_admm(features, y, **settings), fitted


def passing(X, y, exponents, degree=DEGREE, map_settings=None):
    """The steps at which one run passes the tolerances 10^-exponent, and the map.

    Returns
    -------
    (list of (exponent, step), PolynomialMap)
    """
    waiting, passed = list(exponents), []

    def watch(step):
        while waiting and step["change"] < 10.0 ** -waiting[0]:
            passed.append((waiting.pop(0), step))

    smallest = {"tol": 10.0 ** -exponents[-1], "max_iter": 20_000}
    _, fitted = course_of(X, y, degree, map_settings=map_settings, callback=watch, **smallest)
    return passed, fitted
