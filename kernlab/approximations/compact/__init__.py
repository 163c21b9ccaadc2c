"""Kernels of compact support: a sparse kernel matrix, assembled without its zeros."""

from kernlab.approximations.compact.approximation import CompactKernel
from kernlab.approximations.compact.bandwidth import (
    alpha_by_trade_off,
    default_sparsity,
    radius_by_quantile,
    similarity_and_sparsity,
)

__all__ = [
    "CompactKernel",
    "alpha_by_trade_off",
    "default_sparsity",
    "radius_by_quantile",
    "similarity_and_sparsity",
]
