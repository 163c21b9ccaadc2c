"""Dual coordinate descent for linear support vector machines, on all rows or on blocks of them.

With w = sum_i a_i y_i x_i known, the best a_i with all others held is a division and a clip, at the
cost of two products with one row (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008, Algorithm 1). A
penalised intercept is one more feature of value 1. To visit fewer rows, steps are `RELAXATION`
times as long; a row that sits rightly at its bound is visited again after 1, 2, 4, ... passes; and
a violation well below the mean of the pass before is left for later.

The duality gap is a sum over rows of C_i loss_i + a_i (margin_i - 1) [+ a_i^2 / (4 C_i)], taken
while they are visited; it is computed in double precision when that sum says that it may be small
enough. Where the tolerance allows it, rows and w are read in single precision.

Selective block minimization is LLSVM's way to data larger than memory (its Algorithm 1; Chang and
Roth 2011). The rows of one block and those kept from blocks before form a small problem, which is
improved by such passes with all other dual variables held; then the less informative rows are
dropped from memory, and the next block comes. Most informative are rows whose dual variable is
neither zero nor at its bound, then those at the bound, each in random order; then those with a
margin near 1.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.features import Features, add, as_features, dot, stored_rows
from kernlab.parameters import check_parameters
from kernlab.rows.arrays import stacked
from kernlab.runtime import bar_options, memory_limit, njit, prefetched, row_blocks
from kernlab.solvers.certificates import (
    certify_dual,
    dual_objective,
    kkt_residual,
    primal_objective,
)
from kernlab.solvers.problems import (
    Loss,
    SolverResult,
    Trace,
    check_offered,
    common_call,
    dual_start,
    each_problem,
    get_loss,
    row_costs,
    signs,
    warn_unless_converged,
)

RELAXATION = 1.4  # 1 is Algorithm 1
LEFT_FOR_LATER = 0.7  # of the mean violation of the pass before: a smaller one causes no step
LONGEST_REST = 6  # a row at its bound is visited every 64 passes at least
PASSES_PER_ROW = 10  # of the trace
SINGLE_ENOUGH = 1e-4  # tolerances from here on are reached in single precision
WORTH_A_COPY = 2**20  # values: single precision saves nothing where they are in the cache
FAILURES = 2  # certificates that say otherwise than the estimate, before precision is doubled
NEXT_TIME = 0.8  # of the tolerance is what the estimate must reach then
NEGLIGIBLE = 1e-12  # a projected gradient, in units of the margin
ROUNDING = 1e-9  # a relative duality gap that is as good as none
NOT_FREE = ": a free intercept ties all dual variables together; the newton solver offers it"
BLOCK_ROWS, PLAIN_PASSES = 20_000, 10  # the paper's
LARGE_GAP = 0.1  # that prescribed runs may leave without a word
SMALLEST_BLOCK = 100
PASSES = 50  # of a block, where runs end with the gap: more of them save runs
IN_ONE_BLOCK = "the features are in memory, one block: improved by dcd until its gap is closed"


@each_problem(lambda before, parameters: before.dual_variables)
@common_call(tol=1e-3, max_iter=5000)
def solve_dcd(F, y, *, given, C, loss="hinge", intercept="penalised", solver="dcd"):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) over w [and b].

    Parameters
    ----------
    F, y, C, loss, sample_weight, callback, max_memory : see `kernlab.solvers.problems`.
    intercept : "penalised" or "none".
    tol : of the duality gap relative to the objective; it also ends where no variable moves.
    max_iter : passes over the rows that are to be visited.
    random_state : seed of the order.
    start : dual variables to begin from, or a result.
    solver : the name that the result and its warning bear.

    Returns
    -------
    SolverResult, or lists of them. The KKT residual is the projected gradient of the dual; the
    trace has estimates, and in the last row the figures.
    """
    tol, max_iter, max_memory = given.tol, given.max_iter, given.max_memory
    trace, offered = Trace(given.callback), ("penalised", "none")
    check_offered("dual coordinate descent", NOT_FREE, intercept=(intercept, offered))
    features = as_features(F)
    single = _rows_in_single(features, memory_limit(max_memory)) if tol >= SINGLE_ENOUGH else None
    if single is None:
        features = Features(features.stored(max_memory))
    y = signs(y, features.shape[0])
    costs = row_costs(C, len(y), given.sample_weight)
    loss, generator = get_loss(loss), given.generator
    descent = Descent(features, y, costs, loss, intercept, generator, rows=single)
    single = None  # the descent may give it back
    if given.start is not None:
        descent.begin_from(given.start)
    if tol >= SINGLE_ENOUGH:
        descent.read_in_single(memory_limit(max_memory))
    passes, failures, wanted, accepted = 0, 0, tol, tol
    objective = float(costs.sum())  # of zeros
    gap = 1.0 if given.start is None else 0.0  # to be measured
    while True:
        if gap <= wanted or objective == 0.0 or descent.is_settled or passes >= max_iter:
            w, certificate = descent.certificate()
            objective, gap = certificate.primal, certificate.relative_gap
            if not np.isfinite(objective):
                raise ValueError("the features hold values that are not finite, or are too large")
            if descent.is_settled:  # then what is left should be rounding; the gap says whether
                accepted = max(tol, ROUNDING, 100.0 * np.finfo(features.dtype).eps)
            converged = bool(gap <= accepted)
            if converged or descent.is_settled or passes >= max_iter:
                break
            if passes:
                failures, wanted = failures + 1, NEXT_TIME * tol
            descent.visit_all(w, certificate.intercept, in_double=failures >= FAILURES)
        if passes % PASSES_PER_ROW == 0:
            trace.add(passes, objective, gap)
        objective, gap = descent.advance()
        passes += 1
    trace.add(passes, objective, gap)
    result = SolverResult.proven(
        w, certificate, trace, dual_variables=descent.dual, n_iter=passes, converged=converged,
        solver=solver,
    )  # fmt: skip
    advice = "Raise max_iter, lower C, scale the features, or use the newton solver."
    warn_unless_converged(result, "a relative duality gap of", gap, tol, advice)
    return result


def _rows_in_single(features, limit):
    """Features of kernel values in single precision, as an array; None where double is as good.

    Beside the values themselves: four bytes each, and eight where single precision does not do."""
    n, k = features.shape
    if features.map_ is None or n * k < WORTH_A_COPY or 12 * n * k > limit:
        return None
    return features.explicit(np.float32) if features.A.dtype == np.float32 else None


class Descent:
    """Dual variables, the weights that belong to them (the intercept last), and when each row is
    visited again.

    features: stored `Features`, or mapped ones with `rows`, an array of them in single precision;
    w: weights to go on with, which may belong to other rows, too; plain: steps as in Algorithm 1.
    """

    def __init__(
        self, features, y, costs, loss, intercept, generator, *, plain=False, w=None, rows=None
    ):
        self.features, self.y, self.costs, self.loss = features, y, costs, loss
        self.intercept, self._generator = intercept, generator
        self._steps = (1.0, 0.0, 0) if plain else (RELAXATION, LEFT_FOR_LATER, LONGEST_REST)
        live, self._bias = costs > 0, 1.0 if intercept == "penalised" else 0.0
        self._upper = np.where(live, loss.upper(costs), 0.0)
        self._diagonal = np.where(live, loss.dual_diagonal(np.where(live, costs, 1.0)), 0.0)
        read = features if rows is None else Features(rows)
        self._curvature = read.squared_norms + self._bias + self._diagonal
        self.dual, self.is_settled = np.zeros(len(y)), False
        self.w = np.zeros(features.shape[1] + 1) if w is None else w
        self._rows, self._live, self._mean, self._now = stored_rows(read.A), live, 0.0, 0
        self._due = np.where(live, 0, np.iinfo(np.int32).max).astype(np.int32)
        self._rests = np.zeros(len(y), np.int8)

    def begin_from(self, dual):
        self.dual = np.clip(dual_start(dual, len(self.y)), 0.0, self._upper)
        weighted = self.dual * self.y
        self.w = np.append(self.features.rdot(weighted), weighted.sum() * self._bias)

    def read_in_single(self, limit):
        """Take rows and weights in single precision, where a copy is worth it and has room."""
        A = self._rows[0] if self.features.map_ is not None else self.features.A
        if A.shape[0] * A.shape[1] < WORTH_A_COPY:
            return
        if A.dtype == np.float32 or 1.5 * self.features.nbytes <= limit:
            self._rows = stored_rows(A.astype(np.float32, copy=False))
            self.w = self.w.astype(np.float32)

    def visit_all(self, w, b, *, in_double=False):
        """Go on with these weights and all rows, in the precision given if single does not do."""
        if in_double and self.w.dtype != np.float64:
            self.w, self._rows = self.w.astype(np.float64), None  # there may be no room for both
            mapped = self.features.map_ is not None
            A = self.features.explicit(np.float64) if mapped else self.features.A
            self._rows = stored_rows(A)
        self.w[:-1], self.w[-1] = w, b
        self._due[self._live] = self._now

    def advance(self):
        """A pass over the rows that are due, in random order; objective and relative gap as they
        were met."""
        order = np.flatnonzero(self._due <= self._now)
        # Not in compiled code: what hands a generator to it ends the process at a Ctrl-C.
        self._generator.shuffle(order)
        gap, self._mean, worst = coordinate_pass(
            self._rows, self.y, self.costs, self._upper, self._diagonal, self._curvature,
            self._bias, self.dual, self.w, self._due, self._rests, order, self._now,
            self._mean, *self._steps,
        )  # fmt: skip
        self._now += 1
        if worst < NEGLIGIBLE:
            self.is_settled = len(order) == np.count_nonzero(self._live)
            self._due[self._live] = self._now
        w = self.w.astype(np.float64, copy=False)
        objective = gap + self.dual.sum() - 0.5 * (w @ w + self._diagonal @ self.dual**2)
        return float(objective), float(gap / max(abs(objective), np.finfo(float).tiny))

    def certificate(self):
        """The weights of the dual variables, and how good both are, in double precision."""
        weighted = self.dual * self.y
        w = self.features.rdot(weighted).astype(self.features.dtype)
        scores = self.features.dot(w)
        certificate = certify_dual(
            lambda _: scores, self.y, self.dual, C=1.0, sample_weight=self.costs,
            loss=self.loss.name, intercept=self.intercept,
        )  # fmt: skip
        return w, certificate


@njit
def coordinate_pass(
    rows, y, costs, upper, diagonal, curvature, bias, dual, w, due, rests, order, now, mean,
    relaxation, later, longest,
):  # fmt: skip
    """Visit rows in this order; the last entry of w is the intercept.

    Returned are their part of the duality gap as each was met, and the mean and the largest
    projected gradient. Violations below `later` times `mean` cause no step.
    """
    gap, total, moving, worst = 0.0, 0.0, 0, 0.0
    for i in order:
        a = dual[i]
        margin = y[i] * (dot(rows, i, w) + w[-1])
        slack = max(0.0, 1.0 - margin)
        lost = slack * slack if diagonal[i] > 0.0 else slack
        gap += costs[i] * lost + a * (margin - 1.0) + 0.5 * diagonal[i] * a * a
        gradient = margin - 1.0 + diagonal[i] * a
        if (a <= 0.0 and gradient >= 0.0) or (a >= upper[i] and gradient <= 0.0):
            rests[i] = min(rests[i] + 1, longest)
            due[i] = now + (1 << rests[i])
            continue
        rests[i], due[i] = 0, now + 1
        size = abs(gradient)
        total, moving, worst = total + size, moving + 1, max(worst, size)
        if size < later * mean:
            continue
        if curvature[i] > 0.0:
            value = min(max(a - relaxation * gradient / curvature[i], 0.0), upper[i])
        else:  # a row of zeros without an intercept: the dual is linear in it
            value = upper[i] if gradient < 0.0 else 0.0
        change = w.dtype.type((value - a) * y[i])
        dual[i] = value
        add(rows, i, change, w)
        w[-1] += change * bias
    return gap, total / max(moving, 1), worst


# ------------------------------------------------------------------- rows that come in blocks
@each_problem(
    # A prescribed number of runs ends where it ends: from another start, somewhere else.
    lambda before, parameters: None if parameters.get("runs") else before.dual_variables,
    shared=lambda F, parameters: _formed_once(F, **parameters),
)
@common_call(tol=1e-3, max_iter=100)
def solve_sbm(
    F,
    y,
    *,
    given,
    C,
    loss="hinge",
    intercept="penalised",
    runs=None,
    block_rows=None,
    drop=0.75,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) over w [and b].

    Parameters
    ----------
    F : features, or whatever has `shape` and gives those of a slice of rows (`as_features`); read
        in order, once per run and once more at the end for the figures of the result.
    y, C, loss, tol, sample_weight, callback, max_memory : see `kernlab.solvers.problems`.
    intercept : "penalised" or "none".
    max_iter : runs over the data at most; of one block, 50 times as many passes.
    runs : exactly so many (1 is the paper's), with a warning where they leave a gap above a tenth
        of the objective; None to go on to `tol`.
    block_rows : rows of a block; None for the paper's 20,000, or, without `runs`, for one block of
        all rows where their features are in memory, or take at most half of it. Fewer where
        max_memory does not hold six such blocks.
    drop : the share of rows dropped after each block.
    random_state : seed of all orders.
    start : dual variables to begin from, which takes one more run, or a result.

    Returns
    -------
    SolverResult, or lists of them. The KKT residual is the projected gradient of the dual.
    """
    tol, max_iter, max_memory = given.tol, given.max_iter, given.max_memory
    trace, offered = Trace(given.callback), ("penalised", "none")
    check_offered("selective block minimization", NOT_FREE, intercept=(intercept, offered))
    check_parameters({"block_rows": block_rows, "runs": runs, "drop": drop})
    on_disk, loss, F = isinstance(F, np.memmap), get_loss(loss), as_features(F)
    if runs is None and block_rows is None and F.is_storable(max_memory) and not on_disk:
        others = vars(given) | {"max_iter": max_iter * PASSES}
        result = solve_dcd(F, y, C=C, loss=loss.name, intercept=intercept, solver="sbm", **others)
        return replace(result, message=IN_ONE_BLOCK)
    F = F.kept(max_memory)
    passes = PASSES if runs is None else PLAIN_PASSES
    # A block, the next one, the rows kept and all of them joined: six blocks at the worst moment.
    fitting = memory_limit(max_memory) // (6 * max(1, F.nbytes // F.shape[0]))
    block_rows = min(block_rows or BLOCK_ROWS, max(fitting, SMALLEST_BLOCK))
    y = signs(y, F.shape[0]).astype(np.int8)
    weights, generator = given.sample_weight, given.generator
    costs = row_costs(C, 1) if weights is None else row_costs(C, len(y), weights)
    costs = np.broadcast_to(costs, y.shape)  # rows without weights need no array of them
    problem = _Problem(F, y, costs, loss, intercept, block_rows, passes, runs is not None)
    state, memory = problem.state_of(given.start), _Memory(drop)
    best, done, last = None, 0, runs or max_iter
    while True:
        before, state = state, (state[0].copy(), state[1].copy())
        measured = _Measured(*before)
        for rows, features in problem.blocks():
            measured.add(problem, rows, features)
            if done < last:
                memory.take_in(problem, state, rows, features, generator)
        trace.add(done, measured.primal, measured.relative_gap)
        closed = runs is None and measured.relative_gap <= tol
        if best is None or runs or closed or measured.primal < best.primal:
            best = measured
        if closed or done >= last:
            break
        done += 1
    gap = best.relative_gap
    result = SolverResult.proven(
        best.w[:-1], best, trace, dual_variables=best.variables, n_iter=done, converged=gap <= tol,
        solver="sbm", message="" if runs is None else f"runs over the data, as prescribed: {runs}",
    )  # fmt: skip
    # A number of runs is a prescription and no failure, but what it ends with may be far off.
    allowed, advice = tol, "Raise max_iter or block_rows, lower C, or scale the features."
    if runs is not None:
        allowed = LARGE_GAP
        advice = f"Those were the runs prescribed: runs=None goes on to {tol:g}."
    known = replace(result, converged=gap <= allowed)
    warn_unless_converged(known, "a relative duality gap of", gap, allowed, advice)
    return result


def _formed_once(F, runs=None, block_rows=None, max_memory=None, **_):
    """Features that are read in blocks, stored where half of memory holds them."""
    on_disk, in_one_block = isinstance(F, np.memmap), runs is None and block_rows is None
    return F if on_disk or in_one_block else as_features(F).kept(max_memory)


@dataclass(frozen=True)
class _Problem:
    """The rows and what each of them counts; there may be many more than memory is meant for."""

    F: Features
    y: np.ndarray  # in a byte each
    costs: np.ndarray
    loss: Loss
    intercept: str
    block_rows: int
    passes: int
    plain: bool

    def blocks(self):
        """(rows, features) in order, each block formed while the one before is in use; with a bar
        when that takes long."""
        blocks, options = row_blocks(self.F.shape[0], self.block_rows), bar_options()
        with tqdm(
            total=self.F.shape[0], desc="rows in blocks", unit=" rows", unit_scale=True, **options
        ) as bar:
            for rows, features in zip(blocks, prefetched(self.F.block, blocks), strict=True):
                yield rows, features if sp.issparse(features) else np.ascontiguousarray(features)
                bar.update(rows.stop - rows.start)

    def state_of(self, dual):
        """Dual variables, zero for None, and the weights that belong to them, intercept last."""
        n, k = self.F.shape
        if dual is None:
            return np.zeros(n), np.zeros(k + 1)
        dual, w = np.clip(dual_start(dual, n), 0.0, self.loss.upper(self.costs)), np.zeros(k + 1)
        for rows, features in self.blocks():
            weighted = dual[rows] * self.y[rows]
            w[:-1] += as_features(features).rdot(weighted)
            w[-1] += weighted.sum() * (self.intercept == "penalised")
        return dual, w


class _Measured:
    """A certificate of dual variables and weights, summed up while the blocks go by."""

    def __init__(self, variables, w):
        self.variables, self.w, self.kkt_residual = variables, w, 0.0
        self.intercept, self.primal = float(w[-1]), 0.5 * float(w @ w)
        self.dual = -self.primal

    def add(self, problem, rows, features):
        """Take a block in: its loss, its share of the dual, its largest projected gradient."""
        y, costs, loss = problem.y[rows], problem.costs[rows], problem.loss
        dual = self.variables[rows]
        decisions = as_features(features).dot(self.w[:-1]) + self.w[-1]
        lost = primal_objective(decisions, 0.0, y, costs, loss, "none", 0.0)
        if not np.isfinite(lost):
            raise ValueError(
                f"the features of rows {rows.start} to {rows.stop} hold values that are not finite"
            )
        violation = kkt_residual(decisions, y, dual, costs, loss)
        self.kkt_residual = max(self.kkt_residual, violation)
        self.primal += lost
        self.dual += dual_objective(0.0, dual, y, costs, loss, "none")

    @property
    def relative_gap(self):
        return (self.primal - self.dual) / max(self.primal, np.finfo(float).tiny)


class _Memory:
    """The rows that are kept from block to block."""

    def __init__(self, drop):
        self.drop, self.rows, self.features = drop, np.empty(0, dtype=int), None

    def take_in(self, problem, state, rows, features, generator):
        """Solve for a new block together with what is kept, and keep the most informative."""
        others = (self.rows < rows.start) | (self.rows >= rows.stop)
        chosen = np.concatenate([self.rows[others], np.arange(rows.start, rows.stop)])
        if others.any():
            features = stacked([self.features[others], features])
        y, costs, (dual, w) = problem.y[chosen].astype(float), problem.costs[chosen], state
        features = Features(features)
        descent = Descent(
            features, y, costs, problem.loss, problem.intercept, generator, plain=problem.plain, w=w
        )
        descent.dual = dual[chosen]
        for _ in range(problem.passes):
            descent.advance()
            if descent.is_settled:
                break
        dual[chosen] = descent.dual
        room = int((1.0 - self.drop) * len(chosen))
        self.rows, self.features = np.empty(0, dtype=int), None
        if room:
            # Small where a row should be kept: undecided, at its bound, near the margin, far off.
            upper = problem.loss.upper(costs)
            far = np.abs(y * (features.dot(w[:-1]) + w[-1]) - 1.0)
            chance = generator.random(len(chosen))
            order = np.where(descent.dual > 0.0, chance + (descent.dual >= upper), 2.0 + far)
            order = np.where(costs > 0, order, np.inf)
            kept = np.sort(np.argpartition(order, room - 1)[:room])
            self.rows, self.features = chosen[kept], features.A[kept]
