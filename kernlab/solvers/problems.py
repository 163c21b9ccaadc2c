"""One call, several problems: columns of labels, and values of C, for every solver alike.

    solve_NAME(data, y, *, C, loss, intercept, tol=None, max_iter=None, sample_weight=None,
               start=None, callback=None, random_state=None, max_memory=None, ...)

gives a `SolverResult` for one column of labels y and one C; a list along C where C is an array (of
one entry, too); a list over the columns, of results or of such lists, where y is a matrix. None
stands for a solver's own default. What the docstrings of solvers do not say again:

- data: features (an array, a CSR matrix, or `Features`), or an operator;
- y: labels -1 and 1, one column or several; C: a number, or several;
- loss: "hinge" or "squared_hinge"; intercept: "free", "penalised" or "none", as far as offered;
- tol: of the duality gap relative to the objective; max_iter: steps at most;
- sample_weight: of each row, multiplies C; random_state: a seed, where anything is random;
- start: where to begin, a `SolverResult` of a problem nearby (another C, say), which a solver may
  ignore, or what its docstring says; for a matrix y a list with one entry for each column;
- callback: is called with every row of the trace, as it is written;
- max_memory: bytes for what the solver holds beside what it is given.

All problems here are

    minimise over w, b   1/2 |w|^2 + sum_i C_i loss(y_i (w . x_i + b))                    (P)

and their duals

    maximise over a      sum_i a_i - 1/2 |sum_i a_i y_i x_i|^2 - sum_i a_i^2 curvature / C_i   (D)
    subject to           0 <= a_i <= upper_i,   and sum_i a_i y_i = 0 where b is free.

w and a belong together where w = sum_i a_i y_i x_i and a_i = C_i times minus the loss's slope.
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from numbers import Real

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from kernlab.cluster import Targets
from kernlab.parameters import entry_of, not_negative, row_weights, whole
from kernlab.runtime import levels_to_the_user


@dataclass
class Given:
    """What every solver is given beside its problem; see above."""

    tol: float | None = None
    max_iter: int | None = None
    sample_weight: np.ndarray | None = None
    start: object = None
    callback: Callable | None = None
    random_state: object = None
    max_memory: object = None

    @property
    def generator(self):
        """Of random numbers; None draws as 0 does."""
        return np.random.default_rng(0 if self.random_state is None else self.random_state)


COMMON = {f.name: Parameter(f.name, Parameter.KEYWORD_ONLY, default=None) for f in fields(Given)}


def parameters_of(solve):
    """What a solver takes: its signature is the one list of that, from which others are refused."""
    return signature(solve).parameters.values()


def common_call(tol=None, max_iter=None):
    """Give a solver, `solve(data, y, *, given, C, ...)`, the keywords of all solvers, which come to
    it as `Given`, with these defaults of its own."""

    def decorate(solve):
        @wraps(solve)
        def called(*data, **parameters):
            given = Given(**{name: parameters.pop(name, None) for name in COMMON})
            if tol is not None:
                given.tol, given.max_iter = check_limits(given.tol, given.max_iter, tol, max_iter)
            return solve(*data, given=given, **parameters)

        own = [p for p in parameters_of(solve) if p.name != "given"]
        called.__signature__ = Signature([*own, *COMMON.values()])
        return called

    return decorate


class Call:
    """The columns of y, the values of C in ascending order, and a start for each column; labels on
    a cluster come here, unless the solver works there (`on_cluster`): then they `stay_there`."""

    def __init__(self, y, C, start=None, on_cluster=False):
        self._is_matrix, self._is_path = True, np.ndim(C) > 0
        # Asked once, for all solvers: as an array any y will do, but these would have to be sent.
        self.stay_there = on_cluster and isinstance(y, Targets)
        if self.stay_there:
            self.columns = y.columns
        else:
            y = np.asarray(y)
            self._is_matrix = y.ndim == 2
            if y.ndim > 2 or y.shape[-1:] == (0,):
                raise ValueError(f"labels must be one column or several, not of shape {y.shape}")
            self.columns = list(np.ascontiguousarray(y.T)) if self._is_matrix else [y]
        if np.ndim(C) > 1 or (self._is_path and len(C) == 0):
            raise ValueError(f"C must be a number or an array of some, not {C!r}")
        costs = list(C) if self._is_path else [C]
        costs = [value.item() if isinstance(value, np.generic) else value for value in costs]
        for value in costs:
            if value is not None or self._is_path:
                row_costs(value, 1)
        self._ascending = np.argsort(costs, kind="stable") if self._is_path else np.array([0])
        self.costs = [costs[place] for place in self._ascending]
        start = start if self._is_matrix else [start]
        self.starts = [None] * len(self.columns) if start is None else list(start)
        if len(self.starts) != len(self.columns):
            raise ValueError(
                f"start must be a list with an entry for each of {len(self.columns)} columns of y"
            )

    def dual_starts(self):
        """Dual variables to begin from, for each column those of every C; None for none at all."""
        if all(start is None for start in self.starts):
            return None
        blocks = []
        for column, start in zip(self.columns, self.starts, strict=True):
            dual = start_values(start, lambda result: result.dual_variables)
            dual = np.zeros(len(column)) if dual is None else np.asarray(dual, dtype=np.float64)
            blocks.append(dual if dual.ndim == 2 else np.tile(dual[:, None], len(self.costs)))
        return np.hstack(blocks)

    def arranged(self, results):
        """What the call returns, from the results of each column along `costs`, or all in a row."""
        families = np.array(results, dtype=object).reshape(-1, len(self.costs))
        families = families[:, np.argsort(self._ascending)] if self._is_path else families[:, 0]
        return families.tolist() if self._is_matrix else families.tolist()[0]


def each_problem(start_from, shared=lambda data, parameters: data):
    """Give a solver of one column and one C, `solve(data, y, *, C, ...)`, the call of all solvers.

    Along ascending C each solution is where the next begins: `start_from(result, parameters)` says
    what the solver starts from. Several problems read `shared(data, parameters)`.
    """

    def decorate(solve):
        @wraps(solve)
        def solve_each(data, y, *, C=None, start=None, **parameters):
            call, results = Call(y, C, start), []
            if len(call.columns) * len(call.costs) > 1:
                data = shared(data, parameters)
            for column, begin in zip(call.columns, call.starts, strict=True):
                for value in call.costs:
                    begin = start_values(begin, lambda result: start_from(result, parameters))
                    begin = solve(data, column, C=value, start=begin, **parameters)
                    results.append(begin)
            return call.arranged(results)

        return solve_each

    return decorate


def check_limits(tol, max_iter, default_tol, default_steps):
    """The tolerance and the number of steps, checked, or where they are None their defaults."""
    tol = default_tol if tol is None else tol
    max_iter = default_steps if max_iter is None else max_iter
    return not_negative(tol, "tol"), whole(max_iter, "max_iter")


def start_values(start, of_result):
    """What a solver is to begin from: of a result `of_result` of it, else what was given."""
    # The one place where a start of either kind, both public, becomes one of the solver's own.
    return of_result(start) if isinstance(start, SolverResult) else start


def dual_start(dual, n_rows):
    """Dual variables to begin from, one for each row."""
    dual = np.asarray(dual, dtype=np.float64)
    if dual.shape != (n_rows,):
        raise ValueError(f"start must be {n_rows} dual variables, not of shape {dual.shape}")
    return dual


def check_offered(solver, hint="", **choices):
    """Refuse a choice, name=(value, those that the solver offers), with a hint at what to do."""
    for name, (value, offered) in choices.items():
        if value not in offered:
            raise ValueError(
                f"{solver} offers {name}={' or '.join(map(repr, offered))}, not {value!r}"
                + hint.format(name=name, first=offered[0])
            )


@dataclass(frozen=True)
class SolverSpec:
    """A solver, `solve(data, y, *, C, ...)` as above, and its problems.

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
        found = {p.name for p in parameters_of(self.solve) if p.kind is p.KEYWORD_ONLY}
        return found - {"sample_weight"}

    def check(self, loss, intercept):
        """Refuse a problem that this solver does not solve."""
        choices = {"loss": (loss, self.losses), "intercept": (intercept, self.intercepts)}
        check_offered(f"solver {self.name!r}", ": set {name}={first!r}", **choices)


@dataclass(frozen=True)
class Loss:
    name: str
    curvature: float  # the dual's quadratic term: 0 for the hinge, 1/4 for the squared hinge

    def value(self, margins):
        """The loss of each row, given y_i f(x_i)."""
        slack = np.maximum(0.0, 1.0 - margins)
        with np.errstate(over="ignore"):  # infinite losses are refused by whoever adds them
            return slack * slack if self.curvature else slack

    def slope(self, margins):
        """Minus the derivative with respect to the margin (the hinge's at the kink: 0)."""
        slack = np.maximum(0.0, 1.0 - margins)
        return 2.0 * slack if self.curvature else (slack > 0).astype(margins.dtype)

    def upper(self, costs):
        """The largest dual variables that are allowed."""
        return np.where(costs > 0, np.inf, 0.0) if self.curvature else costs

    def dual_diagonal(self, costs):
        """What the loss adds to the diagonal of the dual's matrix: 1 / (2 C), or nothing."""
        return 2.0 * self.curvature / costs if self.curvature else np.zeros_like(costs)


HINGE = Loss("hinge", 0.0)
SQUARED_HINGE = Loss("squared_hinge", 0.25)
LOSSES = {loss.name: loss for loss in (HINGE, SQUARED_HINGE)}


def get_loss(name):
    return entry_of(LOSSES, name, "loss")


def signs(y, n_rows):
    """The labels as numbers -1.0 and 1.0, one per row; anything else is refused."""
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n_rows,):
        raise ValueError(f"{n_rows} rows of features, but labels of shape {y.shape}")
    if not np.all(np.abs(y) == 1.0):
        raise ValueError(f"labels must be -1 and 1; these are {np.unique(y)[:5]}")
    return y


SMALLEST, LARGEST = 1e-300, 1e150  # costs, whose reciprocals and squares are still numbers


def row_costs(C, n_rows, sample_weight=None):
    """C for each row: C times its weight; a row of weight zero counts for nothing."""
    if not (isinstance(C, Real) and np.isfinite(float(C)) and C > 0):
        raise ValueError(f"C must be a positive number, not {C!r}")
    costs = float(C) * row_weights(sample_weight, n_rows)
    if np.any((costs > LARGEST) | ((costs < SMALLEST) & (costs > 0))):
        named = f"C={C!r}" if sample_weight is None else f"C={C!r} times sample_weight"
        raise ValueError(
            f"{named} is beyond what can be computed with: a row's cost must lie between "
            f"{SMALLEST:g} and {LARGEST:g}, or be 0"
        )
    return costs


@dataclass(frozen=True)
class Intervals:
    """Where the score of each row should be, and what a row counts."""

    low: np.ndarray
    high: np.ndarray
    costs: np.ndarray

    @property
    def of_labels(self):
        """Whether no interval ends on both sides: then its open side is the row's label."""
        return not np.any(np.isfinite(self.low) & np.isfinite(self.high))

    @property
    def limits(self):
        return self.low, self.high, self.costs

    def residuals(self, scores):
        """How far above (positive) or below (negative) its interval each score is; NaN of scores
        that are infinite, which objectives refuse."""
        with np.errstate(invalid="ignore"):
            return scores - np.minimum(np.maximum(scores, self.low), self.high)

    def take(self, rows, scale=1.0):
        return Intervals(self.low[rows], self.high[rows], scale * self.costs[rows])


def intervals_for(loss, y, costs, epsilon=0.1):
    """The intervals of a loss: labels -1 and 1 for "squared_hinge", else targets."""
    if loss == "squared_hinge":
        y = signs(y, len(costs))
        return Intervals(np.where(y > 0, 1.0, -np.inf), np.where(y > 0, np.inf, -1.0), costs)
    if loss == "squared_epsilon_insensitive":
        epsilon = not_negative(epsilon, "epsilon")
        y = np.asarray(y, dtype=np.float64)
        if y.shape != costs.shape:
            raise ValueError(f"{len(costs)} rows of features, but targets of shape {y.shape}")
        if not np.all(np.isfinite(y)):
            raise ValueError("the targets hold values that are not finite")
        return Intervals(y - epsilon, y + epsilon, costs)
    raise ValueError(
        f"loss={loss!r} is not one of squared_hinge, squared_epsilon_insensitive: Newton's method "
        "needs a loss with a continuous slope"
    )


class Trace:
    """The rows of a solver's trace, of which `callback` hears as they are written."""

    def __init__(self, callback=None, began=None):
        self.rows, self._callback = [], callback
        self.began = time.perf_counter() if began is None else began

    def add(self, iteration, objective, residual, **more):
        """Write a row; what only the callback is told of it is `told`."""
        told, seconds = more.pop("told", {}), time.perf_counter() - self.began
        row = {"iteration": iteration, "objective": objective, "residual": residual, **more}
        self.rows.append(row | {"seconds": row.get("seconds", seconds)})
        if self._callback is not None:
            self._callback({**told, **self.rows[-1]})


@dataclass(frozen=True)
class SolverResult:
    """The outcome of one optimisation and how good it is.

    `gap` is primal minus dual objective, an upper bound on how far the objective is from its
    optimum; `kkt_residual` is the largest violation of the optimality conditions. Either is None
    where the method has none.
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

    @classmethod
    def proven(cls, coefficients, proof, trace, **others):
        """A result with the figures of a certificate, and the rows and the clock of a `Trace`."""
        figures = {
            "intercept": proof.intercept,
            "objective": proof.primal,
            "dual_objective": proof.dual,
            "kkt_residual": proof.kkt_residual,
            "trace": tuple(trace.rows),
            "seconds": time.perf_counter() - trace.began,
        }
        return cls(coefficients, **figures | others)

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
        """The trace as a table: iteration, objective, residual, seconds."""
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


def warn_unless_converged(result, figure, reached, tol, advice):
    """Warn once, with the figure reached, the tolerance and what to try next."""
    if not result.converged:
        warnings.warn(
            f"{result.solver} stopped after {result.n_iter} iterations with {figure} "
            f"{reached:.2e}, above the tolerance {tol:.2e}. {advice}",
            ConvergenceWarning,
            stacklevel=levels_to_the_user(),
        )
