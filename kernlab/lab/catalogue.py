"""Every study of the workbench, and the engine that runs them.

A study module lists its studies in a tuple STUDIES; its name in the list below is all that it
takes for the command line, the tests, the figures and the report to know them.
"""

from kernlab.lab.bench import fpc as bench_fpc
from kernlab.lab.bench import hss as bench_hss
from kernlab.lab.bench import kernels as bench
from kernlab.lab.bench import nystrom as bench_nystrom
from kernlab.lab.bench import sparse as bench_sparse
from kernlab.lab.engine.base import NotRun, Point, Study, StudyError, Tolerance, UnknownStudy
from kernlab.lab.engine.profiles import PROFILES, Profile, get_profile
from kernlab.lab.engine.registry import collect, get_study
from kernlab.lab.engine.run import Outcome, StudyWarning, execute, results, run_study
from kernlab.lab.engine.seeds import derive_seed, point_seed, split_seed
from kernlab.lab.engine.store import NoResults, tables_dir
from kernlab.lab.papers.fpc import studies as fpc
from kernlab.lab.papers.hss import studies as hss
from kernlab.lab.papers.lasn import studies as lasn
from kernlab.lab.papers.llsvm import studies as llsvm
from kernlab.lab.papers.sparse import studies as sparse

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
