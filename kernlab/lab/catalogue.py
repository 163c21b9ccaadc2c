"""Every study and every figure of the workbench by its id, from the packages listed below."""

from importlib import import_module

from kernlab.lab import bench
from kernlab.lab.engine.errors import ParameterError, unknown
from kernlab.lab.engine.study import Study, StudyFunction
from kernlab.lab.papers import across, fpc, hss, lasn, llsvm, sparse
from kernlab.lab.plots.registry import by_study

# The packages of studies, each with its figures in a module `figures`.
_PACKAGES = (llsvm, lasn, sparse, hss, fpc, across, bench)


def collect(packages):
    """All studies of some packages, and their functions, by id; an id twice is a mistake."""
    studies, functions = {}, {}
    for package in packages:
        found = [value for value in vars(package).values() if isinstance(value, StudyFunction)]
        entries = [(id, function.study(id), function) for function in found for id in function.ids]
        entries += [(study.id, study, None) for study in getattr(package, "STUDIES", ())]
        for id, study, function in entries:
            if id in studies:
                raise ValueError(f"two studies are called {id!r}; one is in {package.__name__}")
            studies[id] = study
            if function is not None:
                functions[id] = function
    return studies, functions


STUDIES, FUNCTIONS = collect(_PACKAGES)
"""Every study with the catalogue's parameters, and the functions that take others, by id."""

_modules = (import_module(f"{package.__name__}.figures") for package in _PACKAGES)
FIGURES = by_study(spec for module in _modules for spec in module.FIGURES)
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
    if study in FUNCTIONS:
        return FUNCTIONS[study].study(study, **given)
    if given:
        raise ParameterError(f"{study} has no parameters")
    return STUDIES[study]


study = get_study
