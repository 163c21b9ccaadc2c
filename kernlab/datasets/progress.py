"""Progress bars: on standard error, for what takes more than two seconds, if anyone watches."""

from kernlab.runtime import bar_options


def with_progress(items, title):
    """The same items, with a bar once they take more than two seconds."""
    from tqdm import tqdm

    return tqdm(items, desc=title, **bar_options())


def reading_with_progress(raw, title, size):
    """A context manager that gives the same stream, with a bar of the bytes read so far."""
    from tqdm import tqdm

    return tqdm.wrapattr(raw, "read", total=size, desc=title, **bar_options())
