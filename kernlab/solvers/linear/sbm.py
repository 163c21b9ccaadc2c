"""Selective Block Minimization: a linear support vector machine on rows that come in blocks.

LLSVM's way to data larger than memory (its Algorithm 1; Chang and Roth 2011). The rows of one block
and those kept from blocks before form a small problem, which is improved by passes of dual
coordinate descent with all other dual variables held; then the less informative rows are dropped
from memory, and the next block comes. Most informative are rows whose dual variable is neither zero
nor at its bound, then those at the bound, each in random order; then those with a margin near 1.
"""

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_scalar
from tqdm.auto import tqdm

from kernlab.features import Features, as_features
from kernlab.runtime import bar_options, memory_limit, prefetched, row_blocks
from kernlab.solvers.certificates import dual_objective, kkt_residual, primal_objective
from kernlab.solvers.linear.dcd import NOT_FREE, Descent, solve_dcd
from kernlab.solvers.problems import (
    Loss,
    SolverResult,
    Trace,
    check_offered,
    common_call,
    each_problem,
    get_loss,
    row_costs,
    signs,
    warn_unless_converged,
)

BLOCK_ROWS, PLAIN_PASSES = 20_000, 10  # the paper's
LARGE_GAP = 0.1  # that prescribed runs may leave without a word
SMALLEST_BLOCK = 100
PASSES = 50  # of a block, where runs end with the gap: more of them save runs
IN_ONE_BLOCK = "the features are in memory, one block: improved by dcd until its gap is closed"


@each_problem(
    # A prescribed number of runs ends where it ends: from another start, somewhere else.
    lambda before, parameters: None if parameters.get("runs") else before.dual_variables
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
    passes_per_block=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) over w [and b].

    Parameters
    ----------
    F : features, or whatever has `shape` and gives those of a slice of rows (`as_features`); read
        in order, once per run and once more at the end for the figures of the result.
    y, C, loss, tol, sample_weight, callback, max_memory : see `kernlab.solvers.problems`.
    intercept : "penalised" or "none".
    max_iter : runs over the data at most; of one block, `passes_per_block` times as many passes.
    runs : exactly so many (1 is the paper's), with a warning where they leave a gap above a tenth
        of the objective; None to go on to `tol`.
    block_rows : rows of a block; None for the paper's 20,000, or, without `runs`, for one block of
        all rows where their features are in memory, or take at most a quarter of it. Fewer where
        max_memory does not hold six such blocks.
    drop : the share of rows dropped after each block.
    passes_per_block : of coordinate descent; None for 10 plain ones with `runs`, and 50 without.
    random_state : seed of all orders.
    start : dual variables to begin from, which takes one more run, or a result.

    Returns
    -------
    SolverResult, or lists of them. The KKT residual is the projected gradient of the dual.
    """
    tol, max_iter, max_memory = given.tol, given.max_iter, given.max_memory
    trace, offered = Trace(given.callback), ("penalised", "none")
    check_offered("selective block minimization", NOT_FREE, intercept=(intercept, offered))
    counts = {"block_rows": block_rows, "passes_per_block": passes_per_block, "runs": runs}
    for name, value in counts.items():
        if value is not None:
            check_scalar(value, name, Integral, min_val=1)
    check_scalar(drop, "drop", (float, int), min_val=0, max_val=1)
    on_disk, loss, F = isinstance(F, np.memmap), get_loss(loss), as_features(F)
    if runs is None and block_rows is None and F.is_storable(max_memory) and not on_disk:
        others = vars(given) | {"max_iter": max_iter * (passes_per_block or PASSES)}
        result = solve_dcd(F, y, C=C, loss=loss.name, intercept=intercept, solver="sbm", **others)
        return replace(result, message=IN_ONE_BLOCK)
    F = F.kept(max_memory)
    passes = passes_per_block or (PASSES if runs is None else PLAIN_PASSES)
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
        dual, w = np.asarray(dual, dtype=np.float64), np.zeros(k + 1)
        if dual.shape != (n,):
            raise ValueError(f"start must be {n} dual variables, not of shape {dual.shape}")
        dual = np.clip(dual, 0.0, self.loss.upper(self.costs))
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
            kept = self.features[others]
            features = (
                sp.vstack([kept, features], format="csr")
                if sp.issparse(features)
                else np.concatenate([kept, features])
            )
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
