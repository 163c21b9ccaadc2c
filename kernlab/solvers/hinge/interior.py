"""The minimiser of the hinge loss by an interior point method, over rows that are read in blocks.

The linear (with C: quadratic) programme in u and xi has multipliers a in [0, 1] and

    A^T (c y a) = u / C (0 without C),   xi - eta = 1 - y A u,   eta a = 0,   xi (1 - a) = 0.

Each of Mehrotra's steps takes the factor of a Gram matrix A^T (c theta) A + 1/C, in one pass, and
two passes of a product each. Where features nearly depend on each other, their Gram matrix no
longer shows all directions in which the loss may fall: combinations of them that are orthonormal on
these rows then take their place, also where the method stops early otherwise.
"""

import time
import warnings
from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np
import scipy.linalg as la
from sklearn.exceptions import ConvergenceWarning

from kernlab.parameters import positive
from kernlab.runtime import (
    cholesky_factor,
    eigenvalues,
    for_each_block,
    interruptible,
    levels_to_the_user,
    row_blocks,
    single_blas_thread,
)
from kernlab.solvers.hinge import passes
from kernlab.solvers.hinge.passes import (
    DUAL,
    MULTIPLIERS,
    TINY,
    Data,
    GramFactor,
    Measured,
    OutOfTimeError,
    Sums,
)
from kernlab.solvers.problems import (
    SolverResult,
    Trace,
    check_offered,
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
SHORT = (1e-12, 1e-9, 1e-6)  # times the longest
SHOWN = 1e-13  # times the largest: directions below are what rounding left of features
USUAL_STEPS, LONG = 25, 60.0  # of a search, and seconds of one that are told beforehand
EIGENVECTORS = 20  # n^3 operations, at the speed of a Gram matrix, to find them twice
POWERS = 20
OUT_OF_TIME = (
    "the time (max_seconds) is over after {:.0f} s and {} steps, and the best weights so far are "
    "handed back. Allow more, take fewer features (a lower degree, fewer centres), or stop early "
    "(to_optimum=False)"
)
CANNOT_HOLD = (
    "these features cannot hold the minimiser in double precision: its scores come out off by "
    "{:.1e} of their size. Take a basis that is better conditioned, or a lower degree"
)


@each_problem(lambda before, parameters: before)
@common_call(tol=1e-6, max_iter=300)
def solve_hinge_interior(
    F, y, *, given, C=None, loss="hinge", intercept="none", keep_dual=True, max_seconds=600.0
):
    """Minimise the mean hinge loss of y_i F_i u over u; with C, 1/2 |u|^2 + C sum_i c_i loss_i.

    Parameters
    ----------
    F, y, C, intercept, sample_weight, start, keep_dual, callback : as `solve_hinge_admm`.
    tol : of the duality gap relative to the objective; None for 1e-6.
    max_iter : Newton's steps at most; None for 300.
    max_seconds : after which a problem ends with the best weights so far, and a warning; None for
        no limit.
    random_state : not used; nothing is random.
    max_memory : for six numbers per row, one more to keep dual variables, and a few Gram matrices.

    Returns
    -------
    As of `solve_hinge_admm`. `dual_objective` is a lower bound on the objective; without C, on that
    of all functions whose root mean square on the rows is at most this solution's: what the dual
    variables sum to, less what they lack of their equation.
    """
    check_offered("hinge-interior", loss=(loss, ("hinge",)), intercept=(intercept, passes.OFFERED))
    tol, max_iter, callback = given.tol, given.max_iter, given.callback
    data = Data(F, given.sample_weight, intercept, C is not None)
    data.require_room(6 + bool(keep_dual), given.max_memory)
    if len(data.weights):  # weights next to zero would make products that are zero
        unit = data.weights.max()
        data.weights, data.total = data.weights / unit, data.total / unit
        C = None if C is None else C * unit
    start = passes.start_of(given.start, data, intercept)
    if max_seconds is not None:
        data.deadline = time.perf_counter() + positive(max_seconds, "max_seconds")
    search = _Search(data, passes.labels_of(y, data.m), C)
    with single_blas_thread() if data.n < passes.WIDE else nullcontext():
        result = _searched(search, tol, max_iter, start, keep_dual, callback)
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


def _searched(search, tol, max_iter, start, keep_dual, callback):
    """The result on the features as they are or, where these do not do, on orthonormal ones."""
    is_plain, dependent = search.C is None, False
    if is_plain and start is None:
        with suppress(OutOfTimeError):
            search.gram = search.timed_gram()
            dependent = nearly_dependent(search.gram)
    given = keep_dual, callback
    if dependent and search.has_time_for_another_basis():
        with suppress(OutOfTimeError):  # before the basis is there: then on the features as given
            return _on_orthonormal_features(search, None, tol, max_iter, *given)
    steps = min(max_iter, STEPS_AS_GIVEN) if is_plain else max_iter
    result = search.run(tol, steps, start, *given, is_certain=not dependent)
    left = max_iter - result.n_iter
    stuck = result.n_iter > 0 and not (result.converged or result.message)
    if is_plain and stuck and left > 0 and search.has_time_for_another_basis():
        with suppress(OutOfTimeError):
            return _on_orthonormal_features(search, result, tol, left, *given)
    return result


class _Search:
    """One problem under way: of each row its score z, its dual variable a in (0, 1), and its slacks
    xi, eta > 0."""

    def __init__(self, data, labels, C):
        self.data, self.labels, self.m, self.total = data, labels, data.m, data.total
        self.C, self.ridge, self.gram = C, 0.0 if C is None else 1.0 / C, None
        self.u = np.zeros(data.n)
        self.seconds_of_gram, self.has_told = 0.0, False

    def timed_gram(self):
        """The Gram matrix; where a step, which needs another one, takes long, that is told."""
        began = time.perf_counter()
        gram = self.data.gram()
        self.seconds_of_gram = max(self.seconds_of_gram, time.perf_counter() - began)
        self._tell(self.seconds_of_gram)
        return gram

    def _tell(self, seconds):
        if self.has_told or seconds * USUAL_STEPS < LONG:
            return
        self.has_told = True
        left = self.data.deadline - time.perf_counter()
        at_most = f", and ends after {left:.0f} s (max_seconds)" if np.isfinite(left) else ""
        warnings.warn(
            f"a step to the optimum takes about {seconds:.2g} s with {self.data.n:,} features of "
            f"{self.m:,} rows: the search may need {USUAL_STEPS * seconds:.0f} s{at_most}. Fewer "
            "features (a lower degree, fewer centres) or an early stop (to_optimum=False) are "
            "quicker.",
            UserWarning,
            stacklevel=levels_to_the_user(),
        )

    def has_time_for_another_basis(self):
        """Whether orthonormal features would be there before the time is over, by the seconds that
        a Gram matrix took."""
        of_gram = max(1.0, float(self.m) * self.data.n**2)
        work = EIGENVECTORS * float(self.data.n) ** 3 + 3.0 * of_gram
        seconds = self.seconds_of_gram * work / of_gram
        return time.perf_counter() + seconds < self.data.deadline

    def run(self, tol, max_iter, start, keep_dual, callback, is_certain=True):
        """Newton's steps until the gap is closed, until no step leads any further, or until the
        time is over. Not `is_certain`: what the Gram matrix says bounds nothing."""
        trace = Trace(callback)
        measured = self._begin(start)
        best, message, self.path, a = (measured, self.u), "", [], self.a
        try:
            for iteration in range(max_iter + 1):
                began = time.perf_counter()
                system = self._system()
                if iteration == 0:
                    if start is not None:
                        self.gram = self.timed_gram()
                    elif self.gram is None:  # all rows alike: what was weighted is that itself
                        self.gram = system.gram / self.first_theta
                    self.certify = passes.Certifier(self.gram, self.total)
                measured, products = self._measured(system)
                a = self.a.copy() if keep_dual else None  # the time may be over amid a step
                if not is_certain:
                    measured = replace(measured, dual=0.0, reach=0.0)
                objective, lower = measured.objective, measured.bound()
                trace.add(
                    iteration, objective, measured.residual, change=products, dual_objective=lower,
                    told={"problem": 0, "coefficients": self.u.copy()},
                )  # fmt: skip
                self.path.append((objective, self.u))
                done = objective - lower <= tol * objective
                if done or objective <= best[0].objective:
                    best = measured, self.u
                nothing = products < NOTHING_LEFT * objective
                if done or nothing or iteration == max_iter or not self._step(system):
                    break
                self._tell(time.perf_counter() - began)
        except OutOfTimeError:
            message = OUT_OF_TIME.format(
                time.perf_counter() - trace.began, max(0, len(trace.rows) - 1)
            )
        if not trace.rows:
            lower = {"change": np.inf, "dual_objective": 0.0}
            trace.rows.append({"iteration": 0, "objective": measured.objective, "residual": 1.0})
            trace.rows[0] |= lower | {"seconds": 0.0}
        (found, self.u), self.measured = best, measured
        u, lost, objective, size = self.u, 0.0, found.objective, found.size
        if self.data.mix is not None:
            u, lost, objective, size = self.best_own_weights(tol, self.path)
            trace.rows[-1] |= {"objective": objective}
        return SolverResult(
            coefficients=u,
            intercept=0.0,
            kkt_residual=measured.residual,
            dual_variables=self._dual(a) * measured.share if keep_dual else None,
            n_iter=trace.rows[-1]["iteration"],
            solver="hinge-interior",
            seconds=time.perf_counter() - trace.began,
            trace=tuple(trace.rows),
            **_judged(objective, measured.bound(size), lost, tol, message),
        )

    def _begin(self, start):
        """The numbers of all rows at the start, and how good that is."""
        self.z = np.zeros(self.m)
        if start is not None:
            self.u, self.z = start, self._scores(start)
        gap, c = 1.0 - self.labels * self.z, self._costs(slice(None))
        objective = float(np.sum(c * np.maximum(gap, 0.0))) / self.total
        if self.C is not None:
            objective = self.C * self.total * objective + 0.5 * float(self.u @ self.u)
        self.xi = np.maximum(gap, 0.0) + 5.0  # well inside, and equal for equal margins
        self.a, self.eta = np.full(self.m, 0.5), self.xi - gap
        self.first_theta = 1.0 / (self.xi[0] / (1.0 - self.a[0]) + self.eta[0] / self.a[0])
        self.first, self.dz = np.empty((2, self.m))
        size = float(np.sqrt(np.sum(c * self.z**2)))
        return Measured(objective, residual=1.0, dual=0.0, reach=0.0, size=size, share=0.0)

    def forget_rows(self):
        """Give back the memory of all that is held for each row; no step can be taken any more."""
        self.z = self.a = self.xi = self.eta = self.first = self.dz = None

    def _scores(self, u):
        """A u, in a pass of its own."""
        out = np.empty(self.m)

        def use(_, rows, block):
            out[rows] = u @ block

        self.data.read(lambda: Sums(0, 0, 0), use, passes.PASS_BYTES, "scores", limited=False)
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
    def _dual(self, a):
        scale = 1.0 / self.total if self.C is None else self.C
        return scale * a * self._costs(slice(None))

    def best_own_weights(self, tol, path):
        """`own_weights` of `u` or, where rounding spoils these, those of the lowest objective among
        other points of the path, whose scores are smaller; how far those of `u` are off."""
        best = first = self.own_weights(tol)
        for value, u in sorted(path, key=lambda point: point[0]):
            if first[1] <= tol or value >= best[2]:
                break
            self.u = u
            best = min(best, self.own_weights(tol), key=lambda found: found[2])
        return best[0], first[1], *best[2:]

    def own_weights(self, tol):
        """Weights of the problem's own features for `u`, how far their scores are off, relatively,
        and the objective and the size that they have on the rows.

        Near-dependent combinations need huge weights of both signs, which rounding does not
        forgive. Where scores are off by more than `tol`, smaller weights for nearly the same ones
        are tried too, and those of the lowest objective are taken; or none, if that is lower.
        """
        wanted, c, mix = self._scores(self.u), self._costs(slice(None)), self.data.mix
        best, longest = None, max(float(np.linalg.norm(wanted)), TINY)
        for u in [self.u] if mix is None else self._own_weights():
            scores = wanted if mix is None else self._scores(mix @ u)
            lost = float(np.linalg.norm(scores - wanted)) / longest
            lost_rows = c * np.maximum(0.0, 1.0 - self.labels * scores)
            objective = float(lost_rows.sum()) / self.total
            if best is None or objective < best[2]:
                best = u, lost, objective, float(np.sqrt(np.sum(c * scores**2)))
            if lost <= tol:
                break
        if best[2] > 1.0:  # worse than none at all
            return np.zeros_like(u), lost, 1.0, 0.0
        return best

    def _own_weights(self):
        """Weights for `u`: the exact ones, and those of the nearest scores without directions in
        which scores are short, and weights therefore long."""
        yield la.lstsq(self.data.mix, self.u, lapack_driver="gelsy")[0]
        values, vectors = eigenvalues(self.gram)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        for left, lengths, right in _without_short(interruptible(np.matmul, root, self.data.mix)):
            yield ((left.T @ (root @ self.u)) / lengths) @ right


def _judged(objective, lower, lost, tol, message):
    """What a result says of its figures, where scores are off by `lost`."""
    return {
        "objective": objective,
        "dual_objective": lower,
        "converged": bool(objective - lower <= tol * objective) and lost <= tol,
        "message": message or (CANNOT_HOLD.format(lost) if lost > tol else ""),
    }


# --------------------------------------------------------------------------- orthonormal features
def nearly_dependent(gram):
    """Whether features depend on each other so nearly that their Gram matrix cannot tell how."""
    length = np.sqrt(np.maximum(np.diag(gram), TINY))
    if not np.all(np.isfinite(gram)):
        return False  # for the search to refuse
    scaled = gram / np.outer(length, length)
    vector = np.ones(len(gram))
    for _ in range(POWERS):  # towards the direction of the largest eigenvalue
        vector = scaled @ (vector / np.linalg.norm(vector))
    floor = 10 * len(gram) * np.finfo(float).eps * float(np.linalg.norm(vector))
    scaled[np.diag_indices_from(scaled)] -= floor
    try:
        cholesky_factor(scaled.T, overwrite=True)
    except la.LinAlgError:
        return True
    return False


def orthonormal_mix(data, gram):
    """S with (A S)^T W A S = I for the features A of the data, whose Gram matrix is `gram`.

    One Gram matrix shows directions down to 1e-8 of the largest; a second one, of features that the
    first has evened out, shows those below. What rounding has swallowed is left out: S may have
    fewer columns than rows.
    """
    values, vectors = eigenvalues(gram)
    even = np.maximum(values, len(gram) * np.finfo(float).eps * values[-1])
    mix = vectors / np.sqrt(even)
    # A direction now is long unless it was too short to be seen among the others.
    values, vectors = eigenvalues(_combined(data, mix).gram())
    smallest = SHOWN**2 / (even[0] / even[-1]) * values[-1]
    seen = values > max(smallest, len(gram) * np.finfo(float).eps * values[-1])
    return interruptible(np.matmul, mix, vectors[:, seen] / np.sqrt(values[seen]))


def _without_short(matrix):
    """The singular directions and values of a matrix, without more and more of the shortest."""
    left, lengths, right = interruptible(np.linalg.svd, matrix, full_matrices=False)
    for share in SHORT:
        some = lengths > share * lengths[0]
        yield left[:, some], lengths[some], right[some]


def _combined(data, mix):
    """The same rows with features that are combinations of theirs."""
    made = Data(data.features.combined(mix), penalised=True)  # as they are, not parted again
    made.weights, made.total, made.deadline = data.weights, data.total, data.deadline
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
    search.data.deadline = np.inf
    search.u = mix @ after.coefficients
    path = [(value, mix @ u) for value, u in again.path]
    u, lost, objective, size = search.best_own_weights(tol, path)
    if search.data.mix is None and objective > after.objective * (1.0 + tol) + tol * tol:
        # Long weights of near-dependent features: of shorter ones, those of the lowest objective.
        inverse = interruptible(np.linalg.pinv, mix)
        for left, lengths, right in _without_short(inverse):
            search.u = right.T @ ((left.T @ after.coefficients) / lengths)
            shorter = search.own_weights(tol)
            if shorter[2] < objective:
                u, lost, objective, size = shorter
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
        **_judged(objective, again.measured.bound(size), lost, tol, after.message),
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
