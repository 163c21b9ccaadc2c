"""Fixtures that all tests share."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

# Of parallel processes one runs a whole file, whose tests share what is dear to make, or these:
QUICK_ROWS = ("tests/lab/studies/", "tests/lab/papers/across/")  # which look at the same rows
KILLS = "test_a_worker_that_is_killed"  # or one test: no cluster bears the kills of several
# The longest are begun first, so that all processes end together; what measures its own memory
# comes before what takes much.
LONGEST = (
    *("tests/lab/engine/", *QUICK_ROWS, "notebooks/", "tests/lab/browser/", "tests/estimators/"),
    *("tests/fuzz/", "tests/cluster/", "tests/solvers/", "tests/lab/baselines/"),
    *("tests/lab/notebooks/", "tests/test_interrupts", "tests/lab/cli/", "tests/approximations/"),
    *("tests/test_packaging", "tests/lab/explorers/"),
)

# A machine that is busy is no fault of what is tested.
hypothesis.settings.register_profile("kernlab", deadline=None)
hypothesis.settings.load_profile("kernlab")
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


def scope_of(nodeid):
    """What a test is run together with."""
    if nodeid.startswith(QUICK_ROWS):
        return "quick rows"
    return nodeid if KILLS in nodeid else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Under --dist loadscope. (Marks of groups are lost on pytest 9.2 with xdist 3.8.)"""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class InOrder(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope_of(nodeid)

    config.option.loadscopereorder = False  # it would sort by the number of tests
    return InOrder(config, log)


def pytest_collection_modifyitems(items):
    """Where processes are parallel, the longest first."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        ranks = {name: rank for rank, name in enumerate(LONGEST)}
        names = (next(filter(item.nodeid.startswith, LONGEST), "") for item in items)
        order = {item: ranks.get(name, len(ranks)) for item, name in zip(items, names, strict=True)}
        for number, item in enumerate(item for item in items if KILLS in item.nodeid):
            order[item] = number * len(ranks)  # far from each other
        items.sort(key=order.get)
