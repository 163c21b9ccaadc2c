"""A real cluster of two processes, for all tests of a module, and one whose scheduler may die."""

import os
import subprocess
import sys
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


@pytest.fixture
def scheduler_to_kill(tmp_path):
    """The process of a scheduler that has a worker, and the file that tells its address."""
    file = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "dask"]
    of_scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"]
    of_worker = ["worker", "--nthreads", "1", "--no-nanny", "--dashboard-address", ":0"]
    processes, environment = [], os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        for arguments in (of_scheduler, of_worker):
            whole = [*command, *arguments, "--scheduler-file", file]
            processes.append(subprocess.Popen(whole, stderr=subprocess.DEVNULL, env=environment))
        yield processes[0], file
    finally:
        for process in processes:
            process.kill()
            process.wait()
