"""A real cluster of two processes, for all tests of a module."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items):
    """Where tests run side by side, these run one after the other: two cores hold one cluster."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "2GB"}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
