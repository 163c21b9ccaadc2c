"""Hierarchically semi-separable approximation: cluster tree, compression, product, factor."""

from kernlab.approximations.hss.approximation import HSSKernel, HSSQuality
from kernlab.approximations.hss.geometry import build_tree
from kernlab.approximations.hss.matrix import NotPositiveDefiniteError
