"""Dual coordinate descent for linear support vector machines.

    minimise over w   1/2 |w|^2 + sum_i C_i loss(y_i w . x_i)

through its dual, one variable at a time: with w = sum_i a_i y_i x_i at hand, the best a_i with all
others held is a division and a clip, at the cost of two products with one row. Rows that sit
firmly at a bound are left out until the end (shrinking), and the order is random in every pass
(Hsieh, Chang, Lin, Keerthi and Sundararajan 2008). A penalised intercept is one more feature of
value 1. A free intercept couples all variables by an equality and is beyond this method.
"""

import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse import get_index_dtype

from kernlab.features import Features, add, dot, stored_rows
from kernlab.runtime import njit
from kernlab.solvers.certificates import certify_primal
from kernlab.solvers.losses import get_loss, row_costs, signs
from kernlab.solvers.problems import each_problem
from kernlab.solvers.result import SolverResult, warn_unless_converged

PASSES_BETWEEN_CHECKS = 10
NEGLIGIBLE = 1e-12  # a projected gradient, in units of the margin
ROUNDING = 1e-9  # a relative duality gap that is as good as none


@each_problem(lambda before, parameters: before.dual_variables)
def solve_dcd(
    F,
    y,
    *,
    C,
    loss="hinge",
    intercept="penalised",
    tol=1e-3,
    max_iter=1000,
    sample_weight=None,
    random_state=0,
    start=None,
    callback=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) over w [and b].

    F: features, dense or CSR, one row per label in y (-1 and 1). Stops when the duality gap is at
    most `tol` times the objective, or no variable moves any more; `max_iter` counts passes over
    the data. `start`: dual variables (of another C, say) to begin from. The KKT residual is the
    projected gradient of the dual.
    """
    began = time.perf_counter()
    if intercept not in ("penalised", "none"):
        raise ValueError(
            f"dual coordinate descent offers intercept='penalised' or 'none', not {intercept!r}: a "
            "free intercept ties all dual variables together; the newton solver offers it"
        )
    loss_ = get_loss(loss)
    F, y, costs = _prepared(F, y, C, sample_weight, max_memory)
    state = _State(F, y, costs, loss_, 1.0 if intercept == "penalised" else 0.0, random_state)
    state.begin_from(start)
    trace, passes, settled = [], 0, False
    while True:
        w, b = state.weights()
        certificate = certify_primal(
            F, y, w, b, C=1.0, loss=loss, intercept=intercept, dual=state.dual, sample_weight=costs
        )
        trace.append(
            {
                "iteration": passes,
                "objective": certificate.primal,
                "residual": certificate.relative_gap,
                "seconds": time.perf_counter() - began,
            }
        )
        if not np.isfinite(certificate.primal):
            raise ValueError("the features hold values that are not finite, or are too large")
        if callback is not None:
            callback(trace[-1])
        # Once no variable moves any more, what is left should be rounding; the gap says whether.
        accepted = max(tol, ROUNDING, 100.0 * np.finfo(F.dtype).eps) if settled else tol
        converged = bool(certificate.relative_gap <= accepted)
        if converged or settled or passes >= max_iter:
            break
        asked = min(PASSES_BETWEEN_CHECKS, max_iter - passes)
        done = state.advance(asked)
        settled = done < asked
        passes += done
    result = SolverResult(
        coefficients=w,
        intercept=b,
        objective=certificate.primal,
        dual_objective=certificate.dual,
        kkt_residual=certificate.kkt_residual,
        dual_variables=state.dual,
        n_iter=passes,
        converged=converged,
        solver="dcd",
        seconds=time.perf_counter() - began,
        trace=tuple(trace),
    )
    warn_unless_converged(
        result,
        figure="a relative duality gap of",
        reached=certificate.relative_gap,
        tol=tol,
        advice="Raise max_iter, lower C, scale the features, or use the newton solver.",
    )
    return result


def _prepared(F, y, C, sample_weight, max_memory):
    F = floating_rows(F, max_memory)
    y = signs(y, F.shape[0]).astype(F.dtype)
    return F, y, row_costs(C, len(y), sample_weight)


def floating_rows(F, max_memory=None):
    """Rows as CSR or contiguous, of floating type (integers cannot hold weights), with indices of
    32 bits where that is enough (LIBLINEAR takes no others)."""
    F = F.stored(max_memory) if isinstance(F, Features) else F
    if sp.issparse(F):
        F = sp.csr_matrix(F)
        index_type = get_index_dtype(maxval=max(F.nnz, *F.shape))
        if F.indices.dtype != index_type or F.indptr.dtype != index_type:
            parts = F.data, F.indices.astype(index_type), F.indptr.astype(index_type)
            F = sp.csr_matrix(parts, shape=F.shape)
    else:
        F = np.ascontiguousarray(F)
    return F if np.issubdtype(F.dtype, np.floating) else F.astype(np.float64)


class _State:
    """The dual variables, the weights that belong to them, and which rows are shrunk away."""

    def __init__(self, F, y, costs, loss, bias, random_state):
        self.F, self.y, self.bias = F, y, bias
        live = costs > 0
        self.upper = np.where(live, loss.upper(costs), 0.0)
        self.diagonal = np.where(live, loss.dual_diagonal(np.where(live, costs, 1.0)), 0.0)
        squares = F.multiply(F).sum(axis=1) if sp.issparse(F) else np.einsum("ij,ij->i", F, F)
        self.curvature = np.asarray(squares, np.float64).ravel() + bias + self.diagonal
        self.dual = np.zeros(len(y))
        self.w = np.zeros(F.shape[1] + 1)
        self.order = np.flatnonzero(live)
        self.generator = np.random.default_rng(random_state)

    def begin_from(self, dual):
        if dual is not None:
            dual = np.asarray(dual, dtype=np.float64)
            if dual.shape != self.upper.shape:
                raise ValueError(
                    f"start must be {len(self.upper)} dual variables, not of shape {dual.shape}"
                )
            self.dual = np.clip(dual, 0.0, self.upper)
            weighted = self.dual * self.y
            self.w[:-1] = self.F.T @ weighted
            self.w[-1] = weighted.sum() * self.bias

    def weights(self):
        return self.w[:-1].astype(self.F.dtype), float(self.w[-1])

    def advance(self, passes):
        """Up to `passes` passes; fewer when the projected gradient has become negligible."""
        return coordinate_passes(
            stored_rows(self.F),
            self.y,
            self.diagonal,
            self.upper,
            self.curvature,
            self.bias,
            self.dual,
            self.w,
            self.order,
            passes,
            self.generator,
        )


@njit
def _step(gradient, a, upper, curvature):
    """The best value of one dual variable with all others held, and its projected gradient."""
    projected = gradient
    if a <= 0.0:
        projected = min(gradient, 0.0)
    elif a >= upper:
        projected = max(gradient, 0.0)
    if projected == 0.0:
        return a, 0.0
    if curvature <= 0.0:  # a row of zeros without an intercept: the dual is linear in it
        return (upper if gradient < 0.0 else 0.0), projected
    return min(max(a - gradient / curvature, 0.0), upper), projected


@njit
def _shrinks(gradient, a, upper, highest, lowest):
    """Whether a variable sits at a bound more firmly than any moved in the pass before."""
    return (a <= 0.0 and gradient > highest) or (a >= upper and gradient < lowest)


@njit
def _threshold(highest, lowest):
    """What the next pass shrinks by; without a violation of that sign nothing may be shrunk."""
    return (highest if highest > 0.0 else np.inf), (lowest if lowest < 0.0 else -np.inf)


@njit
def coordinate_passes(rows, y, diagonal, upper, curvature, bias, dual, w, order, passes, generator):
    """Run over the active rows `passes` times; the last entry of w is the intercept."""
    active = len(order)
    top, bottom = np.inf, -np.inf
    for done in range(passes):
        highest, lowest = -np.inf, np.inf
        generator.shuffle(order[:active])
        position = 0
        while position < active:
            i = order[position]
            score = dot(rows, i, w) + w[-1]
            gradient = y[i] * score - 1.0 + diagonal[i] * dual[i]
            if _shrinks(gradient, dual[i], upper[i], top, bottom):
                active -= 1
                order[position], order[active] = order[active], order[position]
                continue
            value, projected = _step(gradient, dual[i], upper[i], curvature[i])
            highest, lowest = max(highest, projected), min(lowest, projected)
            change = (value - dual[i]) * y[i]
            if change != 0.0:
                dual[i] = value
                add(rows, i, change, w)
                w[-1] += change * bias
            position += 1
        if active == 0 or max(highest, -lowest) < NEGLIGIBLE:
            if active == len(order):
                return done + 1
            active, top, bottom = len(order), np.inf, -np.inf  # look at the shrunk rows again
            continue
        top, bottom = _threshold(highest, lowest)
    return passes
