"""The methods of FPC's tables on one split: parameters by the validation rows, then one timed fit.

The paper's grids are run under the profile "paper". Elsewhere the support vector machines are tuned
on a part of the training rows and a coarser grid, and LIBSVM may take only so many steps there; the
machine that is timed and scored is then trained on all training rows.
"""

import itertools
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations.polynomial import space_dimension
from kernlab.estimators import FPC
from kernlab.estimators.fpc import largest_degree
from kernlab.lab.baselines import BASELINES, LibSVM, Wrapped
from kernlab.lab.engine import NotRun
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, warm_up

PAPERS = ("SVM-RBF", "SVM-Poly", "RF", "FPC")
BOOSTING = {"Boosting": 1.0, "eps-boosting": 0.1}  # how much of a tree is taken
BOOSTED_TREES = (25, 50, 100)
OURS = ("ridge", "hinge optimum")
TREE_COUNTS = tuple(range(2, 21, 2))  # of Tables II to IV
LARGEST_SPACE = 1500  # of a hinge optimum: an interior point method takes many Gram matrices
SETTINGS = {
    "FPC": {},
    "ridge": {"max_iter": 1},
    "hinge optimum": {"basis": "chebyshev", "to_optimum": True, "tol": 1e-3},
}


@dataclass(frozen=True)
class Budget:
    """What tuning may cost: rows, LIBSVM's steps, and the grids."""

    rows: int | None
    steps: int
    costs: tuple
    gammas: tuple
    degrees: tuple
    trees: tuple = TREE_COUNTS


BUDGETS = {
    "small": Budget(300, 5_000, (1.0, 32.0), (0.5, 4.0), (1, 3), (10, 20)),
    "coarse": Budget(
        1500, 20_000, tuple(2.0**e for e in (-5, -1, 2, 5)), tuple(2.0**e for e in (-5, -2, 0, 2)),
        (1, 2, 3, 5),
    ),
    "paper": Budget(
        None, 10_000_000, tuple(2.0**e for e in range(-5, 6)), tuple(2.0**e for e in range(-5, 6)),
        tuple(range(1, 11)),
    ),
}  # fmt: skip
LIBSVM_STEPS = 5_000_000  # of the machine that is timed


def measured_row(method, data, budget, seed):
    """Tune, fit, and say how good, how fast, and how sparse the machine is."""
    model, chosen = tuned(method, data, BUDGETS[budget], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few rows, not the machine timed
        warm_up(model, data)
    return chosen | fitted_row(model, data) | {"sparsity": sparsity(model)}


def tuned(method, data, budget, seed):
    """The model with the best accuracy on the validation rows, unfitted, and its parameters."""
    if method in ("FPC", *OURS):
        return _tuned_fpc(method, data)
    forest = method in ("RF", *BOOSTING)
    rows = slice(None) if forest else _some_rows(data.y_train, budget.rows, seed)
    best, best_score = None, -1.0
    for chosen, make in _candidates(method, budget, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # cut short by its budget
            model = make(budget.steps).fit(data.X_train[rows], data.y_train[rows])
        score = accuracy(model.predict(data.X_valid), data.y_valid)
        if score > best_score:
            best, best_score = (chosen, make), score
    chosen, make = best
    return make(LIBSVM_STEPS), chosen


def _tuned_fpc(method, data):
    (m, d), settings = data.X_train.shape, SETTINGS[method]
    largest = largest_degree(m, d)
    if method == "hinge optimum":
        fitting = [s for s in range(1, largest + 1) if space_dimension(d, s) <= LARGEST_SPACE]
        if not fitting:
            raise NotRun(f"{d} features give more than {LARGEST_SPACE} polynomials of degree 1")
        largest = max(fitting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # degrees are compared, not solved
        search = FPC(validation=(data.X_valid, data.y_valid), max_degree=largest, **settings)
        search.fit(data.X_train, data.y_train)
    return FPC(search.degree_, **settings), {"chosen_degree": search.degree_}


def _candidates(method, budget, seed):
    """Pairs of parameters and a function of LIBSVM's steps that makes the model."""
    if method == "RF" or method in BOOSTING:
        settings = {"random_state": seed}
        if method != "RF":
            settings["learning_rate"] = BOOSTING[method]
        baseline = BASELINES["random-forest" if method == "RF" else "boosting"]
        for trees in budget.trees if method == "RF" else BOOSTED_TREES:
            model = baseline.make(n_estimators=trees, **settings)
            yield {"trees": trees}, lambda _, model=model: clone(model)
        return
    degrees = (None,) if method == "SVM-RBF" else budget.degrees
    for s, C, g in itertools.product(degrees, budget.costs, budget.gammas):
        kernel = {} if s is None else {"kernel": "polynomial", "degree": s, "coef0": 1.0}
        machine = partial(LibSVM, C, gamma=g, cache_size=500, **kernel)
        degree = {} if s is None else {"chosen_degree": s}
        yield (
            degree | {"chosen_C": C, "chosen_gamma": g},
            lambda steps, machine=machine: machine(max_iter=steps),
        )


def _some_rows(labels, count, seed):
    """At most so many rows at random, some of each class."""
    if count is None or len(labels) <= count:
        return slice(None)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(labels), count, replace=False)
    first = [np.flatnonzero(labels == label)[:2] for label in np.unique(labels)]
    return np.unique(np.concatenate([rows, *first]))


def sparsity(model):
    """What a prediction costs: support vectors, trees, or centres."""
    if isinstance(model, LibSVM):
        return len(model.support_)
    return model.model.n_estimators if isinstance(model, Wrapped) else model.n_centres_
