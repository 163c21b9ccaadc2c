"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.fpc import FPC
from kernlab.estimators.kernel_machine import KernelMachine

__all__ = ["ESTIMATORS", "FPC", "KernelMachine"]

ESTIMATORS = {
    "KernelMachine": KernelMachine,
    "FPC": FPC,
}
