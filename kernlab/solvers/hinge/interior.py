"""The minimiser of the hinge loss by an interior point method, over rows that are read in blocks.

The linear (with C: quadratic) programme in u and xi has multipliers a in [0, 1] and

    A^T (c y a) = u / C (0 without C),   xi - eta = 1 - y A u,   eta a = 0,   xi (1 - a) = 0.

Each of Mehrotra's steps takes the factor of a Gram matrix A^T (c theta) A + 1/C, in one pass, and
two passes of a product each. Where features nearly depend on each other, their Gram matrix no
longer shows all directions in which the loss may fall: combinations of them that are orthonormal on
these rows then take their place, also where the method stops early otherwise.
"""

import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import scipy.linalg as la
from sklearn.exceptions import ConvergenceWarning

from kernlab.runtime import (
    for_each_block,
    interruptible,
    levels_to_the_user,
    row_blocks,
    single_blas_thread,
)
from kernlab.solvers.hinge import passes
from kernlab.solvers.hinge.passes import DUAL, MULTIPLIERS, TINY, Data, GramFactor, Sums
from kernlab.solvers.problems import (
    SolverResult,
    Trace,
    common_call,
    each_problem,
    warn_unless_converged,
)

PRODUCTS = passes.N_SHARED  # behind the sums that ADMM takes: sum of c (eta a + xi (1 - a))
EDGE = 1e-13  # how near a may come to 0 and 1 before 1 - a is all rounding
NEARLY_ALL = 0.99  # of the way to the nearest bound
LITTLE = 1e-3  # of the rounding of a Gram matrix: more would keep the dual from its equation
NOTHING_LEFT = 1e-12  # products this small, relative to the objective, are rounding
SHORTEST = 1e-8  # a step that leads nowhere
ROWS_PER_MOVE = 2**12
STEPS_AS_GIVEN = 100  # four times what well-conditioned features need
SHOWN = 1e-13  # times the largest: directions below are what rounding left of features
CANNOT_HOLD = (
    "these features cannot hold the minimiser in double precision: its scores come out off by "
    "{:.1e} of their size. Take a basis that is better conditioned, or a lower degree"
)


@each_problem(lambda before, parameters: before)
@common_call(tol=1e-6, max_iter=300)
def solve_hinge_interior(F, y, *, given, C=None, loss="hinge", intercept="none", keep_dual=True):
    """Minimise the mean hinge loss of y_i F_i u over u; with C, 1/2 |u|^2 + C sum_i c_i loss_i.

    Parameters
    ----------
    F, y, C, intercept, sample_weight, start, keep_dual, callback : as `solve_hinge_admm`.
    tol : of the duality gap relative to the objective; None for 1e-6.
    max_iter : Newton's steps at most; None for 300.
    random_state : not used; nothing is random.
    max_memory : for six numbers per row, and a few Gram matrices.

    Returns
    -------
    As of `solve_hinge_admm`. `dual_objective` is a lower bound on the objective: without C, on that
    of all functions whose root mean square on the rows is at most this solution's.
    """
    passes.check_problem("hinge-interior", loss, intercept)
    tol, max_iter, callback = given.tol, given.max_iter, given.callback
    data = Data(F, given.sample_weight, intercept, C is not None)
    data.require_room(6, given.max_memory)
    start = passes.start_of(given.start, data, intercept)
    search = _Search(data, passes.labels_of(y, data.m), C)
    with single_blas_thread() if data.n < passes.WIDE else nullcontext():
        if start is None and C is None:
            search.gram = data.gram()
        if C is None and start is None and nearly_dependent(search.gram):
            result = _on_orthonormal_features(search, None, tol, max_iter, keep_dual, callback)
        else:
            steps = max_iter if C is not None else min(max_iter, STEPS_AS_GIVEN)
            result = search.run(tol, steps, start, keep_dual, callback)
            left = max_iter - result.n_iter
            stuck = result.n_iter > 0 and not (result.converged or result.message)
            if C is None and stuck and left > 0:
                result = _on_orthonormal_features(search, result, tol, left, keep_dual, callback)
    if result.message:
        said = f"hinge-interior: {result.message}."
        warnings.warn(said, ConvergenceWarning, stacklevel=levels_to_the_user())
    else:
        advice = "Raise max_iter, loosen tol, or take a basis that is better conditioned."
        reached = max(result.relative_gap, 0.0)
        warn_unless_converged(result, "a relative duality gap of", reached, tol, advice)
    if intercept == "penalised":
        u = result.coefficients
        result = replace(result, coefficients=u[:-1], intercept=float(u[-1]))
    return result


class _Search:
    """One problem under way: of each row its score z, its dual variable a in (0, 1), and its slacks
    xi, eta > 0."""

    def __init__(self, data, labels, C):
        self.data, self.labels, self.m, self.total = data, labels, data.m, data.total
        self.C, self.ridge, self.gram = C, 0.0 if C is None else 1.0 / C, None
        self.u = np.zeros(data.n)

    def run(self, tol, max_iter, start, keep_dual, callback):
        """Newton's steps until the gap is closed, or until no step leads any further."""
        trace, best = Trace(callback), None
        self._begin(start)
        for iteration in range(max_iter + 1):
            system = self._system()
            if iteration == 0:
                if self.gram is None:  # all rows alike: what was weighted is the Gram matrix itself
                    self.gram = system.gram / self.first_theta
                self.certify = passes.Certifier(self.gram, self.total)
            measured, products = self._measured(system)
            objective, lower = measured.objective, measured.bound()
            trace.add(
                iteration, objective, measured.residual, change=products, dual_objective=lower,
                told={"problem": 0, "coefficients": self.u.copy()},
            )  # fmt: skip
            done = objective - lower <= tol * objective
            if done or best is None or objective <= best[0].objective:
                best = measured, self.u
            nothing = products < NOTHING_LEFT * objective
            if done or nothing or iteration == max_iter or not self._step(system):
                break
        (found, self.u), self.measured = best, measured
        u, lost, objective, size = self.u, 0.0, found.objective, found.size
        if self.data.mix is not None:
            u, lost, objective, size = self.own_weights()
            trace.rows[-1] |= {"objective": objective}
        return SolverResult(
            coefficients=u,
            intercept=0.0,
            kkt_residual=measured.residual,
            dual_variables=self._dual() if keep_dual else None,
            n_iter=iteration,
            solver="hinge-interior",
            seconds=trace.rows[-1]["seconds"],
            trace=tuple(trace.rows),
            **_judged(objective, measured.bound(size), lost, tol),
        )

    def _begin(self, start):
        self.z = np.zeros(self.m)
        if start is not None:
            self.u, self.z = start, self._scores(start)
            self.gram = self.data.gram()
        gap = 1.0 - self.labels * self.z
        self.xi = np.maximum(gap, 0.0) + 5.0  # well inside, and equal for equal margins
        self.a, self.eta = np.full(self.m, 0.5), self.xi - gap
        self.first_theta = 1.0 / (self.xi[0] / (1.0 - self.a[0]) + self.eta[0] / self.a[0])
        self.first, self.dz = np.empty((2, self.m))

    def forget_rows(self):
        """Give back the memory of all that is held for each row; no step can be taken any more."""
        self.z = self.a = self.xi = self.eta = self.first = self.dz = None

    def _scores(self, u):
        """A u, in a pass of its own."""
        out = np.empty(self.m)

        def use(_, rows, block):
            out[rows] = u @ block

        self.data.read(lambda: Sums(0, 0, 0), use, passes.PASS_BYTES, "scores")
        return out

    # ------------------------------------------------------------------- the linear system
    def _of(self, rows):
        """Labels, z, a, xi and eta of the rows in a block."""
        return self.labels[rows], self.z[rows], self.a[rows], self.xi[rows], self.eta[rows]

    def _costs(self, rows):
        weights = self.data.weights_of(rows)
        return 1.0 if weights is None else weights

    def _system(self):
        """Gram matrix and right-hand side of the first-order step, and how good the point is."""

        def state():
            return Sums(self.data.n, 2, PRODUCTS + 1, self.data.gram_sum())

        def use(total, rows, block):
            c, (y, z, a, xi, eta) = self._costs(rows), self._of(rows)
            gap, theta = 1.0 - y * z, c / (xi / (1.0 - a) + eta / a)
            total.gram.add(block, theta)
            # To first order without centring, rho = gap - eta + xi, which is 1 - y z.
            total.pull(block, (c * y * a, theta * y * gap))
            products = eta * a + xi * (1.0 - a)
            of_rows = np.maximum(gap, 0.0), a, z * z, a * a, products
            total.rows += [np.sum(c * values) for values in of_rows]

        total = self.data.read(state, use, passes.GRAM_BYTES, "Gram matrix")
        total.gram = total.gram.matrix()
        passes.require_finite(total.gram)
        return total

    def _measured(self, system):
        sums = system.rows.copy()
        sums[DUAL] /= self.total  # a of the programme is a / M, and ADMM's w is -y a / M
        sums[MULTIPLIERS] /= self.total**2
        pulled = -system.vectors[:, 0] / self.total
        return self.certify(self.u, pulled, sums, self.C), float(sums[PRODUCTS]) / (2 * self.total)

    def _step(self, system):
        """One step of Mehrotra's method; False where rounding is all that is left."""
        little = LITTLE * passes.rounding(system.gram)
        solve, zero = GramFactor(system.gram, alpha=little, ridge=self.ridge), np.zeros(self.data.n)
        right = system.vectors.sum(axis=1) - self.ridge * self.u
        guess = self._predict(solve(zero, right)[0])
        lengths = self._lengths(guess.longest, 1.0)
        ahead = np.array([1.0, lengths[0], lengths[1], lengths[0] * lengths[1]])
        after = max(float(guess.rows @ ahead), 0.0) / guess.rows[0]
        centre = after**3 * guess.rows[0] / (2.0 * self.total)
        change = solve(zero, right + centre * guess.vectors[:, 0] + guess.vectors[:, 1])[0]
        if not np.all(np.isfinite(change)):
            return False
        lengths = self._lengths(self._correct(change, centre), NEARLY_ALL)
        if max(lengths) < SHORTEST:
            return False

        def move(rows):
            """Along the corrected direction: scores and slacks by one length, a by the other."""
            da, dxi, deta = self._corrected(rows, centre)
            self.z[rows] += lengths[0] * self.dz[rows]
            self.xi[rows] += lengths[0] * dxi
            self.eta[rows] += lengths[0] * deta
            self.a[rows] = np.clip(self.a[rows] + lengths[1] * da, EDGE, 1.0 - EDGE)

        for_each_block(move, row_blocks(self.m, ROWS_PER_MOVE))
        self.u = self.u + lengths[0] * change
        return True

    def _predict(self, change):
        """The first-order direction: how far it may go; the products after steps p of the slacks
        and d of a, rows . (1, p, d, p d); and corrections to the next right-hand side."""

        def use(total, rows, block):
            self.first[rows] = change @ block
            c, (y, z, a, xi, eta) = self._costs(rows), self._of(rows)
            da, dxi, deta = direction(self.first[rows], y, z, a, xi, eta)
            shorten(total.longest, a, da, xi, dxi, eta, deta)
            scale = c * y / (xi / (1.0 - a) + eta / a)
            centring = scale * (1.0 / a - 1.0 / (1.0 - a))
            bending = -scale * da * (deta / a + dxi / (1.0 - a))
            total.pull(block, (centring, bending))
            products = eta * a + xi * (1.0 - a), deta * a + dxi * (1.0 - a)
            products += da * (eta - xi), da * (deta - dxi)
            total.rows += [np.sum(c * values) for values in products]

        return self.data.read(lambda: Sums(self.data.n, 2, 4), use, passes.PASS_BYTES, "predictor")

    def _correct(self, change, centre):
        """How far the corrected direction may go."""

        def use(total, rows, block):
            self.dz[rows] = change @ block
            da, dxi, deta = self._corrected(rows, centre)
            shorten(total.longest, self.a[rows], da, self.xi[rows], dxi, self.eta[rows], deta)

        read = self.data.read(lambda: Sums(0, 0, 0), use, passes.PASS_BYTES, "corrector")
        return read.longest

    def _corrected(self, rows, centre):
        """Changes along the corrected direction of the rows in a block."""
        da, dxi, deta = direction(self.first[rows], *self._of(rows))
        return direction(self.dz[rows], *self._of(rows), centre, da * deta, da * dxi)

    def _lengths(self, longest, share):
        """Steps of u and of a: their own without C, one for both with it."""
        longest = longest if self.C is None else np.full(2, longest.min())
        return np.minimum(1.0, share * longest)

    # ----------------------------------------------------------------------------- results
    def _dual(self):
        scale = 1.0 / self.total if self.C is None else self.C
        return scale * self.a * self._costs(slice(None))

    def own_weights(self):
        """Weights of the problem's own features for `u`, how far their scores are off, relatively
        (rounding does not forgive huge weights of both signs), their objective and size."""
        u, wanted = self.u, self._scores(self.u)
        scores = wanted
        if self.data.mix is not None:
            u = la.lstsq(self.data.mix, self.u, lapack_driver="gelsy")[0]
            scores = self._scores(self.data.mix @ u)
        lost = float(np.linalg.norm(scores - wanted)) / max(float(np.linalg.norm(wanted)), TINY)
        c = self._costs(slice(None))
        lost_rows = c * np.maximum(0.0, 1.0 - self.labels * scores)
        objective = float(lost_rows.sum()) / self.total
        if objective > 1.0:  # worse than none at all
            return np.zeros_like(u), lost, 1.0, 0.0
        return u, lost, objective, float(np.sqrt(np.sum(c * scores**2)))


def _judged(objective, lower, lost, tol):
    """What a result says of its figures, where scores are off by `lost`."""
    return {
        "objective": objective,
        "dual_objective": lower,
        "converged": bool(objective - lower <= tol * objective) and lost <= tol,
        "message": CANNOT_HOLD.format(lost) if lost > tol else "",
    }


# --------------------------------------------------------------------------- orthonormal features
def nearly_dependent(gram):
    """Whether features depend on each other so nearly that their Gram matrix cannot tell how."""
    length = np.sqrt(np.maximum(np.diag(gram), TINY))
    if not np.all(np.isfinite(gram)):
        return False  # for the search to refuse
    values = la.eigvalsh(gram / np.outer(length, length))
    return bool(values[0] < 10 * len(gram) * np.finfo(float).eps * values[-1])


def orthonormal_mix(data, gram):
    """S with (A S)^T W A S = I for the features A of the data, whose Gram matrix is `gram`.

    One Gram matrix shows directions down to 1e-8 of the largest; a second one, of features that the
    first has evened out, shows those below. What rounding has swallowed is left out: S may have
    fewer columns than rows.
    """
    values, vectors = interruptible(la.eigh, gram)
    even = np.maximum(values, len(gram) * np.finfo(float).eps * values[-1])
    mix = vectors / np.sqrt(even)
    # A direction now is long unless it was too short to be seen among the others.
    values, vectors = interruptible(la.eigh, _combined(data, mix).gram())
    smallest = SHOWN**2 / (even[0] / even[-1]) * values[-1]
    seen = values > max(smallest, len(gram) * np.finfo(float).eps * values[-1])
    return mix @ (vectors[:, seen] / np.sqrt(values[seen]))


def _combined(data, mix):
    """The same rows with features that are combinations of theirs."""
    made = Data(data.features.combined(mix), penalised=True)  # as they are, not parted again
    made.weights, made.total = data.weights, data.total
    return made


def _on_orthonormal_features(search, before, tol, max_iter, keep_dual, callback):
    """What orthonormal combinations of the features lead to, if it is better than `before`."""
    search.forget_rows()
    mix = orthonormal_mix(search.data, search.gram / search.total)

    def told(row):
        callback({**row, "coefficients": mix @ row["coefficients"]})

    again = _Search(_combined(search.data, mix), search.labels, None)
    after = again.run(tol, max_iter, None, keep_dual, None if callback is None else told)
    again.forget_rows()
    search.u = mix @ after.coefficients
    u, lost, objective, size = search.own_weights()
    if before is not None and objective >= before.objective:
        return before
    earlier, steps, seconds = (), 0, 0.0
    if before is not None:
        earlier, steps, seconds = before.trace, before.n_iter, before.seconds
    trace = [row | {"iteration": steps + row["iteration"]} for row in after.trace]
    trace[-1]["objective"] = objective
    return replace(
        after,
        coefficients=u,
        n_iter=steps + after.n_iter,
        seconds=seconds + after.seconds,
        trace=earlier + tuple(trace),
        **_judged(objective, again.measured.bound(size), lost, tol),
    )


# ----------------------------------------------------------------------------------- row by row
def direction(dz, y, z, a, xi, eta, centre=0.0, bend_a=0.0, bend_xi=0.0):
    """Changes of a, xi and eta for a change of the score: `centre` is what the products eta a and
    xi (1 - a) should become; `bend_a` and `bend_xi` are products that a first-order step leaves."""
    left, right = centre - eta * a - bend_a, centre - xi * (1.0 - a) + bend_xi
    theta = 1.0 / (xi / (1.0 - a) + eta / a)
    gap = 1.0 - y * z - xi + eta
    da = theta * (gap - y * dz + left / a - right / (1.0 - a))
    return da, (right + xi * da) / (1.0 - a), (left - eta * da) / a


def shorten(longest, a, da, xi, dxi, eta, deta):
    """Shorten the longest steps (of the slacks, of a) so that all rows stay inside."""

    def room(values, changes):
        falling = changes < 0.0
        return (values[falling] / -changes[falling]).min(initial=np.inf)

    longest[0] = min(longest[0], room(xi, dxi), room(eta, deta))
    longest[1] = min(longest[1], room(a, da), room(1.0 - a, -da))
