"""Solvers: functions that minimise a support vector machine's objective over what they are given.

`SOLVERS` lists them all; `kernlab.solvers.problems` says how all are called.
"""

from functools import partial

from kernlab.solvers.certificates import Certificate, best_intercept, certify_dual, certify_primal
from kernlab.solvers.dual_admm import paper_beta, solve_dual_admm
from kernlab.solvers.hinge.admm import solve_hinge_admm
from kernlab.solvers.hinge.interior import solve_hinge_interior
from kernlab.solvers.linear.coordinate import solve_dcd, solve_sbm
from kernlab.solvers.linear.liblinear import solve_liblinear
from kernlab.solvers.newton import solve_newton, solve_newton_cg
from kernlab.solvers.problems import SolverResult, SolverSpec, summarise

HINGE, SMOOTH, BOTH = ("hinge",), ("squared_hinge",), ("hinge", "squared_hinge")
ALL, TRON = ("free", "penalised", "none"), ("penalised", "none", "free")
LINEAR, BARE = ("penalised", "none"), ("none", "penalised")  # the first is each method's own
liblinear_dcd = partial(solve_liblinear, method="dcd")
liblinear_tron = partial(solve_liblinear, method="tron")


ROWS = (
    ("newton", solve_newton, "features", SMOOTH, ALL, "semismooth Newton method"),
    ("newton-cg", solve_newton_cg, "operator", SMOOTH, ALL, "Newton's method without a factor"),
    ("dcd", solve_dcd, "features", BOTH, LINEAR, "dual coordinate descent"),
    ("sbm", solve_sbm, "features", BOTH, LINEAR, "selective block minimization"),
    ("liblinear-dcd", liblinear_dcd, "features", BOTH, LINEAR, "LIBLINEAR's coordinate descent"),
    ("liblinear-tron", liblinear_tron, "features", SMOOTH, TRON, "LIBLINEAR's Newton method"),
    ("dual-admm", solve_dual_admm, "shifted", BOTH, ALL, "ADMM on the dual"),
    ("hinge-admm", solve_hinge_admm, "features", HINGE, BARE, "ADMM on the hinge loss"),
    ("hinge-interior", solve_hinge_interior, "features", HINGE, BARE, "interior point method"),
)
SOLVERS = {row[0]: SolverSpec(*row) for row in ROWS}
