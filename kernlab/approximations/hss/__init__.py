"""Hierarchically semi-separable approximation: cluster tree, compression, product, factor."""

from kernlab.approximations.hss.approximation import HSSKernel
from kernlab.approximations.hss.factor import NotPositiveDefiniteError, ShiftedHSS
from kernlab.approximations.hss.matrix import HSSMatrix
from kernlab.approximations.hss.operator import HSSOperator, HSSQuality
from kernlab.approximations.hss.tree import ClusterTree, build_tree

__all__ = [
    "ClusterTree",
    "HSSKernel",
    "HSSMatrix",
    "HSSOperator",
    "HSSQuality",
    "NotPositiveDefiniteError",
    "ShiftedHSS",
    "build_tree",
]
