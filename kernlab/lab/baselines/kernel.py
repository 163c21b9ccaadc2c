"""Machines whose scores are sums of kernel values: LIBSVM's, the Parzen window, and what
competitors from the papers' tables share.
"""

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state, resample

from kernlab import kernels
from kernlab.lab.baselines.base import Baseline, imported
from kernlab.runtime import REORDERED_SUMS, memory_limit, njit, require_memory, row_blocks
from kernlab.solvers import certify_dual
from kernlab.solvers.problems import get_loss, row_costs

LIBSVM_NAMES = {
    kernels.Linear: "linear",
    kernels.RBF: "rbf",
    kernels.Polynomial: "poly",
    kernels.Sigmoid: "sigmoid",
}


@dataclass(eq=False, repr=False)
class KernelBaseline(Baseline):
    """A baseline with a kernel: kernel, gamma, degree, coef0 as `kernlab.kernels.make_kernel`.

    A subclass fits `support_` (rows), `support_vectors_`, `dual_coef_` (dual variables times
    labels, a column for each problem) and `intercept_`; or it has scores of its own. What its
    `_problems(rows)` gives, (key, rows, labels, dual variables times labels, intercept), is
    certified as a problem with its `loss` and `intercept`.
    """

    _: KW_ONLY
    kernel: object = "rbf"
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0

    intercept = "free"

    def _make_kernel(self, X):
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return kernels.make_kernel(self.kernel, **named, X=X)

    def _product(self, X, Y, V):
        return kernels.kernel_product(self.kernel_, X, Y, V, self.max_memory)

    def _scores(self, X):
        scores = self._product(X, self.support_vectors_, self.dual_coef_) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _own_places(self, rows):
        """Where the support vectors are among these rows."""
        own = np.searchsorted(rows.index, self.support_)
        if not np.isin(self.indices_, rows.index).all() or (
            abs(rows.X[own] - self.support_vectors_).sum() > 0
        ):
            raise ValueError("certify needs the rows that the machine was trained on, in order")
        return own

    def _certificates(self, rows):
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        certificates = {}
        for key, here, y, signed, b in self._problems(rows):
            X = rows.X[here]
            certificates[key] = certify_dual(
                lambda v, X=X: self._product(X, X[v != 0], v[v != 0]) if v.any() else v,
                y,
                signed * y,
                C=1.0,
                loss=self.loss,
                intercept=self.intercept,
                b=float(b),
                sample_weight=costs[here],
            )
        return certificates


@dataclass(eq=False, repr=False)
class LibSVM(KernelBaseline):
    """The support vector machine with the exact kernel, by LIBSVM; more classes one against one.

        minimise over w, b   1/2 |w|^2 + C sum_i loss(y_i (w . phi(x_i) + b))

    The squared hinge is not among LIBSVM's losses: its dual is that of a machine without slack on
    the matrix K + I / (2C), which must then be held.

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
    n_samples : int or None
        Train on a stratified subsample of so many rows: whoever approximates the kernel on all rows
        competes with the exact kernel on some of them.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_ : as SVC's
    indices_ : the rows trained on
    """

    C: float = 1.0
    _: KW_ONLY
    loss: str = "hinge"
    tol: float = 1e-3
    max_iter: int = -1
    cache_size: float = 200
    engine: str = "sklearn.svm.SVC"
    n_samples: int | None = None

    def _fit(self, rows):
        size = self.n_samples
        if size is not None and size < len(rows.labels):
            every, shared = np.arange(len(rows.labels)), {"random_state": self.random_state}
            shared["stratify"] = rows.labels
            rows = rows.take(np.sort(resample(every, replace=False, n_samples=size, **shared)))
            if len(np.unique(rows.labels)) < len(self.classes_):
                raise ValueError(f"a subsample of {size} rows has none of some class: take more")
        X, loss, n = rows.X, get_loss(self.loss), len(rows.labels)
        costs = row_costs(self.C, n, rows.weights)
        self.indices_, self.kernel_ = rows.index, self._make_kernel(X)
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
            settings |= {"gamma": 1.0, "coef0": 0.0, "degree": 1, **vars(self.kernel_)}
        if loss.curvature:
            F[np.diag_indices(n)] += loss.dual_diagonal(costs)
            C, weights = out_of_reach(costs), {}
        with self._clock("solve"):
            self.model_ = model = imported(self.engine)(
                C=C, kernel=name, random_state=self.random_state, **settings
            ).fit(F, rows.labels, **weights)
        self.support_ = rows.index[model.support_]
        self.support_vectors_ = X[model.support_] if self.precomputed_ else model.support_vectors_
        self.dual_coef_, self.intercept_ = model.dual_coef_, model.intercept_
        self.n_iter_ = max(1, int(np.max(getattr(model, "n_iter_", 1))))

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
        parts, share = [], min(memory_limit(self.max_memory) // 4, 2**24)
        for rows in row_blocks(X.shape[0], share // (8 * self.support_vectors_.shape[0])):
            block = self.kernel_(X[rows], self.support_vectors_)
            values = np.zeros((len(block), len(self.indices_)))  # zero but for support vectors
            values[:, self.model_.support_] = block
            parts.append(ask(values))
        return np.concatenate(parts)

    def _problems(self, rows):
        own, model = self._own_places(rows), self.model_
        trained = np.searchsorted(rows.index, self.indices_)
        # For k classes the dual variables stand in k - 1 rows over all support vectors, sorted by
        # class: the machine of i < j has those of class i in row j - 1, of class j in row i.
        dual = sp.csr_matrix(self.dual_coef_).toarray()
        of_class = np.split(np.arange(len(own)), np.cumsum(model.n_support_)[:-1])
        pairs = list(combinations(range(len(self.classes_)), 2))
        for (i, j), b in zip(pairs, np.ravel(self.intercept_), strict=True):
            signed = np.zeros(len(rows.labels))
            signed[own[of_class[i]]] = dual[j - 1, of_class[i]]
            signed[own[of_class[j]]] = dual[i, of_class[j]]
            # With two classes SVC turns the signs, so that scores are positive for the second.
            positive, negative = (j, i) if len(pairs) == 1 else (i, j)
            here = trained[np.isin(rows.labels[trained], (i, j))]
            key = self.classes_[positive], self.classes_[negative]
            yield key, here, rows.signs(positive)[here], signed[here], b


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

    _certificates = Baseline._certificates

    def _fit(self, rows):
        with self._clock("solve"):
            self.kernel_ = self._make_kernel(rows.X)
            shares = np.where(rows.labels[:, None] == np.arange(len(self.classes_)), 1.0, 0.0)
            shares *= rows.weights[:, None] / (rows.weights @ shares)
            self.support_, self.support_vectors_, self.dual_coef_ = rows.index, rows.X, shares
            means = self._product(rows.X, rows.X, shares)
            self.intercept_ = -0.5 * np.einsum("ic,ic->c", shares, means)


@dataclass(eq=False, repr=False)
class DualMachine(KernelBaseline):
    """A kernel machine that finds dual variables, more classes one against the rest.

    A subclass has `_train(X, y, costs, seed) -> dual variables, intercept, iterations`.

    Attributes
    ----------
    support_, support_vectors_ : rows with a dual variable that is not zero
    dual_coef_ : array (support vectors, problems)
        Dual variables times labels.
    intercept_ : array (problems,)
    """

    loss = "hinge"

    def _fit(self, rows):
        costs = row_costs(self.C, len(rows.labels), rows.weights)
        self.kernel_ = self._make_kernel(rows.X)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        signs = [rows.signs(positive) for positive in self._positives()]
        with self._clock("solve"):
            found = [self._train(rows.X, y, costs, seed) for y in signs]
        signed = np.column_stack([y * dual for y, (dual, _, _) in zip(signs, found, strict=True)])
        own = np.flatnonzero(signed.any(axis=1))
        self.indices_, self.support_ = rows.index, rows.index[own]
        self.support_vectors_ = rows.X[own]
        self.dual_coef_, self.intercept_ = signed[own], np.array([b for _, b, _ in found])
        self.n_iter_ = max(n_iter for _, _, n_iter in found)

    def _problems(self, rows):
        signed = np.zeros((len(rows.labels), self.dual_coef_.shape[1]))
        signed[self._own_places(rows)] = self.dual_coef_
        for p, column, b in zip(self._positives(), signed.T, self.intercept_, strict=True):
            yield self.classes_[p], slice(None), rows.signs(p), column, b


class KernelRows(NamedTuple):
    """Rows and a kernel, as compiled loops take them: CSR, squared lengths, and numbers."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    norms: np.ndarray
    scratch: np.ndarray  # one row filled in; zero between calls
    kind: int  # position in LIBSVM_NAMES
    gamma: float
    degree: float
    coef0: float


def kernel_rows(kernel, X):
    """`KernelRows` of one of the kernels that LIBSVM has."""
    if type(kernel) not in LIBSVM_NAMES:
        raise ValueError(
            "this method has the kernels linear, rbf, polynomial and sigmoid, not "
            f"{type(kernel).__name__}"
        )
    X = sp.csr_matrix(X)
    norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    numbers = {"gamma": 1.0, "degree": 1.0, "coef0": 0.0} | vars(kernel)
    numbers = {name: float(value) for name, value in numbers.items()}
    kind, scratch = list(LIBSVM_NAMES).index(type(kernel)), np.zeros(X.shape[1])
    # Unsigned, so that compiled loops need not ask whether an index counts from the end.
    places = X.indices.astype(np.uint32), X.indptr.astype(np.uint64)
    return KernelRows(X.data, *places, norms, scratch, kind, **numbers)


@njit(fastmath=REORDERED_SUMS)
def fill_row(K, i, targets, first, last, out):
    """Write k(x_i, x_j) to out[t] for j = targets[t] and t from first to last - 1."""
    for q in range(K.indptr[i], K.indptr[i + 1]):
        K.scratch[K.indices[q]] = K.data[q]
    for t in range(first, last):
        j = targets[t]
        dot = 0.0
        for q in range(K.indptr[j], K.indptr[j + 1]):
            dot += K.data[q] * K.scratch[K.indices[q]]
        if K.kind == 1:
            distance = 0.0 if i == j else max(0.0, K.norms[i] + K.norms[j] - 2.0 * dot)
            out[t] = np.exp(-K.gamma * distance)
        elif K.kind == 0:
            out[t] = dot
        elif K.kind == 2:
            out[t] = (K.gamma * dot + K.coef0) ** K.degree
        else:
            out[t] = np.tanh(K.gamma * dot + K.coef0)
    for q in range(K.indptr[i], K.indptr[i + 1]):
        K.scratch[K.indices[q]] = 0.0
