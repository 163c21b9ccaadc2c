"""Sparse Cholesky factors, whichever library is at hand."""

from kernlab.approximations.cholesky.backends import BACKENDS, ORDERINGS, available_backends
from kernlab.approximations.cholesky.factor import SparseFactor, factorise

__all__ = ["BACKENDS", "ORDERINGS", "SparseFactor", "available_backends", "factorise"]
