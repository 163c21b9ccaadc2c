"""The general pair: any approximation of the kernel matrix with any solver that can use it."""

import inspect
import time
from dataclasses import replace
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernlab.approximations import NEEDS, get_approximation
from kernlab.rows.validation import validate_data
from kernlab.solvers import get_solver, summarise


class KernelMachine(ClassifierMixin, BaseEstimator):
    """A kernel support vector machine through an approximation and a solver of your choice.

        minimise   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

    Every method of kernlab is such a pair; `kernlab.approximations.APPROXIMATIONS` and
    `kernlab.solvers.SOLVERS` list what there is. A pair that cannot work together says what is
    missing. More than two classes are solved one against the rest, with all that can be shared
    (landmarks, features, factors) computed once.

    Parameters
    ----------
    approximation, solver : names in the registries.
    kernel : "rbf", "laplacian", "polynomial", "sigmoid", "linear", "compact", or a function.
    gamma : a number, or "scale", "variance" (1 / total variance), "median", "auto".
    C : multiplies the sum of losses.
    loss : "hinge" or "squared_hinge".
    intercept : "free", "penalised" (as LIBLINEAR) or "none".
    tol, max_iter : the solver's, None for its own default.
    max_memory : bytes, or "4GB"; None for half of what is free.
    approximation_params, solver_params : further parameters, as dictionaries.

    Fitted
    ------
    approximation_, results_ (one `SolverResult` per binary problem), result_ (their summary),
    coef_ and intercept_ (or dual_coef_ and support_), timings_, nbytes_, n_iter_, classes_.

    Example
    -------
    >>> from kernlab import KernelMachine
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> machine = KernelMachine("exact", "dcd", gamma=1.0, loss="hinge", intercept="penalised")
    >>> machine.fit(X, y).score(X, y)
    0.995
    """

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

    # ------------------------------------------------------------------------ fitting
    def fit(self, X, y, sample_weight=None):
        """Approximate the kernel matrix of X, then solve for the labels y."""
        began = time.perf_counter()
        approximation, solver = self._make_pair()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )
        signs = self._binary_problems(y)
        weights = self._row_weights(X, y, sample_weight)
        data = self._approximate(approximation, solver, X)
        self._solve_and_store(approximation, solver, data, signs, weights, began)
        return self

    def _solve_and_store(self, approximation, solver, data, signs, weights, began):
        self.approximation_ = approximation
        approximated, parts = time.perf_counter(), sum(approximation.timings_.values())
        self.results_ = self._solve(solver, data, signs, weights)
        solved = time.perf_counter()
        self._store(solver)
        # Factors are made when the solver asks for them.
        factors = sum(approximation.timings_.values()) - parts
        self.timings_ = {
            "approximate": approximated - began + factors,
            **{f"approximate: {part}": s for part, s in approximation.timings_.items()},
            "solve": solved - approximated - factors,
            "total": time.perf_counter() - began,
        }

    def _make_pair(self):
        """The approximation, unfitted, and the solver, after checking that they go together."""
        if not isinstance(self.C, Real):
            raise ValueError(f"C must be a positive number, not {self.C!r}")
        solver = get_solver(self.solver)
        kind = get_approximation(self.approximation)
        if not kind.offers(solver.needs):
            offered = " and ".join(filter(kind.offers, NEEDS))
            raise ValueError(
                f"solver {self.solver!r} needs {solver.needs} and approximation "
                f"{self.approximation!r} offers {offered} only"
            )
        solver.check(self.loss, self.intercept)
        shared = {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "degree": self.degree,
            "coef0": self.coef0,
            "random_state": self.random_state,
            "max_memory": self.max_memory,
        }
        accepted = inspect.signature(kind).parameters
        arguments = {name: value for name, value in shared.items() if name in accepted}
        return kind(**arguments | dict(self.approximation_params or {})), solver

    def _binary_problems(self, y):
        """Labels -1 and 1: one problem for two classes, one against the rest for more."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a classifier needs rows of at least 2 classes; the labels hold 1 class only: "
                f"{self.classes_[0]!r}"
            )
        if len(self.classes_) == 2:
            return [np.where(codes == 1, 1.0, -1.0)]
        return [np.where(codes == k, 1.0, -1.0) for k in range(len(self.classes_))]

    def _row_weights(self, X, y, sample_weight):
        if sample_weight is None and self.class_weight is None:
            return None
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
        )
        if self.class_weight is not None:
            weights *= compute_sample_weight(self.class_weight, y)
        return weights

    def _approximate(self, approximation, solver, X):
        """Fit the approximation and return what the solver needs of it."""
        return approximation.fit(X).data_for(solver.needs, X)

    def _solve(self, solver, data, signs, weights):
        """One result for each binary problem; together where the solver shares work among them."""
        arguments = self._solver_arguments(solver)
        results = solver.solve(data, np.column_stack(signs), sample_weight=weights, **arguments)
        if solver.needs == "operator" and not self.approximation_.is_kernel_map:
            # It may have eigenvalues below zero that the solver has not come across: no bound.
            return [replace(result, dual_objective=None) for result in results]
        return results

    def _solver_arguments(self, solver):
        arguments = {"C": self.C, "loss": self.loss, "intercept": self.intercept}
        for name in ("tol", "max_iter", "random_state", "max_memory"):
            arguments[name] = getattr(self, name)
        return arguments | dict(self.solver_params or {})

    def _store(self, solver):
        for stale in ("coef_", "dual_coef_", "support_"):  # of a fit with another kind of solver
            self.__dict__.pop(stale, None)
        coefficients = np.array([result.coefficients for result in self.results_])
        self.intercept_ = np.array([result.intercept for result in self.results_])
        self.result_ = summarise(self.results_)
        self.n_iter_ = self.result_.n_iter
        if solver.needs == "features":
            self.coef_ = coefficients
        else:
            self.support_ = np.flatnonzero(coefficients.any(axis=0))
            self.dual_coef_ = coefficients[:, self.support_]
        self.nbytes_ = self.approximation_.nbytes + coefficients.nbytes

    # --------------------------------------------------------------------- predicting
    def decision_function(self, X):
        """Scores: one column per class, or for two classes one score, positive for the second."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        if hasattr(self, "coef_"):
            scores = self.approximation_.decision(X, self.coef_.T)
        else:
            scores = self._dual_scores(X)
        scores = scores + self.intercept_
        return scores.ravel() if len(self.classes_) == 2 else scores

    def _dual_scores(self, X):
        return self.approximation_.dual_decision(X, self.dual_coef_.T, self.support_)

    def predict(self, X):
        return self._decide(self.decision_function(X))

    def _decide(self, scores):
        """The class of each row of scores."""
        if len(self.classes_) == 2:
            return self.classes_[(np.ravel(scores) > 0).astype(int)]
        return self.classes_[np.argmax(scores, axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
