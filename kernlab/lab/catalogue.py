"""Every study and every figure of the workbench by its id, from the packages listed below."""

from importlib import import_module

from kernlab.lab import bench
from kernlab.lab.engine.errors import ParameterError, unknown
from kernlab.lab.engine.study import Study, StudyFunction
from kernlab.lab.papers import across, fpc, hss, lasn, llsvm, sparse
from kernlab.lab.papers.common import data_tables
from kernlab.lab.plots.registry import by_study, declared

# The packages of studies, each with its figures in a module `figures`.
_PACKAGES = (llsvm, lasn, sparse, hss, fpc, across, bench)


def collect(packages):
    """All studies of some packages, and their functions, by id; an id twice is a mistake."""
    functions = {}
    for package in packages:
        found = [value for value in vars(package).values() if isinstance(value, StudyFunction)]
        for id, function in ((id, each) for each in found for id in each.ids):
            if id in functions:
                raise ValueError(f"two studies are called {id!r}; one is in {package.__name__}")
            functions[id] = function
    return {id: function.study(id) for id, function in functions.items()}, functions


STUDIES, FUNCTIONS = collect(_PACKAGES)
"""Every study with the catalogue's parameters, and the functions that take others, by id."""

_modules = [import_module(f"{package.__name__}.figures") for package in _PACKAGES]
FIGURES = by_study([*declared(*map(vars, _modules)), *data_tables.FIGURES])
"""All figures: study id -> list of `FigureSpec`."""


def get_study(study, **parameters):
    """The study with this id; a study given as an object is returned as it is.

    Parameters
    ----------
    study : str or Study
    **parameters
        Other values than the catalogue's: the study then has a key of its own, such as
        "lasn-f3@1a2b3c", and stays off the scorecard and the record.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(study, Study):
        if given:
            raise ParameterError(f"{study.id} has its parameters: give it by its id to change them")
        return study
    if study not in STUDIES:
        raise unknown("study", study, STUDIES)
    return FUNCTIONS[study].study(study, **given) if study in FUNCTIONS else STUDIES[study]


study = get_study
