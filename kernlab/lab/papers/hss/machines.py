"""The machines of ADMM-HSS's tables: approximations, the paper's ten steps, their scores."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import gamma_from_sigma, kernel_product
from kernlab.lab.papers.hss.nulls import DiagonalKernel, block_diagonal
from kernlab.solvers import solve_dual_admm

HSS, IDENTITY, BLOCKS = "HSS", "K~ = I", "block diagonal"
MATRICES = (HSS, IDENTITY, BLOCKS)
PAPERS_STEPS = 10
INTERCEPT_ROWS = 2000


def approximated(matrix, X, h, seed, **tolerances):
    """K~ of this kind, fitted, and the seconds that it took."""
    gamma = gamma_from_sigma(h)
    began = time.perf_counter()
    if matrix == IDENTITY:
        kernel = DiagonalKernel(gamma=gamma)
    elif matrix == BLOCKS:
        kernel = block_diagonal(gamma=gamma, random_state=seed)
    else:
        kernel = HSSKernel(gamma=gamma, random_state=seed, **tolerances)
    kernel.fit(X)
    return kernel, time.perf_counter() - began


def papers_steps(kernel, y, costs, steps=PAPERS_STEPS, beta="auto", **parameters):
    """One result for each C after a fixed number of plain steps, as Algorithm 3 takes them."""
    return solve_dual_admm(kernel, y, C=np.asarray(costs), steps=steps, beta=beta, **parameters)


def converged(kernel, y, costs, tol=1e-3, max_iter=1000, **parameters):
    """One result for each C at the optimum with K~; where that is not reached the table says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says it
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
    return [float(np.mean((column > 0) == (y > 0))) for column in scores.T]


def spread(dual, y):
    """How far dual variables are from two values, one per class: their deviation over their mean.

    At 0 the machine is a Parzen window, a vote of all rows with one weight per class.
    """
    parts = [dual[y == label] for label in (-1.0, 1.0)]
    return float(max(part.std() / max(part.mean(), np.finfo(float).tiny) for part in parts))
