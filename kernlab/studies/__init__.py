"""Every study of the workbench, and the engine that runs them.

A study module lists its studies in a tuple STUDIES; its name in the list below is all that it
takes for the command line, the tests, the figures and the report to know them.
"""

from kernlab.studies.base import Point, Study, StudyError, Tolerance, UnknownStudy
from kernlab.studies.registry import collect, get_study

# One line per module of studies.
_MODULES = ()

STUDIES = collect(_MODULES)

__all__ = [
    "STUDIES",
    "Point",
    "Study",
    "StudyError",
    "Tolerance",
    "UnknownStudy",
    "get_study",
]
