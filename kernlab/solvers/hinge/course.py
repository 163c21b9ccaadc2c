"""The course of ADMM on the hinge loss: several problems, one pass over the rows for each step.

Without C it is the paper's, step by step. With C it goes on to a certified optimum: the proximal
term shrinks to what keeps the factor stable, steps are over-relaxed, and beta follows the sizes of
v and w.
"""

import time

import numpy as np

from kernlab.solvers.hinge.certificates import HingeCertifier, hair
from kernlab.solvers.hinge.columns import Column, PassSums, merged, pull
from kernlab.solvers.hinge.steps import (
    CHANGE_V,
    CHANGE_W,
    MULTIPLIERS,
    SCORES,
    LinearStep,
    MixedStep,
    advance,
    begin,
)
from kernlab.solvers.linear.streamed import GRAM_BYTES, PASS_BYTES, gram_sum, read
from kernlab.solvers.result import SolverResult

RELAXATION = 1.6
STEPS_BETWEEN_CHECKS = 10
FIRST_REBALANCE, REBALANCE_GROWTH = 20, 1.5
GAMMA_RANGE = (1e-6, 1e3)


class HingeCourse:
    """All problems together; those that have come to their end no longer take part in passes."""

    def __init__(self, rows, codes, problems, weights, settings, gram, callback):
        self.rows, self.codes, self.weights, self.settings = rows, codes, weights, settings
        self.gram, self.callback = gram, callback
        self.began = time.perf_counter()
        self.total = float(weights.sum()) if len(weights) else float(rows.shape[0])
        self.certified = settings.C is not None
        self.ridge = 0.0 if settings.C is None else 1.0 / (settings.C * self.total)
        beta = 1.0 / self.total if self.certified else settings.beta
        self.columns = [self._column(problem, beta) for problem in problems]
        self._steps = {}
        self.rebalance_at, self.rebalance_gap = FIRST_REBALANCE, float(FIRST_REBALANCE)

    def _column(self, problem, beta):
        width = self.rows.shape[1] if problem.width is None else problem.width
        n = width if problem.mix is None else problem.mix.shape[1]
        return Column(
            problem, width, np.zeros(n), np.zeros(width), np.empty(0), beta, beta * self.total
        )

    # ------------------------------------------------------------------------- first pass
    def begin(self, start):
        """The Gram matrix, unless it is known, and A^T v and A^T w of the start, in one pass."""
        for column in self.columns:
            positive = self.codes == column.problem.positive
            column.zeta = np.where(positive, 1.0, -1.0)
            if start is not None:
                column.u = np.array(start, dtype=np.float64)
                if column.u.shape != column.c.shape or column.problem.mix is not None:
                    raise ValueError(f"start must be {len(column.c)} weights of stored features")
                column.c = column.u
        from_scores = start is not None

        def state():
            counted = gram_sum(self.rows) if self.gram is None else None
            return PassSums(self.rows.shape[1], len(self.columns), counted)

        def use(sums, block, features):
            weights = self.weights[block] if len(self.weights) else None
            if sums.gram is not None:
                sums.gram.add(features, weights)
            v, w = np.empty((2, len(self.columns), features.shape[1]))
            for k, column in enumerate(self.columns):
                zeta = column.zeta[block]
                if from_scores:
                    zeta[:] = column.c @ features[: column.width]
                begin(zeta, self.codes[block], column.problem.positive, column.beta, column.gamma,
                      v[k], w[k])  # fmt: skip
            if weights is not None:
                v *= weights
                w *= weights
            pull(features, v, sums.v)
            if from_scores:
                pull(features, w, sums.w)

        total = merged(read(self.rows, state, use, GRAM_BYTES, "Gram matrix"))
        if total.gram is not None:
            self.gram = total.gram.matrix()
        if not np.all(np.isfinite(self.gram)) or not np.all(np.isfinite(total.v)):
            raise ValueError(
                "the features hold values that are not finite, or are too large: scale the data, "
                "or take a lower degree"
            )
        self.certify = HingeCertifier(self.gram, self.ridge, self.settings.C, self.total)
        self._take(self.columns, total)

    def _take(self, columns, sums):
        for k, column in enumerate(columns):
            column.pulled_v = sums.v[: column.width, k].copy()
            column.pulled_w = sums.w[: column.width, k].copy()
            column.figures = sums.figures[k]

    # ----------------------------------------------------------------------------- steps
    def run(self):
        for iteration in range(1, self.settings.max_iter + 1):
            live = [column for column in self.columns if not column.settled]
            if not live:
                break
            old = [(column.beta, column.gamma) for column in live]
            if self.certified and iteration == self.rebalance_at:
                self._rebalance(live)
            for column in live:
                self._solve(column)
            self._take(live, self._pass(live, old))
            for column in live:
                self._judge(column, iteration)

    def _solve(self, column):
        before = column.u
        step = self._step_of(column)
        column.u, column.c = step(before, column.beta * column.pulled_v - column.pulled_w)
        column.change_u = step.squared_norm(column.u - before)

    def _pass(self, live, old):
        """A u, the next v and w row by row, and A^T v and A^T w: one look at every feature."""
        relaxation = RELAXATION if self.certified else 1.0
        C = np.zeros((len(live), self.rows.shape[1]))
        for k, column in enumerate(live):
            C[k, : column.width] = column.c
        new = [(column.beta, column.gamma) for column in live]

        def use(sums, block, features):
            scores = C @ features if len(live) > 1 else (C[0] @ features)[None]
            v, w = np.empty((2, *scores.shape))
            weights = self.weights[block]
            for k, column in enumerate(live):
                advance(
                    scores[k], column.zeta[block], self.codes[block], column.problem.positive,
                    weights, old[k], new[k], relaxation, v[k], w[k], sums.figures[k],
                )  # fmt: skip
            pull(features, v, sums.v)
            pull(features, w, sums.w)

        def state():
            return PassSums(self.rows.shape[1], len(live))

        return merged(read(self.rows, state, use, PASS_BYTES, "ADMM step"))

    def _step_of(self, column):
        """The linear step for a column's features and beta; columns that have the same share it."""
        key = column.width, id(column.problem.mix), column.beta
        if key not in self._steps:
            in_use = {(other.width, id(other.problem.mix), other.beta) for other in self.columns}
            self._steps = {k: step for k, step in self._steps.items() if k in in_use}
            self._steps[key] = self._new_step(column)
        return self._steps[key]

    def _new_step(self, column):
        gram, alpha = self.gram[: column.width, : column.width], self.settings.alpha
        if self.certified:
            return LinearStep(
                gram, alpha=column.beta * hair(gram), beta=column.beta, ridge=self.ridge
            )
        if column.problem.mix is None:
            return LinearStep(gram, alpha=alpha, beta=column.beta)
        return MixedStep(gram, column.problem.mix, alpha=alpha, beta=column.beta)

    def _rebalance(self, live):
        """Bring gamma = M beta half way, in logarithms, to the ratio of the sizes of w and v."""
        for column in live:
            multipliers = column.figures[MULTIPLIERS] ** 0.5 * self.total
            scores = column.figures[SCORES] ** 0.5
            if multipliers > 0 and scores > 0:
                gamma = np.clip((column.gamma * multipliers / scores) ** 0.5, *GAMMA_RANGE)
                column.gamma, column.beta = float(gamma), float(gamma) / self.total
        self.rebalance_gap *= REBALANCE_GROWTH
        self.rebalance_at += int(self.rebalance_gap)

    # --------------------------------------------------------------------------- judgement
    def _judge(self, column, iteration):
        """Record the step, and decide whether the column has come to its end."""
        settings, sums = self.settings, column.figures
        change = column.change_u + column.beta * sums[CHANGE_V] + sums[CHANGE_W] / column.beta
        last = iteration == settings.max_iter
        if self.certified and iteration % STEPS_BETWEEN_CHECKS and not last:
            return
        residual, objective, lower = self.certify(column.c, column.pulled_w, column.figures)
        if self.certified:
            column.settled = objective - lower <= settings.tol * objective
        else:
            column.settled = bool(change < settings.tol)
        column.seconds = time.perf_counter() - self.began
        row = {
            "iteration": iteration,
            "objective": objective,
            "residual": residual,
            "change": float(change),
            "dual_objective": lower,
            "beta": column.beta,
            "seconds": column.seconds,
        }
        column.trace.append(row)
        if self.callback is not None:
            place = next(k for k, other in enumerate(self.columns) if other is column)
            self.callback({"problem": place, "coefficients": column.u.copy(), **row})

    # ----------------------------------------------------------------------------- results
    def results(self, keep_dual):
        return [self._result(column, keep_dual) for column in self.columns]

    def _result(self, column, keep_dual):
        last, message = column.trace[-1], ""
        if not (self.certified or column.settled):
            message = f"stopped as set, with |p - p_before|_H^2 = {last['change']:.2e}"
        return SolverResult(
            coefficients=column.u,
            intercept=0.0,
            objective=last["objective"],
            dual_objective=last["dual_objective"] if self.certified else None,
            kkt_residual=last["residual"],
            dual_variables=self._dual(column) if keep_dual else None,
            n_iter=last["iteration"],
            converged=column.settled,
            solver="hinge-admm",
            seconds=column.seconds,
            trace=tuple(column.trace),
            message=message,
        )

    def _dual(self, column):
        """a_i = -c_i y_i w_i, times C M where there is a C: 0 <= a_i <= c_i / M or C c_i."""
        v, w = np.empty((2, len(column.zeta)))
        positive = column.problem.positive
        begin(column.zeta, self.codes, positive, column.beta, column.gamma, v, w)
        y = np.where(self.codes == positive, 1.0, -1.0)
        scale = 1.0 if self.settings.C is None else self.settings.C * self.total
        return -scale * y * w * (self.weights if len(self.weights) else 1.0)
