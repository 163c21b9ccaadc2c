"""Is a file the one that the registry means?"""

from kernlab.datasets.cache import known_digest, remember_digest
from kernlab.datasets.streams import text_digest


def digest_of(path, *, fresh=False, progress=True):
    """SHA-256 of a file's uncompressed text; of an unchanged file it is remembered."""
    digest = None if fresh else known_digest(path)
    if digest is None:
        digest = text_digest(path, progress=progress)
        remember_digest(path, digest)
    return digest


def is_expected(file, path, digest):
    """Whether a text is the site's own, or a copy of the same rows.

    Where no checksum of the site's own file is known, every text may be it: then rows, features
    and labels are what is checked. Line ends of another system make no difference.
    """
    if not file.sha256 or digest in (file.sha256, *file.copies):
        return True
    return text_digest(path, unix_lines=True, progress=False) == file.sha256


def wrong_checksum(file, digest):
    """What to say of a text that is not the expected one."""
    return (
        f"wrong checksum: damaged, or another file of that name (SHA-256 of its uncompressed text "
        f"is {digest}, that of {file.name} is {file.sha256})"
    )
