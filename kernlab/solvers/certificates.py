"""Certificates: how far a support vector machine is from its optimum, whoever trained it.

A pair of a primal point and a feasible dual point encloses the optimal objective. Every function
here looks only at the numbers, never at the solver's own opinion.
"""

from dataclasses import dataclass

import numpy as np

from kernlab.features import as_features
from kernlab.parameters import check_parameters
from kernlab.solvers.problems import get_loss, row_costs, signs


@dataclass(frozen=True)
class Certificate:
    """Primal and dual objective; `gap` bounds the distance of either from the optimum.

    `infeasibility` is how far the dual point offered was from its constraints, relative to the
    size of the dual variables; the dual objective is that of the nearest simple repair.
    `kkt_residual` is the largest violation, over all rows, of the optimality conditions between
    the dual variables and the margins that they give (in units of the margin).
    """

    primal: float
    dual: float
    infeasibility: float
    kkt_residual: float
    intercept: float

    @property
    def gap(self):
        return self.primal - self.dual

    @property
    def relative_gap(self):
        return self.gap / max(abs(self.primal), np.finfo(float).tiny)


def certify_dual(
    multiply, y, dual, *, C, loss="hinge", intercept="free", b=None, sample_weight=None
):
    """Certify dual variables of a kernel machine.

    Parameters
    ----------
    multiply : function giving K v, the product with the exact kernel matrix (or with an
        approximation's, whose problem is then the one certified).
    y, C, loss, intercept, sample_weight : of the problem.
    dual : the variables a_i, not multiplied by labels.
    b : the intercept; None for the best for these scores.

    Returns
    -------
    Certificate
    """
    loss, y, costs = _problem(loss, y, len(dual), C, sample_weight)
    dual, infeasibility = feasible_dual(dual, y, loss.upper(costs), intercept)
    scores = np.asarray(multiply(dual * y), dtype=np.float64)
    b = _intercept(scores, y, dual, costs, loss, intercept, b)
    squared_norm = float(scores @ (dual * y))
    return Certificate(
        primal=primal_objective(scores, squared_norm, y, costs, loss, intercept, b),
        dual=dual_objective(squared_norm, dual, y, costs, loss, intercept),
        infeasibility=infeasibility,
        kkt_residual=kkt_residual(scores + b, y, dual, costs, loss),
        intercept=b,
    )


def certify_primal(
    F, y, w, b, *, C, loss="squared_hinge", intercept="free", dual=None, sample_weight=None
):
    """Certify the weights of a linear machine on the rows of F.

    Parameters
    ----------
    F : features: an array, CSR matrix or `Features`.
    w, b : the weights and the intercept; with b None it is that of the dual variables where it is
        penalised (and they are given), else the best for these weights.
    y, C, loss, intercept, sample_weight : of the problem.
    dual : dual variables, default None
        None reads them off the margins, a_i = -C_i loss'(margin_i): exact in the limit for the
        squared hinge; for the hinge, rows on the margin leave them open.

    Returns
    -------
    Certificate : its KKT residual is that of the dual point, at weights sum_i a_i y_i F_i.
    """
    F, w = as_features(F), np.asarray(w, dtype=np.float64)
    loss, y, costs = _problem(loss, y, F.shape[0], C, sample_weight)
    scores = F.dot(w) if F.kernel_product is None else F.kernel_product(F.dual_of(w))
    b = _intercept(scores, y, dual, costs, loss, intercept, b)
    if dual is None:
        dual = costs * loss.slope(y * (scores + b))
    dual, infeasibility = feasible_dual(dual, y, loss.upper(costs), intercept)
    if F.kernel_product is None:
        u = F.rdot(dual * y)
        images, squared_norm = F.dot(u), float(u @ u)
    else:
        images = F.kernel_product(dual * y)
        squared_norm = float(images @ (dual * y))
    b_of_dual = float(dual @ y) if intercept == "penalised" else b
    return Certificate(
        primal=primal_objective(scores, float(w @ w), y, costs, loss, intercept, b),
        dual=dual_objective(squared_norm, dual, y, costs, loss, intercept),
        infeasibility=infeasibility,
        kkt_residual=kkt_residual(images + b_of_dual, y, dual, costs, loss),
        intercept=b,
    )


def _problem(loss, y, n_rows, C, sample_weight):
    return get_loss(loss), signs(y, n_rows), row_costs(C, n_rows, sample_weight)


def best_intercept(scores, y, costs, loss, intercept="free"):
    """The intercept with the smallest objective when the weights stay as they are.

    The slope by b is piecewise linear and rises, with kinks at y_i - score_i: sort them, add up the
    slope between them, and find where it changes sign.
    """
    if intercept == "none" or not np.any(costs):
        return 0.0
    ridge = 1.0 if intercept == "penalised" else 0.0
    kinks = np.asarray(y - scores, dtype=np.float64)
    live = costs > 0
    kinks, y, costs = kinks[live], y[live], costs[live]
    order = np.argsort(kinks)
    kinks, y, costs = kinks[order], y[order], costs[order]
    # Left of its kink a positive row pulls b up, right of it a negative row pulls b down. Between
    # two kinks the slope of the objective is weight * b - moment.
    positive, negative = np.where(y > 0, costs, 0.0), np.where(y < 0, costs, 0.0)
    up, down = _from_right(positive), _from_left(negative)
    if loss.curvature:
        weight = 2.0 * (up + down) + ridge
        moment = 2.0 * (_from_right(positive * kinks) + _from_left(negative * kinks))
    else:
        weight = np.full(len(kinks) + 1, ridge)
        moment = up - down
    slope_at_kink = weight[1:] * kinks - moment[1:]  # just right of each kink
    rounding = 1e-13 * costs.sum()
    right = int(np.argmax(slope_at_kink >= -rounding))  # the last kink that can be the minimiser
    if not slope_at_kink[right] >= -rounding:
        right = len(kinks)
    lower = kinks[right - 1] if right > 0 else -np.inf
    upper = kinks[right] if right < len(kinks) else np.inf
    if weight[right] > 0:
        return float(np.clip(moment[right] / weight[right], lower, upper))
    flat = weight[right + 1] == 0.0 and abs(moment[right + 1]) <= rounding  # until the next kink
    if flat and right + 1 < len(kinks):
        return float(0.5 * (upper + kinks[right + 1]))  # its middle, as LIBSVM
    return float(upper)


def _from_right(values):
    """Sums of the values at and after each of the n + 1 gaps between sorted kinks."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


def _from_left(values):
    return np.concatenate([[0.0], np.cumsum(values)])


def feasible_dual(dual, y, upper, intercept):
    """The dual variables inside their box and, for a free intercept, balanced; how far they were.

    The objective there is a true bound, whatever was given.
    """
    dual = np.asarray(dual, dtype=np.float64)
    inside = np.clip(dual, 0.0, upper)
    size = max(float(np.abs(dual).sum()), np.finfo(float).tiny)
    infeasibility = float(np.abs(inside - dual).sum()) / size
    if intercept == "free":
        infeasibility += abs(float(inside @ y)) / size
        inside = np.abs(balanced(inside * y))
    return inside, float(infeasibility)


def balanced(a):
    """Signed dual variables with the sum 0 that a free intercept asks for: the heavier side is
    scaled down, which keeps them inside their box."""
    above, below = a[a > 0].sum(), -a[a < 0].sum()
    heavier, lighter = max(above, below), min(above, below)
    if heavier == 0.0:
        return a
    return np.where((a > 0) == (above >= below), a * (lighter / heavier), a)


def _intercept(scores, y, dual, costs, loss, intercept, b):
    check_parameters({"intercept": intercept})
    if b is not None:
        if intercept == "none" and b != 0:
            raise ValueError(f"intercept='none' leaves no place for b={b}")
        return float(b)
    if intercept == "penalised" and dual is not None:
        return float(dual @ y)
    return best_intercept(scores, y, costs, loss, intercept)


def primal_objective(scores, squared_norm, y, costs, loss, intercept, b):
    """The objective of weights with this squared length; of a block of rows, what it adds to that
    of the others, with squared length and intercept zero."""
    if intercept == "penalised":
        squared_norm = squared_norm + b * b
    return 0.5 * squared_norm + float(costs @ loss.value(y * (scores + b)))


def dual_objective(squared_norm, dual, y, costs, loss, intercept):
    """The dual's objective where |sum_i a_i y_i x_i|^2 is `squared_norm`; additive over blocks of
    rows as `primal_objective` is (with intercept "none")."""
    if intercept == "penalised":
        squared_norm = squared_norm + float(dual @ y) ** 2
    live = costs > 0
    # Squares of dual variables may vanish where what is divided by a small cost does not.
    quadratic = (loss.dual_diagonal(costs[live]) * dual[live]) @ dual[live]
    return float(dual.sum()) - 0.5 * squared_norm - 0.5 * float(quadratic)


def kkt_residual(decisions, y, dual, costs, loss):
    """The projected gradient of the dual, largest entry: zero exactly at the optimum."""
    live = costs > 0
    dual, costs = dual[live], costs[live]
    gradient = y[live] * decisions[live] - 1.0 + loss.dual_diagonal(costs) * dual
    edge = 1e-12 * costs
    at_zero, at_top = dual <= edge, dual >= loss.upper(costs) - edge
    violation = np.where(at_zero, np.minimum(gradient, 0.0), gradient)
    violation = np.where(at_top, np.maximum(gradient, 0.0), violation)
    return float(np.abs(violation).max(initial=0.0))
