"""FPC: fast polynomial classification (Zeng, Wu, Lin and Zhou 2019)."""

import math
import time
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils.validation import check_random_state

from kernlab.estimators.machine import SOLVER, WHERE_USED, Classifier, fit_together, same, some_rows
from kernlab.estimators.sweep import warn_if_no_better, yardsticks
from kernlab.rows import is_collection, validate_rows


def largest_degree(n_rows, n_features, at_most=10):
    """s_max = min(ceil((m / log m)^(1/d)), 10), the range of Section VI-A."""
    if n_rows < 3:
        return 1
    return max(1, min(math.ceil((n_rows / math.log(n_rows)) ** (1.0 / n_features)), at_most))


def _with_best_degree(machine, X, y, sample_weight):
    """The machine fitted with the lowest of the degrees with the best accuracy on held-out rows."""
    began = time.perf_counter()
    rows = validate_rows(copy(machine), X, y, supervised=True, min_rows=2)
    pair = isinstance(machine.validation, tuple | list) and len(machine.validation) == 2
    if rows.is_distributed and not pair:
        raise ValueError(
            "rows on a cluster are not split to choose the degree: name a degree, or give "
            "validation=(X, y)"
        )
    weights, balance = sample_weight, machine.class_weight
    if not rows.is_distributed:
        weights, balance = machine.row_weights(rows.labels, sample_weight), None
        if weights is not None:
            rows, weights = some_rows(rows, np.flatnonzero(weights)), weights[weights > 0]
    degrees = range(largest_degree(*rows.shape, machine.max_degree), 0, -1)
    accuracies, best = dict.fromkeys(degrees, 0.0), None
    splits = [None] if pair else _splits(rows.labels, machine.validation, machine.random_state)
    for split in splits:
        train, held_out, shared = (rows, None, weights), machine.validation, {}
        if not pair:
            train, held_out = (
                (rows.select(part), None, None if weights is None else weights[part])
                for part in split
            )
        for degree in degrees:  # downwards: the largest leaves its Gram matrix to the others
            one = machine.with_params(degree=degree, class_weight=balance)
            fit_together([one], *train, shared=shared)
            known_here = pair and not is_collection(held_out[1])
            if known_here and (unknown := np.setdiff1d(held_out[1], one.classes_)).size:
                raise ValueError(f"the validation rows have labels not trained on: {unknown[:5]}")
            accuracies[degree] += one.score(*held_out)
            if best is None or accuracies[degree] >= accuracies[best.degree]:
                best = one
    degree = min(s for s in degrees if accuracies[s] == max(accuracies.values()))
    choosing = time.perf_counter() - began
    if not pair:
        best = machine.with_params(degree=degree).fit(X, y, sample_weight)
    best.validation_accuracy_ = {s: accuracies[s] / len(splits) for s in sorted(degrees)}
    advice = "Try another basis, scale the features, raise max_degree, or take LASN."
    warn_if_no_better(machine, accuracies[degree] / len(splits), yardsticks(rows), advice)
    best.timings_ |= {"choose degree": choosing, "total": time.perf_counter() - began}
    return best


def _degrees_tried(machine, shape):
    """All degrees on two thirds of the rows, about, and the largest on all."""
    degrees = range(1, largest_degree(*shape, machine.max_degree) + 1)
    return [*(({"degree": s}, 2 / 3) for s in degrees), ({"degree": degrees[-1]}, 1.0)]


def _splits(labels, validation, random_state):
    """Pairs of positions: to train on, and held out."""
    codes = np.unique(labels, return_inverse=True)[1]
    seed = check_random_state(random_state).randint(2**31 - 1)
    rare = int(np.bincount(codes).min())
    if isinstance(validation, int | np.integer) and not isinstance(validation, bool):
        if not 2 <= validation <= len(codes):
            raise ValueError(f"validation={validation} folds of {len(codes)} rows cannot be made")
        folds = StratifiedKFold(validation, shuffle=True, random_state=seed)
        strata = codes if rare >= validation else np.zeros_like(codes)
        return list(folds.split(strata, strata))
    if not (isinstance(validation, float) and 0.0 < validation < 1.0):
        raise ValueError(
            f"validation={validation!r} is not a share between 0 and 1, a number of folds, nor a "
            "pair (X, y) of rows to validate on"
        )
    if len(codes) < 3:
        raise ValueError(
            f"{len(codes)} rows are too few to choose the degree by validation: name a degree"
        )
    size = min(math.ceil(validation * len(codes)), len(codes) - 1)
    strata = codes if rare >= 2 and validation * len(codes) >= len(np.unique(codes)) else None
    places = np.arange(len(codes))
    train, held_out = train_test_split(places, test_size=size, random_state=seed, stratify=strata)
    return [(np.sort(train), np.sort(held_out))]


@dataclass(eq=False, repr=False)
class FPC(Classifier):
    """Classification by polynomials without a margin: polynomial features, and ADMM on the hinge.

        minimise over u   1/m sum_i max(0, 1 - y_i f(x_i)),   f(x) = sum_j u_j (1 + x . eta_j)^s

    The degree s takes the place of a regularisation parameter. Rows are read in blocks and the
    m x n features are never held: one pass for their Gram matrix, one for each step.

    As the paper sets it, ADMM stops after a few steps, and what it then has is close to ridge
    regression on the labels (`max_iter=1` is exactly that). `to_optimum=True` goes on to the
    minimiser of the hinge loss.

    Parameters
    ----------
    degree : int or "cv", default "cv"
        s; "cv" takes the best of 1 ... s_max = min(ceil((m / log m)^(1/d)), max_degree) by
        `validation`.
    n_centres : int, default None
        n; None for min(C(s + d, s), m).
    centres : str or array of shape (n, n_features), default "first"
        The points eta_j: "first", "random", "uniform", or an array (see `PolynomialMap`).
    basis : {"power", "chebyshev"}, default "power"
        "power" is the paper's; "chebyshev" gives the same polynomials, far better conditioned: the
        same optimum, another early stop.
    scaling : {"unit", "none"}, default "unit"
        "unit" maps features to [0, 1] by the training rows; "none" takes them as they are.
    alpha, beta : float, default 1.0
        Of ADMM. Not used on the way to the optimum.
    tol : float, default 5e-4
        Where |p - p_before|_H^2 stops; with `to_optimum`, the duality gap relative to the loss.
    max_iter : int, default None
        Most steps; None for 5, the paper's tables, and 300 with `to_optimum`.
    to_optimum : bool, default False
    max_seconds : float, default 600
        Of the way to the optimum, for each class and degree: then the best weights so far are
        taken, with a warning. None for no limit.
    validation : float, int or pair (X, y), default 1/3
        Of "cv": the share of rows to hold out, a number of folds, or rows to validate on. After a
        share or folds the chosen degree is fitted again on all rows.
    max_degree : int, default 10
    class_weight, random_state, max_memory, verbose
        See `KernelMachine`, as for the other attributes.

    Attributes
    ----------
    degree_, n_centres_ : int
    validation_accuracy_ : dict
        Of each degree tried, with "cv".

    Examples
    --------
    >>> from kernlab import FPC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> machine = FPC(degree=5, basis="chebyshev").fit(X, y)
    >>> machine.n_centres_, machine.score(X, y) > 0.95
    (21, True)
    """

    degree: object = "cv"
    _: KW_ONLY
    n_centres: int | None = None
    centres: object = "first"
    basis: str = "power"
    scaling: str = "unit"
    alpha: float = 1.0
    beta: float = 1.0
    tol: float = 5e-4
    max_iter: int | None = None
    to_optimum: bool = False
    max_seconds: float | None = 600.0
    validation: object = 1 / 3
    max_degree: int = 10

    approximation, loss, intercept, C = "polynomial", "hinge", "none", None
    paths: ClassVar[dict] = {False: {"hinge": "hinge-admm"}, True: {"hinge": "hinge-interior"}}
    path_of, keep_dual = "to_optimum", False
    to_approximation = WHERE_USED | same("degree", "n_centres", "centres", "basis", "scaling")
    to_solver = SOLVER | same("alpha", "beta", "max_seconds", "keep_dual")
    chosen_by: ClassVar[dict] = {"degree": (_with_best_degree, _degrees_tried)}
    keeps_weightless = False
    degree_ = property(lambda machine: machine.approximation_.degree)
    n_centres_ = property(lambda machine: machine.approximation_.n_centres_)
