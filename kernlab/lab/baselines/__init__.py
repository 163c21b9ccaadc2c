"""What kernlab's methods are compared with: the papers' opponents and today's peers.

All are scikit-learn classifiers with `timings_`; `BASELINES` lists them by name. Each class says
what it is (`title`) and what a comparison with it shows (`compares`).
"""

from kernlab.lab.baselines.base import Baseline
from kernlab.lab.baselines.forest import FPC_TREE_COUNTS, RandomForest
from kernlab.lab.baselines.intelex import IntelexSVC
from kernlab.lab.baselines.libsvm import LibSVM
from kernlab.lab.baselines.linear import LiblinearDCD, LiblinearTRON
from kernlab.lab.baselines.majority import Majority
from kernlab.lab.baselines.nystroem import NystroemLinearSVC
from kernlab.lab.baselines.parzen import Parzen
from kernlab.lab.baselines.poly2 import Poly2
from kernlab.lab.baselines.ridge import RidgeOnFeatures
from kernlab.lab.baselines.subsample import LibSVMSubsample

__all__ = [
    "BASELINES",
    "FPC_TREE_COUNTS",
    "Baseline",
    "IntelexSVC",
    "LibSVM",
    "LibSVMSubsample",
    "LiblinearDCD",
    "LiblinearTRON",
    "Majority",
    "NystroemLinearSVC",
    "Parzen",
    "Poly2",
    "RandomForest",
    "RidgeOnFeatures",
    "get_baseline",
]

BASELINES: dict[str, type[Baseline]] = {
    "libsvm": LibSVM,
    "libsvm-subsample": LibSVMSubsample,
    "liblinear-dcd": LiblinearDCD,
    "liblinear-tron": LiblinearTRON,
    "poly2": Poly2,
    "nystroem-linearsvc": NystroemLinearSVC,
    "sklearnex-svc": IntelexSVC,
    "random-forest": RandomForest,
    "ridge": RidgeOnFeatures,
    "parzen": Parzen,
    "majority": Majority,
}


def get_baseline(name):
    if name not in BASELINES:
        raise ValueError(f"baseline={name!r} is not one of {', '.join(BASELINES)}")
    return BASELINES[name]
