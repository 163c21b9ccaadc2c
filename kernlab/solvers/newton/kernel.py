"""Newton's method on a kernel matrix, all classes at once, with products of it alone.

u is a combination sum_i beta_i phi(x_i), so that s = K beta + b. At the optimum beta can be read
off the scores,

    beta_i = 2 C c_i times the way that s_i has to go to its interval                           (1)

and the generalised Hessian in coefficients is H = I + D K, D = diag(2 C c_i on active rows, else
0), self-adjoint in the inner product u . K v, in which conjugate gradients run: one product with K
a step. The intercept is eliminated from the model, which takes a weighted mean out of what D is
applied to. What conjugate gradients leave is r = (right-hand side of (1)) - beta, and K r is what
the scores will move by when beta is read off them: its largest entry is what the tolerance bounds.
"""

import time
from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import aslinearoperator

from kernlab.parameters import check_parameters
from kernlab.runtime import REORDERED_SUMS, njit
from kernlab.solvers.certificates import balanced, certify_dual
from kernlab.solvers.newton.core import Iteration, at_once, checked_start, together
from kernlab.solvers.problems import (
    Call,
    SolverResult,
    Trace,
    check_offered,
    common_call,
    intervals_for,
    row_costs,
    warn_unless_converged,
)

FORCING = 0.03  # the share of its violation that a Newton step may leave at the most
ROUNDING = 1e-10  # of a product's length, relative to the longest: it may look negative
WITHOUT_PROGRESS = 3  # steps in a row, after which there will be none
SUFFICIENT_DECREASE = 1e-4  # of what the slope promises, for the unit step to do
IMPRECISE = "No better solution is possible in this precision."
INDEFINITE = (
    "The operator has negative eigenvalues, so the problem is not convex: raise the shift on its "
    "diagonal, or take a positive definite kernel."
)


@common_call(tol=1e-5, max_iter=100)
def solve_newton_cg(
    operator, y, *, given, C, loss="squared_hinge", intercept="free", max_products=5000
):
    """Minimise 1/2 |u|^2 [+ 1/2 b^2] + sum_i C_i max(0, 1 - y_i s_i)^2 with products K v alone.

    Parameters
    ----------
    operator : K, positive semidefinite, as a LinearOperator or matrix.
    y, C, intercept, sample_weight, callback : see `kernlab.solvers.problems`; columns share every
        product.
    tol : bound on the KKT residual, in units of the margin, over all rows; None for 1e-5.
    max_iter, max_products : steps and products for one C; None for 100 steps.
    start : (beta, b), or a result.
    random_state, max_memory : taken as by all solvers, and not needed.

    Returns
    -------
    SolverResult, or lists of them. The coefficients are beta, the dual variables times the labels.
    """
    began = time.perf_counter()
    check_offered("newton-cg", loss=(loss, ("squared_hinge",)))
    operator, call = aslinearoperator(operator), Call(y, C, given.start)
    check_parameters({"max_products": max_products, "intercept": intercept})
    weights = row_costs(1.0, operator.shape[0], given.sample_weight)
    paths = []
    for number, (column, begin) in enumerate(zip(call.columns, call.starts, strict=True)):
        intervals = intervals_for(loss, column, weights)
        iteration = _KernelIteration(intervals, intercept, number, given.callback)
        paths.append(iteration.path(call.costs, begin, given.tol, given.max_iter, max_products))
    families = together(paths, lambda V: np.asarray(operator.matmat(V), dtype=np.float64))
    seconds = (time.perf_counter() - began) / (len(families) * len(call.costs))
    results = [replace(result, seconds=seconds) for family in families for result in family]
    worst = max(results, key=lambda result: (not result.converged, result.kkt_residual))
    advice = worst.message or "Raise max_iter or max_products, or lower C."
    warn_unless_converged(worst, "a KKT residual of", worst.kkt_residual, given.tol, advice)
    return call.arranged(results)


class Point:
    """Coefficients beta, K beta, the intercept b, and how far each score is from its interval."""

    def __init__(self, iteration, beta, images, b):
        self.iteration, self.beta, self.images, self.b = iteration, beta, images, b
        self.scores = images + b
        self.residuals = iteration.intervals.residuals(self.scores)

    @property
    def active(self):
        return (self.residuals != 0.0) & (self.iteration.intervals.costs > 0.0)

    def objective(self, C):
        losses = inner(self.iteration.intervals.costs * self.residuals, self.residuals)
        penalty = self.iteration.ridge * self.b**2 if self.b else 0.0
        return 0.5 * inner(self.beta, self.images) + 0.5 * penalty + C * losses

    def from_scores(self, C):
        """The coefficients that belong to the scores, by (1)."""
        return -2.0 * C * self.iteration.intervals.costs * self.residuals

    def slope_along(self, direction, C):
        """The derivative of the objective along a direction."""
        _, d_images, db = direction
        pulls = self.from_scores(C)
        slope = inner(self.beta - pulls, d_images) - db * float(pulls.sum())
        return slope + self.iteration.ridge * self.b * db if db else slope


class Model:
    """The quadratic model at a point: the loss of its active rows, whatever becomes of the rest."""

    def __init__(self, point, C):
        self.point = point
        self.scale = np.where(point.active, 2.0 * C * point.iteration.intervals.costs, 0.0)
        self._total = float(self.scale.sum()) + point.iteration.ridge
        wanted = point.b - point.residuals  # of the scores without intercept, on active rows
        mean = self.mean(wanted)
        self.b = mean if self._total > 0.0 else point.b
        self.residual = self.scale * (wanted - mean) - point.beta

    def mean(self, v):
        """What an intercept takes out of v: its weighted mean, shrunk where b is penalised."""
        return inner(self.scale, v) / self._total if self._total > 0.0 else 0.0

    def curvature(self, v, image):
        """v . K H v for an image K v, and the mean of the image."""
        by_itself, sums, squares = _curvature(v, image, self.scale)
        mean = sums / self._total if self._total > 0.0 else 0.0
        return by_itself + squares - sums * mean, mean


class _KernelIteration(Iteration):
    """Newton's iteration over beta, in the inner product of the kernel."""

    rounding = 1e-11

    def __init__(self, intervals, intercept, number, callback):
        super().__init__(intervals, number, callback)
        self.intercept = intercept
        # What stands before 1/2 b^2: without an intercept that is as if nothing but 0 were allowed.
        self.ridge = {"free": 0.0, "penalised": 1.0, "none": np.inf}[intercept]
        self._longest_stretch = 0.0  # of a vector by K, squared

    def path(self, costs, start, tol, max_iter, max_products):
        """The results along C (a generator, as all that multiplies)."""
        zeros = np.zeros(len(self.intervals.costs))
        self.point, self.tol, results = Point(self, zeros, zeros.copy(), 0.0), tol, []
        self.products_left = max_products
        if start is not None:
            beta, b = checked_start(start, len(zeros), "(beta, b)", "numbers")
            images = yield from self.multiply(beta)
            self.point = Point(self, beta, images, 0.0 if self.intercept == "none" else b)
        for C in costs:
            self.trace = Trace(self.callback, self.trace.began)
            self.steps_left, self.products_left = max_iter, max_products
            self._counted = max_products
            self.message, self._is_last = "", False
            self._least, self._nearest, self._without_progress = np.inf, np.inf, 0
            converged = yield from self.iterate(C, tol, tol)
            if not converged:
                self.point = yield from self._feasible(C)
            results.append((yield from self._result(C)))
        return results

    def multiply(self, v):
        """K v"""
        self.products_left -= 1
        image = yield v
        length = inner(v, v)
        if length > 0.0:
            self._longest_stretch = max(self._longest_stretch, inner(image, image) / length)
        return image

    def read_off(self, C):
        """The point whose coefficients belong to the scores of this one, by (1)."""
        beta = self.point.from_scores(C)
        return Point(self, beta, (yield from self.multiply(beta)), self.point.b)

    # ------------------------------------------------------------------------------ the steps
    def violation(self, C):
        self.model = Model(self.point, C)
        self._image = yield from self.multiply(self.model.residual)
        return largest(self._image) + abs(self.model.b - self.point.b)

    def is_proven(self, C, tol):
        """Images were carried along; those of the coefficients read off them are multiplied."""
        self.point = Point(self, self.point.beta, self.point.images, self.model.b)
        self.point = yield from self.read_off(C)
        return self._certificate(self.point, C).kkt_residual <= tol

    def direction(self, C, violation):
        """Conjugate gradients in the kernel's inner product, for changes of beta and of K beta."""
        if self._has_stalled(violation) or violation <= self.tol:
            return None, self.no_cost
        goal = max(FORCING * min(1.0, violation) * violation, 0.3 * self.tol)
        model, residual, image = self.model, self.model.residual.copy(), self._image
        d_beta, d_images = np.zeros_like(residual), np.zeros_like(residual)
        towards, its_image = residual.copy(), image.copy()
        squared = inner(residual, image)
        while self.products_left > 0:
            explained = ROUNDING * np.sqrt(self._longest_stretch) * inner(residual, residual)
            if squared < -explained:  # below zero by more than the rounding of products
                self.message = INDEFINITE
                return None, self.no_cost
            curvature, mean = model.curvature(towards, its_image)
            if squared <= 0.0 or curvature <= 0.0:
                break
            length = squared / curvature
            _advance(length, towards, its_image, model.scale, mean, d_beta, d_images, residual)
            image = yield from self.multiply(residual)
            if largest(image) <= goal:
                break
            squared, last = inner(residual, image), squared
            _turn(squared / last, residual, image, towards, its_image)
        done, self._counted = self._counted - self.products_left, self.products_left
        # The best intercept for images changed so, less the point's.
        db = model.b - model.mean(d_images) - model.point.b
        return (d_beta, d_images, db), {"products": done}

    @at_once
    def moved(self, direction, step, unit=None):
        beta, images, b = direction
        point = self.point
        return Point(
            self, point.beta + step * beta, point.images + step * images, point.b + step * b
        )

    def suffices(self, unit, direction, descent, C):
        before = self.point.objective(C)
        return unit.objective(C) <= before * (1.0 + self.rounding) + SUFFICIENT_DECREASE * descent

    def along(self, direction, unit):
        d_beta, d_images, db = direction
        penalty = self.ridge * db if db else 0.0
        linear = inner(self.point.beta, d_images) + penalty * self.point.b
        return d_images + db, linear, inner(d_beta, d_images) + penalty * db

    def stuck(self, C, tol):
        """What K does not see of the coefficients is only rounding in its inner product, and may
        hide the rest: coefficients that are read off the scores have none of it."""
        if self.products_left <= 0 or self.message:
            return False
        if self._is_last:
            self.message = IMPRECISE
            return False
        self._is_last, self._without_progress = True, 0
        self._least = self._nearest = np.inf
        return (yield from self.read_off(C))

    def _has_stalled(self, violation):
        """Whether steps neither decrease the objective nor come nearer to its conditions."""
        objective = self.trace.rows[-1]["objective"]
        better = objective < self._least * (1.0 - 1e-13)
        nearer = violation < 0.5 * self._nearest
        self._without_progress = 0 if better or nearer else self._without_progress + 1
        self._least, self._nearest = min(self._least, objective), min(self._nearest, violation)
        return self._without_progress >= WITHOUT_PROGRESS

    # ------------------------------------------------------------------------------ the end
    def _feasible(self, C):
        """The better of two feasible points near one where the iteration had to end."""
        point, labels = self.point, np.where(self.intervals.low > 0.0, 1.0, -1.0)
        kept = np.where((point.beta * labels > 0.0) & (self.intervals.costs > 0.0), point.beta, 0.0)
        clipped = Point(self, kept, (yield from self.multiply(kept)), point.b)
        read = yield from self.read_off(C)
        return read if read.objective(C) <= clipped.objective(C) * (1.0 + 1e-9) else clipped

    def _certificate(self, point, C, images=None):
        """What the dual variables are worth, balanced where the intercept is free, if `images` are
        theirs. With the point's own the KKT residual is that of the point."""
        labels = np.where(self.intervals.low > 0.0, 1.0, -1.0)
        return certify_dual(
            lambda feasible: point.images if images is None else images,
            labels,
            point.beta * labels,
            C=C,
            loss="squared_hinge",
            intercept=self.intercept,
            b=None if self.intercept == "penalised" else point.b,
            sample_weight=self.intervals.costs,
        )

    def _result(self, C):
        point, certificate = self.point, self._certificate(self.point, C)
        primal, bound = certificate.primal, certificate.dual
        if not np.isfinite(primal):
            raise ValueError(
                "the kernel matrix holds values that are too large for double precision: scale the "
                "features"
            )
        if self.message == INDEFINITE:
            bound = None
        elif self.intercept == "free":
            # Only balanced dual variables bound the optimum, and K times these is not the images.
            images = yield from self.multiply(balanced(point.beta))
            primal, bound = point.objective(C), self._certificate(point, C, images).dual
        return SolverResult.proven(
            point.beta,
            certificate,
            self.trace,
            objective=primal,
            dual_objective=bound,
            dual_variables=np.abs(point.beta),
            n_iter=self.trace.rows[-1]["iteration"],
            converged=certificate.kkt_residual <= self.tol,
            solver="newton-cg",
            message=self.message,
        )


# --------------------------------------------------- passes over vectors, each one pass only
# Products of two vectors as BLAS does them wait for threads longer than they compute.
@njit(fastmath=REORDERED_SUMS)
def inner(u, v):
    """u . v"""
    total = 0.0
    for i in range(len(u)):
        total += u[i] * v[i]
    return total


@njit(fastmath=REORDERED_SUMS)
def largest(v):
    """The largest absolute value in v."""
    most = 0.0
    for i in range(len(v)):
        most = max(most, abs(v[i]))
    return most


@njit(fastmath=REORDERED_SUMS)
def _curvature(v, image, scale):
    by_itself, sums, squares = 0.0, 0.0, 0.0
    for i in range(len(v)):
        by_itself += v[i] * image[i]
        sums += scale[i] * image[i]
        squares += scale[i] * image[i] * image[i]
    return by_itself, sums, squares


@njit(fastmath=REORDERED_SUMS)
def _advance(length, towards, image, scale, mean, d_beta, d_scores, residual):
    """A step along a direction; the residual loses `length` times H applied to it."""
    for i in range(len(towards)):
        d_beta[i] += length * towards[i]
        d_scores[i] += length * image[i]
        residual[i] -= length * (towards[i] + scale[i] * (image[i] - mean))


@njit(fastmath=REORDERED_SUMS)
def _turn(share, residual, image, towards, its_image):
    """The next direction: the residual and a share of the direction before; its image likewise."""
    for i in range(len(residual)):
        towards[i] = residual[i] + share * towards[i]
        its_image[i] = image[i] + share * its_image[i]
