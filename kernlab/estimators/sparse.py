"""The sparse kernel machine: compact support, sparse Cholesky, LIBLINEAR (Abdellatif 2019)."""

import time
import warnings
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from kernlab.approximations.compact import (
    NearlyDiagonalWarning,
    default_sparsity,
    predict_entries,
    radius_by_quantile,
    resolve_kernel,
)
from kernlab.estimators.machine import (
    WHERE_USED,
    Classifier,
    fit_together,
    gamma_of,
    is_word,
    same,
    some_rows,
)
from kernlab.estimators.sweep import is_better, sweep, warn_if_no_better, yardsticks
from kernlab.kernels import gamma_from_sigma
from kernlab.rows import distinct_rows, validate_rows
from kernlab.runtime import MemoryLimitError, memory_limit, require_memory

MEASURED = ("cv_accuracy", "cv_accuracy_sd", "fit_seconds", "predict_seconds", "message")
N_FOLDS = 5
TOO_NARROW = (
    "A sparse matrix takes a narrow kernel: lower `sparsity`, or take LASN, whose kernel may be as "
    "wide as it likes."
)
WIDTHS = 2.0 ** -np.arange(8)  # tried by default, of the largest that the floor allows


def cross_validate_sigma(
    machine, X, y, sigmas=None, *, floor=0.99, n_folds=5, sample_weight=None, random_state=None
):
    """Cross-validated accuracy of a SparseCholeskySVC for each sigma whose matrix is sparse enough.

    Parameters
    ----------
    machine : SparseCholeskySVC
        Where it merges equal rows, sparsity is that of the distinct ones.
    X, y, sample_weight, random_state
        As in `fit`.
    sigmas : list of float, default None
        The widths; None for the largest that the floor allows, and seven halvings of it.
    floor : float, default 0.99
        The share of zeros that the kernel matrix must have; a width below it is not tried.
    n_folds : int, default 5

    Returns
    -------
    DataFrame
        A row for each sigma: its predicted `sparsity`, `accuracy` and `standard_error` over the
        folds, `seconds`, and `status`: "ok", or why it was not tried. The best is
        `best_sigma(table)`.
    """
    y, held = np.asarray(y), X
    if machine.merge:
        distinct = distinct_rows(X, np.unique(y, return_inverse=True)[1])
        held = X if distinct is None else X[distinct.first]
    if sigmas is None:
        sigmas = radius_by_quantile(held, floor, random_state) / 3.0 * WIDTHS
    table = pd.DataFrame({"sigma": sorted(map(float, sigmas))})
    radius = 3.0 * table["sigma"]
    if machine.alpha is not None:
        given = {"alpha": machine.alpha, "l": machine.l, "random_state": random_state}
        gammas = [gamma_from_sigma(sigma) for sigma in table["sigma"]]
        radius = [resolve_kernel(held, gamma, **given).radius for gamma in gammas]
    entries = np.array([predict_entries(held, r, random_state).entries for r in radius])
    table["sparsity"] = 1.0 - entries / held.shape[0] ** 2
    enough = table["sparsity"] >= floor - 1.0 / held.shape[0]
    table["status"] = [
        "ok" if fits else f"sparsity {share:.4f} is below the floor {floor}"
        for fits, share in zip(enough, table["sparsity"], strict=True)
    ]
    table[["accuracy", "standard_error", "seconds"]] = np.nan, np.nan, 0.0
    if enough.any():
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
        grid = {"sigma": list(table.loc[enough, "sigma"])}
        with warnings.catch_warnings():  # narrow widths are meant to be among the candidates
            warnings.simplefilter("ignore", NearlyDiagonalWarning)
            tried = sweep(
                machine, X, y, grid, sample_weight=sample_weight, validation=folds, progress=False
            )
        tried = tried.reindex(columns=list(dict.fromkeys([*tried, *MEASURED])))  # where all failed
        tried.index = table.index[enough]
        table.loc[enough, "accuracy"] = tried["cv_accuracy"]
        table.loc[enough, "standard_error"] = tried["cv_accuracy_sd"] / np.sqrt(n_folds)
        table.loc[enough, "seconds"] = n_folds * (tried["fit_seconds"] + tried["predict_seconds"])
        failed = tried[tried["status"] == "failed"]
        table.loc[failed.index, "status"] = failed["message"]
    return table


def best_sigma(table):
    """The smallest of the widths with the best accuracy: of two as good, the sparser."""
    tried = table[table.status == "ok"]
    if not tried.empty:
        return float(tried.loc[tried.accuracy == tried.accuracy.max(), "sigma"].min())
    if failed := [text for text in table.status if not text.startswith("sparsity")]:
        raise ValueError(f"no sigma could be tried: {failed[0]}")
    raise ValueError(
        "no sigma was tried: each gives a matrix denser than the floor. Lower the floor, or "
        f"try widths below {table.sigma.min():.3g}"
    )


def _with_best_sigma(machine, X, y, sample_weight):
    """The machine fitted with the width that cross-validation on its rows chooses."""
    rows = validate_rows(machine.with_params(), X, y, supervised=True)
    machine.row_weights(rows.labels, sample_weight)  # which refuses what are none
    rarest = np.unique(rows.labels, return_counts=True)[1].min(initial=len(rows))
    if rarest < N_FOLDS:
        raise ValueError(
            f"sigma='cv' leaves out a fifth of each class in turns, but one has {rarest} rows: "
            "give sigma a number"
        )
    require_memory(
        2 * rows.nbytes,
        machine.max_memory,
        what=f"cross-validation on {len(rows):,} rows",
        arithmetic="their folds, and the rows of a fold sorted: twice what the rows take",
        way_out="Give sigma a number, or allow more with max_memory.",
    )
    floor = default_sparsity(len(rows)) if machine.sparsity is None else machine.sparsity
    settings = {"sample_weight": sample_weight, "random_state": machine.random_state}
    whole = rows.whole(machine.max_memory)
    table = cross_validate_sigma(machine, whole, rows.labels, floor=floor, **settings)
    fitted = machine.with_params(sigma=best_sigma(table)).fit(X, y, sample_weight)
    fitted.sigma_table_ = table
    warn_if_no_better(machine, table.accuracy.max(), yardsticks(rows), TOO_NARROW)
    return fitted


def _hold_against_others(machine, X, y, sample_weight):
    """Warn where a fitted machine whose width nobody chose is no better than the most frequent
    class, or than a linear machine, by its accuracy on rows that a second fit leaves out."""
    rows = validate_rows(machine.with_params(), X, y, supervised=True)
    weights = machine.row_weights(rows.labels, sample_weight)
    if weights is not None:
        rows, weights = some_rows(rows, np.flatnonzero(weights)), weights[weights > 0]
    rarest = np.unique(rows.labels, return_counts=True)[1].min()
    # Beside the machine there are copies of rows: of those fitted, scaled ones, and their blocks.
    room = memory_limit(machine.max_memory) - machine.nbytes_ - 3 * rows.nbytes
    if rarest < N_FOLDS or room <= 0:
        return
    others = yardsticks(rows)
    if weights is None and is_better(_right_without_themselves(machine, rows.labels), *others):
        return
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    train, held_out = next(folds.split(rows.labels, rows.labels))
    other = machine.with_params(max_memory=room, verbose=False, class_weight=None)
    weights = None if weights is None else weights[train]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the machine itself has told
            fit_together([other], rows.select(train), None, weights)
            accuracy = other.score(rows.select(held_out))
    except (MemoryLimitError, ValueError):  # fewer rows cannot be fitted as all can: not known
        return
    warn_if_no_better(machine, accuracy, others, TOO_NARROW)


def _right_without_themselves(machine, labels):
    """The share of the training rows that are right without the term of their own dual variable:
    at most as many are right when each is left out in turn (Jaakkola and Haussler 1999)."""
    if machine.distinct_ is not None:
        return 0.0  # a row stands for several: not known
    dual = np.zeros((len(labels), len(machine.dual_coef_)))
    dual[machine.support_] = machine.dual_coef_.T
    own = 1.0 + machine.shift + (machine.intercept == "penalised")
    scores = machine.approximation_.operator() @ dual + machine.intercept_ - own * dual
    return float(np.mean(machine.answer(scores) == labels))


def _widths_tried(machine, shape):
    width, tried = {"sigma": "quantile"}, len(WIDTHS) * N_FOLDS
    return [*[(width, 0.8)] * tried, (width, 1.0)]


@dataclass(eq=False, repr=False)
class SparseCholeskySVC(Classifier):
    """Kernel classification with a kernel that is zero between rows that are far apart.

        k(x, z) = (1 - alpha d)_+^l exp(-d^2 / (2 sigma^2)),     d = |x - z|

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b))^2

    The kernel matrix K is sparse and only its entries are ever touched. Two ways lead from there to
    the same optimum:

    - solver="cholesky", the thesis': K + shift I = L L^T with few entries in L, rows of L as
      features, LIBLINEAR on them, dual variables by a triangular solve, decisions by the kernel;
    - solver="newton": Newton's method with products of K alone, all classes at once. No factor, so
      nothing fills in; many times faster and smaller where there are many rows.

    Parameters
    ----------
    C : float, default 1.0
        Multiplies the sum of losses.
    sigma : float or str, default "quantile"
        The width; or a rule for gamma, of which "quantile" takes the largest support that keeps
        K as sparse as `sparsity` says (None: at most 200 near rows a row, and at least 3/4 zeros);
        or "cv", the best by cross-validation among widths that keep it so (see
        `cross_validate_sigma`). With "quantile" or "cv" a machine that is no better on held-out
        rows than a linear one, or the most frequent class, warns; where the fit itself leaves that
        in doubt, "quantile" fits a second time, on four fifths of the rows.
    alpha : float or "trade-off", default None
        The kernel is zero beyond 1 / alpha; None for 1 / (3 sigma); "trade-off" is eq. 41.
    l : float or str, default "askey-odd"
        "askey-odd", what the thesis computed with; "askey", the smallest that keeps the kernel
        positive definite; or a number, with a warning below that.
    solver : {"cholesky", "newton"}, default "cholesky"
    sparsity : float, default None
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
        "hinge" with solver="cholesky" only (eq. 35; LinearSVC's default, which the thesis used, is
        the squared one).
    intercept : {"penalised", "none", "free"}, default "penalised"
        "free" not with the hinge.
    shift : float, default 1e-4
        Added to the diagonal of K.
    merge : bool, default False
        Whether rows of equal features, label and weight are taken as one that counts for all.
        The optimum is the same; the matrix, `sparsity_`, `permutation_` and `support_` are then
        those of the distinct rows, which are also what rules for sigma and alpha see.
    ordering : {"amd", "metis", "nesdis", "natural"}, default "amd"
        Of the factor.
    backend : {"auto", "cholmod", "superlu"}, default "auto"
    tol, max_iter, class_weight, random_state, max_memory, verbose, approximation_params, \
solver_params
        See `KernelMachine`, as for the other attributes.

    Attributes
    ----------
    sigma_ : float
    sparsity_, factor_sparsity_, permutation_
        Of the matrix and of its factor, both known without a factor.
    distinct_ : DistinctRows or None
        The distinct rows and how often each stands in X; None where none were merged.
    sigma_table_ : DataFrame
        With "cv".

    Examples
    --------
    >>> from kernlab import SparseCholeskySVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> machine = SparseCholeskySVC(sigma=0.1, solver="newton").fit(X, y)
    >>> machine.score(X, y) > 0.99, machine.sparsity_ > 0.9
    (True, True)
    """

    C: float = 1.0
    _: KW_ONLY
    sigma: object = "quantile"
    alpha: object = None
    l: object = "askey-odd"
    solver: str = "cholesky"
    sparsity: float | None = None
    loss: str = "squared_hinge"
    intercept: str = "penalised"
    shift: float = 1e-4
    merge: bool = False
    ordering: str = "amd"
    backend: str = "auto"
    tol: float | None = None
    max_iter: int | None = None
    approximation_params: dict | None = None
    solver_params: dict | None = None

    approximation, kernel = "compact", "rbf"
    paths: ClassVar[dict] = {
        "cholesky": {"squared_hinge": "liblinear-tron", "hinge": "liblinear-dcd"},
        "newton": {"squared_hinge": "newton-cg"},
    }
    to_approximation = (
        WHERE_USED
        | {"gamma": gamma_of("sigma")}
        | same("alpha", "l", "sparsity", "shift", "ordering", "backend")
    )
    chosen_by: ClassVar[dict] = {"sigma": (_with_best_sigma, _widths_tried)}
    distinct_ = None
    sigma_ = property(lambda machine: 1.0 / np.sqrt(2.0 * machine.approximation_.kernel_.gamma))
    sparsity_ = property(attrgetter("approximation_.sparsity_"))
    factor_sparsity_ = property(attrgetter("approximation_.factor_sparsity_"))
    permutation_ = property(attrgetter("approximation_.permutation_"))

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        if is_word(self.sigma, "quantile"):
            began = time.perf_counter()
            _hold_against_others(self, X, y, sample_weight)
            spent = time.perf_counter() - began
            self.timings_ |= {"hold out": spent, "total": self.timings_["total"] + spent}
        return self

    fit.__doc__ = Classifier.fit.__doc__
