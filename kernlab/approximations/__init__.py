"""Approximations of the kernel matrix; `APPROXIMATIONS` lists them all by name."""

from kernlab.approximations.base import NEEDS, Approximation, FeatureMap
from kernlab.approximations.compact import CompactKernel
from kernlab.approximations.exact import ExactKernel
from kernlab.approximations.fourier import FourierMap
from kernlab.approximations.hss import HSSKernel
from kernlab.approximations.nystrom import Nystrom, ReducedMap
from kernlab.approximations.polynomial import PolynomialMap

APPROXIMATIONS = {
    "exact": ExactKernel,
    "nystrom": Nystrom,
    "reduced": ReducedMap,
    "fourier": FourierMap,
    "compact": CompactKernel,
    "hss": HSSKernel,
    "polynomial": PolynomialMap,
}
