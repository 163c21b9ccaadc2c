"""Scores of new rows by fitted machines, and how good they are, for several machines at once."""

import warnings

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from kernlab.rows import ArrayRows
from kernlab.runtime import levels_to_the_user

LINEAR_FOLDS, MOST_FOR_LINEAR = 3, 2000  # of the linear machine that others are held against
CLEARLY = 0.01  # worse, in accuracy


def scores_of(machines, rows):
    """Scores of rows by machines that were fitted together, from one pass over the rows.

    Returns
    -------
    list of arrays of shape (n_rows, n_problems), one for each machine
    """
    found = {}
    for decide, has_features in ((_by_features, True), (_by_rows, False)):
        members = [m for m in machines if ("coef_" in vars(m)) == has_features]
        if members:
            ends = np.cumsum([len(m.intercept_) for m in members])[:-1]
            parts = np.split(decide(members, rows), ends, axis=1)
            found |= {id(m): s + m.intercept_ for m, s in zip(members, parts, strict=True)}
    return [found[id(machine)] for machine in machines]


def _by_features(machines, rows):
    """Of nested features, those of the largest approximation begin with those of the others."""
    largest = max((m.approximation_ for m in machines), key=lambda a: a.rank_)
    padded = [np.pad(m.coef_, ((0, 0), (0, largest.rank_ - m.coef_.shape[1]))) for m in machines]
    return largest.decision(rows, np.vstack(padded).T)


def _by_rows(machines, rows):
    support, first = np.unique(np.concatenate([m.support_ for m in machines])), machines[0]
    dual = np.zeros((sum(len(m.dual_coef_) for m in machines), len(support)))
    end = 0
    for one in machines:
        start, end = end, end + len(one.dual_coef_)
        dual[start:end, np.searchsorted(support, one.support_)] = one.dual_coef_
    return getattr(first.approximation_, first.decides_by)(rows, dual.T, support)


def qualities_of(machines, rows, sample_weight=None):
    """The accuracy (of regressors: R^2) of each machine on rows with labels, from one pass."""
    if not rows.is_distributed:
        measure = accuracy_score if is_classifier(machines[0]) else r2_score
        return [
            float(measure(rows.labels, machine.answer(scores), sample_weight=sample_weight))
            for machine, scores in zip(machines, scores_of(machines, rows), strict=True)
        ]
    rows = rows if sample_weight is None else rows.weighted(sample_weight)
    deciders = [machine.decider() for machine in machines]
    if is_classifier(machines[0]):
        wrong = rows.reduce_labelled(_losses, deciders, None)
        return ((wrong[-1] - wrong[:-1]) / wrong[-1]).tolist()
    total, mean = rows.reduce_labelled(_weighted_sum)
    left = rows.reduce_labelled(_losses, deciders, mean / total)
    if left[-1] == 0.0:
        return [float(value == 0.0) for value in left[:-1]]
    return (1.0 - left[:-1] / left[-1]).tolist()


def _weighted_sum(X, y, w):
    w = np.ones(len(y)) if w is None else w
    return float(w.sum()), float(w @ y)


def _losses(X, y, w, machines, mean):
    """What each machine loses, and what is lost at most: the weights of rows in the wrong class; or
    squares, beside those about the mean of all labels."""
    w = np.ones(len(y)) if w is None else w
    answers = [
        m.answer(s) for m, s in zip(machines, scores_of(machines, ArrayRows(X)), strict=True)
    ]
    if mean is None:
        return np.array([*(w @ (found != y) for found in answers), w.sum()])
    return np.array([*(w @ (y - found) ** 2 for found in answers), w @ (y - mean) ** 2])


def warn_if_no_better(machine, accuracy, rows, advice):
    """Warn, with the figures, where the accuracy on rows that were held out is not above the share
    of the most frequent class, or clearly below that of a linear machine on some of the rows."""
    counts = np.unique(rows.labels, return_counts=True)[1]
    majority, linear = counts.max() / counts.sum(), 0.0
    if counts.min() >= 3 * LINEAR_FOLDS and rows.shape[1] <= MOST_FOR_LINEAR:
        linear = _linear_accuracy(rows)
    if accuracy > majority and accuracy >= linear - CLEARLY:
        return
    beside = f", and a linear machine {100 * linear:.1f} %" if linear else ""
    warnings.warn(
        f"{type(machine).__name__} is right on {100 * accuracy:.1f} % of held-out rows, where the "
        f"most frequent class alone makes {100 * majority:.1f} %{beside}. {advice}",
        UserWarning,
        stacklevel=levels_to_the_user(),
    )


def _linear_accuracy(rows):
    """The cross-validated accuracy of a linear machine on at most `MOST_FOR_LINEAR` rows."""
    n, draw = len(rows), np.random.default_rng(0)
    some = np.sort(draw.choice(n, min(n, MOST_FOR_LINEAR), replace=False))
    # Its coordinate descent always ends, which its Newton method does not on vanishing features.
    model = make_pipeline(MaxAbsScaler(), LinearSVC(dual=True, max_iter=300, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is a yardstick, of a few hundredths of a second
        found = cross_val_score(model, rows.take(some), rows.labels[some], cv=LINEAR_FOLDS)
    return float(found.mean())
