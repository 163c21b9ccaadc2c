"""What can go wrong with a study, each error in words for the one who asked for it."""


class StudyError(RuntimeError):
    """A study cannot be run as asked; the text says why and what to do."""


class UnknownStudy(StudyError, LookupError):  # noqa: N818 - it names what is unknown
    """No study, paper or notebook has this name."""


class ParameterError(StudyError, ValueError):
    """A study has no such parameter, or it cannot have this value."""


class NotRun(Exception):  # noqa: N818 - an outcome, not a mistake
    """Raised by `measure` for a point that it will not compute; the text says why."""
