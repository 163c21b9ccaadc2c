"""Kernels of compact support: a sparse kernel matrix, assembled without its zeros.

`widths` says where the kernel ends, `cells` finds the pairs of near rows, `assembly` makes their
kernel values a matrix, `products` multiplies with it, `factor` factorises it by one of the
`backends`, and `approximation` is all that as `CompactKernel`.
"""

from kernlab.approximations.compact.approximation import CompactKernel, NearlyDiagonalWarning
from kernlab.approximations.compact.assembly import entry_bytes
from kernlab.approximations.compact.factor import Analysis, factorise
from kernlab.approximations.compact.widths import (
    alpha_by_trade_off,
    default_sparsity,
    distances_from,
    predict_entries,
    radius_by_quantile,
    sample_rows,
    similarity_and_sparsity,
)

__all__ = [
    "Analysis",
    "CompactKernel",
    "NearlyDiagonalWarning",
    "alpha_by_trade_off",
    "default_sparsity",
    "distances_from",
    "entry_bytes",
    "factorise",
    "predict_entries",
    "radius_by_quantile",
    "sample_rows",
    "similarity_and_sparsity",
]
