"""ADMM on the dual of a hierarchically semi-separable kernel matrix (Cipolla, Gondzio 2021)."""

import time

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernlab.approximations import HSSKernel
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.kernels import gamma_from_sigma
from kernlab.rows.validation import validate_data
from kernlab.solvers import get_solver

PREDICTIONS = ("exact", "structure")


class HSSSVC(KernelMachine):
    """Kernel classification through a hierarchical approximation of the kernel matrix.

        k(x, z) = exp(-|x - z|^2 / (2 h^2))

        minimise over w, b   1/2 |w|^2 + C sum_i max(0, 1 - y_i (w . phi(x_i) + b))

    For one h the kernel matrix is compressed and K~ + beta I factorised once; every class and every
    C is then a right-hand side of that factor. `sweep` over C and h shares all that can be shared:
    the tree and the neighbours for all h, the factor for all C, which are solved as one block.

    Parameters
    ----------
    C : multiplies the sum of losses.
    h : the width; or a rule for gamma = 1 / (2 h^2): "scale", "variance", "median", "auto".
    beta : of ADMM: a number, refused where K~ has an eigenvalue that is too low for it; "auto", the
        paper's 100, 1000 above 100,000 rows, 10,000 above 1,000,000, raised where K~ needs more; or
        "adaptive", the quickest way to convergence.
    max_iter : steps of ADMM; exactly so many, as in the paper, where `tol` is None. Ten steps are
        far from the optimum: no dual variable has come as far as a large C, so that all C from some
        value on give the same machine. To choose a C, set `tol`.
    tol : the relative duality gap (with K~) to reach; takes a larger `max_iter`.
    rel_tol, abs_tol, max_rank : where the bases of clusters end (see `HSSKernel`).
    leaf_size, clustering, approximate_neighbors, mode, dtype : of the approximation, as well.
    loss, intercept : "hinge" or "squared_hinge"; "free", "penalised" or "none".
    relaxation, acceleration : of ADMM; None for none of both with a fixed number of steps, and for
        the solver's own defaults with a tolerance.
    certificate : objectives and KKT residual with K~ ("approximate"), or with the exact kernel,
        whose products are streamed ("exact").
    prediction : "exact", by the kernel between new rows and all support vectors; or "structure", by
        K~'s own skeletons, which are fewer: much faster, and about as exact as K~.
    class_weight, random_state, max_memory : as everywhere.
    approximation_params, solver_params : further parameters, as dictionaries.

    Fitted
    ------
    h_, beta_, approximation_ (with `quality()`, `save(path)`), dual_coef_ and support_,
    intercept_, results_, result_, n_iter_, timings_, nbytes_, classes_.

    Example
    -------
    >>> from kernlab import HSSSVC
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> machine = HSSSVC(h=0.2, tol=1e-3, max_iter=1000, beta="adaptive", random_state=0)
    >>> machine.fit(X, y).score(X, y) > 0.99
    True
    """

    approximation = "hss"
    solver = "dual-admm"
    kernel = "rbf"

    def __init__(
        self,
        C=1.0,
        h="scale",
        beta="auto",
        *,
        max_iter=10,
        tol=None,
        rel_tol=1e-2,
        abs_tol=1e-8,
        max_rank=50_000,
        leaf_size=None,
        clustering="2means",
        approximate_neighbors=64,
        mode="fast",
        dtype=None,
        loss="hinge",
        intercept="free",
        relaxation=None,
        acceleration=None,
        certificate="approximate",
        prediction="exact",
        class_weight=None,
        random_state=None,
        max_memory=None,
        approximation_params=None,
        solver_params=None,
    ):
        self.C = C
        self.h = h
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol
        self.rel_tol = rel_tol
        self.abs_tol = abs_tol
        self.max_rank = max_rank
        self.leaf_size = leaf_size
        self.clustering = clustering
        self.approximate_neighbors = approximate_neighbors
        self.mode = mode
        self.dtype = dtype
        self.loss = loss
        self.intercept = intercept
        self.relaxation = relaxation
        self.acceleration = acceleration
        self.certificate = certificate
        self.prediction = prediction
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory
        self.approximation_params = approximation_params
        self.solver_params = solver_params

    # ------------------------------------------------------------------------ fitting
    def fit_on(self, approximation, y, sample_weight=None):
        """Fit to labels of the rows that an `HSSKernel` was fitted on, which is taken as it is.

        It may be that of another machine (`machine.approximation_`) or one that was read from a
        file (`HSSKernel.load`): its width counts, and its factor where beta is the same.
        """
        began = time.perf_counter()
        _, solver = self._make_pair()
        check_is_fitted(approximation)
        X, y = validate_data(
            self, approximation.X_, y, accept_sparse="csr", dtype=(np.float64, np.float32)
        )
        signs = self._binary_problems(y)
        weights = self._row_weights(X, y, sample_weight)
        self._solve_and_store(approximation, solver, approximation, signs, weights, began)
        return self

    def _make_pair(self):
        if self.prediction not in PREDICTIONS:
            raise ValueError(f"prediction={self.prediction!r} is not one of {PREDICTIONS}")
        solver = get_solver(self.solver)
        solver.check(self.loss, self.intercept)
        arguments = {
            "gamma": self.h if isinstance(self.h, str) else gamma_from_sigma(self.h, "h"),
            "rel_tol": self.rel_tol,
            "abs_tol": self.abs_tol,
            "max_rank": self.max_rank,
            "leaf_size": self.leaf_size,
            "clustering": self.clustering,
            "approximate_neighbors": self.approximate_neighbors,
            "mode": self.mode,
            "dtype": self.dtype,
            "random_state": self.random_state,
            "max_memory": self.max_memory,
        }
        return HSSKernel(**arguments | dict(self.approximation_params or {})), solver

    def _solver_arguments(self, solver):
        limit = {"tol": self.tol, "max_iter": self.max_iter}
        arguments = {
            "C": self.C,
            "loss": self.loss,
            "intercept": self.intercept,
            "beta": self.beta,
            "certificate": self.certificate,
            "relaxation": self.relaxation,
            "acceleration": self.acceleration,
            **({"steps": self.max_iter} if self.tol is None else limit),
        }
        return arguments | dict(self.solver_params or {})

    @property
    def h_(self):
        """The width in use."""
        return 1.0 / np.sqrt(2.0 * self.approximation_.kernel_.gamma)

    @property
    def beta_(self):
        """The beta of the last step."""
        return self.result_.trace[-1]["beta"]

    # --------------------------------------------------------------------- predicting
    def _dual_scores(self, X):
        if self.prediction == "exact":
            return super()._dual_scores(X)
        return self.approximation_.structured_decision(X, self.dual_coef_.T, self.support_)
