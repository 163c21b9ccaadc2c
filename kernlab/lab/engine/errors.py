"""What can go wrong with a study, each error in words for the one who asked for it."""

import difflib


class StudyError(RuntimeError):
    """A study cannot be run as asked; the text says why and what to do."""


class UnknownStudy(StudyError, LookupError):  # noqa: N818 - it names what is unknown
    """No study, paper or notebook has this name."""


class ParameterError(StudyError, ValueError):
    """A study has no such parameter, or it cannot have this value."""


class NotRun(Exception):  # noqa: N818 - an outcome, not a mistake
    """Raised by `measure` for a point that it will not compute; the text says why."""


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
