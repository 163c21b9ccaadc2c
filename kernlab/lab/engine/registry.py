"""Finding studies by name, with a helpful word when a name is not known."""

import difflib

from kernlab.lab.engine.errors import UnknownStudy
from kernlab.lab.engine.study import StudyFunction


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


def unknown(kind, name, known):
    """The error for a name that is not known: the nearest ones, or all when they are few."""
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.6)
    if near:
        advice = "Did you mean " + " or ".join(near) + "?"
    elif not known:
        advice = "There are none."
    elif len(known) <= 12:
        advice = "There are: " + ", ".join(known) + "."
    else:
        advice = "kernlab reproduce --list shows all of them."
    return UnknownStudy(f"There is no {kind} called {name!r}. {advice}")
