"""One estimator fitted to one data set, as the columns of a tidy row that all studies share."""

import time
import warnings
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning


def fitted_row(model, data, *, train_accuracy=False, **given):
    """Fit, predict, and say what it cost and how good it is.

    Seconds of fitting are split as the estimator splits them (`timings_`); predicting is timed on
    the test rows. Accuracies are of the test rows, of the validation rows where the split has them,
    and of the training rows where they are asked for. What else is `given` goes to `fit`.
    """
    _, seconds = seconds_of(lambda: model.fit(data.X_train, data.y_train, **given))
    row = shape_of(data.X_train) | {
        "fit_seconds": seconds,
        "approximate_seconds": model.timings_.get("approximate"),
        "solve_seconds": model.timings_.get("solve"),
        "n_iter": int(np.max(getattr(model, "n_iter_", 1))),
    }
    approximation = getattr(model, "approximation_", None)
    if hasattr(approximation, "rank_"):
        row["rank"] = approximation.rank_
    if data.y_test is not None and len(data.y_test):
        predicted, row["predict_seconds"] = seconds_of(lambda: model.predict(data.X_test))
        row["test_accuracy"] = accuracy(predicted, data.y_test)
    if data.y_valid is not None:
        row["cv_accuracy"] = accuracy(model.predict(data.X_valid), data.y_valid)
    if train_accuracy:
        row["train_accuracy"] = accuracy(model.predict(data.X_train), data.y_train)
    result = getattr(model, "result_", None)
    if result is not None:
        row |= solved(result, "objective", "gap", "kkt_residual")
    return row


def seconds_of(function, repeats=1):
    """What it returns and the seconds it takes: their median, where milliseconds allow repeats."""
    seconds = []
    while not seconds or (len(seconds) < repeats and sum(seconds) < 1.0):
        began = time.perf_counter()
        found = function()
        seconds.append(time.perf_counter() - began)
    return found, float(np.median(seconds))


def samples(X, y, X_test=(), y_test=()):
    """Rows and labels as `fitted_row` takes them."""
    return SimpleNamespace(X_train=X, y_train=y, X_test=X_test, y_test=y_test, y_valid=None)


def dense(X):
    """Rows that may be sparse, filled in."""
    return X.toarray() if sp.issparse(X) else X


def shape_of(X):
    """Rows and features, as the columns of a tidy row."""
    return {"n_train": X.shape[0], "n_features": X.shape[1]}


def seconds_in(machine, *parts):
    """Seconds that parts of the approximation took."""
    return sum(machine.timings_.get(f"approximate: {part}", 0.0) for part in parts)


def solved(result, *columns):
    """Columns of a tidy row from a solver's result: "objective", "gap", "kkt_residual", ..."""
    return {name: getattr(result, "relative_gap" if name == "gap" else name) for name in columns}


def certified(found):
    """The columns of a certificate."""
    return {"objective": found.primal, "dual_objective": found.dual, "gap": found.relative_gap}


def accuracy(predicted, labels):
    """The share of labels that were predicted."""
    return float(np.mean(predicted == labels))


def warm_up(model, data, rows=200):
    """Fit a copy on a few rows, so that compiling is not part of any time."""
    some = np.concatenate(
        [np.flatnonzero(data.y_train == label)[:rows] for label in np.unique(data.y_train)]
    )
    small = clone(model).fit(data.X_train[some], data.y_train[some])
    small.predict(data.X_train[some])


def unfinished():
    """A context in which machines short of their optimum do not warn: their rows say it."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


def signs(data, labels):
    """Labels as 1 for the set's positive label and -1 for the other."""
    return np.where(labels == data.info["positive"], 1.0, -1.0)
