"""The Gram matrix of a polynomial basis from moments: far fewer operations than F F^T.

    T_a T_b = (T_a+b + T_|a-b|) / 2,   so   sum_i phi_a(x_i) phi_b(x_i)

is a mean of moments sum_i phi_c(x_i) with |c| <= 2 s, where all entries of a Gram matrix of size
N = C(s + d, s) need only C(2 s + d, 2 s) of them: for d = 8, s = 5 that is 43,758 instead of
828,828. A moment is a sum of products of two features that share at most one variable: of c, sorted
by variables, the last s factors make one feature, the rest the other. So the moments come as a few
matrix products, for each variable at which c may be cut and each degree of the rest: those rests
stand side by side among the features, and need not be copied.
"""

from dataclasses import dataclass

import numpy as np

from kernlab.approximations.polynomial.chebyshev import binomials, place_of, space_dimension
from kernlab.runtime import for_each_block, njit, row_blocks

NEEDLESS = 1.3  # times the products that are needed, where cuts are joined
WORTH = 4.5  # times fewer entries: from there on moments were faster, in 2 variables or in 60


def fewer_operations(n_variables, degree):
    """Whether moments are the faster way; their matrix products are small, so less efficient."""
    size = space_dimension(n_variables, degree)
    return degree > 1 and WORTH * space_dimension(n_variables, 2 * degree) < size * size


class MomentGram:
    """Adds up the moments of blocks of features of a `ChebyshevBasis`; `matrix()` ends it."""

    def __init__(self, basis):
        self.monomials = basis.monomials
        self.cuts = _cuts(self.monomials)
        self.products = [np.zeros((len(cut.rows), len(cut.columns))) for cut in self.cuts]
        self.sums = np.zeros(len(self.monomials))

    def add(self, features, weights):
        """Take in a block of features; `weights`: one per row of the data, or None."""
        if weights is None:
            self.sums += features.sum(axis=1)
        else:
            self.sums += features @ weights
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
    """A cut for every variable; neighbours share one where that makes few needless products.

    Thin matrix products take nearly as long as less thin ones.
    """
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
