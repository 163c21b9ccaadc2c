"""The width of a sparse kernel chosen on training rows alone: cross-validation, sparse enough.

The thesis took the sigma with the best accuracy on the test rows. A width is to be judged by rows
that it was not fitted to, and not to be tried at all where its matrix would be too dense to hold.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from kernlab.approximations.compact import predict_entries, radius_by_quantile
from kernlab.rows.duplicates import distinct_rows

WIDTHS = 2.0 ** -np.arange(8)  # tried by default, of the largest that the floor allows


def cross_validate_sigma(
    machine, X, y, sigmas=None, *, floor=0.99, n_folds=5, sample_weight=None, random_state=None
):
    """Cross-validated accuracy of a SparseCholeskySVC for each sigma whose matrix is sparse enough.

    `floor`: the share of zeros that the kernel matrix must have; a width below it is not tried.
    `sigmas`: the widths; None for the largest that the floor allows, and seven halvings of it.
    Where the machine merges equal rows, sparsity is that of the distinct ones.

    Returns a table with a row for each sigma: its predicted `sparsity`, `accuracy` and
    `standard_error` over the folds, `seconds`, and `status`: "ok", or why it was not tried. The
    best of them is `best_sigma(table)`.
    """
    held = X
    if machine.merge:
        distinct = distinct_rows(X, np.unique(y, return_inverse=True)[1])
        held = X if distinct is None else X[distinct.first]
    if sigmas is None:
        sigmas = radius_by_quantile(held, floor, random_state) / 3.0 * WIDTHS
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    splits = list(folds.split(np.zeros(len(y)), y))
    rows = []
    for sigma in map(float, sorted(sigmas)):
        radius = 3.0 * sigma if machine.alpha is None else 1.0 / machine.alpha
        entries = predict_entries(held, radius, random_state).entries
        row = {"sigma": sigma, "sparsity": 1.0 - entries / held.shape[0] ** 2}
        if row["sparsity"] < floor - 1.0 / held.shape[0]:
            rows.append(row | _not_tried(row["sparsity"], floor))
        else:
            rows.append(row | _tried(machine, X, y, sigma, splits, sample_weight))
    return pd.DataFrame(rows)


def best_sigma(table):
    """The smallest of the widths with the best accuracy: of two as good, the sparser."""
    tried = table[table.status == "ok"]
    if tried.empty:
        raise ValueError(
            "no sigma was tried: each gives a matrix denser than the floor. Lower the floor, or "
            f"try widths below {table.sigma.min():.3g}"
        )
    return float(tried.loc[tried.accuracy == tried.accuracy.max(), "sigma"].min())


def _not_tried(sparsity, floor):
    return {
        "accuracy": np.nan,
        "standard_error": np.nan,
        "seconds": 0.0,
        "status": f"sparsity {sparsity:.4f} is below the floor {floor}",
    }


def _tried(machine, X, y, sigma, splits, sample_weight):
    began = time.perf_counter()
    scores = [_score(machine, X, y, sigma, *split, sample_weight) for split in splits]
    return {
        "accuracy": float(np.mean(scores)),
        "standard_error": float(np.std(scores, ddof=1) / np.sqrt(len(scores))),
        "seconds": time.perf_counter() - began,
        "status": "ok",
    }


class NearlyIdentityWarning(UserWarning):
    """A sparse kernel matrix whose rows hardly see each other."""


def _score(machine, X, y, sigma, train, held_out, sample_weight):
    weights = [None, None]
    if sample_weight is not None:
        weights = [sample_weight[train], sample_weight[held_out]]
    with warnings.catch_warnings():
        # Of the machine that is returned it is said; among candidates narrow widths are meant to be
        # there, and their scores say what they are worth.
        warnings.simplefilter("ignore", NearlyIdentityWarning)
        fitted = clone(machine).set_params(sigma=sigma).fit(X[train], y[train], weights[0])
    return fitted.score(X[held_out], y[held_out], weights[1])
