"""Polynomial features of rows that are never all formed at once: what a streaming solver reads.

Both classes offer what `kernlab.solvers.hinge.admm` asks of rows: `shape`, `fill(rows, room)` for a
block of features (one row per feature), `room(n_rows)` for the arrays that needs, and
`gram_sum()`, something that adds up the Gram matrix block by block.
"""

import numpy as np

from kernlab.approximations.polynomial.moments import MomentGram, fewer_operations
from kernlab.rows import as_dense


class PowerRows:
    """The features (1 + x . eta_j)^s of rows: a matrix product and a few multiplications each."""

    def __init__(self, source, low, width, centres, degree):
        self.source, self.low, self.width = source, low, width
        self.centres, self.degree = centres, degree
        self.shape = (source.shape[0], len(centres))

    def room(self, n_rows):
        return np.empty(len(self.centres) * n_rows), np.empty(len(self.centres) * n_rows)

    def fill(self, rows, room):
        X = (as_dense(self.source.block(rows)) - self.low) / self.width
        shape = (len(self.centres), len(X))
        base, values = (part[: shape[0] * shape[1]].reshape(shape) for part in room)
        np.matmul(self.centres, X.T, out=base)
        base += 1.0
        return integer_power(base, self.degree, values)


class ChebyshevRows:
    """The features of a `ChebyshevBasis`; those of lower degrees are the first of them."""

    def __init__(self, source, basis):
        self.source, self.basis = source, basis
        self.shape = (source.shape[0], len(basis))

    def room(self, n_rows):
        return self.basis.room(n_rows)

    def fill(self, rows, room):
        return self.basis.fill(as_dense(self.source.block(rows)), room)

    def gram_sum(self):
        """Moments where they are faster; None: let the solver multiply the features."""
        worthwhile = fewer_operations(self.basis.monomials.n_variables, self.basis.degree)
        return MomentGram(self.basis) if worthwhile else None


def integer_power(base, exponent, out):
    """base ** exponent by repeated squaring, in `out`; `base` is overwritten."""
    if exponent % 2:
        np.copyto(out, base)
    else:
        out.fill(1.0)
    exponent //= 2
    while exponent:
        base *= base
        if exponent % 2:
            out *= base
        exponent //= 2
    return out
