"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.fpc import FPC
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.estimators.lasn import LASN, LASNRegressor

__all__ = ["ESTIMATORS", "FPC", "LASN", "KernelMachine", "LASNRegressor"]

ESTIMATORS = {
    "KernelMachine": KernelMachine,
    "FPC": FPC,
    "LASN": LASN,
}
