"""A grid of parameters, solved with everything shared that the grid allows."""

import itertools
import time

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from tqdm.auto import tqdm

from kernlab.estimators.path import fit_path, shared_scores, shares_its_approximation
from kernlab.watching import bar_options

FAILURES = (ValueError, MemoryError, ArithmeticError, np.linalg.LinAlgError)
FIGURES = (
    "n_train",
    "n_features",
    "fit_seconds",
    "approximate_seconds",
    "solve_seconds",
    "predict_seconds",
    "objective",
    "gap",
    "n_iter",
)


def sweep(estimator, X, y, grid, *, validation=None, nested=False, progress=True):
    """One row for each point of a grid, as a DataFrame with the columns of a study.

    grid: values for parameters by name, {"C": [...], "n_landmarks": [...], "h": [...]}.
    validation: None; rows held out, as a pair (X, y) -> validation_accuracy; or a number of folds
    or a splitter -> cv_accuracy and its standard deviation over folds (for regressors: _r2).
    nested: one order of landmarks for all numbers of landmarks, so that the whole of n_landmarks
    costs one map; False draws landmarks for each number, as the papers do. Nested landmarks are
    those that the largest number would get, in the order of their pivots.

    Points that differ in C only share their approximation, and solvers that can go from one C to
    the next. The first point of those that share bears the seconds of what is shared, so that the
    column adds up to what the sweep took. A point that fails is a row with status "failed" and the
    reason in its message.
    """
    grid = {name: list(np.atleast_1d(values)) for name, values in grid.items()}
    _check(estimator, grid, nested)
    metric = "accuracy" if is_classifier(estimator) else "r2"
    points = np.prod([len(values) for values in grid.values()], dtype=int)
    splits = list(_splits(estimator, X, y, validation))
    total = points * len(splits)
    with tqdm(total=total, desc="grid", unit=" points", **bar_options(progress)) as bar:
        tables = [
            _table(estimator, grid, nested, train, held_out, metric, bar)
            for train, held_out in splits
        ]
    if validation is None or isinstance(validation, tuple):
        return tables[0].rename(columns={f"held_out_{metric}": f"validation_{metric}"})
    return _over_folds(tables, list(grid), metric)


def _check(estimator, grid, nested):
    unknown = set(grid) - set(estimator.get_params())
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"{type(estimator).__name__} has no parameter {names}")
    if any(len(values) == 0 for values in grid.values()):
        raise ValueError("every parameter of the grid needs at least one value")
    if not nested:
        return
    if "n_landmarks" not in grid:
        raise ValueError("nested=True is about numbers of landmarks: put n_landmarks in the grid")
    if not (
        shares_its_approximation(estimator) and getattr(estimator, "factor", None) == "cholesky"
    ):
        raise ValueError(
            "nested=True needs an estimator on landmarks with factor='cholesky': the features of "
            "other maps are not nested"
        )
    if not all(isinstance(k, int | np.integer) for k in grid["n_landmarks"]):
        raise ValueError("nested=True takes whole numbers of landmarks")


def _splits(estimator, X, y, validation):
    """Pairs of training rows and rows to validate on (or None)."""
    if validation is None or isinstance(validation, tuple):
        yield (X, y), validation
        return
    for train, held_out in check_cv(validation, y, classifier=is_classifier(estimator)).split(X, y):
        yield tuple(
            (_safe_indexing(X, rows), _safe_indexing(y, rows)) for rows in (train, held_out)
        )


def _table(estimator, grid, nested, train, held_out, metric, bar):
    """All points on one split, in the order of the grid."""
    costs = sorted(grid.get("C", [getattr(estimator, "C", None)]))
    inner = {"C"} | ({"n_landmarks"} if nested else set())
    outer = {name: values for name, values in grid.items() if name not in inner}
    rows, shared = [], {}
    for setting in itertools.product(*outer.values()):
        setting = dict(zip(outer, setting, strict=True))
        ks = sorted(grid["n_landmarks"]) if nested else None
        rows += _group(estimator, setting, costs, ks, "C" in grid, train, held_out, metric, shared)
        bar.update(len(costs) * len(ks or [1]))
    table = pd.DataFrame(rows)
    order = [list(itertools.product(*grid.values())).index(tuple(r[n] for n in grid)) for r in rows]
    return table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)


def _group(estimator, setting, costs, ks, with_costs, train, held_out, metric, shared):
    """The rows of one setting: those that share an approximation."""
    labels = [
        {**setting, **({"n_landmarks": k} if ks else {}), **({"C": C} if with_costs else {})}
        for k in (ks or [None])
        for C in costs
    ]
    try:
        machine = clone(estimator).set_params(**setting)
        fitted = _fitted(machine, train, costs if with_costs else None, ks, shared)
    except FAILURES as error:
        message = f"{type(error).__name__}: {error}"
        return [{**label, "status": "failed", "message": message} for label in labels]
    began = time.perf_counter()
    scores = {f"train_{metric}": _scores(fitted, *train)}
    if held_out is not None:
        scores[f"held_out_{metric}"] = _scores(fitted, *held_out)
    predicting = (time.perf_counter() - began) / len(fitted)
    return [
        {
            **label,
            **_figures(one, train[0], predicting),
            **{name: values[i] for name, values in scores.items()},
            "status": "ok",
            "message": getattr(one.result_, "message", ""),
        }
        for i, (label, one) in enumerate(zip(labels, fitted, strict=True))
    ]


def _fitted(machine, train, costs, ks, shared):
    if ks:
        families = fit_path(machine, *train, costs or [machine.C], n_landmarks=ks)
        return [one for family in families for one in family]
    if costs is None and not shares_its_approximation(machine):
        return [machine.fit(*train)]
    return fit_path(machine, *train, costs or [machine.C], shared=shared)


def _scores(fitted, X, y):
    """Accuracy, or R^2, of each machine; from one pass over the rows where they share landmarks."""
    together = shared_scores(fitted, X) if len(fitted) > 1 else None
    if together is None:
        return [one.score(X, y) for one in fitted]
    return [
        float(np.mean(one._decide(scores) == y))
        for one, scores in zip(fitted, together, strict=True)
    ]


def _figures(one, X, predicting):
    result, timings = one.result_, one.timings_
    gap = result.relative_gap
    return {
        "n_train": X.shape[0],
        "n_features": X.shape[1],
        "fit_seconds": timings["total"],
        "approximate_seconds": timings["approximate"],
        "solve_seconds": timings["solve"],
        "predict_seconds": predicting,
        "objective": result.objective,
        "gap": np.nan if gap is None else gap,
        "n_iter": one.n_iter_,
        "rank": getattr(one.approximation_, "rank_", np.nan),
        "nbytes": one.nbytes_,
        "converged": result.converged,
    }


def _over_folds(tables, names, metric):
    """The mean over folds, with the spread of the validated figure; failures stay failures."""
    table = tables[0][names].copy()
    numbers = [c for c in tables[0].columns if c in FIGURES or c == f"train_{metric}"]
    for column in numbers:
        table[column] = np.mean([fold[column] for fold in tables], axis=0)
    if f"held_out_{metric}" in tables[0]:
        values = np.array([fold[f"held_out_{metric}"] for fold in tables])
        table[f"cv_{metric}"] = values.mean(axis=0)
        table[f"cv_{metric}_sd"] = values.std(axis=0, ddof=1) if len(tables) > 1 else np.nan
    failed = np.any([fold["status"] == "failed" for fold in tables], axis=0)
    table["status"] = np.where(failed, "failed", "ok")
    table["message"] = [
        next((fold["message"][i] for fold in tables if fold["status"][i] == "failed"), "")
        for i in range(len(table))
    ]
    return table
