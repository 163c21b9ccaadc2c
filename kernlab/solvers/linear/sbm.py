"""Selective Block Minimization: a linear support vector machine on rows that come in blocks.

    minimise over w   1/2 |w|^2 + sum_i C_i loss(y_i w . x_i)

LLSVM's way to data larger than memory (its Algorithm 1; Chang and Roth 2011). The rows of one block
and those kept from blocks before form a small problem, which is improved by passes of dual
coordinate descent with all other dual variables held; then the less informative rows, 75 % of
them, are dropped from memory, and the next block comes. A row's dual variable is remembered when
the row is not, so this is block coordinate descent on the dual of the whole problem: one run over
the blocks is the paper's approximation, repeated runs converge to the optimum.

Most informative are rows whose dual variable is neither zero nor at its bound, then those at the
bound, each in random order: they are a sample of what pulls at w. Rows without a pull follow by the
nearness of their margin to 1. (Keeping the margins nearest to 1 whatever their pull stalls where
there are more of them than memory holds.)
"""

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.features import as_features, stored_rows
from kernlab.runtime import bar_options
from kernlab.solvers.certificates import dual_objective, kkt_residual, primal_objective
from kernlab.solvers.linear.blocks import feature_blocks
from kernlab.solvers.linear.dcd import coordinate_passes
from kernlab.solvers.losses import get_loss, row_costs, signs
from kernlab.solvers.problems import each_problem
from kernlab.solvers.result import SolverResult, warn_unless_converged

BLOCK_ROWS = 20_000
DROP = 0.75
PASSES_PER_BLOCK = 10


@each_problem(
    # A prescribed number of runs ends where it ends: from another start, somewhere else.
    lambda before, parameters: None if parameters.get("runs") else before.dual_variables
)
def solve_sbm(
    F,
    y,
    *,
    C,
    loss="hinge",
    intercept="penalised",
    tol=1e-3,
    max_iter=100,
    runs=None,
    block_rows=BLOCK_ROWS,
    drop=DROP,
    passes_per_block=PASSES_PER_BLOCK,
    sample_weight=None,
    random_state=0,
    start=None,
    callback=None,
    max_memory=None,
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i (w . x_i + b)) over w [and b].

    F: features, or whatever has `shape` and gives those of a slice of rows (`as_features`); read
    `block_rows` rows at a time, in order, once per run and once more at the end for the figures of
    the result. y: a label of -1 or 1 per row. Stops when the duality gap is at most `tol` times
    the objective, after at most `max_iter` runs over the data; `runs` prescribes their number
    instead (1 is the paper's). `drop`: the share of rows dropped after each block; `start`: dual
    variables to begin from, which takes one more run. The KKT residual is the projected gradient
    of the dual.
    """
    began = time.perf_counter()
    _check(intercept, block_rows, drop, passes_per_block, runs)
    loss, F = get_loss(loss), as_features(F).kept(max_memory)
    y = signs(y, F.shape[0])
    costs = row_costs(C, 1) if sample_weight is None else row_costs(C, len(y), sample_weight)
    costs = np.broadcast_to(costs, y.shape)  # rows without weights need no array of them
    problem = _Problem(F, y, costs, loss, 1.0 if intercept == "penalised" else 0.0, block_rows)
    generator = np.random.default_rng(random_state)
    state = problem.state_of(start)
    memory = _Memory(drop, passes_per_block)
    trace, best, done = [], None, 0

    def note(measured):
        trace.append(
            {
                "iteration": done,
                "objective": measured.objective,
                "residual": measured.relative_gap,
                "seconds": time.perf_counter() - began,
            }
        )
        if callback is not None:
            callback(trace[-1])
        return measured

    while True:
        last = done == (runs or max_iter)
        before, state = state, state.copy()
        measured = _Measured(before)
        for rows, features in problem.blocks():
            measured.add(problem, rows, features)
            if not last:
                memory.take_in(problem, state, rows, features, generator)
        note(measured)
        if best is None or measured.relative_gap < best.relative_gap or runs is not None:
            best = measured
        if last or (runs is None and best.relative_gap <= tol):
            break
        done += 1
    result = SolverResult(
        coefficients=best.state.w[:-1],
        intercept=float(best.state.w[-1]),
        objective=best.objective,
        dual_objective=best.dual_objective,
        dual_variables=best.state.dual,
        kkt_residual=best.violation,
        n_iter=done,
        converged=best.relative_gap <= tol,
        solver="sbm",
        seconds=time.perf_counter() - began,
        trace=tuple(trace),
        message="" if runs is None else f"runs over the data, as prescribed: {runs}",
    )
    if runs is None:
        warn_unless_converged(
            result,
            figure="a relative duality gap of",
            reached=best.relative_gap,
            tol=tol,
            advice="Raise max_iter or block_rows, lower C, or scale the features.",
        )
    return result


def _check(intercept, block_rows, drop, passes_per_block, runs):
    if intercept not in ("penalised", "none"):
        raise ValueError(
            f"selective block minimization offers intercept='penalised' or 'none', not "
            f"{intercept!r}: a free intercept ties all dual variables together"
        )
    for name, value in (("block_rows", block_rows), ("passes_per_block", passes_per_block)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value!r}")
    if runs is not None and runs < 1:
        raise ValueError(f"runs must be None or at least 1, not {runs!r}")
    if not 0.0 <= drop <= 1.0:
        raise ValueError(f"drop={drop!r} is a share of the rows: it must lie between 0 and 1")


@dataclass(frozen=True)
class _State:
    """All dual variables, and the weights that belong to them (the intercept last)."""

    dual: np.ndarray
    w: np.ndarray

    def copy(self):
        return _State(self.dual.copy(), self.w.copy())


class _Problem:
    """The rows and what each of them counts."""

    def __init__(self, F, y, costs, loss, bias, block_rows):
        self.F, self.costs, self.loss, self.bias = F, costs, loss, bias
        self.y = y.astype(np.int8)  # there may be many more rows than memory is meant for
        self.block_rows = block_rows

    def upper(self, rows):
        """The largest dual variables allowed."""
        costs = self.costs[rows]
        return np.where(costs > 0, self.loss.upper(costs), 0.0)

    def diagonal(self, rows):
        """What the loss adds to the diagonal of the dual's matrix."""
        costs = self.costs[rows]
        return np.where(costs > 0, self.loss.dual_diagonal(np.where(costs > 0, costs, 1.0)), 0.0)

    def blocks(self):
        """Features in blocks, with a bar when that takes long."""
        with tqdm(
            total=self.F.shape[0],
            desc="rows in blocks",
            unit=" rows",
            unit_scale=True,
            **bar_options(),
        ) as bar:
            for rows, features in feature_blocks(self.F, self.block_rows):
                yield rows, features
                bar.update(rows.stop - rows.start)

    def state_of(self, dual):
        """The weights that belong to these dual variables; zero for None."""
        n, k = self.F.shape
        if dual is None:
            return _State(np.zeros(n), np.zeros(k + 1))
        dual = np.asarray(dual, dtype=np.float64)
        if dual.shape != (n,):
            raise ValueError(f"start must be {n} dual variables, not of shape {dual.shape}")
        state = _State(np.clip(dual, 0.0, self.upper(slice(None))), np.zeros(k + 1))
        for rows, features in self.blocks():
            weighted = state.dual[rows] * self.y[rows]
            state.w[:-1] += features.T @ weighted.astype(features.dtype)
            state.w[-1] += weighted.sum() * self.bias
        return state

    def margins(self, features, rows, w):
        scores = np.asarray(features @ w[:-1].astype(features.dtype), dtype=np.float64)
        return self.y[rows] * (scores + w[-1])

    def improve(self, state, features, chosen, passes, generator):
        """Passes of coordinate descent over some rows, the other dual variables held."""
        if sp.issparse(features):
            squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
        diagonal, dual = self.diagonal(chosen), state.dual[chosen]
        coordinate_passes(
            stored_rows(features),
            self.y[chosen].astype(np.float64),
            diagonal,
            self.upper(chosen),
            squares + self.bias + diagonal,
            self.bias,
            dual,
            state.w,
            np.flatnonzero(self.costs[chosen] > 0),
            passes,
            generator,
        )
        state.dual[chosen] = dual


class _Measured:
    """A state with its objectives, summed up while the blocks go by."""

    def __init__(self, state):
        self.state, self.violation = state, 0.0
        self.objective = 0.5 * float(state.w @ state.w)
        self.dual_objective = -self.objective

    def add(self, problem, rows, features):
        """Take a block in: its loss, its share of the dual, its largest projected gradient."""
        w, dual = self.state.w, self.state.dual[rows]
        y, costs, loss = problem.y[rows], problem.costs[rows], problem.loss
        decisions = as_features(features).dot(w[:-1]) + w[-1]
        lost = primal_objective(decisions, 0.0, y, costs, loss, "none", 0.0)
        if not np.isfinite(lost):
            raise ValueError(
                f"the features of rows {rows.start} to {rows.stop} hold values that are not finite"
            )
        self.violation = max(self.violation, kkt_residual(decisions, y, dual, costs, loss))
        self.objective += lost
        self.dual_objective += dual_objective(0.0, dual, y, costs, loss, "none")

    @property
    def relative_gap(self):
        return (self.objective - self.dual_objective) / max(self.objective, np.finfo(float).tiny)


class _Memory:
    """The rows that are kept from block to block."""

    def __init__(self, drop, passes):
        self.drop, self.passes = drop, passes
        self.rows, self.features = np.empty(0, dtype=int), None

    def take_in(self, problem, state, rows, features, generator):
        """Solve for a new block together with what is kept, and keep the most informative."""
        fresh = np.arange(rows.start, rows.stop)
        others = (self.rows < rows.start) | (self.rows >= rows.stop)
        chosen = np.concatenate([self.rows[others], fresh])
        features = self._joined(others, features)
        problem.improve(state, features, chosen, self.passes, generator)
        room = int((1.0 - self.drop) * len(chosen))
        if room == 0:
            self.rows, self.features = np.empty(0, dtype=int), None
            return
        order = self._uninformative(problem, state, features, chosen, generator)
        kept = np.sort(np.argpartition(order, room - 1)[:room])
        self.rows, self.features = chosen[kept], features[kept]

    @staticmethod
    def _uninformative(problem, state, features, chosen, generator):
        """Small where a row should be kept: undecided, at its bound, near the margin, far off."""
        dual, upper = state.dual[chosen], problem.upper(chosen)
        far = np.abs(problem.margins(features, chosen, state.w) - 1.0)
        chance = generator.random(len(chosen))
        score = np.where(dual > 0.0, chance + (dual >= upper), 2.0 + far)
        return np.where(problem.costs[chosen] > 0, score, np.inf)

    def _joined(self, others, features):
        if self.features is None or not others.any():
            return features
        if sp.issparse(features):
            return sp.vstack([self.features[others], features], format="csr")
        return np.concatenate([self.features[others], features])
