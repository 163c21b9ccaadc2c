"""A real cluster of two processes, for all tests of a module."""

import pytest


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "2GB"}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
