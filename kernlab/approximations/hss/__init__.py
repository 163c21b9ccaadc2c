"""Hierarchically semi-separable approximation: cluster tree, compression, product, factor."""

from kernlab.approximations.hss.approximation import HSSKernel, HSSQuality
from kernlab.approximations.hss.matrix import NotPositiveDefiniteError
from kernlab.approximations.hss.tree import build_tree

__all__ = ["HSSKernel", "HSSQuality", "NotPositiveDefiniteError", "build_tree"]
