"""Fixtures that all tests share."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

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
