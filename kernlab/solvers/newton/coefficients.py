"""The parts of Newton's method on a kernel matrix: point, model, conjugate gradients, step.

What they compute and why is said in `newton_cg`. Functions that need products with the kernel
matrix are generators: they yield v and are sent K v, so that several problems can share a product.
"""

import numpy as np

from kernlab.runtime import REORDERED_SUMS, njit
from kernlab.solvers.losses import SQUARED_HINGE

SUFFICIENT_DECREASE = 1e-4
ROUNDING = 1e-10


class Problem:
    """One column of labels, what each row counts, and the products that were asked for."""

    def __init__(self, number, labels, weights, intercept):
        self.number, self.labels, self.weights = number, labels, weights
        self.intercept, self.products = intercept, 0
        # What stands before 1/2 b^2: without an intercept that is as if nothing but 0 were allowed.
        self.ridge = {"free": 0.0, "penalised": 1.0, "none": np.inf}[intercept]
        self._largest_stretch = 0.0  # of a vector by K, squared

    def multiply(self, v):
        """K v (a generator)."""
        self.products += 1
        image = yield v
        length = inner(v, v)
        if length > 0.0:
            self._largest_stretch = max(self._largest_stretch, inner(image, image) / length)
        return image

    def is_negative(self, product, v):
        """Whether v . K v = `product` is below zero by more than the rounding of K v explains."""
        return product < -ROUNDING * np.sqrt(self._largest_stretch) * inner(v, v)


class Point:
    """Coefficients beta, their scores K beta, and the intercept b."""

    def __init__(self, problem, beta, scores, b):
        self.problem, self.beta, self.scores, self.b = problem, beta, scores, b
        self.slack = SQUARED_HINGE.slope(problem.labels * (scores + b)) / 2.0

    def objective(self, C):
        losses = inner(self.problem.weights * self.slack, self.slack)
        penalty = self.problem.ridge * self.b**2 if self.b else 0.0
        return 0.5 * inner(self.beta, self.scores) + 0.5 * penalty + C * losses

    def settled(self, C):
        """The coefficients that belong to the scores, by (1)."""
        return 2.0 * C * self.problem.weights * self.problem.labels * self.slack

    def moved(self, direction, step):
        beta, scores, b = direction
        return Point(
            self.problem,
            self.beta + step * beta,
            self.scores + step * scores,
            self.b + step * b,
        )


class Model:
    """The quadratic model at a point: the loss of its active rows, whatever becomes of the rest."""

    def __init__(self, point, C):
        problem = point.problem
        self.labels = problem.labels
        self.scale = np.where(point.slack > 0.0, 2.0 * C * problem.weights, 0.0)
        self._total = float(self.scale.sum()) + problem.ridge

    def _mean(self, v):
        """What an intercept takes out of v: its weighted mean, shrunk where b is penalised."""
        return inner(self.scale, v) / self._total if self._total > 0.0 else 0.0

    def intercept(self, scores, otherwise):
        """The best intercept for these scores."""
        return self._mean(self.labels - scores) if self._total > 0.0 else otherwise

    def scaled(self, v):
        """D (v - its mean)."""
        return self.scale * (v - self._mean(v))

    def curvature(self, v, image):
        """v . K H v for an image K v, and the mean of the image."""
        by_itself, sums, squares = _curvature(v, image, self.scale)
        mean = sums / self._total if self._total > 0.0 else 0.0
        return by_itself + squares - sums * mean, mean


def conjugate_gradients(problem, model, residual, image, goal, allowed):
    """Changes of beta and of K beta that leave K times the residual below `goal` (a generator).

    None where K shows itself not to be positive semidefinite.
    """
    d_beta, d_scores = np.zeros_like(residual), np.zeros_like(residual)
    towards, its_image = residual.copy(), image.copy()
    residual = residual.copy()
    squared = inner(residual, image)
    while problem.products < allowed:
        if problem.is_negative(squared, residual):
            return None
        curvature, mean = model.curvature(towards, its_image)
        if squared <= 0.0 or curvature <= 0.0:
            break
        length = squared / curvature
        _advance(length, towards, its_image, model.scale, mean, d_beta, d_scores, residual)
        image = yield from problem.multiply(residual)
        if largest(image) <= goal:
            break
        squared, before = inner(residual, image), squared
        _turn(squared / before, residual, image, towards, its_image)
    return d_beta, d_scores


def line_search(point, direction, C):
    """The next point and its step: 1 where that decreases the objective enough, else the best."""
    descent = slope_along(point, direction, C)
    before = point.objective(C)
    rounding = 1e-11 * abs(before)
    unit = point.moved(direction, 1.0)
    if unit.objective(C) <= before + SUFFICIENT_DECREASE * min(descent, 0.0) + rounding:
        return unit, 1.0
    step = _best_step(point, direction, C)
    moved = point.moved(direction, step)
    return (moved, step) if moved.objective(C) <= before + rounding else (None, 0.0)


def slope_along(point, direction, C):
    """The derivative of the objective at the point, along a direction."""
    _, d_scores, db = direction
    pulls = point.settled(C)
    slope = inner(point.beta - pulls, d_scores) - db * float(pulls.sum())
    return slope + point.problem.ridge * point.b * db if db else slope


def _best_step(point, direction, C):
    """The minimiser in (0, 1] of the objective along a direction.

    Its slope along the line is piecewise linear and increasing: Newton's method inside a bracket.
    """
    d_beta, d_scores, db = direction
    problem = point.problem
    linear, quadratic = inner(point.beta, d_scores), inner(d_beta, d_scores)
    if db:
        linear += problem.ridge * point.b * db
        quadratic += problem.ridge * db**2
    margins = problem.labels * (point.scores + point.b)
    changes = problem.labels * (d_scores + db)
    costs = 2.0 * C * problem.weights
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(60):
        slack = np.maximum(0.0, 1.0 - margins - step * changes)
        slope = linear + step * quadratic - inner(costs * slack, changes)
        bend = quadratic + inner(costs * (slack > 0.0) * changes, changes)
        low, high = (low, step) if slope > 0.0 else (step, high)
        guess = step - slope / bend if bend > 0.0 else low
        guess = guess if low < guess < high else 0.5 * (low + high)
        if abs(guess - step) <= 1e-8 * step:
            break
        step = guess
    return step


def settle(problem, point, C):
    """The point whose coefficients are read off the scores by (1) (a generator)."""
    beta = point.settled(C)
    scores = yield from problem.multiply(beta)
    return Point(problem, beta, scores, point.b)


class Patience:
    """Ends an iteration that neither decreases the objective nor comes nearer to its conditions."""

    def __init__(self, is_last=False):
        self.is_last = is_last
        self._least, self._nearest, self._in_vain = np.inf, np.inf, 0

    def ends(self, row):
        better = row["objective"] < self._least * (1.0 - 1e-13)
        nearer = row["residual"] < 0.5 * self._nearest
        self._in_vain = 0 if better or nearer else self._in_vain + 1
        self._least = min(self._least, row["objective"])
        self._nearest = min(self._nearest, row["residual"])
        return self._in_vain >= 3


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
