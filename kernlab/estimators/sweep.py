"""A grid of parameters, with everything shared that the grid allows."""

import contextlib
import itertools
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.utils import _safe_indexing
from tqdm.auto import tqdm

from kernlab.estimators.machine import NESTED, Pair, fit_together, qualities_of
from kernlab.rows import Rows, as_rows, is_collection
from kernlab.runtime import MemoryLimitError, bar_options, levels_to_the_user, memory_limit

LINEAR_FOLDS, MOST_FOR_LINEAR = 3, 2000  # of the linear machine that others are held against
CLEARLY = 0.01  # worse, in accuracy
UNTUNED = (
    "Those are the defaults: `kernlab.recommend(X, y)` says what suits these rows, `sweep` tries "
    "gamma, C and landmarks."
)
FAILURES = (ValueError, TypeError, MemoryError, ArithmeticError, np.linalg.LinAlgError)


def sweep(
    estimator, X, y, grid, *, sample_weight=None, validation=None, nested=False, progress=True
):
    """One row for each point of a grid of parameters, with the columns of a study.

    Points that differ in what the solver is told share their approximation, and solvers that can
    go from one C to the next do; approximations of the same rows share what they can. The first
    point of those that share bears the seconds of what is shared. A point that fails is a row with
    status "failed" and the reason in its message.

    Parameters
    ----------
    estimator : estimator
        One of kernlab's, or any of scikit-learn's, a pipeline say.
    X, y
        As in `fit`; of a cluster with validation=None or rows held out.
    grid : dict
        Values for parameters by name, {"C": [...], "n_landmarks": ["sqrt", 100], "h": [...]}; as
        scikit-learn names them in a pipeline ("svc__C"), and entries of approximation_params and
        solver_params likewise ("approximation_params__n_landmarks"). An array among the values, of
        landmarks say, shows as "array 0, 5 x 2": its place and its shape.
    sample_weight : array of shape (n_rows,), default None
        For fitting and for scores, of estimators that take them.
    validation : None, (X, y), int or splitter, default None
        Rows held out -> validation_accuracy; a number of folds or a splitter -> cv_accuracy and its
        standard deviation over folds (for regressors: _r2).
    nested : bool, default False
        One order of landmarks for all numbers of landmarks, so that the whole of n_landmarks costs
        one map. Nested landmarks are those that the largest number would get, in the order of their
        pivots. False draws landmarks for each number, as the papers do.
    progress : bool, default True

    Returns
    -------
    DataFrame
        The grid's parameters, n_train, n_features, rank, fit_seconds (approximate_seconds and
        solve_seconds), predict_seconds (of the rows held out, else of the training rows),
        train_accuracy and those above, objective, gap (relative), kkt_residual, n_iter, converged,
        nbytes, status, message. What an estimator of others does not say is not a number.

    Examples
    --------
    >>> from kernlab import LASN, sweep
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> table = sweep(LASN(20, random_state=0), X, y, {"C": [0.1, 10.0]}, validation=3)
    >>> list(table["status"]), bool(table["cv_accuracy"].min() > 0.9)
    (['ok', 'ok'], True)
    """
    grid = {name: _values(values) for name, values in grid.items()}
    # The one question of whose estimator it is: what follows from that are methods.
    tried = (_Machines if isinstance(estimator, Pair) else _Estimators)(estimator)
    _check(tried, grid, nested)
    if isinstance(X, str | Path | Rows) or is_collection(X):
        X = as_rows(X, y)
    if isinstance(X, Rows):
        X, y = tried.samples(X)
    metric = "accuracy" if is_classifier(estimator) else "r2"
    points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    shown = {n: [_shown(v, i) for i, v in enumerate(values)] for n, values in grid.items()}
    table = pd.DataFrame(list(itertools.product(*shown.values())), columns=list(grid))
    select = X.select if isinstance(X, Rows) else partial(_safe_indexing, X)
    parts = [None]  # positions of the rows to train on and to validate on, for each fold
    if not (validation is None or isinstance(validation, tuple)):
        if isinstance(X, Rows) and X.is_distributed:
            raise ValueError("rows on a cluster are not split into folds: give validation=(X, y)")
        folds = check_cv(validation, y, classifier=is_classifier(estimator))
        parts = list(folds.split(np.zeros(len(y)), y))
    total, found = len(points) * len(parts), []
    with tqdm(total=total, desc="grid", unit=" points", **bar_options(progress)) as bar:
        for part in parts:
            split = (X, y, sample_weight), validation
            if part is not None:  # copies of the rows: those of one fold at a time
                split = tuple(_taken(select, y, sample_weight, positions) for positions in part)
            found.append(pd.DataFrame(_measured(tried, points, nested, *split, metric, bar)))
    if parts == [None]:
        measured = found[0].rename(columns={f"held_out_{metric}": f"validation_{metric}"})
    else:
        measured = _over_folds(found, metric)
    return pd.concat([table, measured], axis=1)


# ------------------------------------------------------------------------------ what comes in
def _values(given):
    """The values of one parameter, each as it was given: together in one array, a word would turn
    the numbers beside it into words."""
    if hasattr(given, "__array__"):
        given = np.asarray(given)
        given = list(given) if given.ndim else [given[()]]
    elif not isinstance(given, list | tuple | range):
        given = [given]
    return [value.item() if isinstance(value, np.generic) else value for value in given]


def _shown(value, place):
    """A value as the table shows it: arrays by their place in the grid, and their shape."""
    if getattr(value, "ndim", 0) == 0:
        return value
    return f"array {place}, {' x '.join(map(str, value.shape))}"


def _check(tried, grid, nested):
    if not all(grid.values()):
        raise ValueError("every parameter of the grid needs at least one value")
    clone(tried.estimator).set_params(**{name: values[0] for name, values in grid.items()})
    numbers = [values for name, values in grid.items() if name.endswith(NESTED)]
    if nested and not (numbers and tried.may_nest):
        raise ValueError(
            "nested=True is about numbers of landmarks: put n_landmarks in the grid of a machine "
            "that has them"
        )
    if nested and not all(isinstance(k, int) for k in numbers[0]):
        raise ValueError("nested=True takes whole numbers of landmarks")


def _taken(select, y, weights, part):
    """The rows, labels and weights at these positions."""
    weights = None if weights is None else np.asarray(weights)[part]
    return select(part), _safe_indexing(y, part), weights


# ------------------------------------------------------------------------------ fitting
class _Estimators:
    """How points of a grid are measured with any estimator: each by itself, and only what
    scikit-learn's interface says of it."""

    may_nest = False

    def __init__(self, estimator):
        self.estimator = estimator

    def samples(self, rows):
        """What `fit` is given of `Rows`, and the labels."""
        if rows.is_distributed:
            name = type(self.estimator).__name__
            raise TypeError(f"{name} does not work on rows of a cluster")
        return rows.whole(), rows.labels

    def sharing_key(self, point, nested):
        """Equal for points that are fitted together; None for one that is fitted by itself."""

    def fitted(self, points, nested, train, shared):
        """Fitted machines of one group, and the seconds of each."""
        (point,), (X, y, weights), began = points, train, time.perf_counter()
        machine = clone(self.estimator).set_params(**point).fit(X, y, **_named(weights))
        return [machine], [time.perf_counter() - began]

    def qualities(self, machines, X, y, weights=None):
        """Accuracy, or R^2, of each machine."""
        return [machine.score(X, y, **_named(weights)) for machine in machines]

    def figures(self, machine):
        """What a machine knows of itself, and its message."""
        return {"n_iter": np.max(getattr(machine, "n_iter_", np.nan))}, ""


class _Machines(_Estimators):
    """The same with kernlab's machines: fitted together where they can share, scored in one pass
    over the rows, wherever these are."""

    may_nest = True

    def samples(self, rows):
        return rows, None if rows.is_distributed else rows.labels  # a cluster has them beside rows

    def sharing_key(self, point, nested):
        with contextlib.suppress(*FAILURES):  # it fails by itself, with its reason
            return self.estimator.with_params(**point).sharing_key(nested)

    def fitted(self, points, nested, train, shared):
        machines = [self.estimator.with_params(**point) for point in points]
        if machines[0].chooser():
            machines[0].fit(*train)
        else:
            fit_together(machines, *train, shared=shared, nested=nested)
        return machines, [machine.timings_["total"] for machine in machines]

    def qualities(self, machines, X, y, weights=None):
        return qualities_of(machines, machines[0].rows_of(X, y, supervised=True), weights)

    def figures(self, machine):
        result = machine.result_
        found = {
            "rank": machine.approximation_.rank_,
            "approximate_seconds": machine.timings_["approximate"],
            "solve_seconds": machine.timings_["solve"],
            "objective": result.objective,
            "gap": result.relative_gap,
            "kkt_residual": result.kkt_residual,
            "n_iter": machine.n_iter_,
            "converged": result.converged,
            "nbytes": machine.nbytes_,
        }
        found = {name: np.nan if value is None else value for name, value in found.items()}
        return found, result.message


def _named(weights):
    """Weights as an argument, of estimators that need not take any."""
    return {} if weights is None else {"sample_weight": weights}


def _measured(tried, points, nested, train, held_out, metric, bar):
    """The rows of all points on one split, in their order."""
    groups, rows, shared = {}, {}, {}
    for i, point in enumerate(points):
        key = tried.sharing_key(point, nested)
        groups.setdefault(i if key is None else key, {})[i] = point
    for group in groups.values():
        rows |= _group(tried, group, nested, train, held_out, metric, shared)
        bar.update(len(group))
    return [rows[i] for i in range(len(points))]


def _group(tried, group, nested, train, held_out, metric, shared):
    """The rows of points that are fitted together, by their places."""
    try:
        machines, seconds = tried.fitted(group.values(), nested, train, shared)
        rows = _scored(tried, machines, seconds, train, held_out, metric)
    except FAILURES as error:
        if len(group) > 1:  # perhaps one of them fails, and not the others
            rows = {}
            for i, point in group.items():
                rows |= _group(tried, {i: point}, nested, train, held_out, metric, shared)
            return rows
        rows = [{"status": "failed", "message": f"{type(error).__name__}: {error}"}]
    return dict(zip(group, rows, strict=True))


def _scored(tried, machines, seconds, train, held_out, metric):
    scores = {}
    for name, rows in (("train", train), ("held_out", held_out)):
        if rows is not None:
            began = time.perf_counter()
            scores[f"{name}_{metric}"] = tried.qualities(machines, *rows)
            predicting = (time.perf_counter() - began) / len(machines)
    shape = getattr(train[0], "shape", None) or np.shape(train[0])
    told = map(tried.figures, machines)
    return [
        {
            "n_train": shape[0],
            "n_features": shape[1],
            **figures,
            "fit_seconds": spent,
            "predict_seconds": predicting,
            **{name: values[i] for name, values in scores.items()},
            "status": "ok",
            "message": message,
        }
        for i, (spent, (figures, message)) in enumerate(zip(seconds, told, strict=True))
    ]


def _over_folds(folds, metric):
    """Means over folds, with the spread of the validated figure; what fails in one fold has failed,
    for its reason there."""
    points = pd.concat(folds).groupby(level=0)
    failed = points["status"].agg(lambda found: "failed" in set(found))
    table = points.mean(numeric_only=True).where(~failed)
    held_out = f"held_out_{metric}"
    if held_out in table:
        table[f"cv_{metric}_sd"] = points[held_out].std(ddof=1).where(~failed)
        table = table.rename(columns={held_out: f"cv_{metric}"})
    table["status"] = np.where(failed, "failed", "ok")
    reasons = [fold["message"].where(fold["status"] == "failed") for fold in folds]
    table["message"] = pd.concat(reasons, axis=1).bfill(axis=1).iloc[:, 0].fillna("")
    return table


# ------------------------------------------------------------------------------ a yardstick
def yardsticks(rows):
    """The share of the most frequent class, and the accuracy of a linear machine on some of the
    rows (0.0 where they are too few, or have too many features)."""
    counts = np.unique(rows.labels, return_counts=True)[1]
    many, few = counts.min() >= 3 * LINEAR_FOLDS, rows.shape[1] <= MOST_FOR_LINEAR
    enough = len(counts) > 1 and many and few
    # Its coordinate descent always ends, which its Newton method does not on vanishing features.
    linear = make_pipeline(MaxAbsScaler(), LinearSVC(dual=True, max_iter=300, random_state=0))
    return counts.max() / counts.sum(), _accuracy(linear, rows) if enough else 0.0


def is_better(accuracy, majority, linear):
    """Whether an accuracy is above the most frequent class's, and not clearly below a linear
    machine's."""
    return accuracy > majority and accuracy >= linear - CLEARLY


def warn_if_no_better(machine, accuracy, others, advice):
    """Warn, with the figures, where the accuracy on rows that were held out is not better than the
    `yardsticks` of the rows."""
    if is_better(accuracy, *others):
        return
    majority, linear = others
    beside = f", and a linear machine {100 * linear:.1f} %" if linear else ""
    warnings.warn(
        f"{type(machine).__name__} is right on {100 * accuracy:.1f} % of held-out rows, where the "
        f"most frequent class alone makes {100 * majority:.1f} %{beside}. {advice}",
        UserWarning,
        stacklevel=levels_to_the_user(),
    )


def hold_against_others(machine, rows, **params):
    """Warn where a machine whose parameters nobody chose is no better than the `yardsticks`, by
    cross-validation, on the same of the rows, of its like with `params`."""
    beside = 3 * 8 * rows.shape[1] * min(len(rows), MOST_FOR_LINEAR)  # copies of those rows
    room = memory_limit(machine.max_memory) - machine.nbytes_ - beside
    if room <= 0 or not (others := yardsticks(rows))[1]:
        return
    like = machine.with_params(max_memory=room, verbose=False, **params)
    # Fewer rows cannot be fitted as all can: not known.
    with contextlib.suppress(MemoryLimitError, ValueError):
        accuracy, n = _accuracy(like, rows), min(len(rows), MOST_FOR_LINEAR)
        doubt = 2.0 * np.sqrt(accuracy * (1.0 - accuracy) / n)  # two standard errors
        if accuracy <= others[0] or not is_better(accuracy + doubt, *others):
            warn_if_no_better(machine, accuracy, others, UNTUNED)


def _accuracy(model, rows):
    """The cross-validated accuracy of a model on at most `MOST_FOR_LINEAR` rows."""
    n, draw = len(rows), np.random.default_rng(0)
    some = np.sort(draw.choice(n, min(n, MOST_FOR_LINEAR), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is a yardstick, of a few hundredths of a second
        found = cross_val_score(
            model, rows.take(some), rows.labels[some], cv=LINEAR_FOLDS, error_score="raise"
        )
    return float(found.mean())
