"""Solvers: functions that minimise a support vector machine's objective over what they are given.

`SOLVERS` lists them all; `kernlab.solvers.problems` says how all are called.
"""

from kernlab.solvers.certificates import Certificate, best_intercept, certify_dual, certify_primal
from kernlab.solvers.dual_admm.iteration import paper_beta, solve_dual_admm
from kernlab.solvers.hinge.admm import solve_hinge_admm
from kernlab.solvers.hinge.interior import solve_hinge_interior
from kernlab.solvers.linear.dcd import solve_dcd
from kernlab.solvers.linear.liblinear import solve_liblinear
from kernlab.solvers.linear.sbm import solve_sbm
from kernlab.solvers.newton.features import solve_newton
from kernlab.solvers.newton.kernel import solve_newton_cg
from kernlab.solvers.problems import SolverResult, summarise
from kernlab.solvers.registry import SOLVERS, SolverSpec, get_solver

__all__ = [
    "SOLVERS",
    "Certificate",
    "SolverResult",
    "SolverSpec",
    "best_intercept",
    "certify_dual",
    "certify_primal",
    "get_solver",
    "paper_beta",
    "solve_dcd",
    "solve_dual_admm",
    "solve_hinge_admm",
    "solve_hinge_interior",
    "solve_liblinear",
    "solve_newton",
    "solve_newton_cg",
    "solve_sbm",
    "summarise",
]
