"""What is wrong is said by the block, and before anything is computed for nothing."""

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from kernlab import FPC, LASN, KernelMachine
from kernlab.rows import as_rows
from kernlab.runtime import MemoryLimitError

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
ClusterError = pytest.importorskip("kernlab.rows.dask").ClusterError


def blocks(*parts):
    return [dask.delayed(part) for part in parts]


X = np.random.default_rng(0).normal(size=(300, 3))
Y = np.arange(300) % 2


def test_a_block_with_nan_is_named(client):
    wrong = X[100:200].copy()
    wrong[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 1 \(rows 100 to 199\): row 107, feature 2 is nan"):
        LASN(10).fit(blocks(X[:100], wrong, X[200:]), Y)
    machine = LASN(10, random_state=0).fit(blocks(X), Y)
    with pytest.raises(ValueError, match=r"block 1 .* row 107"):
        machine.predict(blocks(X[:100], wrong))


def test_a_block_of_other_columns_is_named(client):
    with pytest.raises(ValueError, match=r"block 2 .* has 2 features, block 0 has 3"):
        LASN(10).fit(blocks(X[:100], X[100:200], X[200:, :2]), Y)
    table = pd.DataFrame(X, columns=list("abc"))
    frames = blocks(table[:100], table[100:].rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match=r"block 1 .* has the columns"):
        LASN(10).fit(frames, Y)
    with pytest.raises(ValueError, match=r"block 0 .*word"):
        LASN(10).fit(blocks(pd.DataFrame({"a": ["word"] * 300})), Y)
    machine = LASN(10, random_state=0).fit(blocks(X), Y)
    with pytest.raises(ValueError, match="2 features, but LASN is expecting 3"):
        machine.predict(da.from_array(X[:, :2]))


def test_labels_are_checked_where_they_lie(client):
    with pytest.raises(ValueError, match="block 1 has 100 rows, but labels of shape"):
        LASN(10).fit(blocks(X[:200], X[200:]), blocks(Y[:200], Y[200:250]))
    with pytest.raises(ValueError, match="block 1: the labels hold NaN"):
        LASN(10).fit(blocks(X[:200], X[200:]), blocks(Y[:200], Y[200:] * np.nan))
    with pytest.raises(ValueError, match="300 rows, but 299 labels"):
        LASN(10).fit(blocks(X[:200], X[200:]), Y[:299])
    with pytest.raises(ValueError, match="not negative"):
        LASN(10).fit(blocks(X), Y, -np.ones(300))
    with pytest.raises(ValueError, match="requires y"):
        LASN(10).fit(blocks(X))


def test_what_does_not_work_on_a_cluster_says_what_does(client):
    rows = da.from_array(X, chunks=(100, 3))
    with pytest.raises(ValueError, match=r"'dcd' does not work on rows of a cluster.*newton"):
        KernelMachine("nystrom", "dcd", intercept="penalised").fit(rows, Y)
    with pytest.raises(ValueError, match="does not work on rows of a cluster"):
        FPC(degree=2, to_optimum=True).fit(rows, Y)
    with pytest.raises(ValueError, match="name a degree"):
        FPC().fit(rows, Y)


def test_memory_is_predicted_for_each_worker(client):
    rows = da.from_array(X, chunks=(100, 3))
    with pytest.raises(MemoryLimitError, match=r"150 rows on each of 2 workers.*6 x 10\^2 x 8"):
        LASN(10, max_memory="1MB").fit(rows, Y)


def test_a_worker_out_of_memory_is_told_by_the_block(client, monkeypatch):
    rows = as_rows(da.from_array(X, chunks=(100, 3)))
    said = r"no memory left for features of .*block.* rows, .*B\).*give the workers more memory"
    with pytest.raises(MemoryLimitError, match=said):
        rows.pieces(_without_memory, None, "features")
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    blocks = da.map_blocks(_ones, chunks=((10, 300_000_000), (1,)), dtype=float)
    said = r"workers died, 1 of them, .*block 1 \(300,000,000 rows, 2.4 GB\).*more memory"
    with pytest.raises(MemoryLimitError, match=said):
        as_rows(blocks)
    client.wait_for_workers(2, timeout=60)


def _without_memory(*_):
    raise MemoryError


def _ones(block_info=None):
    made = np.ones(block_info[None]["chunk-shape"])
    time.sleep(10.0 * (len(made) > 10))  # until it is seen
    return made


def test_another_version_is_said_at_once(scheduler_to_kill, tmp_path):
    """A second worker, in a process of its own, finds another kernlab installed."""
    _, file = scheduler_to_kill
    (tmp_path / "kernlab-9.9.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: kernlab\nVersion: 9.9\n"
    (tmp_path / "kernlab-9.9.dist-info" / "METADATA").write_text(metadata)
    command = [sys.executable, "-m", "dask", "worker", "--scheduler-file", file, "--no-nanny"]
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    where = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": paths}}
    with distributed.Client(scheduler_file=file) as client:
        client.wait_for_workers(1, timeout=60)
        rows = da.from_array(X)
        LASN(10).fit(rows, Y)
        quiet = {"stderr": subprocess.DEVNULL}
        with subprocess.Popen([*command, "--dashboard-address", ":0"], **where, **quiet) as worker:
            try:
                client.wait_for_workers(2, timeout=60)
                with pytest.raises(ClusterError, match=r"kernlab is 9.9 on worker tcp.* here"):
                    LASN(10).fit(rows, Y)
            finally:
                worker.kill()


def test_rows_need_a_cluster(client, monkeypatch):
    def none():
        raise ValueError("no clients")

    monkeypatch.setattr("kernlab.rows.dask.default_client", none)
    with pytest.raises(ClusterError, match="client = Client"):
        LASN(10).fit(dd.from_pandas(pd.DataFrame(X), npartitions=2), Y)
