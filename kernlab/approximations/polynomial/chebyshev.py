"""Polynomials of several variables in Chebyshev's basis on a box: cheap features that stay apart.

    phi_a(x) = T_a1(t_1) ... T_ad(t_d),   |a| <= s,   t = the box [low, high] mapped to [-1, 1]^d

Each feature is an earlier one times a polynomial of one variable: one multiplication, where
(1 + x . eta)^s costs d and a power. The features of degree r < s come first (see `monomials`), so
what is computed for s serves all lower degrees. Blocks are laid out one feature after the other,
which lets the processor multiply whole vectors.
"""

from functools import cached_property

import numpy as np

from kernlab.approximations.polynomial.monomials import Monomials, binomials, place_of
from kernlab.runtime import njit


class ChebyshevBasis:
    """The polynomials of degree at most `degree` on a box; variables with low = high are left out.

    They would be constants, which the basis has already.
    """

    def __init__(self, low, high, degree):
        self.columns = np.flatnonzero(high > low)
        self.corner = low
        self.low = low[self.columns]
        self.width = high[self.columns] - self.low
        self.monomials = Monomials.up_to(len(self.columns), degree)
        self.degree = degree

    def __len__(self):
        return len(self.monomials)

    def room(self, n_rows):
        """Arrays that `fill` needs for blocks of at most so many rows."""
        d = len(self.columns)
        return np.empty((d, max(self.degree, 1), n_rows)), np.empty(len(self) * n_rows)

    def fill(self, X, room):
        """The features of the rows of X, one row of the result per feature."""
        t, values = room[0][:, :, : len(X)], room[1][: len(self) * len(X)].reshape(-1, len(X))
        t[:, 0] = (X[:, self.columns] - self.low).T
        t[:, 0] *= (2.0 / self.width)[:, None]
        t[:, 0] -= 1.0
        _fill(t, self.monomials.parent, self.monomials.last, self.monomials.power, values)
        return values

    def powers_of_affine(self, constants, slopes):
        """Coefficients, one column each, of the functions (constants_j + x . slopes_j)^degree.

        By repeated multiplication, with t T_k = (T_k+1 + T_k-1) / 2. Where constants and slopes
        are not negative on the box nothing cancels, so every coefficient is right to rounding.
        """
        slopes = np.asarray(slopes, dtype=np.float64)
        half = 0.5 * slopes[:, self.columns] * self.width
        constants = constants + slopes @ self.corner + half.sum(axis=1)
        result = np.zeros((len(self), len(constants)))
        result[0] = 1.0
        up, down = self._neighbours
        for k in range(self.degree):
            reach = int(np.searchsorted(self._degrees, k, side="right"))
            result = _times_affine(result, reach, constants, half, up, down)
        return result

    @cached_property
    def _degrees(self):
        return self.monomials.exponents.sum(axis=1, dtype=np.int64)

    @cached_property
    def _neighbours(self):
        """Places of each product with one factor more, and with one less (-1: there is none)."""
        inner = int(np.searchsorted(self._degrees, self.degree))
        table = binomials(len(self.columns), self.degree + 1)
        return _neighbours(self.monomials.exponents[:inner], table)


@njit
def _fill(t, parent, last, power, values):
    """Chebyshev polynomials of one variable by their recurrence, then all products."""
    n_variables, degree, n_rows = t.shape
    for v in range(n_variables):
        for k in range(1, degree):
            for i in range(n_rows):
                before = t[v, k - 2, i] if k > 1 else 1.0
                t[v, k, i] = 2.0 * t[v, 0, i] * t[v, k - 1, i] - before
    values[0, :] = 1.0
    for feature in range(1, len(values)):
        of_parent, of_last = values[parent[feature]], t[last[feature], power[feature] - 1]
        out = values[feature]
        for i in range(n_rows):
            out[i] = of_parent[i] * of_last[i]


@njit
def _neighbours(exponents, binomial):
    up = np.empty(exponents.shape, dtype=np.int64)
    down = np.empty(exponents.shape, dtype=np.int64)
    for feature in range(len(exponents)):
        neighbour = exponents[feature].astype(np.int64)
        for v in range(exponents.shape[1]):
            neighbour[v] += 1
            up[feature, v] = place_of(neighbour, binomial)
            neighbour[v] -= 2
            down[feature, v] = place_of(neighbour, binomial) if neighbour[v] >= 0 else -1
            neighbour[v] += 1
    return up, down


@njit
def _times_affine(coefficients, reach, constants, slopes, up, down):
    """The polynomials of the first `reach` rows of coefficients, times constants + slopes . t."""
    product = np.zeros(coefficients.shape)
    n = len(constants)
    for feature in range(reach):
        for j in range(n):
            product[feature, j] += constants[j] * coefficients[feature, j]
        for v in range(up.shape[1]):
            above, below = up[feature, v], down[feature, v]
            share = 1.0 if below < 0 else 0.5
            for j in range(n):
                change = share * slopes[j, v] * coefficients[feature, j]
                product[above, j] += change
                if below >= 0:
                    product[below, j] += change
    return product
