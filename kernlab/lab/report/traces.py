"""Traces that one machine or one moment leaves in a text: paths, user names, addresses, times."""

import getpass
import re
from functools import cache
from pathlib import Path

from kernlab.paths import project_root

_PATH = re.compile(
    r"(?<![\w.:/-])/(?:home|Users|root|tmp|usr|opt|mnt|var|srv|private)/[\w.-]+"
    r"|\b[A-Z]:\\\\?\w"
    r"|site-packages"
)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_TIMING = re.compile(
    r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?[ \u00a0]?(?:s|ms|µs|us|sec|seconds?|minutes?)\b",
    re.IGNORECASE,
)
# Names of users that are words as well, or the same on many machines.
_COMMON_USERS = {"root", "user", "runner", "jovyan", "admin", "test", "builder", "ubuntu"}


def find_machine(text):
    """The first path or user name in a text, or None."""
    for pattern in (_PATH, *_names_of_this_machine()):
        if hit := pattern.search(text):
            return hit[0]
    return None


def find_address(text):
    """The first address of an object in memory, or None."""
    hit = _ADDRESS.search(text)
    return hit and hit[0]


def find_timing(text):
    """The first number of seconds or the like, or None."""
    hit = _TIMING.search(text)
    return hit and hit[0]


@cache
def _names_of_this_machine():
    patterns = [re.compile(re.escape(str(folder))) for folder in _folders()]
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        user = ""
    if user and user not in _COMMON_USERS:
        patterns.append(re.compile(rf"\b{re.escape(user)}\b"))
    return tuple(patterns)


def _folders():
    """The home folder and the checkout, unless they are so short that they mean nothing."""
    folders = [Path.home(), project_root()]
    return [folder for folder in folders if folder and len(folder.parts) > 2]
