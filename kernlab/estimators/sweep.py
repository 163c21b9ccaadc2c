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
from kernlab.runtime import bar_options

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

    grid: values for parameters by name, {"C": [...], "n_landmarks": ["sqrt", 100], "h": [...]}. An
    array among the values, of landmarks say, shows as "array 0, 5 x 2": its place and its shape.
    validation: None; rows held out, as a pair (X, y) -> validation_accuracy; or a number of folds
    or a splitter -> cv_accuracy and its standard deviation over folds (for regressors: _r2).
    nested: one order of landmarks for all numbers of landmarks, so that the whole of n_landmarks
    costs one map; False draws landmarks for each number, as the papers do. Nested landmarks are
    those that the largest number would get, in the order of their pivots.

    Points that differ in C only share their approximation, and solvers that can go from one C to
    the next. The first point of those that share bears the seconds of what is shared, so that the
    column adds up to what the sweep took. A point that fails, in one fold perhaps, is a row with
    status "failed" and the reason in its message; the others of its group are then fitted C by C.
    """
    grid = {name: _values(values) for name, values in grid.items()}
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


def _values(given):
    """The values of one parameter, each as it was given: together in one array, a word would turn
    the numbers beside it into words."""
    if hasattr(given, "__array__"):
        given = np.asarray(given)
        given = list(given) if given.ndim else [given[()]]
    elif not isinstance(given, list | tuple | range):
        given = [given]
    return [value.item() if isinstance(value, np.generic) else value for value in given]


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
    """All points on one split, in the order of the grid.

    Points are known by the places of their values in the grid: values may be arrays, or equal.
    """
    inner = [name for name in ("n_landmarks", "C") if name in grid and (nested or name == "C")]
    outer = [name for name in grid if name not in inner]
    ascending = {name: sorted(_places(grid[name]), key=grid[name].__getitem__) for name in inner}
    rows, shared = {}, {}
    for places in itertools.product(*(_places(grid[name]) for name in outer)):
        group = {name: [place] for name, place in zip(outer, places, strict=True)} | ascending
        found = _group(estimator, grid, group, nested, train, held_out, metric, shared)
        rows |= found
        bar.update(len(found))
    order = itertools.product(*(_places(values) for values in grid.values()))
    return pd.DataFrame([rows[point] for point in order])


def _places(values):
    return range(len(values))


def _group(estimator, grid, group, nested, train, held_out, metric, shared):
    """The rows, by their places in the grid, of points that share an approximation."""
    points = [
        dict(zip(group, places, strict=True)) for places in itertools.product(*group.values())
    ]
    values = {name: [grid[name][place] for place in places] for name, places in group.items()}
    try:
        fitted = _fitted(estimator, values, nested, train, shared)
    except FAILURES as error:
        if len(group.get("C", ())) > 1:  # perhaps one of them fails, and not the others
            alone = [group | {"C": [place]} for place in group["C"]]
            found = [
                _group(estimator, grid, one, nested, train, held_out, metric, shared)
                for one in alone
            ]
            return dict(itertools.chain.from_iterable(rows.items() for rows in found))
        failed = {"status": "failed", "message": f"{type(error).__name__}: {error}"}
        rows = [failed] * len(points)
    else:
        rows = _measured(fitted, train, held_out, metric)
    return {
        tuple(point[name] for name in grid): {
            **{name: _shown(values[point[name]], point[name]) for name, values in grid.items()},
            **row,
        }
        for point, row in zip(points, rows, strict=True)
    }


def _fitted(estimator, values, nested, train, shared):
    """A machine for each point of a group: all C of the fewest landmarks first."""
    paths = {"C", "n_landmarks"} if nested else {"C"}
    setting = {name: values[name][0] for name in values if name not in paths}
    machine = clone(estimator).set_params(**setting)
    costs = values.get("C")
    if nested:
        families = fit_path(
            machine, *train, costs or [machine.C], n_landmarks=values["n_landmarks"]
        )
        return [one for family in families for one in family]
    if costs is None and not shares_its_approximation(machine):
        return [machine.fit(*train)]
    return fit_path(machine, *train, costs or [machine.C], shared=shared)


def _measured(fitted, train, held_out, metric):
    """What is to be known of each machine."""
    began = time.perf_counter()
    scores = {f"train_{metric}": _scores(fitted, *train)}
    if held_out is not None:
        scores[f"held_out_{metric}"] = _scores(fitted, *held_out)
    predicting = (time.perf_counter() - began) / len(fitted)
    return [
        {
            **_figures(one, train[0], predicting),
            **{name: values[i] for name, values in scores.items()},
            "status": "ok",
            "message": getattr(one.result_, "message", ""),
        }
        for i, one in enumerate(fitted)
    ]


def _shown(value, place):
    """A value as the table shows it: arrays by their place in the grid, and their shape."""
    if getattr(value, "ndim", 0) == 0:
        return value
    return f"array {place}, {' x '.join(map(str, value.shape))}"


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
    """The mean over folds, with the spread of the validated figure; what fails in one fold has
    failed, for its reason there."""
    table = tables[0][names].copy()
    for column in (*FIGURES, f"train_{metric}"):
        values = _in_all_folds(tables, column)
        if values is not None:
            table[column] = values.mean(axis=0)
    values = _in_all_folds(tables, f"held_out_{metric}")
    if values is not None:
        table[f"cv_{metric}"] = values.mean(axis=0)
        table[f"cv_{metric}_sd"] = values.std(axis=0, ddof=1) if len(tables) > 1 else np.nan
    failed = np.any([fold["status"] == "failed" for fold in tables], axis=0)
    table["status"] = np.where(failed, "failed", "ok")
    table["message"] = [
        next((fold["message"][i] for fold in tables if fold["status"][i] == "failed"), "")
        for i in range(len(table))
    ]
    return table


def _in_all_folds(tables, column):
    """A figure by fold and point; None where no fold has it. A fold in which all points failed
    lacks the column."""
    if not any(column in fold for fold in tables):
        return None
    return np.array([fold.get(column, np.full(len(fold), np.nan)) for fold in tables], dtype=float)
