"""The sparse kernel machine: compact support, sparse Cholesky, LIBLINEAR (Abdellatif 2019)."""

import warnings

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from kernlab.approximations import CompactKernel
from kernlab.approximations.compact import default_sparsity
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.estimators.sparse_sigma import (
    NearlyIdentityWarning,
    best_sigma,
    cross_validate_sigma,
)
from kernlab.kernels import gamma_from_sigma
from kernlab.rows.duplicates import distinct_rows
from kernlab.rows.validation import validate_data
from kernlab.runtime import memory_limit
from kernlab.solvers import get_solver

LEAST_SEEN = 0.01  # of the others together, beside the 1 of a row itself
SOLVERS_BY_PATH = {
    ("cholesky", "squared_hinge"): "liblinear-tron",
    ("cholesky", "hinge"): "liblinear-dcd",
    ("newton", "squared_hinge"): "newton-cg",
}


class SparseCholeskySVC(KernelMachine):
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
    C : multiplies the sum of losses.
    sigma : the width; or a rule for gamma, of which "quantile" takes the largest support that keeps
        K as sparse as `sparsity` says (None: at most 200 near rows a row, and at least 3/4 zeros);
        or "cv", the best by cross-validation among widths that keep it so (see
        `cross_validate_sigma`).
    alpha : the kernel is zero beyond 1 / alpha; None for 1 / (3 sigma), or "trade-off" (eq. 41).
    l : "askey-odd", what the thesis computed with; "askey", the smallest that keeps the kernel
        positive definite; or a number, with a warning below that.
    solver : "cholesky" or "newton".
    loss : "squared_hinge", or "hinge" with solver="cholesky" (eq. 35; LinearSVC's default, which
        the thesis used, is the squared one).
    intercept : "penalised" as LIBLINEAR, "none", or "free" (not with the hinge).
    shift : added to the diagonal of K.
    merge : whether rows of equal features, label and weight are taken as one that counts for all.
        The optimum is the same; the matrix, `sparsity_`, `permutation_` and `support_` are then
        those of the distinct rows, which are also what rules for sigma and alpha see.
    ordering : of the factor: "amd", "metis", "nesdis", "natural".
    backend : "cholmod", "superlu", or "auto".
    tol, max_iter : the solver's, None for its own default.
    class_weight, random_state, max_memory : as everywhere.

    Fitted
    ------
    sigma_, sparsity_, factor_sparsity_, permutation_ (both known without a factor),
    approximation_, dual_coef_ and support_, intercept_, results_, result_, n_iter_, timings_,
    nbytes_, classes_; with "cv" sigma_table_; and distinct_, the distinct rows and how often each
    stands in X (`DistinctRows`), or None where none were merged.

    Example
    -------
    >>> from kernlab import SparseCholeskySVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> machine = SparseCholeskySVC(sigma=0.1, solver="newton").fit(X, y)
    >>> machine.score(X, y) > 0.99, machine.sparsity_ > 0.9
    (True, True)
    """

    approximation = "compact"
    kernel = "rbf"

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
        approximation_params=None,
        solver_params=None,
    ):
        self.C = C
        self.sigma = sigma
        self.alpha = alpha
        self.l = l
        self.solver = solver
        self.sparsity = sparsity
        self.loss = loss
        self.intercept = intercept
        self.shift = shift
        self.merge = merge
        self.ordering = ordering
        self.backend = backend
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory
        self.approximation_params = approximation_params
        self.solver_params = solver_params

    def fit(self, X, y, sample_weight=None):
        """Assemble the sparse kernel of the rows of X, then solve for the labels y."""
        self._chosen_sigma = self.sigma
        if isinstance(self.sigma, str) and self.sigma == "cv":
            self._chosen_sigma = self._cross_validated(X, y, sample_weight)
        else:
            self.__dict__.pop("sigma_table_", None)
        super().fit(X, y, sample_weight)
        self._warn_of_rows_that_see_nothing()
        return self

    def _warn_of_rows_that_see_nothing(self):
        kernel = self.approximation_
        sums = kernel.operator() @ np.ones(kernel.rank_)
        others = float(sums.mean()) - 1.0 - float(np.mean(kernel.shift))
        if others < LEAST_SEEN:
            warnings.warn(
                "the kernel matrix is all but the identity: what a row sees of all others together "
                f"is {others:.0e} of what it sees of itself, so that hardly more than the "
                "intercept decides new rows. Sparse kernels suit rows of few features: raise "
                "sigma, lower sparsity, set a smaller l, or take LASN.",
                NearlyIdentityWarning,
                stacklevel=3,
            )

    def _cross_validated(self, X, y, sample_weight):
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        self.sigma_table_ = cross_validate_sigma(
            self,
            X,
            y,
            floor=default_sparsity(X.shape[0]) if self.sparsity is None else self.sparsity,
            sample_weight=sample_weight,
            random_state=self.random_state,
        )
        return best_sigma(self.sigma_table_)

    def _make_pair(self):
        paths = sorted({path for path, _ in SOLVERS_BY_PATH})
        if self.solver not in paths:
            raise ValueError(f"solver={self.solver!r} is not one of {', '.join(paths)}")
        if (self.solver, self.loss) not in SOLVERS_BY_PATH:
            offered = [loss for path, loss in SOLVERS_BY_PATH if path == self.solver]
            raise ValueError(
                f"solver={self.solver!r} offers loss={' or '.join(map(repr, offered))}, "
                f"not {self.loss!r}"
            )
        solver = get_solver(SOLVERS_BY_PATH[self.solver, self.loss])
        solver.check(self.loss, self.intercept)
        sigma = self._chosen_sigma
        arguments = {
            "gamma": sigma if isinstance(sigma, str) else gamma_from_sigma(sigma),
            "alpha": self.alpha,
            "l": self.l,
            "sparsity": self.sparsity,
            "shift": self.shift,
            "ordering": self.ordering,
            "backend": self.backend,
            "random_state": self.random_state,
            "max_memory": self.max_memory,
        }
        return CompactKernel(**arguments | dict(self.approximation_params or {})), solver

    # ------------------------------------------------------------------- equal rows
    def _row_weights(self, X, y, sample_weight):
        weights = super()._row_weights(X, y, sample_weight)
        codes = np.unique(y, return_inverse=True)[1]
        others = (codes,) if weights is None else (codes, weights)
        self.distinct_ = distinct_rows(X, *others) if self.merge else None
        return weights

    def _approximate(self, approximation, solver, X):
        if self.distinct_ is not None:
            shifts = approximation.shift / self.distinct_.counts
            approximation.set_params(shift=shifts)
            X = X[self.distinct_.first]
        approximation.fit(X)
        return approximation.data_for(solver.needs, X)

    def _solve(self, solver, data, signs, weights):
        if self.distinct_ is not None:
            first, counts = self.distinct_
            signs = [sign[first] for sign in signs]
            weights = counts * (1.0 if weights is None else weights[first])
        return super()._solve(solver, data, signs, weights)

    def _solver_arguments(self, solver):
        arguments = super()._solver_arguments(solver)
        if solver.needs == "features":
            arguments["dual_of"] = self.approximation_.dual_from_weights
            if self.max_memory:
                arguments["max_memory"] = self._memory_left()
        return arguments

    def _memory_left(self):
        """What may be taken beside the matrix and its factor."""
        return max(1, memory_limit(self.max_memory) - self.approximation_.nbytes)

    def _store(self, solver):
        """Whatever the path, decisions come from the dual variables and the sparse kernel."""
        super()._store(solver)
        if solver.needs == "features":
            dual = self.approximation_.dual_from_weights(self.coef_.T).T
            del self.coef_
            self.support_ = np.flatnonzero(dual.any(axis=0))
            self.dual_coef_ = dual[:, self.support_]

    @property
    def sigma_(self):
        """The width in use."""
        return 1.0 / np.sqrt(2.0 * self.approximation_.kernel_.gamma)

    @property
    def sparsity_(self):
        """The share of zeros in the kernel matrix."""
        return self.approximation_.sparsity_

    @property
    def factor_sparsity_(self):
        """The share of zeros in its Cholesky factor."""
        return self.approximation_.factor_sparsity_

    @property
    def permutation_(self):
        """The order of the rows in the factor."""
        return self.approximation_.permutation_
