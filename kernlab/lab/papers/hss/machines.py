"""The data and the machines of ADMM-HSS's studies: the paper's sets, approximations, null rows.

K~ = I knows nothing of the kernel; the diagonal blocks know it within the leaves of the tree. Where
a machine trained on either decides as well as one trained on K~, compression has added nothing.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import Approximation
from kernlab.approximations.hss import HSSKernel
from kernlab.datasets import load_dataset, protocol_rows
from kernlab.kernels import gamma_from_sigma, kernel_product
from kernlab.lab.engine import Cell, Tolerance
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.common.fitting import accuracy, seconds_of, signs, unfinished
from kernlab.solvers import solve_dual_admm

PAPERS = tuple(name for name, _ in protocol_rows("hss-t1")[1])
MOST_DENSE = 1000  # features


def sample(name, rows=None):
    """A set as the paper takes it, unscaled, or another, standardised: `rows` of each part at most.

    Labels are -1 and 1. Many published files are sparse by their format only: unless they have very
    many features, as text has, rows are dense.
    """
    data = load_dataset(name, paper="hss", scaling=None if name in PAPERS else "standard")
    generator, parts = np.random.default_rng(0), {}
    for part, X, y in (("train", data.X_train, data.y_train), ("test", data.X_test, data.y_test)):
        if rows is not None and len(y) > rows:
            chosen = np.sort(generator.choice(len(y), rows, replace=False))
            X, y = X[chosen], y[chosen]
        X = X.toarray() if sp.issparse(X) and X.shape[1] <= MOST_DENSE else X
        parts |= {f"X_{part}": X, f"y_{part}": signs(data, y)}
    return replace(data, **parts)


def halves(data, share, seed):
    """The training rows alone, parted: those to fit on, and `share` of them to test on."""
    order = np.random.default_rng(seed).permutation(len(data.y_train))
    held = round(share * len(order))
    test, train = np.sort(order[:held]), np.sort(order[held:])
    X, y = data.X_train, data.y_train
    return replace(data, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test])


_drawn = Tolerance(relative=0.005, reason="three standard deviations of rows drawn at random")
data_sets = data_table(
    "hss-t1", "Data sets of ADMM-HSS", "ADMM-HSS",
    "Are the data sets that are there those of Table 1?", "features", "training rows", "test rows",
    Cell("positive training rows", "positive_training_rows", _drawn),
    Cell("positive test rows", "positive_test_rows", _drawn),
)  # fmt: skip


HSS, IDENTITY, BLOCKS = "HSS", "K~ = I", "block diagonal"
MATRICES = (HSS, IDENTITY, BLOCKS)
PAPERS_STEPS = 10
INTERCEPT_ROWS = 2000


def approximated(matrix, X, h, seed, **tolerances):
    """K~ of this kind, fitted, and the seconds that it took."""
    gamma = gamma_from_sigma(h)
    if matrix == IDENTITY:
        kernel = DiagonalKernel(gamma=gamma)
    elif matrix == BLOCKS:
        kernel = block_diagonal(gamma=gamma, random_state=seed)
    else:
        kernel = HSSKernel(gamma=gamma, random_state=seed, **tolerances)
    return seconds_of(lambda: kernel.fit(X))


def papers_steps(kernel, y, costs, steps=PAPERS_STEPS, beta="auto", **parameters):
    """One result for each C after a fixed number of plain steps, as Algorithm 3 takes them."""
    return solve_dual_admm(kernel, y, C=np.asarray(costs), steps=steps, beta=beta, **parameters)


def converged(kernel, y, costs, tol=1e-3, max_iter=1000, **parameters):
    """One result for each C at the optimum with K~; where that is not reached the table says so."""
    with unfinished():
        costs = np.asarray(costs)
        return solve_dual_admm(kernel, y, C=costs, tol=tol, max_iter=max_iter, **parameters)


def decisions(kernel_function, X_test, X, results):
    """Sums over training rows under the exact kernel, without intercept: a column per result."""
    coefficients = np.stack([result.coefficients for result in results], axis=1)
    used = coefficients.any(axis=1)
    return kernel_product(kernel_function, X_test, X[used], coefficients[used])


def exact_intercepts(kernel_function, X, y, results, costs, seed):
    """Equation 7 with the exact kernel on a sample of the rows: one intercept for each result.

    Training finds the intercept by K~; here it is what the same dual variables would have got from
    K. Where no sampled row is on the margin it stays as it was.
    """
    rows = np.random.default_rng(seed).permutation(len(y))[:INTERCEPT_ROWS]
    sums = decisions(kernel_function, X[rows], X, results)
    intercepts = []
    for result, C, column in zip(results, costs, sums.T, strict=True):
        dual = np.abs(result.coefficients[rows])
        margin = (dual > 0) & (dual < C * (1 - 1e-9))
        found = np.mean((y[rows] - column)[margin]) if margin.any() else result.intercept
        intercepts.append(float(found))
    return np.array(intercepts)


def accuracies(scores, y):
    """The share of right signs in every column."""
    return [accuracy(column > 0, y > 0) for column in scores.T]


def spread(dual, y):
    """How far dual variables are from two values, one per class: their deviation over their mean.

    At 0 the machine is a Parzen window, a vote of all rows with one weight per class.
    """
    parts = [dual[y == label] for label in (-1.0, 1.0)]
    return float(max(part.std() / max(part.mean(), np.finfo(float).tiny) for part in parts))


# --------------------------------------------------------------- what K~ is compared with
def block_diagonal(**parameters):
    """The HSS approximation with all ranks 0: the diagonal blocks of its leaves alone."""
    return HSSKernel(**parameters | {"max_rank": 0, "approximate_neighbors": 0})


class DiagonalKernel(Approximation):
    """The diagonal of the kernel matrix: for a Gaussian kernel the identity.

    Training sees nothing else; new points are decided with the exact kernel, as by all others.
    """

    kernel, max_memory = "rbf", None
    is_kernel_map = False
    rank_ = 0

    def __init__(self, gamma="scale"):
        self.gamma = gamma

    def _fit(self, rows, sample_weight=None):
        self.X_ = rows.whole()
        self.diagonal_ = np.asarray(self.kernel_.diag(self.X_), dtype=np.float64)

    @property
    def nbytes(self):
        return self.diagonal_.nbytes

    def operator(self):
        """K~ as a SciPy LinearOperator."""
        return aslinearoperator(sp.diags_array(self.diagonal_))

    def shifted(self, beta):
        """Solves with K~ + beta I, which are divisions."""
        diagonal = self.diagonal_ + beta
        return SimpleNamespace(nbytes=diagonal.nbytes, solve=lambda B: (B.T / diagonal).T)

    def is_definite(self, beta):
        return bool(np.all(self.diagonal_ + beta > 0))

    def dual_decision(self, X, coefficients, rows):
        """Scores of new points: K(X, fitted rows) @ coefficients, over the rows named only."""
        X = self._validated(X)
        return kernel_product(self.kernel_, X, self.X_[rows], coefficients)


class Lifted:
    """An approximation with `amount` added to its diagonal, which lifts all its eigenvalues."""

    def __init__(self, approximation, amount):
        self.approximation, self.amount = approximation, amount
        self.is_kernel_map = approximation.is_kernel_map

    def operator(self):
        """K~ + amount I as a SciPy LinearOperator."""
        inner = self.approximation.operator()
        return inner + self.amount * aslinearoperator(sp.eye_array(inner.shape[0]))

    def shifted(self, beta):
        """Solves with K~ + (amount + beta) I."""
        return self.approximation.shifted(self.amount + beta)

    def is_definite(self, beta):
        return self.approximation.is_definite(self.amount + beta)
