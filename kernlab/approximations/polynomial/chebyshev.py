"""Polynomials of several variables in Chebyshev's basis on a box: cheap features that stay apart.

phi_a(x) = T_a1(t_1) ... T_ad(t_d),   |a| <= s,   t = the box [low, high] mapped to [-1, 1]^d
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernlab.runtime import for_each_block, njit, row_blocks

NEEDLESS = 1.3  # times the products that are needed, where cuts are joined
WORTH = 4.5  # times fewer entries: from there on moments were faster, in 2 variables or in 60


def space_dimension(n_variables, degree):
    """How many products there are: C(s + d, s), the dimension of the polynomials of degree s."""
    return math.comb(n_variables + degree, degree)


@dataclass(frozen=True, eq=False)
class Monomials:
    """All products x_1^a_1 ... x_d^a_d of degree at most `degree`, or those of other polynomials of
    one variable: they stand in order of their degree, then of their last variable, then the last
    but one, and so on. So those of lower degrees come first, and places can be computed.

    `exponents` has a row for each. A product is its `parent` times the variable `last` to `power`:
    the last variable that occurs in it, taken out entirely. The constant is its own parent.
    """

    n_variables: int
    degree: int
    exponents: np.ndarray
    parent: np.ndarray
    last: np.ndarray
    power: np.ndarray

    @classmethod
    def up_to(cls, n_variables, degree):
        """Each degree from the one below: x_v times all that end at v or before, for every v."""
        size = space_dimension(n_variables, degree)
        exponents = np.zeros((size, n_variables), dtype=np.uint8)
        parent, last, power = (np.zeros(size, dtype=np.int64) for _ in range(3))
        last[0] = -1
        start, end = 0, 1
        for k in range(1, degree + 1):
            place = end
            for v in range(n_variables):
                below = slice(start, start + math.comb(v + k - 1, k - 1))
                here = slice(place, place + below.stop - below.start)
                exponents[here] = exponents[below]
                exponents[here, v] += 1
                again = last[below] == v
                parent[here] = np.where(again, parent[below], np.arange(below.start, below.stop))
                power[here] = np.where(again, power[below] + 1, 1)
                last[here] = v
                place = here.stop
            start, end = end, place
        return cls(n_variables, degree, exponents, parent, last, power)

    def __len__(self):
        return len(self.exponents)

    @cached_property
    def first(self):
        """The first variable that occurs in each; for the constant, one past the last."""
        occurs = self.exponents > 0
        return np.where(occurs.any(axis=1), occurs.argmax(axis=1), self.n_variables)

    def of_full_degree_from(self, variable):
        """Places of the products of degree s whose first variable is this one."""
        full = np.arange(space_dimension(self.n_variables, self.degree - 1), len(self))
        return full[self.first[full] == variable]

    def up_to_variable(self, variable):
        """The products whose last variable is at most this one: a slice for each degree 0 ... s."""
        starts = [0, *(space_dimension(self.n_variables, k) for k in range(self.degree))]
        counts = [math.comb(variable + k, k) for k in range(self.degree + 1)]
        return [slice(a, a + count) for a, count in zip(starts, counts, strict=True)]


def binomials(n_variables, degree):
    """The table that `place_of` needs: entry (a, b) is "a choose b"."""
    table = np.zeros((n_variables + degree + 1, degree + 1), dtype=np.int64)
    table[:, 0] = 1
    for a in range(1, len(table)):
        table[a, 1:] = table[a - 1, 1:] + table[a - 1, :-1]
    return table


@njit
def place_of(exponents, binomial):
    """The place of a product in the order, from its exponents."""
    place, factors = 0, 0
    for v in range(len(exponents)):
        for _ in range(exponents[v]):
            factors += 1
            place += binomial[v + factors - 1, factors]
    if factors:
        place += binomial[len(exponents) + factors - 1, factors - 1]  # all of lower degree
    return place


def varies(low, high):
    """Which variables are not constant: what is narrower has no reciprocal."""
    return high - low > 4.0 / np.finfo(float).max


class ChebyshevBasis:
    """The polynomials of degree at most `degree` on a box; variables with low = high are left out:
    they would be constants, which the basis has already.

    Each feature is an earlier one times a polynomial of one variable: one multiplication, where
    (1 + x . eta)^s costs d and a power. Blocks are laid out one feature after the other.
    """

    def __init__(self, low, high, degree):
        self.columns = np.flatnonzero(varies(low, high))
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
        """Coefficients, one column each, of the functions (constants_j + x . slopes_j)^degree, by
        repeated multiplication, with t T_k = (T_k+1 + T_k-1) / 2."""
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


def fewer_operations(n_variables, degree):
    """Whether moments are the faster way; their matrix products are small, so less efficient."""
    size = space_dimension(n_variables, degree)
    return degree > 1 and WORTH * space_dimension(n_variables, 2 * degree) < size * size


class MomentGram:
    """The Gram matrix of a `ChebyshevBasis` from moments: blocks are added, `matrix()` ends it.

    T_a T_b = (T_a+b + T_|a-b|) / 2, so sum_i phi_a(x_i) phi_b(x_i) is a mean of moments
    sum_i phi_c(x_i) with |c| <= 2 s: of all entries, C(s + d, s)^2, only C(2 s + d, 2 s) differ. A
    moment is a sum of products of two features that share at most one variable: of c, sorted by
    variables, the last s factors make one feature, the rest the other. So they come as a few matrix
    products, for each variable at which c may be cut and each degree of the rest.
    """

    def __init__(self, basis):
        self.monomials = basis.monomials
        self.cuts = _cuts(self.monomials)
        self.products = [np.zeros((len(cut.rows), len(cut.columns))) for cut in self.cuts]
        self.sums = np.zeros(len(self.monomials))

    def add(self, features, weights):
        """Take in a block of features; `weights`: one per row of the data, or None."""
        self.sums += features.sum(axis=1) if weights is None else features @ weights
        for cut, total in zip(self.cuts, self.products, strict=True):
            last = features[cut.rows]
            if weights is not None:
                last *= weights
            place = 0
            for rests in cut.rests:
                end = place + rests.stop - rests.start
                total[:, place:end] += last @ features[rests].T
                place = end

    def merge(self, other):
        """Take in what another has added up."""
        self.sums += other.sums
        for mine, theirs in zip(self.products, other.products, strict=True):
            mine += theirs

    def matrix(self):
        """The Gram matrix of all features."""
        d, s = self.monomials.n_variables, self.monomials.degree
        exponents = self.monomials.exponents
        table = binomials(d, 2 * s)
        moments = np.empty(space_dimension(d, 2 * s))
        lower = space_dimension(d, s - 1)
        moments[:lower] = self.sums[:lower]
        degrees = exponents.sum(axis=1, dtype=np.int64)
        for added in range(s + 1):  # moments of degree s + added need those of lower degree
            for cut, products in zip(self.cuts, self.products, strict=True):
                chosen = np.flatnonzero(degrees[cut.columns] == added)
                columns = cut.columns[chosen]
                _spread(
                    exponents[cut.rows], exponents[columns], self.monomials.first[cut.rows],
                    self.monomials.last[columns], products[:, chosen], table, moments,
                )  # fmt: skip
        gram = np.empty((len(exponents), len(exponents)))
        for_each_block(
            lambda rows: _gather(exponents, rows.start, rows.stop, table, moments, gram),
            row_blocks(len(exponents), 64),
        )
        return gram


@dataclass(frozen=True)
class Cut:
    """Features of full degree that begin at some variables, and what may stand before them."""

    rows: np.ndarray
    rests: tuple
    columns: np.ndarray  # the places of the rests, one after the other


def _cuts(monomials):
    """A cut for every variable; neighbours share one where that makes few needless products, for
    thin matrix products take nearly as long as less thin ones."""
    rows = [monomials.of_full_degree_from(v) for v in range(monomials.n_variables)]
    counts = [sum(r.stop - r.start for r in monomials.up_to_variable(v)) for v in range(len(rows))]
    cuts, start = [], 0
    for end in range(1, len(rows) + 1):
        together = sum(map(len, rows[start : end + 1])) * counts[min(end, len(rows) - 1)]
        needed = sum(len(rows[v]) * counts[v] for v in range(start, min(end + 1, len(rows))))
        if end == len(rows) or together > NEEDLESS * needed:
            rests = tuple(monomials.up_to_variable(end - 1))
            columns = np.concatenate([np.arange(part.start, part.stop) for part in rests])
            cuts.append(Cut(np.concatenate(rows[start:end]), rests, columns))
            start = end
    return cuts


@njit
def _spread(left, right, first, last, products, table, moments):
    """Moments from sums of products whose factors share at most the variable where left begins."""
    exponents = np.empty(left.shape[1], dtype=np.int64)
    for i in range(len(left)):
        v = first[i]
        for j in range(len(right)):
            if last[j] > v:
                continue
            for u in range(len(exponents)):
                exponents[u] = np.int64(left[i, u]) + np.int64(right[j, u])
            place = place_of(exponents, table)
            if right[j, v] == 0:
                moments[place] = products[i, j]
            else:
                exponents[v] = abs(np.int64(left[i, v]) - np.int64(right[j, v]))
                moments[place] = 2.0 * products[i, j] - moments[place_of(exponents, table)]


@njit
def _gather(exponents, start, stop, table, moments, gram):
    """Rows start..stop of the lower triangle of the Gram matrix, and its mirror image."""
    d = exponents.shape[1]
    shared, combined = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    for i in range(start, stop):
        for j in range(i + 1):
            n_shared = 0
            for v in range(d):
                a, b = np.int64(exponents[i, v]), np.int64(exponents[j, v])
                combined[v] = a + b
                if a > 0 and b > 0:
                    shared[n_shared] = v
                    n_shared += 1
            total = 0.0
            for pattern in range(1 << n_shared):
                for k in range(n_shared):
                    v = shared[k]
                    a, b = np.int64(exponents[i, v]), np.int64(exponents[j, v])
                    combined[v] = abs(a - b) if (pattern >> k) & 1 else a + b
                total += moments[place_of(combined, table)]
            gram[i, j] = gram[j, i] = total / (1 << n_shared)
