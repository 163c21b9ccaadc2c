"""LIBSVM through scikit-learn's SVC: the exact kernel machine that the papers compare with.

    minimise over w, b   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

The squared hinge is not among LIBSVM's losses. Its dual is that of a machine without slack on the
matrix K + I / (2C): LIBSVM solves that, and the whole matrix must be held.
"""

import numpy as np
from sklearn.svm import SVC

from kernlab.kernels import RBF, Linear, Polynomial, Sigmoid, make_kernel
from kernlab.lab.baselines.base import Baseline, check_choice, worst
from kernlab.lab.baselines.pairs import certify_pairs
from kernlab.runtime import memory_limit, require_memory, row_blocks
from kernlab.solvers.losses import LOSSES, row_costs

LIBSVM_NAMES = {Linear: "linear", RBF: "rbf", Polynomial: "poly", Sigmoid: "sigmoid"}

BLOCK_BYTES = 2**24  # kernel values of new points at a time


class LibSVM(Baseline):
    """The support vector machine with the exact kernel, by LIBSVM; more classes one against one.

    Parameters: C, loss ("hinge" or "squared_hinge"), kernel, gamma, degree and coef0 (see
    `kernlab.kernels.make_kernel`; kernels that LIBSVM does not know are computed beforehand), tol
    (the largest violation of the optimality conditions), max_iter (-1: no limit), cache_size in
    megabytes, shrinking, class_weight, random_state, and max_memory for the kernel matrix where
    one must be held.
    Fitted: `support_` (rows), `support_vectors_`, `dual_coef_`, `intercept_` (as SVC's),
    `kernel_`, and after `certify` also `certificate_`.
    """

    title = "LIBSVM (exact kernel)"
    compares = "what an approximation of the kernel costs in accuracy and saves in time"

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        tol=1e-3,
        max_iter=-1,
        cache_size=200,
        shrinking=True,
        class_weight=None,
        random_state=None,
        max_memory=None,
    ):
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    def _fit(self, rows):
        check_choice("loss", self.loss, tuple(LOSSES))
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        self.kernel_ = make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, X=rows.X
        )
        if self._holds_matrix():
            self._fit_matrix(rows, costs)
        else:
            with self._clock("solve"):
                self.svc_ = self._native_svc(type(self.kernel_))
                self.svc_.fit(rows.X, rows.labels, sample_weight=costs)
        self.n_rows_ = rows.X.shape[0]
        self.support_ = rows.index[self.svc_.support_]
        self.support_vectors_ = rows.X[self.svc_.support_]
        self.dual_coef_ = self.svc_.dual_coef_
        self.intercept_ = self.svc_.intercept_
        self.n_iter_ = max(1, int(np.max(self.svc_.n_iter_)))

    def _holds_matrix(self):
        return self.loss == "squared_hinge" or type(self.kernel_) not in LIBSVM_NAMES

    def _native_svc(self, kernel_type):
        parameters = {"gamma": 1.0, "coef0": 0.0, "degree": 1, **self.kernel_.parameters}
        return self._svc(LIBSVM_NAMES[kernel_type], C=1.0, **parameters)

    def _svc(self, kernel, C, **parameters):
        """An SVC with these settings."""
        return self._svc_class()(
            C=C,
            kernel=kernel,
            tol=self.tol,
            max_iter=self.max_iter,
            cache_size=self.cache_size,
            shrinking=self.shrinking,
            random_state=self.random_state,
            **parameters,
        )

    def _svc_class(self):
        return SVC

    def _fit_matrix(self, rows, costs):
        n = rows.X.shape[0]
        require_memory(
            matrix_bytes(n),
            self.max_memory,
            what=f"LIBSVM with loss={self.loss!r} and the {type(self.kernel_).__name__} kernel",
            arithmetic=f"the kernel matrix of {n:,} rows: {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows ('libsvm-subsample'), or use an "
            "approximation; loss='hinge' with a kernel that LIBSVM knows needs no matrix.",
        )
        with self._clock("approximate"):
            K = np.asarray(self.kernel_(rows.X), dtype=np.float64)
            if self.loss == "squared_hinge":
                K[np.diag_indices(n)] += 1.0 / (2.0 * costs)
        with self._clock("solve"):
            if self.loss == "squared_hinge":
                self.svc_ = self._svc("precomputed", C=out_of_reach(costs)).fit(K, rows.labels)
            else:
                self.svc_ = self._svc("precomputed", C=1.0)
                self.svc_.fit(K, rows.labels, sample_weight=costs)

    # ------------------------------------------------------------------- new points
    def predict(self, X):
        """The label of each row; more than two classes by LIBSVM's votes."""
        X = self._validated(X)
        return self.classes_[self._ask(X, "predict")]

    def _decision(self, X):
        return self._ask(X, "decision_function")

    def _ask(self, X, method):
        """SVC's own answer; where it was given a matrix, by blocks of kernel values."""
        answer = getattr(self.svc_, method)
        if not self._holds_matrix():
            return answer(X)
        share = min(memory_limit(self.max_memory) // 4, BLOCK_BYTES)
        blocks = row_blocks(X.shape[0], share // (8 * self.n_rows_))
        values = np.zeros((blocks[0].stop, self.n_rows_))  # zero wherever no support vector is
        parts = []
        for rows in blocks:
            block = values[: rows.stop - rows.start]
            block[:, self.svc_.support_] = self.kernel_(X[rows], self.support_vectors_)
            parts.append(answer(block))
        return np.concatenate(parts)

    # ------------------------------------------------------------------ certificate
    def certify(self, X, y, sample_weight=None):
        """How far the machine is from its optimum, given the rows that it was trained on.

        Products with the exact kernel matrix are streamed: nothing large is held, but for n rows
        and s support vectors it costs n s kernel values. The worst certificate of all pairs of
        classes is returned and kept as `certificate_`; all are in `certificates_`, by the pair
        (positive class, negative class).
        """
        rows = self._training_rows(X, y, sample_weight, reset=False)
        if rows.X.shape[0] != self.n_rows_ or not _same(
            rows.X[self.svc_.support_], self.support_vectors_
        ):
            raise ValueError("certify needs the rows that the machine was trained on, in order")
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        by_position = certify_pairs(
            self.svc_, self.kernel_, rows, costs, self.loss, self.max_memory
        )
        self.certificates_ = {
            (self.classes_[positive], self.classes_[negative]): certificate
            for (positive, negative), certificate in by_position.items()
        }
        self.certificate_ = worst(self.certificates_)
        return self.certificate_

    def _held(self):
        return self.support_vectors_, self.dual_coef_, self.intercept_


def matrix_bytes(n_rows):
    """Bytes of a kernel matrix in double precision."""
    return 8 * n_rows * n_rows


def out_of_reach(costs):
    """A bound that no dual variable of the squared hinge reaches: LIBSVM always wants one.

    At the optimum a_i = 2 C_i slack_i, and C_i slack_i^2 is at most the objective, which is at
    most its value sum_j C_j without weights; so a_i <= 2 sqrt(C_i sum_j C_j). Twice that.
    """
    return 4.0 * float(np.sqrt(costs.max() * costs.sum()))


def _same(X, Y):
    difference = X - Y
    return not (difference.nnz if hasattr(difference, "nnz") else difference.any())
