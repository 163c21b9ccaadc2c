"""The machines of ADMM-HSS's tables: approximations, the paper's ten steps, and null rows.

K~ = I knows nothing of the kernel; the diagonal blocks know it within the leaves of the tree. Where
a machine trained on either decides as well as one trained on K~, compression has added nothing.
"""

from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from kernlab.approximations.base import Approximation
from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import gamma_from_sigma, kernel_product
from kernlab.lab.papers.common.fitting import accuracy, seconds_of, unfinished
from kernlab.solvers import solve_dual_admm

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
