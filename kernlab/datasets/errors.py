"""What the data sets raise when something is wrong with a name, a file or a request."""


class DataError(ValueError):
    """A data set cannot be used as asked; the text says what is wrong, where, and what to do."""


class DataNotFound(DataError):  # noqa: N818 - it is a finding, and the name is public
    """A file is not at hand; the text says what was looked for, where, and how to get it."""
