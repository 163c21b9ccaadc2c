"""Approximations of the kernel matrix; `APPROXIMATIONS` lists them all by name."""

import difflib

from kernlab.approximations.base import NEEDS, Approximation, FeatureMap
from kernlab.approximations.compact import CompactKernel
from kernlab.approximations.exact import ExactKernel
from kernlab.approximations.fourier import FourierMap
from kernlab.approximations.hss import HSSKernel
from kernlab.approximations.nystrom import Nystrom, ReducedMap
from kernlab.approximations.polynomial import PolynomialMap

__all__ = [
    "APPROXIMATIONS",
    "NEEDS",
    "Approximation",
    "CompactKernel",
    "ExactKernel",
    "FeatureMap",
    "FourierMap",
    "HSSKernel",
    "Nystrom",
    "PolynomialMap",
    "ReducedMap",
    "get_approximation",
]

APPROXIMATIONS = {
    "exact": ExactKernel,
    "nystrom": Nystrom,
    "reduced": ReducedMap,
    "fourier": FourierMap,
    "compact": CompactKernel,
    "hss": HSSKernel,
    "polynomial": PolynomialMap,
}


def get_approximation(name):
    """The class of an approximation by its name in `APPROXIMATIONS`; a near miss is suggested."""
    if name not in APPROXIMATIONS:
        near = difflib.get_close_matches(str(name), APPROXIMATIONS, n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"approximation={name!r} is not one of {', '.join(APPROXIMATIONS)}{hint}")
    return APPROXIMATIONS[name]
