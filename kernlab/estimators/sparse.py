"""The sparse kernel machine: compact support, sparse Cholesky, LIBLINEAR (Abdellatif 2019).

The thesis took the sigma with the best accuracy on the test rows. A width is to be judged by rows
that it was not fitted to, and not to be tried at all where its matrix would be too dense to hold.
"""

import warnings
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
)
from kernlab.estimators.machine import (
    WHERE_USED,
    Classifier,
    gamma_of,
    keep,
    same,
    warn_if_no_better,
)
from kernlab.estimators.sweep import sweep
from kernlab.rows import distinct_rows, validate_rows

MEASURED = ("cv_accuracy", "cv_accuracy_sd", "fit_seconds", "predict_seconds", "message")
N_FOLDS = 5
WIDTHS = 2.0 ** -np.arange(8)  # tried by default, of the largest that the floor allows


def cross_validate_sigma(
    machine,
    X,
    y,
    sigmas=None,
    *,
    floor=0.99,
    n_folds=N_FOLDS,
    sample_weight=None,
    random_state=None,
):
    """Cross-validated accuracy of a SparseCholeskySVC for each sigma whose matrix is sparse enough.

    Parameters
    ----------
    machine : SparseCholeskySVC
        Where it merges equal rows, sparsity is that of the distinct ones.
    X, y, sample_weight
        As in `fit`.
    sigmas : list of float, default None
        The widths; None for the largest that the floor allows, and seven halvings of it.
    floor : float, default 0.99
        The share of zeros that the kernel matrix must have; a width below it is not tried.
    n_folds : int, default 5
    random_state : int, default None

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
    radius = 3.0 * table["sigma"] if machine.alpha is None else [1.0 / machine.alpha] * len(table)
    entries = np.array([predict_entries(held, r, random_state).entries for r in radius])
    table["sparsity"] = 1.0 - entries / held.shape[0] ** 2
    enough = table["sparsity"] >= floor - 1.0 / held.shape[0]
    table["status"] = [
        "ok" if fits else f"sparsity {share:.4f} is below the floor {floor}"
        for fits, share in zip(enough, table["sparsity"], strict=True)
    ]
    table[["accuracy", "standard_error", "seconds"]] = np.nan, np.nan, 0.0
    if enough.any():
        with warnings.catch_warnings():
            # Of the machine that is returned it is said; among candidates narrow widths are meant
            # to be there, and their scores say what they are worth.
            warnings.simplefilter("ignore", NearlyDiagonalWarning)
            tried = sweep(
                machine, X, y, {"sigma": list(table.loc[enough, "sigma"])},
                sample_weight=sample_weight, progress=False,
                validation=StratifiedKFold(n_folds, shuffle=True, random_state=random_state),
            )  # fmt: skip
        tried = tried.reindex(columns=list(dict.fromkeys([*tried, *MEASURED])))  # where all failed
        table.loc[enough, "accuracy"] = tried["cv_accuracy"].to_numpy()
        errors = tried["cv_accuracy_sd"].to_numpy() / np.sqrt(n_folds)
        table.loc[enough, "standard_error"] = errors
        spent = n_folds * (tried["fit_seconds"] + tried["predict_seconds"]).to_numpy()
        table.loc[enough, "seconds"] = spent
        failed = table.index[enough][tried["status"] == "failed"]
        table.loc[failed, "status"] = tried.loc[tried["status"] == "failed", "message"].to_numpy()
    return table


def best_sigma(table):
    """The smallest of the widths with the best accuracy: of two as good, the sparser."""
    tried = table[table.status == "ok"]
    if tried.empty:
        failed = [s for s in table.status if not s.startswith("sparsity")]
        if failed:
            raise ValueError(f"no sigma could be tried: {failed[0]}")
        raise ValueError(
            "no sigma was tried: each gives a matrix denser than the floor. Lower the floor, or "
            f"try widths below {table.sigma.min():.3g}"
        )
    return float(tried.loc[tried.accuracy == tried.accuracy.max(), "sigma"].min())


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
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    table = cross_validate_sigma(
        machine,
        rows.whole(machine.max_memory),
        rows.labels,
        floor=default_sparsity(len(rows)) if machine.sparsity is None else machine.sparsity,
        sample_weight=weights,
        random_state=machine.random_state,
    )
    fitted = machine.with_params(sigma=best_sigma(table)).fit(X, y, sample_weight)
    fitted.sigma_table_ = table
    advice = (
        "The floor on sparsity leaves narrow kernels only: lower `sparsity`, or take LASN, whose "
        "kernel may be as wide as it likes."
    )
    warn_if_no_better(machine, table.accuracy.max(), rows, advice)
    return fitted


def _widths_tried(machine, shape):
    """Eight widths in five folds, the widest on all rows."""
    return [*[({"sigma": "quantile"}, 0.8)] * 40, ({"sigma": "quantile"}, 1.0)]


class SparseCholeskySVC(Classifier):
    """Kernel classification with a kernel that is zero between rows that are far apart.

        k(x, z) = (1 - alpha d)_+^l exp(-d^2 / (2 sigma^2)),     d = |x - z|

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b))^2

    The kernel matrix K is sparse and only its entries are ever touched. Two paths lead from there
    to the same optimum, and neither falls back to the other:

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
        `cross_validate_sigma`).
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
        See `KernelMachine`.

    Attributes
    ----------
    sigma_ : float
    sparsity_, factor_sparsity_, permutation_
        Of the matrix and of its factor, both known without a factor.
    distinct_ : DistinctRows or None
        The distinct rows and how often each stands in X; None where none were merged.
    sigma_table_ : DataFrame
        With "cv".
    approximation_, dual_coef_, support_, intercept_, results_, result_, n_iter_, timings_, \
nbytes_, classes_
        See `KernelMachine`.

    Examples
    --------
    >>> from kernlab import SparseCholeskySVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> machine = SparseCholeskySVC(sigma=0.1, solver="newton").fit(X, y)
    >>> machine.score(X, y) > 0.99, machine.sparsity_ > 0.9
    (True, True)
    """

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
    chosen_by: ClassVar[dict] = {"sigma": _with_best_sigma}
    tried: ClassVar[dict] = {"sigma": _widths_tried}
    distinct_ = None
    sigma_ = property(lambda machine: 1.0 / np.sqrt(2.0 * machine.approximation_.kernel_.gamma))
    sparsity_ = property(attrgetter("approximation_.sparsity_"))
    factor_sparsity_ = property(attrgetter("approximation_.factor_sparsity_"))
    permutation_ = property(attrgetter("approximation_.permutation_"))

    def __init__(
        self,
        C=1.0,
        *,
        sigma="quantile",
        alpha=None,
        l="askey-odd",
        solver="cholesky",
        sparsity=None,
        loss="squared_hinge",
        intercept="penalised",
        shift=1e-4,
        merge=False,
        ordering="amd",
        backend="auto",
        tol=None,
        max_iter=None,
        class_weight=None,
        random_state=None,
        max_memory=None,
        verbose=False,
        approximation_params=None,
        solver_params=None,
    ):
        keep(locals())
