"""Where kernlab finds data and notebooks, and where it leaves what it makes.

No path depends on the working directory; where a home cannot be written, a private folder of the
system's temporary directory serves.
"""

import getpass
import os
import tempfile
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@cache
def project_root():
    """The checkout that this package is run from, or None for an installation without one."""
    root = PACKAGE.parent
    is_checkout = (root / "pyproject.toml").is_file() and (root / "notebooks").is_dir()
    return root if is_checkout else None


def embedded_data_dir():
    """The small data sets that come with kernlab."""
    root = project_root()
    return root / "data" if root else PACKAGE / "_data"


def notebooks_dir():
    """The notebooks that come with kernlab."""
    root = project_root()
    return root / "notebooks" if root else PACKAGE / "_notebooks"


def record_dir():
    """The tables on record, which come with kernlab."""
    root = project_root()
    return root / "figures" / "record" if root else PACKAGE / "_record"


def external_data_dir():
    """The user's own folder of data files (environment variable KERNLAB_DATA), or None."""
    named = os.environ.get("KERNLAB_DATA")
    return Path(named).expanduser() if named else None


def downloads_dir():
    """Where downloaded files are kept: inside the checkout's data folder, else in the cache."""
    root = project_root()
    preferred = root / "data" / "downloads" if root else cache_dir() / "downloads"
    return preferred if can_write(preferred) else cache_dir() / "downloads"


def cache_dir():
    """Where parsed data sets and compiled code may be kept; safe to delete at any time."""
    named = os.environ.get("KERNLAB_CACHE")
    if named:
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    preferred = (Path(base) if base else _home() / ".cache") / "kernlab"
    return preferred if can_write(preferred) else _private_temporary_dir() / "cache"


def output_dir(profile, out=None):
    """Where tables, figures, executed notebooks and the report of a profile go."""
    out = out or os.environ.get("KERNLAB_OUT")
    if out:
        return Path(out).expanduser().resolve() / profile
    root = project_root()
    if root and can_write(root / "figures"):
        return root / "figures" / profile
    elsewhere = _home() / "kernlab-figures"
    if not can_write(elsewhere):
        elsewhere = _private_temporary_dir() / "figures"
    return elsewhere / profile


def _home():
    try:
        return Path.home()
    except RuntimeError:
        return _private_temporary_dir()


def can_write(folder):
    """Whether files can be made in a folder that may not exist yet: tried, without a trace."""
    existing = Path(folder).absolute()
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            return True
    except OSError:
        return False


def _private_temporary_dir():
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Path(tempfile.gettempdir()) / f"kernlab-{user}"
