"""The words of studies under the name that they had; `kernlab.lab.engine` has them all."""

from kernlab.lab.engine.errors import NotRun, StudyError, UnknownStudy
from kernlab.lab.engine.study import Point, Study, Tolerance, plain_scalar

__all__ = ["NotRun", "Point", "Study", "StudyError", "Tolerance", "UnknownStudy", "plain_scalar"]
