"""LASN's three theorems in numbers."""

from kernlab.lab.engine import catalogued
from kernlab.lab.papers.common import theory
from kernlab.solvers import solve_newton


def _newton(F, y, C):
    result = solve_newton(F, y, C=C, intercept="free", tol=1e-10)
    slack = (1.0 - y * (F @ result.coefficients + result.intercept)).clip(min=0.0)
    return result.coefficients, result.intercept, 2.0 * C * slack


@catalogued("lasn-thm1", "Theorem 1: the same with the squared hinge")
def factors(datasets=None, C=1.0, seed=0):
    """Does a linear SVM with squared hinge on a factor of K decide as the kernel SVM?"""
    return theory.equivalence_study("Newton on a factor", "squared_hinge", _newton, datasets, C)


@catalogued("lasn-thm2", "Theorem 2: the same bound with the squared hinge")
def weight_bound(datasets=None, ranks=None, C=1.0, seed=0):
    """How far are weights on Nystrom features from those on the best features?"""
    return theory.bound_study("squared hinge", "squared_hinge", datasets, ranks, C)


@catalogued("lasn-thm3", "Theorem 3: quadratic convergence")
def convergence(datasets=None, n_landmarks=100, C=10.0, seed=0):
    """How fast does the gradient of the semismooth Newton method fall?"""
    return theory.convergence_study(datasets, n_landmarks, C)
