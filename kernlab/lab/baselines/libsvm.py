"""Machines with the exact kernel by LIBSVM, and what takes no training but a kernel.

    minimise over w, b   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

more classes one against one. The squared hinge is not among LIBSVM's losses: its dual is that of a
machine without slack on the matrix K + I / (2C), which must then be held.
"""

from dataclasses import KW_ONLY, dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from sklearn.utils import resample

from kernlab.kernels import (
    RBF,
    Linear,
    Polynomial,
    Sigmoid,
    kernel_blocks,
    kernel_product,
    make_kernel,
)
from kernlab.lab.baselines.base import Baseline, imported
from kernlab.runtime import memory_limit, require_memory
from kernlab.solvers import certify_dual
from kernlab.solvers.losses import get_loss, row_costs

LIBSVM_NAMES = {Linear: "linear", RBF: "rbf", Polynomial: "poly", Sigmoid: "sigmoid"}


@dataclass(eq=False, repr=False)
class KernelBaseline(Baseline):
    """A baseline with a kernel; kernel, gamma, degree, coef0 as `kernlab.kernels.make_kernel`."""

    _: KW_ONLY
    kernel: object = "rbf"
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0

    def _make_kernel(self, X):
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return make_kernel(self.kernel, **named, X=X)

    def _multiply(self, X):
        """The function v -> K v for the exact kernel matrix, streamed over the non-zeros of v."""

        def multiply(v):
            used = np.flatnonzero(v)
            if used.size == 0:
                return np.zeros(len(v))
            return kernel_product(self.kernel_, X, X[used], v[used], self.max_memory)

        return multiply


@dataclass(eq=False, repr=False)
class LibSVM(KernelBaseline):
    """The support vector machine with the exact kernel, by LIBSVM.

    Parameters
    ----------
    C : float
    loss : "hinge" or "squared_hinge"
    kernel, gamma, degree, coef0 : see `kernlab.kernels.make_kernel`
        Kernels that LIBSVM does not know are computed beforehand, as for the squared hinge.
    tol : float
        The largest violation of the optimality conditions.
    max_iter : int
        -1: no limit.
    cache_size : float
        Megabytes of kernel values that LIBSVM keeps.
    engine : str
        A class with SVC's interface, scikit-learn-intelex's or ThunderSVM's, say.
    n_samples, seconds : number or None
        Train on a stratified subsample of so many rows, or of as many as so many seconds allow:
        whoever approximates the kernel on all rows competes with the exact kernel on some of them.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_ : as SVC's; kernel_ : the kernel
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    tol: float = 1e-3
    max_iter: int = -1
    cache_size: float = 200
    engine: str = "sklearn.svm.SVC"
    n_samples: int | None = None
    seconds: float | None = None

    def _fit(self, rows):
        n, size = len(rows.labels), self.n_samples
        if self.seconds is not None:
            size, growth = 250, 2.0
            # Training takes between n^2 and n^3; a tenth of the seconds is left to chance.
            while size < n and growth > 1.1:
                spent = self._train(rows, size)
                growth = min(2.0, (0.9 * self.seconds / spent) ** 0.4)
                size = int(size * growth)
        self._train(rows, n if size is None else size)

    def _train(self, rows, size):
        """Train on a stratified sample of this size, and say how long it took."""
        self.timings_ = {"approximate": 0.0, "solve": 0.0}
        if size < len(rows.labels):
            every = np.arange(len(rows.labels))
            shared = {"stratify": rows.labels, "random_state": self.random_state}
            rows = rows.take(np.sort(resample(every, replace=False, n_samples=size, **shared)))
            if len(np.unique(rows.labels)) < len(self.classes_):
                raise ValueError(f"a subsample of {size} rows has none of some class: take more")
        self.indices_ = rows.index
        X, loss, self.n_rows_ = rows.X, get_loss(self.loss), len(rows.labels)
        costs = row_costs(self.C, self.n_rows_, rows.weights)
        self.kernel_ = self._make_kernel(X)
        # All costs alike are C, for programs that take no weights of rows.
        alike = np.all(costs == costs[0])
        C, weights = (float(costs[0]), {}) if alike else (1.0, {"sample_weight": costs})
        settings = {name: getattr(self, name) for name in ("tol", "max_iter", "cache_size")}
        name = LIBSVM_NAMES.get(type(self.kernel_))
        self.precomputed_ = bool(loss.curvature) or name is None
        if self.precomputed_:
            F, name = self._matrix(X), "precomputed"
        else:
            F = X
            settings |= {"gamma": 1.0, "coef0": 0.0, "degree": 1, **self.kernel_.parameters}
        if loss.curvature:
            F[np.diag_indices(self.n_rows_)] += loss.dual_diagonal(costs)
            C, weights = out_of_reach(costs), {}
        with self._clock("solve"):
            self.model_ = model = imported(self.engine)(
                C=C, kernel=name, random_state=self.random_state, **settings
            ).fit(F, rows.labels, **weights)
        self.support_ = rows.index[model.support_]
        self.support_vectors_ = X[model.support_] if self.precomputed_ else model.support_vectors_
        self.dual_coef_, self.intercept_ = model.dual_coef_, model.intercept_
        self.n_iter_ = max(1, int(np.max(getattr(model, "n_iter_", 1))))
        return sum(self.timings_.values())

    def _matrix(self, X):
        n, name = X.shape[0], type(self.kernel_).__name__
        require_memory(
            8 * n * n,
            self.max_memory,
            what=f"LIBSVM with loss={self.loss!r} and the {name} kernel",
            arithmetic=f"the kernel matrix of {n:,} rows: {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows (n_samples), or use an "
            "approximation; loss='hinge' with a kernel that LIBSVM knows needs no matrix.",
        )
        with self._clock("approximate"):
            return np.asarray(self.kernel_(X), dtype=np.float64)

    def predict(self, X):
        """The label of each row; more than two classes by LIBSVM's votes, the rounded scores."""
        scores = self.decision_function(X)
        return self.classes_[np.rint(scores).argmax(1) if scores.ndim > 1 else (scores > 0) * 1]

    def _scores(self, X):
        ask = self.model_.decision_function
        if not self.precomputed_:
            return ask(X)
        parts, share = [], min(memory_limit(self.max_memory), 2**26)
        for _, block in kernel_blocks(self.kernel_, X, self.support_vectors_, share):
            values = np.zeros((len(block), self.n_rows_))  # zero wherever no support vector is
            values[:, self.model_.support_] = block
            parts.append(ask(values))
        return np.concatenate(parts)

    def _certificates(self, rows):
        same = np.isin(self.indices_, rows.index).all()
        rows = rows.take(np.searchsorted(rows.index, self.indices_)) if same else rows
        model, n = self.model_, self.n_rows_
        own = model.support_
        if not same or abs(rows.X[own] - self.support_vectors_).sum():
            raise ValueError("certify needs the rows that the machine was trained on, in order")
        costs = row_costs(self.C, n, rows.weights)
        # For k classes the dual variables stand in k - 1 rows over all support vectors, sorted by
        # class: the machine of i < j has those of class i in row j - 1, of class j in row i.
        dual = sp.csr_matrix(self.dual_coef_).toarray()
        of_class = np.split(np.arange(len(own)), np.cumsum(model.n_support_)[:-1])
        pairs = list(combinations(range(len(self.classes_)), 2))
        certificates = {}
        for (i, j), intercept in zip(pairs, np.ravel(self.intercept_), strict=True):
            signed = np.zeros(n)
            signed[own[of_class[i]]] = dual[j - 1, of_class[i]]
            signed[own[of_class[j]]] = dual[i, of_class[j]]
            # With two classes SVC turns the signs, so that scores are positive for the second.
            positive, negative = (j, i) if len(pairs) == 1 else (i, j)
            here = np.flatnonzero((rows.labels == i) | (rows.labels == j))
            y = rows.signs(positive)[here]
            certificates[self.classes_[positive], self.classes_[negative]] = certify_dual(
                self._multiply(rows.X[here]),
                y,
                signed[here] * y,
                C=1.0,
                loss=self.loss,
                intercept="free",
                b=float(intercept),
                sample_weight=costs[here],
            )
        return certificates


def out_of_reach(costs):
    """A bound that no dual variable of the squared hinge reaches: LIBSVM always wants one.

    At the optimum a_i = 2 C_i slack_i, and C_i slack_i^2 is at most the objective, which is at
    most its value sum_j C_j without weights; so a_i <= 2 sqrt(C_i sum_j C_j). Twice that.
    """
    return 4.0 * float(np.sqrt(costs.max() * costs.sum()))


@dataclass(eq=False, repr=False)
class Parzen(KernelBaseline):
    """The nearest class mean in the kernel's feature space: every row a vote, nothing optimised.

        score_c(x) = mean over rows i of class c of k(x, x_i)  -  1/2 |mean of class c|^2

    ADMM on the dual of a support vector machine, stopped after a few steps, has dual variables of
    almost two values, one per class, and decides much like this.
    """

    def _fit(self, rows):
        with self._clock("solve"):
            self.kernel_, self.X_ = self._make_kernel(rows.X), rows.X
            self.shares_ = np.zeros((len(rows.labels), len(self.classes_)))
            self.shares_[np.arange(len(rows.labels)), rows.labels] = rows.weights
            self.shares_ /= self.shares_.sum(axis=0)
            self.offsets_ = 0.5 * np.einsum("ic,ic->c", self.shares_, self._means(rows.X))

    def _means(self, X):
        return kernel_product(self.kernel_, X, self.X_, self.shares_, self.max_memory)

    def _scores(self, X):
        return self._means(X) - self.offsets_
