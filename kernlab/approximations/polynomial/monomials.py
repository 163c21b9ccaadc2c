"""Products x_1^a_1 ... x_d^a_d of total degree at most s, in an order that can be computed.

They stand in order of their degree, so those of degree at most r < s come first; within a degree,
in order of their last variable, then the last but one, and so on. The place of a product follows
from binomial coefficients alone, so no table of places is needed. The same order serves products
of other polynomials of one variable, such as Chebyshev's.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernlab.runtime import njit


def space_dimension(n_variables, degree):
    """How many products there are: C(s + d, s), the dimension of the polynomials of degree s."""
    return math.comb(n_variables + degree, degree)


@dataclass(frozen=True, eq=False)
class Monomials:
    """All products of degree at most `degree` in `n_variables` variables.

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
