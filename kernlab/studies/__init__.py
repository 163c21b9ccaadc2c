"""Every study of the workbench, and the engine that runs them.

A study module lists its studies in a tuple STUDIES; its name in the list below is all that it
takes for the command line, the tests, the figures and the report to know them.
"""

from kernlab.studies import (
    bench,
    bench_fpc,
    bench_hss,
    bench_nystrom,
    bench_sparse,
    fpc,
    hss,
    lasn,
    llsvm,
    sparse,
)
from kernlab.studies.base import NotRun, Point, Study, StudyError, Tolerance, UnknownStudy
from kernlab.studies.engine import Outcome, StudyWarning, execute, results, run_study
from kernlab.studies.profiles import PROFILES, Profile, get_profile
from kernlab.studies.registry import collect, get_study
from kernlab.studies.seeds import derive_seed, point_seed, split_seed
from kernlab.studies.store import NoResults, tables_dir

# One line per module of studies.
_MODULES = (
    llsvm,
    lasn,
    sparse,
    hss,
    fpc,
    bench,
    bench_nystrom,
    bench_fpc,
    bench_sparse,
    bench_hss,
)

STUDIES = collect(_MODULES)

__all__ = [
    "PROFILES",
    "STUDIES",
    "NoResults",
    "NotRun",
    "Outcome",
    "Point",
    "Profile",
    "Study",
    "StudyError",
    "StudyWarning",
    "Tolerance",
    "UnknownStudy",
    "derive_seed",
    "execute",
    "get_profile",
    "get_study",
    "point_seed",
    "results",
    "run_study",
    "split_seed",
    "tables_dir",
]
