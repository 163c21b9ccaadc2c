"""Solvers: functions that minimise a support vector machine's objective over what they are given.

`SOLVERS` lists them all, with what each needs of an approximation and which problems it solves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kernlab.solvers.certificates import Certificate, best_intercept, certify_dual, certify_primal
from kernlab.solvers.dual_admm.iteration import paper_beta, solve_dual_admm
from kernlab.solvers.featurerows import FeatureRows, MappedRows
from kernlab.solvers.hinge.admm import solve_hinge_admm
from kernlab.solvers.linear.blocks import TransformedRows
from kernlab.solvers.linear.dcd import solve_dcd
from kernlab.solvers.linear.liblinear import solve_liblinear
from kernlab.solvers.linear.sbm import solve_sbm
from kernlab.solvers.newton.features import newton_path, solve_newton
from kernlab.solvers.newton.kernel import solve_newton_cg
from kernlab.solvers.result import SolverResult, summarise

__all__ = [
    "SOLVERS",
    "Certificate",
    "FeatureRows",
    "MappedRows",
    "SolverResult",
    "SolverSpec",
    "TransformedRows",
    "best_intercept",
    "certify_dual",
    "certify_primal",
    "get_solver",
    "newton_path",
    "paper_beta",
    "solve_dcd",
    "solve_dual_admm",
    "solve_hinge_admm",
    "solve_liblinear",
    "solve_newton",
    "solve_newton_cg",
    "solve_sbm",
    "summarise",
]


@dataclass(frozen=True)
class SolverSpec:
    """A solver and what it asks for.

    `needs`: "features" (F, one row per point), "operator" (products with K~) or "shifted" (solves
    with K~ + beta I). Solvers of features return weights, the others dual variables times labels.
    `takes_implicit`: whether features may come as `MappedRows`, not formed before they are needed;
    `takes_blocks`: whether as `TransformedRows`, formed a block at a time and forgotten.
    `all_at_once`: takes the labels of several problems as columns, and gives a list of results.
    """

    name: str
    solve: Callable
    needs: str
    losses: tuple
    intercepts: tuple
    title: str
    takes_seed: bool = False
    takes_implicit: bool = False
    takes_blocks: bool = False
    all_at_once: bool = False

    def check(self, loss, intercept):
        """Refuse a problem that this solver does not solve."""
        for what, value, offered in (
            ("loss", loss, self.losses),
            ("intercept", intercept, self.intercepts),
        ):
            if value not in offered:
                raise ValueError(
                    f"solver {self.name!r} offers {what}={' or '.join(map(repr, offered))}, "
                    f"not {value!r}: set {what}={offered[0]!r}"
                )


BOTH = ("hinge", "squared_hinge")

SOLVERS = {
    spec.name: spec
    for spec in (
        SolverSpec(
            "newton",
            solve_newton,
            "features",
            ("squared_hinge",),
            ("free", "penalised", "none"),
            "semismooth Newton method",
            takes_seed=True,
            takes_implicit=True,
        ),
        SolverSpec(
            "newton-cg",
            solve_newton_cg,
            "operator",
            ("squared_hinge",),
            ("free", "penalised", "none"),
            "semismooth Newton method with products of the kernel matrix alone",
            all_at_once=True,
        ),
        SolverSpec(
            "dcd",
            solve_dcd,
            "features",
            BOTH,
            ("penalised", "none"),
            "dual coordinate descent",
            takes_seed=True,
        ),
        SolverSpec(
            "sbm",
            solve_sbm,
            "features",
            BOTH,
            ("penalised", "none"),
            "selective block minimization",
            takes_seed=True,
            takes_blocks=True,
        ),
        SolverSpec(
            "liblinear-dcd",
            partial(solve_liblinear, method="dcd"),
            "features",
            BOTH,
            ("penalised", "none"),
            "LIBLINEAR's dual coordinate descent",
            takes_seed=True,
        ),
        SolverSpec(
            "liblinear-tron",
            partial(solve_liblinear, method="tron"),
            "features",
            ("squared_hinge",),
            ("penalised", "none", "free"),
            "LIBLINEAR's trust-region Newton method",
            takes_seed=True,
            all_at_once=True,
        ),
        SolverSpec(
            "dual-admm",
            solve_dual_admm,
            "shifted",
            BOTH,
            ("free", "penalised", "none"),
            "ADMM on the dual",
            all_at_once=True,
        ),
        SolverSpec(
            "hinge-admm",
            solve_hinge_admm,
            "features",
            ("hinge",),
            ("none", "penalised"),
            "ADMM on the hinge loss",
        ),
    )
}


def get_solver(name):
    if name not in SOLVERS:
        raise ValueError(f"solver={name!r} is not one of {', '.join(SOLVERS)}")
    return SOLVERS[name]
