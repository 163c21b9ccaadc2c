"""Fixtures that all tests share."""

import os
import signal
from pathlib import Path

import pytest

# No test may try a download because a data set happens to be absent.
os.environ.setdefault("KERNLAB_OFFLINE", "1")
# A job in the background ignores Ctrl-C, and so would its children, on which tests try it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_data():
    """The folder of the papers' real data sets, named by KERNLAB_DATA."""
    named = os.environ.get("KERNLAB_DATA")
    if not named:
        pytest.skip("KERNLAB_DATA is not set: the papers' real data sets are not available")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"KERNLAB_DATA={named} is not a folder")
    return folder


def _scope(nodeid):
    """What runs in one process: tests that share what is dear to make, else a test by itself."""
    path = nodeid.partition("::")[0]
    if path.startswith(("tests/lab/studies/", "tests/lab/papers/across/")):
        return "studies"  # which look at the same quick rows
    if path.startswith("tests/cluster/"):
        return "cluster"  # two cores hold one
    dear = ("tests/lab/", "tests/approximations/test_memory_promises", "tests/test_packaging")
    return path if path.startswith(dear) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Under --dist loadscope. (Marks of groups are lost on pytest 9.2 with xdist 3.8.)"""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    scheduling = LoadScopeScheduling(config, log)
    scheduling._split_scope = _scope
    return scheduling
