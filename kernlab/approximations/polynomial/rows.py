"""Polynomial features of rows that are never all formed at once: a block of them at a time."""

import numpy as np

from kernlab.approximations.polynomial.moments import MomentGram, fewer_operations
from kernlab.features import Features
from kernlab.rows import as_dense


def power_features(source, low, width, centres, degree, whole=None):
    """The features (1 + x . eta_j)^s of rows: a matrix product and a few multiplications each."""

    def room(n_rows):
        return np.empty((2, len(centres) * n_rows))

    def form(rows, room):
        X = (as_dense(source.block(rows)) - low) / width
        shape = (len(centres), len(X))
        room = np.empty((2, shape[0] * shape[1])) if room is None else room
        base, values = (part[: shape[0] * shape[1]].reshape(shape) for part in room)
        np.matmul(centres, X.T, out=base)
        base += 1.0
        return integer_power(base, degree, values).T

    return Features.formed((source.shape[0], len(centres)), form, room=room, whole=whole)


def chebyshev_features(source, basis, shared=None, whole=None):
    """The features of a `ChebyshevBasis`; those of lower degrees are the first of them, and so is
    their Gram matrix, which a solver leaves in `shared`."""

    def form(rows, room):
        X = as_dense(source.block(rows))
        return basis.fill(X, basis.room(len(X)) if room is None else room).T

    def gram_sum():
        return MomentGram(basis)

    # Moments where they are faster; else a solver multiplies the features.
    worthwhile = fewer_operations(basis.monomials.n_variables, basis.degree)
    return Features.formed(
        (source.shape[0], len(basis)), form, room=basis.room,
        gram_sum=gram_sum if worthwhile else None, shared=shared, whole=whole,
    )  # fmt: skip


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
