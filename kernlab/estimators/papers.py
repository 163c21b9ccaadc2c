"""The machines: the general pair, and the papers' pairs of the registries with their defaults.

LLSVM (Zhang, Lan, Wang and Moerchen 2012), LASN (Jiang and Li 2020) and ADMM-HSS (Cipolla and
Gondzio 2021); the sparse machine and FPC, which may choose a parameter, have modules of their own.
"""

import time
from dataclasses import KW_ONLY, dataclass, fields
from operator import attrgetter
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from kernlab.estimators.machine import (
    KERNEL,
    SOLVER,
    WHERE_USED,
    Classifier,
    Pair,
    fit_together,
    gamma_of,
    same,
)
from kernlab.estimators.sweep import hold_against_others
from kernlab.rows import is_at_hand, validate_rows

MOST_LANDMARKS = 300  # of a machine on a few of the rows


class UntunedClassifier(Classifier):
    """A classifier that warns where it is no better than a linear machine and nobody has chosen any
    of its parameters."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X, y, sample_weight)
        if is_at_hand(X) and sample_weight is None and self._is_untuned():
            began = time.perf_counter()
            rows = validate_rows(self.with_params(), X, y, supervised=True)
            hold_against_others(self, rows, **self._as_large())
            spent = time.perf_counter() - began
            self.timings_ |= {"hold out": spent, "total": self.timings_["total"] + spent}
        return self

    fit.__doc__ = Classifier.fit.__doc__

    def _is_untuned(self):
        chosen = [f.name for f in fields(self) if repr(getattr(self, f.name)) != repr(f.default)]
        return not {*chosen} - {"random_state", "verbose"}

    def _as_large(self):
        """Parameters that make a machine on fewer rows as large as this one."""
        return {}


@dataclass(eq=False, repr=False)
class KernelMachine(UntunedClassifier):
    """A kernel support vector machine through an approximation and a solver of your choice.

        minimise   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

    `kernlab.approximations.APPROXIMATIONS` and `kernlab.solvers.SOLVERS` list what there is. A pair
    that cannot work together says what is missing, and a parameter that a part does not take is
    refused. More than two classes are solved one against the rest, with all that can be shared
    (landmarks, features, factors) computed once.

    Parameters
    ----------
    approximation : str, default "nystrom"
        "exact", "nystrom", "reduced", "compact", "hss", "polynomial", ...
    solver : str, default "newton"
        "newton", "newton-cg", "dcd", "sbm", "liblinear-dcd", "liblinear-tron", "dual-admm",
        "hinge-admm", "hinge-interior".
    kernel : str or callable, default "rbf"
        "rbf", "laplacian", "polynomial", "sigmoid", "linear", "compact", or a function.
    gamma : float or str, default "scale"
        Of exp(-gamma d^2), or "scale", "variance" (1 / total variance), "median", "auto".
    degree, coef0 : of polynomial and sigmoid kernels, default 3 and 1.0
    C : float, default 1.0
        Multiplies the sum of losses.
    loss : {"squared_hinge", "hinge"}, default "squared_hinge"
    intercept : {"free", "penalised", "none"}, default "free"
        "penalised" as LIBLINEAR's.
    tol, max_iter : float and int, default None
        The solver's; None for its own default.
    class_weight : dict or "balanced", default None
    random_state : int or generator, default None
    max_memory : int or str, default None
        Bytes, or "4GB"; None for half of what is free.
    verbose : bool, default False
        Whether to print each stage, and at most once a second what the solver has reached.
    approximation_params, solver_params : dict, default None
        Further parameters of the parts. `set_params`, `GridSearchCV` and `sweep` reach an entry as
        approximation_params__n_landmarks.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    approximation_ : Approximation
    coef_ : array of shape (n_problems, rank), with solvers of features
    dual_coef_ : array of shape (n_problems, n_support), with others
        Dual variables times labels of the rows `support_`.
    intercept_ : array of shape (n_problems,)
    n_iter_ : int
    results_ : list of SolverResult
        One for each binary problem; `result_` is the one, or the summary: the worst gap, the most
        iterations, whether all converged.
    timings_ : dict
        Seconds of "approximate" and its parts, "solve", and in "total".
    nbytes_ : int

    Examples
    --------
    >>> from kernlab import KernelMachine
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> machine = KernelMachine("exact", "dcd", gamma=1.0, loss="hinge", intercept="penalised")
    >>> machine.fit(X, y).score(X, y)
    0.995
    """

    approximation: str = "nystrom"
    solver: str = "newton"
    _: KW_ONLY
    kernel: object = "rbf"
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0
    C: float = 1.0
    loss: str = "squared_hinge"
    intercept: str = "free"
    tol: float | None = None
    max_iter: int | None = None
    approximation_params: dict | None = None
    solver_params: dict | None = None

    def _as_large(self):
        n = min(self.approximation_.landmarks_.shape[0], MOST_LANDMARKS)
        return {"approximation_params": {"n_landmarks": n}}


@dataclass(eq=False, repr=False)
class OnLandmarks(Pair):
    """What machines on Nystrom features have in common, with LASN's defaults."""

    n_landmarks: object = "sqrt"
    _: KW_ONLY
    landmarks: object = "kmeans"
    kernel: object = "rbf"
    gamma: object = "variance"
    degree: int = 3
    coef0: float = 1.0
    C: float = 10.0
    intercept: str = "penalised"
    factor: str = "cholesky"
    dtype: object = None
    tol: float = 1e-6
    max_iter: int = 200
    landmark_params: dict | None = None
    solver_params: dict | None = None

    approximation = "nystrom"
    to_approximation = (
        KERNEL | WHERE_USED | same("n_landmarks", "landmarks", "factor", "dtype", "landmark_params")
    )
    landmarks_ = property(attrgetter("approximation_.landmarks_"))

    def _as_large(self):
        return {"n_landmarks": min(self.landmarks_.shape[0], MOST_LANDMARKS)}


@dataclass(eq=False, repr=False)
class LASN(OnLandmarks, UntunedClassifier):
    """Kernel classification by Nystrom features and Newton's method on the squared hinge.

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . f(x_i) + b))^2

    with f(x) = M^T k(landmarks, x) (LASN eq. 16 to 21). Training is the choice of the landmarks,
    one pass over the kernel values, and a few Newton steps to a certified optimum.

    Parameters
    ----------
    n_landmarks : int or "sqrt", default "sqrt"
        k, or the square root of the number of rows.
    landmarks : str or array of shape (k, n_features), default "kmeans"
        "kmeans" (the paper's), "uniform", "first", "rpcholesky", or the points.
    C : float, default 10.0
        Multiplies the sum of losses; 10 is the paper's, as "variance" is for gamma.
    factor : {"cholesky", "eigen-drop", "eigen-replace"}, default "cholesky"
        "eigen-drop" is the paper's treatment of tiny eigenvalues (see `Nystrom`).
    dtype : {"float64", "float32"}, default None
        Of the kernel values; None for single precision where there are many and the result bears
        it; the solver goes on in double where it does not.
    tol : float, default 1e-6
        Of the gradient relative to the gradient at zero.
    landmark_params, solver_params : dict, default None
        Further arguments of `choose_landmarks` (max_rows, candidates) and of
        `solve_newton` (method, eta, gap_tol, warm_up).
    kernel, gamma, degree, coef0, intercept, max_iter, class_weight, random_state, max_memory, \
verbose
        See `KernelMachine`, as for the other attributes.

    Attributes
    ----------
    landmarks_ : array of shape (k, n_features)
        In the order of the features.

    Examples
    --------
    >>> from kernlab import LASN
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> machine = LASN(random_state=0).fit(X, y)
    >>> machine.score(X, y) > 0.95, machine.result_.relative_gap < 1e-4
    (True, True)
    """

    solver, loss = "newton", "squared_hinge"


@dataclass(eq=False, repr=False)
class LASNRegressor(OnLandmarks, RegressorMixin, BaseEstimator):
    """Kernel regression by Nystrom features and Newton's method.

        minimise over w, b   1/2 |w|^2 + C sum_i max(0, |w . f(x_i) + b - t_i| - epsilon)^2

    The squared epsilon-insensitive loss is the squared distance of a score to an interval about its
    target, as the squared hinge is to a half-line, and the same iteration solves it.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half the width of the interval.
    intercept : {"free", "penalised", "none"}, default "free"
    n_landmarks, landmarks, kernel, gamma, degree, coef0, C, factor, dtype, tol, max_iter, \
random_state, max_memory, verbose, landmark_params, solver_params
        See `LASN`, as for the attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab import LASNRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> t = np.sin(X[:, 0])
    >>> LASNRegressor(gamma=1.0, epsilon=0.01, random_state=0).fit(X, t).score(X, t) > 0.99
    True
    """

    _: KW_ONLY
    epsilon: float = 0.1
    intercept: str = "free"

    solver, loss = "newton", "squared_epsilon_insensitive"
    to_solver = SOLVER | same("epsilon")

    def task(self, labels):
        return {}, np.asarray(labels, dtype=np.float64)[:, None]

    def answer(self, scores):
        return scores[:, 0]


@dataclass(eq=False, repr=False)
class LLSVM(OnLandmarks, UntunedClassifier):
    """Kernel classification by Nystrom features and selective block minimization.

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . f(x_i) + b))

    with f(x) = M^T k(landmarks, x) (LLSVM eq. 14). Rows come in blocks, from memory or from a file
    larger than memory; the features of one block and of the rows kept from others are all that is
    held. The data are run over until the duality gap is small; the paper runs over them once
    (`runs=1`), which may end far from the optimum, and then says so.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The hinge is the paper's.
    intercept : {"penalised", "none"}, default "penalised"
    factor : {"cholesky", "eigen-drop", "eigen-replace"}, default "cholesky"
        "eigen-replace" is the paper's treatment of tiny eigenvalues.
    runs : int, default None
        Over the data; None for as many as `tol` takes; 1 is the paper's, which warns where it
        leaves a gap above a tenth of the objective.
    block_rows : int, default None
        None for the paper's 20,000, or, without `runs`, all at once where their features fit.
    drop : float, default 0.75
        The share of a block's rows that is dropped after it, the paper's.
    tol : float, default 1e-3
        Of the duality gap relative to the objective.
    max_iter : int, default 100
        Runs over the data at most.
    n_landmarks, landmarks, kernel, gamma, degree, coef0, C, dtype, landmark_params, \
solver_params, class_weight, random_state, max_memory, verbose
        See `LASN`, as for the attributes; C is 1 by default.

    Examples
    --------
    >>> from kernlab import LLSVM
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> machine = LLSVM(random_state=0).fit(X, y)
    >>> machine.score(X, y) > 0.9, machine.result_.relative_gap <= 1e-3
    (True, True)
    """

    _: KW_ONLY
    C: float = 1.0
    loss: str = "hinge"
    runs: int | None = None
    block_rows: int | None = None
    drop: float = 0.75
    tol: float = 1e-3
    max_iter: int = 100

    solver = "sbm"
    to_solver = SOLVER | same("runs", "block_rows", "drop")


@dataclass(eq=False, repr=False)
class HSSSVC(UntunedClassifier):
    """Kernel classification through a hierarchical approximation of the kernel matrix.

        k(x, z) = exp(-|x - z|^2 / (2 h^2))

        minimise over w, b   1/2 |w|^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b))

    For one h the kernel matrix is compressed and K~ + beta I factorised once; every class and every
    C is then a right-hand side of that factor, and `sweep` solves all C as one block.

    Parameters
    ----------
    C : float, default 1.0
        Multiplies the sum of losses.
    h : float or str, default "scale"
        The width; or a rule for gamma = 1 / (2 h^2): "scale", "variance", "median", "auto".
    beta : float or str, default "auto"
        Of ADMM: a number, refused where K~ has an eigenvalue that is too low for it; "auto", the
        paper's 100, 1000 above 100,000 rows, 10,000 above 1,000,000, raised where K~ needs more; or
        "adaptive", the quickest way to convergence.
    max_iter : int, default 10
        Steps of ADMM; exactly so many, as in the paper, where `tol` is None. Ten steps are
        far from the optimum: no dual variable has come as far as a large C, so that all C from some
        value on give the same machine. To choose a C, set `tol`.
    tol : float, default None
        The relative duality gap (with K~) to reach; takes a larger `max_iter`.
    rel_tol, abs_tol, max_rank : default 1e-2, 1e-8 and 50,000
        Where the bases of clusters end (see `HSSKernel`).
    leaf_size, clustering, approximate_neighbors, mode, dtype
        Of `HSSKernel`, as well.
    loss : {"hinge", "squared_hinge"}, default "hinge"
    relaxation, acceleration : default None
        Of ADMM; None for none of both with a fixed number of steps, and for the solver's own
        defaults with a tolerance.
    certificate : {"approximate", "exact"}, default "approximate"
        Objectives and KKT residual with K~, or with the exact kernel, whose products are streamed.
    prediction : {"exact", "structure"}, default "exact"
        By the kernel between new rows and all support vectors; or by K~'s own skeletons, which are
        fewer: much faster, and about as exact as K~.
    class_weight, random_state, max_memory, verbose, approximation_params, solver_params
        See `KernelMachine`, as for the other attributes.

    Attributes
    ----------
    h_, beta_ : float
        The width in use, and the beta of the last step.
    approximation_ : HSSKernel
        With `quality()` and `save(path)`.

    Examples
    --------
    >>> from kernlab import HSSSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> machine = HSSSVC(h=0.2, tol=1e-3, max_iter=1000, beta="adaptive", random_state=0)
    >>> machine.fit(X, y).score(X, y) > 0.99
    True
    """

    C: float = 1.0
    h: object = "scale"
    beta: object = "auto"
    _: KW_ONLY
    max_iter: int = 10
    tol: float | None = None
    rel_tol: float = 1e-2
    abs_tol: float = 1e-8
    max_rank: int = 50_000
    leaf_size: int | None = None
    clustering: str = "2means"
    approximate_neighbors: int = 64
    mode: str = "fast"
    dtype: object = None
    loss: str = "hinge"
    intercept: str = "free"
    relaxation: float | None = None
    acceleration: int | None = None
    certificate: str = "approximate"
    prediction: str = "exact"
    approximation_params: dict | None = None
    solver_params: dict | None = None

    approximation, solver, kernel = "hss", "dual-admm", "rbf"
    to_approximation = (
        WHERE_USED
        | {"gamma": gamma_of("h")}
        | same("rel_tol", "abs_tol", "max_rank", "leaf_size", "clustering")
        | same("approximate_neighbors", "mode", "dtype")
    )
    to_solver: ClassVar[dict] = {
        **same("loss", "intercept", "tol", "beta", "relaxation", "acceleration", "certificate"),
        "max_iter": lambda machine: None if machine.tol is None else machine.max_iter,
        "steps": lambda machine: machine.max_iter if machine.tol is None else None,
    }
    h_ = property(lambda machine: 1.0 / np.sqrt(2.0 * machine.approximation_.kernel_.gamma))
    beta_ = property(lambda machine: machine.result_.trace[-1]["beta"])

    @property
    def decides_by(self):
        """The method of the approximation that decides new rows."""
        return {"exact": "dual_decision", "structure": "structured_decision"}[self.prediction]

    def fit_on(self, approximation, y, sample_weight=None):
        """Fit to labels of the rows that an `HSSKernel` was fitted on, which is taken as it is.

        Parameters
        ----------
        approximation : HSSKernel
            Of another machine (`machine.approximation_`), or one that was read from a file
            (`HSSKernel.load`): its width counts, and its factor where beta is the same.
        y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        fit_together([self], approximation.X_, y, sample_weight, on=approximation)
        return self
