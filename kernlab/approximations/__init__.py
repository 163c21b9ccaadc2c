"""Approximations of the kernel matrix; `APPROXIMATIONS` lists them all by name."""

from kernlab.approximations.base import Approximation
from kernlab.approximations.compact import CompactKernel
from kernlab.approximations.exact import ExactKernel
from kernlab.approximations.hss import HSSKernel
from kernlab.approximations.nystrom import Nystrom
from kernlab.approximations.polynomial.approximation import PolynomialMap
from kernlab.approximations.reduced import ReducedMap, RootMap

__all__ = [
    "APPROXIMATIONS",
    "Approximation",
    "CompactKernel",
    "ExactKernel",
    "HSSKernel",
    "Nystrom",
    "PolynomialMap",
    "ReducedMap",
    "RootMap",
    "get_approximation",
]

APPROXIMATIONS = {
    "exact": ExactKernel,
    "nystrom": Nystrom,
    "reduced": ReducedMap,
    "root": RootMap,
    "compact": CompactKernel,
    "hss": HSSKernel,
    "polynomial": PolynomialMap,
}


def get_approximation(name):
    if name not in APPROXIMATIONS:
        raise ValueError(f"approximation={name!r} is not one of {', '.join(APPROXIMATIONS)}")
    return APPROXIMATIONS[name]
