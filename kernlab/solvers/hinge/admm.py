"""ADMM for the hinge loss without a margin: the solver of the fast polynomial classifier (FPC).

    minimise over u   1/M sum_i c_i max(0, 1 - y_i A_i u)  [+ 1/(2 C M) |u|^2],  M = sum_i c_i   (6)

Split as v = A u (8):

  u <- (beta A^T A + alpha I)^-1 (alpha u + beta A^T v - A^T w)   one factor for all steps  (10, 13)
  v <- argmin over v of the loss + M beta / 2 (v - A u - w / beta)^2   row by row           (11, 14)
  w <- w + beta (A u - v)                                                                   (12)

from u = 0, v = y, w = 0. With v = prox(zeta) and w = beta (zeta - v) for zeta = A u + w_before /
beta (Lemma 1), one number per row holds v and w: one pass for A^T A and one for each step.

The paper stops at |p_after - p_before|_H^2 < tol for p = (u, v, w), or after a few steps: a
prescription, not a failure. With C it goes on to a certified optimum: the proximal term shrinks to
what keeps the factor stable, steps are over-relaxed, and beta follows the sizes of v and w.
"""

from contextlib import nullcontext, suppress
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from kernlab.parameters import moderate
from kernlab.runtime import (
    REORDERED_SUMS,
    cholesky_factor,
    interruptible,
    njit,
    pivoted_cholesky,
    single_blas_thread,
    times_transposed_triangle,
    triangle_of_squares,
)
from kernlab.solvers.hinge import passes
from kernlab.solvers.hinge.passes import (
    DUAL,
    LOSS,
    MULTIPLIERS,
    SCORES,
    ClusterData,
    Data,
    GramFactor,
    Sums,
)
from kernlab.solvers.problems import (
    Call,
    SolverResult,
    Trace,
    check_limits,
    check_offered,
    common_call,
    warn_unless_converged,
)

CHANGE_V, CHANGE_W, N_SUMS = (passes.N_SHARED + place for place in range(3))
EARLY, CERTIFIED = (5e-4, 5), (1e-3, 20_000)  # tol and max_iter without C, and with it
RELAXATION = 1.6
STEPS_BETWEEN_CHECKS = 10
FIRST_REBALANCE, REBALANCE_GROWTH = 20, 1.5
GAMMA_RANGE = (1e-6, 1e3)


@common_call()
def solve_hinge_admm(
    F, y, *, given, C=None, loss="hinge", intercept="none", alpha=1.0, beta=1.0, keep_dual=True
):
    """Minimise the mean hinge loss of y_i F_i u over u; with C, 1/2 |u|^2 + C sum_i c_i loss_i.

    Parameters
    ----------
    F, y, sample_weight, max_memory : see `kernlab.solvers.problems`; columns share the passes.
    C : None for the paper's problem, stopped early; a number, or several.
    loss, intercept : "hinge"; "none", or "penalised": one more feature of value 1.
    tol : without C, of the squared H-norm of a step (None for 5e-4); with C, of the duality gap
        relative to the objective (1e-3).
    max_iter : steps at most; None for 5, the paper's prescription, or 20,000 with C.
    alpha, beta : of the paper's steps; with C, ADMM chooses its own.
    start : weights to begin from (for a matrix y, a list of them) instead of v = y.
    keep_dual : whether results hold dual variables, a number per row.
    callback : is called with every row of the traces, and "problem" and "coefficients".
    random_state : not used; nothing is random.

    Returns
    -------
    SolverResult, or lists of them. The KKT residual is |P w| / |w| with P the projection on the
    features' span: 0 exactly where w proves u optimal. With C, `dual_objective` is a lower bound on
    the objective, that of the dual variables, and a search that falls short hands back the weights
    of the lowest objective it has measured, its start included.
    """
    check_offered("hinge-admm", loss=(loss, ("hinge",)), intercept=(intercept, passes.OFFERED))
    call = Call(y, C, given.start, on_cluster=True)
    certified = call.costs[0] is not None
    defaults = CERTIFIED if certified else EARLY
    tol, max_iter = check_limits(given.tol, given.max_iter, *defaults)
    alpha, beta = moderate(alpha, "alpha"), moderate(beta, "beta")
    along = len(call.costs)
    if call.stay_there:
        data = ClusterData(F, call.columns, along, RowState.of, intercept, certified)
        if keep_dual:
            raise ValueError("dual variables of rows on a cluster are not kept: keep_dual=False")
    else:
        data = Data(F, given.sample_weight, intercept, certified)
        data.require_room(len(call.columns) * along, given.max_memory)
        columns = [passes.labels_of(column, data.m) for column in call.columns]
        data.state = RowState.of([y for y in columns for _ in range(along)])
    starts = [passes.start_of(begin, data, intercept) for begin in call.starts]
    heard = given.callback
    problems = [_Problem(data, cost, start, heard) for start in starts for cost in call.costs]
    with single_blas_thread() if data.n < passes.WIDE else nullcontext():
        iteration = _Iteration(data, problems, alpha, beta, tol, max_iter)
        iteration.begin()
        iteration.run()
        results = [iteration.result(problem, intercept, keep_dual) for problem in problems]
    advice = "Raise max_iter, lower C, or scale the features."
    for result in results if certified else ():
        reached = max(result.relative_gap, 0.0)
        warn_unless_converged(result, "a relative duality gap of", reached, tol, advice)
    return call.arranged(results)


@dataclass
class RowState:
    """One number for each row and problem, zeta, which holds v and w; beside the labels."""

    labels: list
    zeta: list

    @classmethod
    def of(cls, labels):
        """The start v = y, w = 0."""
        return cls(labels, [y.astype(np.float64) for y in labels])

    def copied(self):
        return RowState(self.labels, [zeta.copy() for zeta in self.zeta])


class _Problem:
    """One problem under way: its weights u and their form c on the features read, A^T v and A^T w,
    the sums of the last pass, and the lowest objective measured with C."""

    def __init__(self, data, C, start, callback):
        self.C, self.has_start = C, start is not None
        n = data.n if data.mix is None else data.mix.shape[1]
        self.u = np.zeros(n) if start is None else start
        self.c = np.zeros(data.n) if start is None else start
        self.beta = self.gamma = self.change_u = 0.0
        self.pulled_v = self.pulled_w = self.sums = self.best = None
        self.share = 1.0  # of the dual variables, whose objective is the bound
        self.trace, self.is_done = Trace(callback), False


class _Iteration:
    """All problems together; those that are done no longer take part in passes."""

    def __init__(self, data, problems, alpha, beta, tol, max_iter):
        self.data, self.problems, self.total = data, problems, data.total
        self.alpha, self.tol, self.max_iter = alpha, tol, max_iter
        self.certified = problems[0].C is not None
        for problem in problems:
            problem.beta = 1.0 / self.total if self.certified else beta
            problem.gamma = problem.beta * self.total
        self._factors = {}
        self.rebalance_at, self.rebalance_gap = FIRST_REBALANCE, float(FIRST_REBALANCE)

    # ------------------------------------------------------------------------- first pass
    def begin(self):
        """The Gram matrix, unless it is known, and A^T v and A^T w of the start, in one pass."""
        gram = self.data.known_gram()
        starts = [problem.c if problem.has_start else None for problem in self.problems]
        scales = [(problem.beta, problem.gamma) for problem in self.problems]
        total = self.data.over(first_pass, starts, scales, gram is None)
        self.gram = total.gram.matrix() if gram is None else gram
        passes.require_finite(self.gram, total.vectors)
        self.data.leave_gram(self.gram)
        self.certify = passes.Certifier(self.gram, self.total)
        self._take(self.problems, total)
        for problem in self.problems if self.certified else ():
            objective = problem.C * problem.sums[LOSS] + 0.5 * float(problem.u @ problem.u)
            problem.best = objective, problem.u

    def _take(self, problems, total):
        for k, problem in enumerate(problems):
            problem.pulled_v = total.vectors[:, k].copy()
            problem.pulled_w = total.vectors[:, len(problems) + k].copy()
            problem.sums = total.rows[k]

    # ----------------------------------------------------------------------------- steps
    def run(self):
        for iteration in range(1, self.max_iter + 1):
            live = [problem for problem in self.problems if not problem.is_done]
            if not live:
                break
            old = [(problem.beta, problem.gamma) for problem in live]
            if self.certified and iteration == self.rebalance_at:
                self._rebalance(live)
            for problem in live:
                factor, before = self._factor(problem), problem.u
                right = problem.beta * problem.pulled_v - problem.pulled_w
                problem.u, problem.c = factor(before, right)
                problem.change_u = factor.squared_norm(problem.u - before)
            total = self._pass(live, old)
            passes.require_finite(total.vectors)
            self._take(live, total)
            for problem in live:
                self._judge(problem, iteration)

    def _pass(self, live, old):
        """A u, the next v and w row by row, and A^T v and A^T w: one look at every feature."""
        relaxation = RELAXATION if self.certified else 1.0
        weights = np.array([problem.c for problem in live])
        new = [(problem.beta, problem.gamma) for problem in live]
        places = [self.problems.index(problem) for problem in live]
        return self.data.over(step_pass, places, weights, old, new, relaxation)

    def _factor(self, problem):
        """The system for u of a problem; those with the same beta and C share it."""
        key = problem.beta, problem.C
        if key not in self._factors:
            in_use = {(other.beta, other.C) for other in self.problems}
            self._factors = {k: factor for k, factor in self._factors.items() if k in in_use}
            self._factors[key] = self._new_factor(*key)
        return self._factors[key]

    def _new_factor(self, beta, C):
        if self.data.mix is not None:
            return MixedFactor(self.gram, self.data.mix, alpha=self.alpha, beta=beta)
        alpha, ridge = self.alpha, 0.0
        if self.certified:
            alpha, ridge = beta * passes.rounding(self.gram), 1.0 / (C * self.total)
        system = {"alpha": alpha, "beta": beta, "ridge": ridge}
        factor = GramFactor(self.gram, **system, steps=self.max_iter)
        self.gram = factor.gram
        return factor

    def _rebalance(self, live):
        """Bring gamma = M beta half way, in logarithms, to the ratio of the sizes of w and v."""
        for problem in live:
            multipliers = problem.sums[MULTIPLIERS] ** 0.5 * self.total
            scores = problem.sums[SCORES] ** 0.5
            if multipliers > 0 and scores > 0:
                gamma = np.clip((problem.gamma * multipliers / scores) ** 0.5, *GAMMA_RANGE)
                problem.gamma, problem.beta = float(gamma), float(gamma) / self.total
        self.rebalance_gap *= REBALANCE_GROWTH
        self.rebalance_at += int(self.rebalance_gap)

    def _judge(self, problem, iteration):
        """Record the step, and decide whether the problem is done."""
        sums = problem.sums
        change = problem.change_u + problem.beta * sums[CHANGE_V] + sums[CHANGE_W] / problem.beta
        last = iteration == self.max_iter
        if self.certified and iteration % STEPS_BETWEEN_CHECKS and not last:
            return
        measured = self.certify(problem.c, problem.pulled_w, sums, problem.C)
        objective, lower = measured.objective, measured.bound()
        problem.is_done = bool(change < self.tol)
        if self.certified:
            problem.best = min(problem.best, (objective, problem.u), key=lambda pair: pair[0])
            problem.share = measured.share
            problem.is_done = objective - lower <= self.tol * objective
        problem.trace.add(
            iteration, objective, measured.residual, change=float(change), dual_objective=lower,
            beta=problem.beta,
            told={"problem": self.problems.index(problem), "coefficients": problem.u.copy()},
        )  # fmt: skip

    # ----------------------------------------------------------------------------- results
    def result(self, problem, intercept, keep_dual):
        last, message = problem.trace.rows[-1], ""
        objective, u = last["objective"], problem.u
        if self.certified and not problem.is_done:
            objective, u = problem.best
        elif not problem.is_done:
            message = f"stopped as set, with |p - p_before|_H^2 = {last['change']:.2e}"
        w, b = (u[:-1], float(u[-1])) if intercept == "penalised" else (u, 0.0)
        return SolverResult(
            coefficients=w,
            intercept=b,
            objective=objective,
            dual_objective=last["dual_objective"] if self.certified else None,
            kkt_residual=last["residual"],
            dual_variables=self._dual(problem) if keep_dual else None,
            n_iter=last["iteration"],
            converged=problem.is_done,
            solver="hinge-admm",
            seconds=last["seconds"],
            trace=tuple(problem.trace.rows),
            message=message,
        )

    def _dual(self, problem):
        """a_i = -c_i y_i w_i: 0 <= a_i <= c_i / M; with C, C M times the share of them whose
        objective is the bound: 0 <= a_i <= C c_i."""
        place = self.problems.index(problem)
        zeta, y = self.data.state.zeta[place], self.data.state.labels[place]
        v, w = np.empty((2, len(zeta)))
        split(zeta, y, problem.beta, problem.gamma, v, w)
        scale = 1.0 if problem.C is None else problem.share * problem.C * self.total
        return -scale * y * w * (self.data.weights if len(self.data.weights) else 1.0)


# ------------------------------------------------------------------------------------- passes
def first_pass(data, state, starts, scales, wants_gram):
    """A^T v and A^T w of the start (of weights, where they are given), and the Gram matrix."""
    p = len(starts)

    def sums_of_thread():
        return Sums(data.n, 2 * p, (p, N_SUMS), data.gram_sum() if wants_gram else None)

    def use(sums, rows, block):
        weights = data.weights_of(rows)
        if sums.gram is not None:
            sums.gram.add(block, weights)
        values = np.empty((2 * p, block.shape[1]))
        for k, (c, scale) in enumerate(zip(starts, scales, strict=True)):
            y, zeta = state.labels[k][rows], state.zeta[k][rows]
            if c is not None:
                zeta[:] = c @ block
            lost = np.maximum(0.0, 1.0 - y * (0.0 if c is None else zeta))
            sums.rows[k, LOSS] += lost.sum() if weights is None else weights @ lost
            split(zeta, y, *scale, values[k], values[p + k])
        if weights is not None:
            values *= weights
        sums.pull(block, values)

    return data.read(sums_of_thread, use, passes.GRAM_BYTES, "Gram matrix")


def step_pass(data, state, places, weights, old, new, relaxation):
    """A u, the next v and w row by row, and A^T v and A^T w, of the problems at these places."""
    p = len(places)

    def use(sums, rows, block):
        scores = weights @ block if p > 1 else (weights[0] @ block)[None]
        values, of_rows = np.empty((2 * p, block.shape[1])), data.weights[rows]
        for k, place in enumerate(places):
            advance(
                scores[k], state.zeta[place][rows], state.labels[place][rows], of_rows, old[k],
                new[k], relaxation, values[k], values[p + k], sums.rows[k],
            )  # fmt: skip
        sums.pull(block, values)

    def sums_of_thread():
        return Sums(data.n, 2 * p, (p, N_SUMS))

    return data.read(sums_of_thread, use, passes.PASS_BYTES, "ADMM step")


# ------------------------------------------------------------------------------- single steps
class MixedFactor:
    """`GramFactor` where the features A = F S are combinations of given ones with Gram matrix G:
    beta A^T A + alpha I = R^T R by QR of [sqrt(beta) L^T S; sqrt(alpha) I] with G = L L^T, for the
    condition of A^T A is the square of A's."""

    def __init__(self, gram, mix, *, alpha, beta):
        self.alpha, self.mix, n = float(alpha), mix, mix.shape[1]
        stacked, rows, lower = np.zeros((n, n), order="F"), len(mix), None
        with suppress(la.LinAlgError):
            lower = cholesky_factor(gram)[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if lower is not None:
                np.multiply(mix, np.sqrt(beta), out=stacked[:rows])
                times_transposed_triangle(lower, stacked)
            else:  # features that depend on each other on these rows
                tol = len(gram) * np.finfo(float).eps * float(np.diag(gram).max())
                lower, pivots, rows = pivoted_cholesky(gram, tol)
                lower = np.tril(lower[:, :rows])
                mixed = mix[pivots - 1]
                mixed *= np.sqrt(beta)
                interruptible(np.matmul, mixed.T, lower, out=stacked.T[:, :rows])
                del mixed
        del lower
        passes.require_finite(stacked)
        self._R = triangle_of_squares(stacked, rows, np.sqrt(alpha))

    def __call__(self, u, g):
        """The next u, and the weights of the features given."""
        with np.errstate(over="ignore", invalid="ignore"):  # refused after the pass
            right = self.alpha * u + self.mix.T @ g
            half = la.solve_triangular(self._R, right, trans="T", check_finite=False)
            u = la.solve_triangular(self._R, half, check_finite=False)
            return u, self.mix @ u

    def squared_norm(self, change):
        with np.errstate(over="ignore", invalid="ignore"):
            return self.alpha * float(change @ change)


@njit
def prox(zeta, y, gamma):
    """The minimiser over v of max(0, 1 - y v) + gamma / 2 (v - zeta)^2 (eq. 15, a = y)."""
    margin = y * zeta
    if margin >= 1.0:
        return zeta
    if margin <= 1.0 - 1.0 / gamma:
        return zeta + y / gamma
    return y


@njit
def split(zeta, y, beta, gamma, v, w):
    """v and w that belong to zeta."""
    for i in range(len(zeta)):
        v[i] = prox(zeta[i], 1.0 * y[i], gamma)
        w[i] = beta * (zeta[i] - v[i])


@njit(fastmath=REORDERED_SUMS)
def advance(scores, zeta, labels, weights, old, new, relaxation, v, w, sums):
    """From the scores A u to the next v and w of a block of rows, times their weights (eq. 14, 12);
    `old` and `new` are (beta, gamma) of zeta as it is and as it becomes."""
    weighted = len(weights) > 0
    for i in range(len(scores)):
        y = 1.0 * labels[i]
        weight = weights[i] if weighted else 1.0
        v_before = prox(zeta[i], y, old[1])
        w_before = old[0] * (zeta[i] - v_before)
        relaxed = relaxation * scores[i] + (1.0 - relaxation) * v_before
        moved = relaxed + w_before / new[0]
        v_next = prox(moved, y, new[1])
        w_next = new[0] * (moved - v_next)
        zeta[i] = moved
        v[i], w[i] = weight * v_next, weight * w_next
        sums[LOSS] += weight * max(0.0, 1.0 - y * scores[i])
        sums[CHANGE_V] += weight * (v_next - v_before) ** 2
        sums[CHANGE_W] += weight * (w_next - w_before) ** 2
        sums[DUAL] -= weight * y * w_next
        sums[SCORES] += weight * scores[i] ** 2
        sums[MULTIPLIERS] += weight * w_next**2
