"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.kernel_machine import KernelMachine

__all__ = ["ESTIMATORS", "KernelMachine"]

ESTIMATORS = {
    "KernelMachine": KernelMachine,
}
