"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.choice import Recommendation, recommend
from kernlab.estimators.fpc import FPC
from kernlab.estimators.papers import HSSSVC, LASN, LLSVM, KernelMachine, LASNRegressor
from kernlab.estimators.sparse import SparseCholeskySVC
from kernlab.estimators.sweep import sweep

__all__ = [
    "ESTIMATORS",
    "FPC",
    "HSSSVC",
    "LASN",
    "LLSVM",
    "KernelMachine",
    "LASNRegressor",
    "Recommendation",
    "SparseCholeskySVC",
    "recommend",
    "sweep",
]

ESTIMATORS = {
    "KernelMachine": KernelMachine,
    "FPC": FPC,
    "LASN": LASN,
    "LASNRegressor": LASNRegressor,
    "LLSVM": LLSVM,
    "SparseCholeskySVC": SparseCholeskySVC,
    "HSSSVC": HSSSVC,
}
