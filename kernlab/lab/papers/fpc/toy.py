"""What the FPC paper's simulations share: the toy's rows, and the machines that are compared on it.

All machines of a repeat see the same rows. Beside FPC stand ridge regression on the labels (its
own first step) and the minimiser of the hinge loss that it approximates.
"""

import numpy as np

from kernlab.approximations import PolynomialMap
from kernlab.approximations.polynomial import chebyshev_features
from kernlab.datasets import generators
from kernlab.estimators import FPC
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


def described(machine, X):
    """The columns that all rows on the toy share."""
    result = machine.result_
    return {
        "n_train": len(X),
        "n_features": X.shape[1],
        "n_centres": machine.n_centres_,
        "objective": result.objective,
        "gap": result.relative_gap,
        "kkt_residual": result.kkt_residual,
        "n_iter": result.n_iter,
    }


def course_of(X, y, degree=DEGREE, *, map_settings=None, **settings):
    """ADMM on the paper's features, as FPC runs it but with all settings of the solver open.

    Returned are its result and the map.
    """
    fitted = PolynomialMap(degree, **(map_settings or {})).fit(X)
    features = chebyshev_features(as_rows(X), fitted.chebyshev_)
    features = features.combined(fitted.change_of_basis_)
    return solve_hinge_admm(features, y, **settings), fitted


def features_of(X, degree, basis="power"):
    """Polynomial features of all rows, and the map that makes them."""
    fitted = PolynomialMap(degree, basis=basis).fit(X)
    return fitted.transform(X), fitted
