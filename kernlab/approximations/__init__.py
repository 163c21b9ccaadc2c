"""Approximations of the kernel matrix; `APPROXIMATIONS` lists them all by name."""

from kernlab.approximations.base import Approximation
from kernlab.approximations.exact import ExactKernel
from kernlab.approximations.nystrom import Nystrom

__all__ = ["APPROXIMATIONS", "Approximation", "ExactKernel", "Nystrom", "get_approximation"]

APPROXIMATIONS = {
    "exact": ExactKernel,
    "nystrom": Nystrom,
}


def get_approximation(name):
    if name not in APPROXIMATIONS:
        raise ValueError(f"approximation={name!r} is not one of {', '.join(APPROXIMATIONS)}")
    return APPROXIMATIONS[name]
