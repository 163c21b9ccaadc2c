"""Estimators with scikit-learn's interface; `ESTIMATORS` lists them all by name."""

from kernlab.estimators.choice import Recommendation, recommend
from kernlab.estimators.fpc import FPC
from kernlab.estimators.papers import HSSSVC, LASN, LLSVM, KernelMachine, LASNRegressor
from kernlab.estimators.sparse import SparseCholeskySVC
from kernlab.estimators.sweep import sweep

MACHINES = (KernelMachine, FPC, LASN, LASNRegressor, LLSVM, SparseCholeskySVC, HSSSVC)
ESTIMATORS = {machine.__name__: machine for machine in MACHINES}
