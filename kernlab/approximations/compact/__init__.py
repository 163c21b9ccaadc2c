"""Kernels of compact support: a sparse kernel matrix, assembled without its zeros.

`assembly` makes the kernel values of near rows a matrix, `factor` factorises it, and
`approximation` is all that, and where the kernel should end, as `CompactKernel`.
"""

from kernlab.approximations.compact.approximation import (
    CompactKernel,
    NearlyDiagonalWarning,
    alpha_by_trade_off,
    default_sparsity,
    distances_from,
    gershgorin_radii,
    predict_entries,
    radius_by_quantile,
    resolve_kernel,
    sample_rows,
    similarity_and_sparsity,
)
from kernlab.approximations.compact.assembly import entry_bytes
from kernlab.approximations.compact.factor import Analysis, factorise
