"""LASN: k-means Nystrom features and a semismooth Newton method (Jiang and Li 2020)."""

import time

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kernlab.approximations import Nystrom
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.rows.validation import validate_data
from kernlab.solvers import solve_newton


class LandmarkParameters:
    """The parameters of a Nystrom map, as an estimator passes them on."""

    approximation = "nystrom"

    @property
    def approximation_params(self):
        names = ("n_landmarks", "landmarks", "factor", "dtype", "landmark_params")
        return {name: getattr(self, name) for name in names}

    @property
    def landmarks_(self):
        """The landmarks in use, in the order of the features."""
        return self.approximation_.landmarks_


class LASN(LandmarkParameters, KernelMachine):
    """Kernel classification by Nystrom features and Newton's method on the squared hinge.

        minimise over w, b   1/2 |w|^2 + 1/2 b^2 + C sum_i max(0, 1 - y_i (w . f(x_i) + b))^2

    with f(x) = M^T k(landmarks, x) (LASN eq. 16 to 21). Training is the choice of the landmarks,
    one pass over the kernel values, and a few Newton steps to a certified optimum; the features
    of a row are formed only while it is on the wrong side of its margin. Several classes are
    solved one against the rest, from the same kernel values.

    Parameters
    ----------
    n_landmarks : k, or "sqrt" of the rows.
    landmarks : "kmeans" (the paper's), "uniform", "first", "rpcholesky", "leverage", or an array.
    kernel, gamma, degree, coef0 : see `make_kernel`; the paper's gamma is "variance".
    C : multiplies the sum of losses; the paper's is 10.
    intercept : "penalised" (the paper's), "free" or "none".
    factor : "cholesky", or "eigen-drop", the paper's treatment of tiny eigenvalues (see `Nystrom`).
    dtype : of the kernel values: "float64", "float32", or None for single precision where there
        are many and the result bears it; the solver goes on in double where it does not.
    tol, max_iter : of the gradient relative to the gradient at zero, and of the Newton steps.
    landmark_params : further arguments of `choose_landmarks`: max_rows, candidates, n_steps.
    solver_params : further arguments of `solve_newton`: method, eta, gap_tol, warm_up.
    class_weight, random_state, max_memory : as everywhere.

    Fitted
    ------
    landmarks_, approximation_, coef_, intercept_, results_, result_, n_iter_, timings_, nbytes_,
    classes_.

    Example
    -------
    >>> from kernlab import LASN
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.2, random_state=0)
    >>> LASN(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    solver = "newton"
    loss = "squared_hinge"

    def __init__(
        self,
        n_landmarks="sqrt",
        *,
        landmarks="kmeans",
        kernel="rbf",
        gamma="variance",
        degree=3,
        coef0=1.0,
        C=10.0,
        intercept="penalised",
        factor="cholesky",
        dtype=None,
        tol=1e-6,
        max_iter=200,
        class_weight=None,
        random_state=None,
        max_memory=None,
        landmark_params=None,
        solver_params=None,
    ):
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.intercept = intercept
        self.factor = factor
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory
        self.landmark_params = landmark_params
        self.solver_params = solver_params


class LASNRegressor(LandmarkParameters, RegressorMixin, BaseEstimator):
    """Kernel regression by Nystrom features and Newton's method.

        minimise over w, b   1/2 |w|^2 + C sum_i max(0, |w . f(x_i) + b - t_i| - epsilon)^2

    The LASN paper says that its method "is also applicable to SVR models"; this is how: the
    squared epsilon-insensitive loss is the squared distance of a score to an interval about its
    target, as the squared hinge is to a half-line, and the same iteration solves it.

    Parameters: `epsilon`, half the width of the interval; the others as in `LASN`, with a free
    intercept. Fitted: as in `LASN`, without classes.

    Example
    -------
    >>> import numpy as np
    >>> from kernlab import LASNRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> t = np.sin(X[:, 0])
    >>> LASNRegressor(gamma=1.0, epsilon=0.01, random_state=0).fit(X, t).score(X, t) > 0.99
    True
    """

    def __init__(
        self,
        n_landmarks="sqrt",
        *,
        landmarks="kmeans",
        kernel="rbf",
        gamma="variance",
        degree=3,
        coef0=1.0,
        C=10.0,
        epsilon=0.1,
        intercept="free",
        factor="cholesky",
        dtype=None,
        tol=1e-6,
        max_iter=200,
        random_state=None,
        max_memory=None,
        landmark_params=None,
        solver_params=None,
    ):
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.C = C
        self.epsilon = epsilon
        self.intercept = intercept
        self.factor = factor
        self.dtype = dtype
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.max_memory = max_memory
        self.landmark_params = landmark_params
        self.solver_params = solver_params

    def fit(self, X, y, sample_weight=None):
        """Choose landmarks for the rows of X, then solve for the targets y."""
        began = time.perf_counter()
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            order="C",
            y_numeric=True,
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        self.approximation_ = Nystrom(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            random_state=self.random_state,
            max_memory=self.max_memory,
            **self.approximation_params,
        ).fit(X)
        rows = self.approximation_.features(X)
        rows.A  # noqa: B018  kernel values belong to the time of approximating
        approximated = time.perf_counter()
        self.result_ = solve_newton(
            rows,
            y,
            C=self.C,
            loss="squared_epsilon_insensitive",
            epsilon=self.epsilon,
            intercept=self.intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            sample_weight=sample_weight,
            **dict(self.solver_params or {}),
        )
        self.results_ = [self.result_]
        self.coef_, self.intercept_ = self.result_.coefficients, self.result_.intercept
        self.n_iter_ = self.result_.n_iter
        self.nbytes_ = self.approximation_.nbytes + self.coef_.nbytes
        self.timings_ = {
            "approximate": approximated - began,
            **{f"approximate: {part}": s for part, s in self.approximation_.timings_.items()},
            "solve": time.perf_counter() - approximated,
            "total": time.perf_counter() - began,
        }
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return self.approximation_.decision(X, self.coef_) + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
