"""Solvers: functions that minimise a support vector machine's objective over what they are given.

`SOLVERS` lists them all; `kernlab.solvers.problems` says how all are called.
"""

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kernlab.solvers.certificates import Certificate, best_intercept, certify_dual, certify_primal
from kernlab.solvers.dual_admm import paper_beta, solve_dual_admm
from kernlab.solvers.hinge.admm import solve_hinge_admm
from kernlab.solvers.hinge.interior import solve_hinge_interior
from kernlab.solvers.linear.dcd import solve_dcd
from kernlab.solvers.linear.liblinear import solve_liblinear
from kernlab.solvers.linear.sbm import solve_sbm
from kernlab.solvers.newton.features import solve_newton
from kernlab.solvers.newton.kernel import solve_newton_cg
from kernlab.solvers.problems import SolverResult, check_offered, summarise

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

HINGE, SMOOTH, BOTH = ("hinge",), ("squared_hinge",), ("hinge", "squared_hinge")
ALL, TRON = ("free", "penalised", "none"), ("penalised", "none", "free")
LINEAR, BARE = ("penalised", "none"), ("none", "penalised")  # the first is each method's own
liblinear_dcd = partial(solve_liblinear, method="dcd")
liblinear_tron = partial(solve_liblinear, method="tron")


@dataclass(frozen=True)
class SolverSpec:
    """A solver, `solve(data, y, *, C, ...)` as `kernlab.solvers.problems` says, and its problems.

    `needs`: "features" (an array, CSR matrix or `Features`), "operator" (products with K~) or
    "shifted" (solves with K~ + beta I). Solvers of features return weights, the others dual
    variables times labels.
    """

    name: str
    solve: Callable
    needs: str
    losses: tuple
    intercepts: tuple
    title: str

    @property
    def parameters(self):
        """The names of what it takes beside data, labels and what is said for every row."""
        found = inspect.signature(self.solve).parameters.values()
        return {p.name for p in found if p.kind is p.KEYWORD_ONLY} - {"sample_weight"}

    def check(self, loss, intercept):
        """Refuse a problem that this solver does not solve."""
        choices = {"loss": (loss, self.losses), "intercept": (intercept, self.intercepts)}
        check_offered(f"solver {self.name!r}", ": set {name}={first!r}", **choices)


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


def get_solver(name):
    """The `SolverSpec` of this name; another name is refused, with the nearest there is."""
    if name not in SOLVERS:
        near = difflib.get_close_matches(str(name), SOLVERS, n=1, cutoff=0.5)
        meant = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"solver={name!r} is not one of {', '.join(SOLVERS)}{meant}")
    return SOLVERS[name]
