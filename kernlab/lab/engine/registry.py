"""Finding studies by name, with a helpful word when a name is not known."""

import difflib

from kernlab.lab.engine.base import UnknownStudy


def collect(modules):
    """All studies of some modules by id, in their order; the same id twice is a mistake."""
    studies = {}
    for module in modules:
        for study in module.STUDIES:
            if study.id in studies:
                raise ValueError(
                    f"two studies are called {study.id!r}; one is in {module.__name__}"
                )
            studies[study.id] = study
    return studies


def get_study(study_id):
    """The study with this id; a study given as an object is returned as it is."""
    from kernlab.lab.catalogue import STUDIES

    if not isinstance(study_id, str):
        return study_id
    try:
        return STUDIES[study_id]
    except KeyError:
        raise unknown("study", study_id, STUDIES) from None


def unknown(kind, name, known):
    """The error for a name that is not known: the nearest ones, or all when they are few."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    if near:
        advice = "Did you mean " + " or ".join(near) + "?"
    elif known:
        advice = "There are: " + ", ".join(known) + "."
    else:
        advice = "There are none."
    return UnknownStudy(f"There is no {kind} called {name!r}. {advice}")
