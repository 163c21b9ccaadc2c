"""The minimiser of the hinge loss by an interior point method, over rows that are read in blocks.

    minimise over u   sum_i c_i max(0, 1 - y_i A_i u)   [+ 1/(2 C) |u|^2]

as the linear (with C: quadratic) programme in u and xi, with multipliers a in [0, 1] and

    A^T (c y a) = u / C (0 without C),   xi - eta = 1 - y A u,   eta a = 0,   xi (1 - a) = 0.

Newton's steps on these equations, with the products kept equal and falling (Mehrotra's predictor
and corrector), need the factor of A^T (c theta) A + 1/C for row weights theta: a Gram matrix in one
pass, and two passes of a product each. Some twenty such steps reach what first-order methods do not
where the minimiser separates most rows by far.
"""

import time

import numpy as np
import scipy.linalg as la

from kernlab.runtime import for_each_block, row_blocks
from kernlab.solvers.hinge.certificates import HingeCertifier, hair
from kernlab.solvers.hinge.interior_rows import PRODUCTS, begin, measure_step, move, predict, weigh
from kernlab.solvers.hinge.steps import DUAL, MULTIPLIERS, LinearStep
from kernlab.solvers.linear.streamed import (
    GRAM_BYTES,
    PASS_BYTES,
    SyrkSum,
    gram_matrix,
    gram_sum,
    read,
)
from kernlab.solvers.result import SolverResult

NEARLY_ALL = 0.99  # of the way to the nearest bound
LITTLE = 1e-3  # of the rounding of a Gram matrix: more would keep the dual from its equation
NOTHING_LEFT = 1e-12  # products this small, relative to the objective, are rounding
ROWS_PER_MOVE = 2**16
CANNOT_HOLD = (
    "these features cannot hold the minimiser in double precision: its scores come out off by "
    "{:.1e} of their size. Take a basis that is better conditioned, or a lower degree"
)


class _Total:
    """What a thread adds up in a pass over the features."""

    def __init__(self, width, n_vectors, n_sums, gram=None):
        self.vectors = np.zeros((n_vectors, width))
        self.sums = np.zeros(n_sums)
        self.longest = np.full(2, np.inf)
        self.gram = gram

    def pull(self, features, *values):
        for vector, value in zip(self.vectors, values, strict=True):
            vector += features @ value

    @staticmethod
    def of(parts):
        total, *others = parts
        for other in others:
            total.vectors += other.vectors
            total.sums += other.sums
            np.minimum(total.longest, other.longest, out=total.longest)
            if total.gram is not None:
                total.gram.merge(other.gram)
        return total


class InteriorCourse:
    """One problem on its way: the state of each row, and what the passes over them bring."""

    def __init__(self, rows, codes, problem, weights, C, gram):
        self.rows, self.codes, self.problem, self.weights = rows, codes, problem, weights
        self.m, n = rows.shape
        self.width = n if problem.width is None else problem.width
        self.total = float(weights.sum()) if len(weights) else float(self.m)
        self.C, self.ridge = C, 0.0 if C is None else 1.0 / C
        self.gram = None if gram is None else gram[: self.width, : self.width]
        self.u = np.zeros(self.width)
        self.began = time.perf_counter()

    # ---------------------------------------------------------------------------- course
    def run(self, tol, max_iter, start, keep_dual, callback):
        self._begin(start)
        trace, settled = [], False
        for iteration in range(max_iter + 1):
            system = self._weigh()
            if iteration == 0:
                if self.gram is None:  # all rows alike: what was weighted is the Gram matrix itself
                    self.gram = system.gram / self.first_theta
                ridge = self.ridge / self.total
                self.certify = HingeCertifier(self.gram, ridge, self.C, self.total)
            row = self._judge(system, iteration)
            trace.append(row)
            if callback is not None:
                callback({"problem": 0, "coefficients": self.u.copy(), **row})
            settled = bool(row["objective"] - row["dual_objective"] <= tol * row["objective"])
            done = settled or row["change"] < NOTHING_LEFT * row["objective"]
            if done or iteration == max_iter or not self._step(system):
                break
        return self._result(trace, settled, tol, keep_dual)

    def _begin(self, start):
        self.positive = self.problem.positive
        y = np.where(self.codes == self.positive, 1.0, -1.0)
        self.z = np.zeros(self.m)
        if start is not None:
            self.u = np.array(start, dtype=np.float64)
            if self.u.shape != (self.width,) or self.problem.mix is not None:
                raise ValueError(f"start must be {self.width} weights of stored features")
            self.score(self.u, self.z)
            if self.gram is None:
                weights = self.weights if len(self.weights) else None
                self.gram = gram_matrix(self.rows, weights)[: self.width, : self.width]
        self.a, self.xi, self.eta = begin(self.z, y)
        self.first_theta = 1.0 / (self.xi[0] / (1.0 - self.a[0]) + self.eta[0] / self.a[0])
        self.first, self.dz = np.empty((2, self.m))

    def _of(self, block):
        """The rows' codes, weights and states in a block, as the compiled functions take them."""
        return (
            self.codes[block], self.positive, self.weights[block], self.z[block], self.a[block],
            self.xi[block], self.eta[block],
        )  # fmt: skip

    def _state_of(self, block):
        codes, positive, _, *state = self._of(block)
        return codes, positive, *state

    def forget_rows(self):
        """Give back the memory of all that is held for each row; no step can be taken any more."""
        self.z = self.a = self.xi = self.eta = self.first = self.dz = None

    def score(self, u, out):
        """out = A u, in a pass of its own."""

        def use(_, block, features):
            out[block] = u @ features[: self.width]

        read(self.rows, lambda: None, use, PASS_BYTES, "scores")

    # ------------------------------------------------------------------- the linear system
    def _weigh(self):
        """Gram matrix and right-hand side of the first-order step, and how good the point is."""

        def state():
            whole = self.width == self.rows.shape[1]
            gram = gram_sum(self.rows) if whole else SyrkSum(self.width)
            return _Total(self.width, 2, PRODUCTS + 1, gram)

        def use(total, block, features):
            features = features[: self.width]
            theta, pull, right = np.empty((3, features.shape[1]))
            weigh(*self._of(block), theta, pull, right, total.sums)
            total.gram.add(features, theta)
            total.pull(features, pull, right)

        total = _Total.of(read(self.rows, state, use, GRAM_BYTES, "Gram matrix"))
        total.gram = total.gram.matrix()
        if not np.all(np.isfinite(total.gram)):
            raise ValueError(
                "the features hold values that are not finite, or are too large: scale the data, "
                "or take a lower degree"
            )
        return total

    def _step(self, system):
        """One step of Mehrotra's method; False where rounding is all that is left."""
        little = LITTLE * hair(system.gram)
        solve = LinearStep(system.gram, alpha=little, beta=1.0, ridge=self.ridge)
        zero = np.zeros(self.width)
        right = system.vectors.sum(axis=0) - self.ridge * self.u
        guess = self._predict(solve(zero, right)[0])
        lengths = self._lengths(guess.longest, 1.0)
        ahead = np.array([1.0, lengths[0], lengths[1], lengths[0] * lengths[1]])
        after = max(float(guess.sums @ ahead), 0.0) / guess.sums[0]
        centre = after**3 * guess.sums[0] / (2.0 * self.total)
        change = solve(zero, right + centre * guess.vectors[0] + guess.vectors[1])[0]
        if not np.all(np.isfinite(change)):
            return False
        lengths = self._lengths(self._measure(change, centre), NEARLY_ALL)
        if max(lengths) < 1e-8:
            return False
        for_each_block(
            lambda block: move(
                self.dz[block], self.first[block], centre, lengths, *self._state_of(block)
            ),
            row_blocks(self.m, ROWS_PER_MOVE),
        )
        self.u = self.u + lengths[0] * change
        return True

    def _predict(self, change):
        def use(total, block, features):
            features = features[: self.width]
            self.first[block] = change @ features
            centring, bending = np.empty((2, features.shape[1]))
            predict(
                self.first[block], *self._of(block), centring, bending, total.longest, total.sums
            )
            total.pull(features, centring, bending)

        parts = read(self.rows, lambda: _Total(self.width, 2, 4), use, PASS_BYTES, "predictor")
        return _Total.of(parts)

    def _measure(self, change, centre):
        def use(total, block, features):
            self.dz[block] = change @ features[: self.width]
            measure_step(
                self.dz[block], self.first[block], centre, *self._state_of(block), total.longest
            )

        parts = read(self.rows, lambda: _Total(self.width, 0, 0), use, PASS_BYTES, "corrector")
        return _Total.of(parts).longest

    def _lengths(self, longest, share):
        """Steps of u and of a: their own without C, one for both with it."""
        longest = longest if self.C is None else np.full(2, longest.min())
        return np.minimum(1.0, share * longest)

    # --------------------------------------------------------------------------- judgement
    def _judge(self, system, iteration):
        sums = system.sums.copy()
        sums[DUAL] /= self.total  # ADMM's w is -y a / M
        sums[MULTIPLIERS] /= self.total**2
        residual, objective, lower = self.certify(self.u, -system.vectors[0] / self.total, sums)
        return {
            "iteration": iteration,
            "objective": objective,
            "residual": residual,
            "change": float(sums[PRODUCTS]) / (2.0 * self.total),
            "dual_objective": lower,
            "seconds": time.perf_counter() - self.began,
        }

    def _result(self, trace, settled, tol, keep_dual):
        u, lost = self.mixed_weights()
        message = CANNOT_HOLD.format(lost) if lost > tol else ""
        dual = None
        if keep_dual:
            scale = 1.0 / self.total if self.C is None else self.C
            dual = scale * self.a * (self.weights if len(self.weights) else 1.0)
        return SolverResult(
            coefficients=u,
            intercept=0.0,
            objective=trace[-1]["objective"],
            dual_objective=trace[-1]["dual_objective"],
            kkt_residual=trace[-1]["residual"],
            dual_variables=dual,
            n_iter=trace[-1]["iteration"],
            converged=settled and not message,
            solver="hinge-admm",
            seconds=trace[-1]["seconds"],
            trace=tuple(trace),
            message=message,
        )

    def own_weights(self):
        """The weights of the problem's own features: those stored, or combinations of them."""
        if self.problem.mix is None:
            return self.u
        return la.lstsq(self.problem.mix, self.u, lapack_driver="gelsy")[0]

    def mixed_weights(self):
        """The same, and how far their scores are off, relatively.

        Near-dependent features need huge weights of both signs, which rounding does not forgive.
        """
        u = self.own_weights()
        if self.problem.mix is None:
            return u, 0.0
        error = self.problem.mix @ u - self.u
        size = max(float(self.u @ self.gram @ self.u), np.finfo(float).tiny)
        return u, float(np.sqrt(max(0.0, error @ self.gram @ error) / size))
