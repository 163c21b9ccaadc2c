"""Tests of the workbench; this folder holds what several of them share."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARING = ("studies", "across")  # folders whose modules look at the same quick rows
sys.path.insert(0, str(HERE))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """One of parallel processes runs all tests of a module: what they share is computed once."""
    for item in items:
        if HERE in item.path.parents and not item.get_closest_marker("xdist_group"):
            folder = item.path.parent.name
            together = "studies" if folder in SHARING else item.path.stem
            item.add_marker(pytest.mark.xdist_group(together))
