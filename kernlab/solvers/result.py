"""What every solver returns, and the one warning for a solver that falls short."""

import math
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from kernlab.runtime import levels_to_the_user


@dataclass(frozen=True)
class SolverResult:
    """The outcome of one optimisation and how good it is.

    `gap` is primal minus dual objective, an upper bound on how far the objective is from its
    optimum; `kkt_residual` is the largest violation of the optimality conditions (which one, the
    solver's docstring says). Either is None where the method has none.
    """

    coefficients: np.ndarray
    intercept: float
    objective: float
    n_iter: int
    converged: bool
    solver: str
    dual_objective: float | None = None
    kkt_residual: float | None = None
    dual_variables: np.ndarray | None = field(default=None, repr=False)
    seconds: float = 0.0
    trace: tuple = field(default=(), repr=False)
    message: str = ""

    @property
    def gap(self):
        return None if self.dual_objective is None else self.objective - self.dual_objective

    @property
    def relative_gap(self):
        if self.dual_objective is None:
            return None
        return self.gap / max(abs(self.objective), np.finfo(float).tiny)

    @property
    def observed_order(self):
        """The order of convergence seen at the last step, where the solver's trace has one."""
        orders = [row["order"] for row in self.trace if row.get("order") is not None]
        return orders[-1] if orders else None

    def trace_table(self):
        """The course of the solution: iteration, objective, residual, seconds."""
        return pd.DataFrame(list(self.trace))


def summarise(results):
    """One result for several binary problems: worst gap and residual, most iterations."""
    results = list(results)
    if len(results) == 1:
        return results[0]
    worst = max(results, key=lambda r: (not r.converged, r.relative_gap or 0.0))
    residuals = [r.kkt_residual for r in results if r.kkt_residual is not None]
    return replace(
        worst,
        n_iter=max(r.n_iter for r in results),
        converged=all(r.converged for r in results),
        kkt_residual=max(residuals, default=None),
        seconds=sum(r.seconds for r in results),
    )


def observed_order(residuals):
    """log(r_i / r_{i-1}) / log(r_{i-1} / r_{i-2}) of the last three: 1 is linear, 2 quadratic.

    None where they are fewer, or do not fall.
    """
    last = residuals[-3:]
    if len(last) < 3 or not last[0] > last[1] > 0.0 or last[2] <= 0.0:
        return None
    return math.log(last[2] / last[1]) / math.log(last[1] / last[0])


def warn_unless_converged(result, *, figure, reached, tol, advice):
    """Warn once, with the figure reached, the tolerance and what to try next."""
    if not result.converged:
        warnings.warn(
            f"{result.solver} stopped after {result.n_iter} iterations with {figure} "
            f"{reached:.2e}, above the tolerance {tol:.2e}. {advice}",
            ConvergenceWarning,
            stacklevel=levels_to_the_user(),
        )
