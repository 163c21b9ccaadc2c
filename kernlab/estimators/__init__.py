"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.fpc import FPC
from kernlab.estimators.hss_svc import HSSSVC
from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.estimators.lasn import LASN, LASNRegressor
from kernlab.estimators.llsvm import LLSVM
from kernlab.estimators.sparse_cholesky import SparseCholeskySVC
from kernlab.estimators.sweep import sweep

__all__ = [
    "ESTIMATORS",
    "FPC",
    "HSSSVC",
    "LASN",
    "LLSVM",
    "KernelMachine",
    "LASNRegressor",
    "SparseCholeskySVC",
    "sweep",
]

ESTIMATORS = {
    "KernelMachine": KernelMachine,
    "FPC": FPC,
    "LASN": LASN,
    "LLSVM": LLSVM,
    "SparseCholeskySVC": SparseCholeskySVC,
    "HSSSVC": HSSSVC,
}
