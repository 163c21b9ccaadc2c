"""Machines: an approximation of the kernel matrix and a solver, behind scikit-learn's interface.

A machine validates, approximates, solves and stores; the numbers are made elsewhere. What is its
own is declared: which values its parameters may have, and in two tables which of them go to which
part, under which name.
"""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernlab.approximations import NEEDS, get_approximation
from kernlab.bandwidth import GAMMA_RULES, gamma_from_sigma
from kernlab.estimators.fitting import Plan, fit_together, key_of, scores_of
from kernlab.parameters import check_parameters, one_of, positive, whole, width
from kernlab.rows import validate_rows
from kernlab.solvers import get_solver

DICTIONARIES = ("approximation_params", "solver_params", "landmark_params")
REFUSED_WHERE_UNUSED = ("kernel", "gamma", "degree", "coef0")


# ---------------------------------------------------------------- what parameters may be, and go
CHECKS = {  # where machines say more, or less, than the table of all parameters
    "C": positive,
    "gamma": (positive, (*GAMMA_RULES, "quantile")),
    "h": (width, GAMMA_RULES),
    "sigma": (width, (*GAMMA_RULES, "quantile", "cv")),
    "leaf_size": (whole, (None,)),
    "prediction": one_of("exact", "structure"),
}


def gamma_of(name):
    """What turns the width `name` of a machine into gamma = 1 / (2 s^2); rules are rules for it."""

    def gamma(machine):
        value = getattr(machine, name)
        return value if isinstance(value, str) else gamma_from_sigma(value, name)

    return gamma


def same(*names):
    """Parameters that go to a part under their own names."""
    return {name: name for name in names}


KERNEL = same("kernel", "gamma", "degree", "coef0")
EVERYWHERE = same("random_state", "max_memory")
SOLVER = same("loss", "intercept", "tol", "max_iter", "random_state")


# ------------------------------------------------------------------------------- what a pair does
class Pair:
    """What all machines do, whatever their parts; see `KernelMachine`.

    A subclass names `approximation` and `solver` of the registries (or has them as parameters),
    declares what goes where, and says with `task` and `answer` what it learns.
    """

    to_approximation: ClassVar[dict] = {}  # their names: ours, or a function of the machine
    to_solver: ClassVar[dict] = {}
    paths: ClassVar[dict] = {}  # solvers by names that only this machine has, and by loss
    chosen_by: ClassVar[dict] = {}  # who fits with the best value of a parameter that is "cv"
    approximation_params = solver_params = class_weight = C = None
    merge = False
    keeps_weightless = True  # whether rows of weight zero are seen by the approximation
    decides_by = "dual_decision"  # of approximations without features

    # ------------------------------------------------------------------------ parameters
    def get_params(self, deep=True):
        """Parameters by name; if `deep`, entries of dictionaries as `solver_params__method`."""
        found = super().get_params(deep=deep)
        for name in DICTIONARIES if deep else ():
            entries = found.get(name)
            if isinstance(entries, dict):
                found |= {f"{name}__{entry}": value for entry, value in entries.items()}
        return found

    def set_params(self, **params):
        """Set parameters, those in dictionaries as `approximation_params__n_landmarks=100`."""
        own = {}
        for name, value in params.items():
            dictionary, _, entry = name.partition("__")
            if entry and dictionary in DICTIONARIES and dictionary in self.get_params(deep=False):
                held = own.get(dictionary, getattr(self, dictionary))
                own[dictionary] = dict(held or {}) | {entry: value}
            else:
                own[name] = value
        return super().set_params(**own)

    def with_params(self, **params):
        """An unfitted machine with these parameters, and otherwise the very same."""
        return type(self)(**self.get_params(deep=False)).set_params(**params)

    def plan(self):
        """What the parameters ask of the parts, after checking them; nothing is computed."""
        check_parameters(self.get_params(deep=False), **CHECKS)
        kind, solver = get_approximation(self.approximation), get_solver(self._solver_name())
        if not kind.offers(solver.needs):
            raise ValueError(
                f"solver {solver.name!r} needs {solver.needs} and approximation "
                f"{self.approximation!r} offers {' and '.join(filter(kind.offers, NEEDS))} only"
            )
        if is_classifier(self):
            solver.check(self.loss, self.intercept)
        return Plan(
            kind,
            self._arguments(
                f"approximation {self.approximation!r}", kind().get_params(deep=False),
                self.to_approximation, self.approximation_params,
            ),
            solver,
            self._arguments(
                f"solver {solver.name!r}", solver.parameters, self.to_solver, self.solver_params
            ),
        )  # fmt: skip

    def _solver_name(self):
        if not self.paths:
            return self.solver
        if self.solver not in self.paths:
            names = ", ".join(map(repr, self.paths))
            raise ValueError(f"solver={self.solver!r} is not one of {names}")
        by_loss = self.paths[self.solver]
        if self.loss not in by_loss:
            raise ValueError(
                f"solver={self.solver!r} offers loss={' or '.join(map(repr, by_loss))}, "
                f"not {self.loss!r}"
            )
        return by_loss[self.loss]

    def _arguments(self, part, taken, table, further):
        """The arguments of a part; what it does not take is refused where it was set."""
        arguments = {}
        for theirs, ours in table.items():
            value = ours(self) if callable(ours) else getattr(self, ours)
            if theirs in taken:
                arguments[theirs] = value
            elif theirs in REFUSED_WHERE_UNUSED and value != getattr(type(self)(), ours):
                raise ValueError(f"{part} takes no {theirs}: leave out {theirs}={value!r}")
        if unknown := set(further or {}) - set(taken):
            raise ValueError(
                f"{part} takes no {', '.join(sorted(unknown))}; it takes {', '.join(sorted(taken))}"
            )
        return arguments | dict(further or {})

    # --------------------------------------------------------------------------- fitting
    def fit(self, X, y=None, sample_weight=None):
        """Approximate the kernel matrix of the rows of X, then solve for the labels y.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, memory map, path of a file, or Rows
        y : array of shape (n_rows,), default None
            None for a file that brings its labels.
        sample_weight : array of shape (n_rows,), default None

        Returns
        -------
        self
        """
        if choose := self.chooser():
            return self.become(vars(choose(self, X, y, sample_weight)))
        fit_together([self], X, y, sample_weight)
        return self

    def chooser(self):
        """What fits a machine like this with the best value of the parameter that is "cv"."""
        for name, choose in self.chosen_by.items():
            value = getattr(self, name)
            if isinstance(value, str) and value == "cv":
                return choose
        return None

    def sharing_key(self, nested=False):
        """Equal for machines that can be fitted together."""
        if self.chooser():
            return id(self)
        rows = key_of({"class_weight": self.class_weight, "merge": self.merge})
        return *self.plan().approximation_key(nested), *rows

    def become(self, attributes):
        """Take over what was fitted, and forget what an earlier fit has left."""
        for stale in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, stale)
        vars(self).update({k: v for k, v in attributes.items() if k.endswith("_")})
        return self

    def row_weights(self, labels, sample_weight):
        """The weight of each row, of its own and by its class; None where all count once."""
        if sample_weight is None and self.class_weight is None:
            return None
        weights = _check_sample_weight(
            sample_weight, labels, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        if self.class_weight is not None:
            weights *= compute_sample_weight(self.class_weight, labels)
        if not weights.any():
            raise ValueError("all sample weights are zero: nothing is left to learn from")
        return weights

    # ------------------------------------------------------------------------- new points
    def predict(self, X):
        """The class, or the value, of each row of X, which may be all that `fit` takes.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, memory map, path of a file, or Rows

        Returns
        -------
        array of shape (n_rows,)
        """
        return self.answer(scores_of([self], self.rows_of(X))[0])

    def rows_of(self, X):
        """New rows, checked against those of the fit."""
        check_is_fitted(self)
        return validate_rows(self, X, reset=False)

    def score(self, X, y=None, sample_weight=None):
        """The accuracy on rows of X with labels y (of a regressor: R^2).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows = validate_rows(
            self, X, y, reset=False, supervised=True, numeric_labels=not is_classifier(self)
        )
        return self.quality(scores_of([self], rows)[0], rows.labels, sample_weight)

    def quality(self, scores, labels, sample_weight=None):
        """The accuracy (of a regressor: R^2) of these scores."""
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(labels, self.answer(scores), sample_weight=sample_weight))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class KernelMachine(Pair, ClassifierMixin, BaseEstimator):
    """A kernel support vector machine through an approximation and a solver of your choice.

        minimise   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

    Every method of kernlab is such a pair; `kernlab.approximations.APPROXIMATIONS` and
    `kernlab.solvers.SOLVERS` list what there is. A pair that cannot work together says what is
    missing, and a parameter that a part does not take is refused. More than two classes are solved
    one against the rest, with all that can be shared (landmarks, features, factors) computed once.

    Parameters
    ----------
    approximation : str, default "nystrom"
        "exact", "nystrom", "reduced", "compact", "hss", "polynomial", ...
    solver : str, default "newton"
        "newton", "newton-cg", "dcd", "sbm", "liblinear-dcd", "liblinear-tron", "dual-admm",
        "hinge-admm".
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

    to_approximation = KERNEL | EVERYWHERE
    to_solver = SOLVER

    def __init__(
        self,
        approximation="nystrom",
        solver="newton",
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        C=1.0,
        loss="squared_hinge",
        intercept="free",
        tol=None,
        max_iter=None,
        class_weight=None,
        random_state=None,
        max_memory=None,
        approximation_params=None,
        solver_params=None,
    ):
        self.approximation = approximation
        self.solver = solver
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.loss = loss
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory
        self.approximation_params = approximation_params
        self.solver_params = solver_params

    def task(self, labels):
        """The classes, and a column of -1 and 1 for each binary problem."""
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                "a classifier needs rows of at least 2 classes; those that count hold 1 class "
                f"only: {classes[0]!r}"
            )
        positive = classes[1:] if len(classes) == 2 else classes
        columns = np.empty((len(labels), len(positive)), dtype=np.int8, order="F")
        for column, one in enumerate(positive):
            columns[:, column] = np.where(labels == one, 1, -1)
        return {"classes_": classes}, columns

    def decision_function(self, X):
        """Scores: one column per class, or for two classes one score, positive for the second.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, memory map, path of a file, or Rows

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
        """
        scores = scores_of([self], self.rows_of(X))[0]
        return scores.ravel() if len(self.classes_) == 2 else scores

    def answer(self, scores):
        """The class of each row of scores."""
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[np.argmax(scores, axis=1)]
