"""Sparse Cholesky factors, whichever library is at hand."""

from kernlab.approximations.compact.cholesky.backends import (
    BACKENDS,
    ORDERINGS,
    NotPositiveDefinite,
    available_backends,
)
from kernlab.approximations.compact.cholesky.factor import (
    FACTOR_BYTES,
    Analysis,
    SparseFactor,
    factorise,
)

__all__ = [
    "BACKENDS",
    "FACTOR_BYTES",
    "ORDERINGS",
    "Analysis",
    "NotPositiveDefinite",
    "SparseFactor",
    "available_backends",
    "factorise",
]
