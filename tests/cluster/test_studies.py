"""Points of studies on a cluster: the rows, resumption and failures that processes give."""

import json
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="dask.distributed is not installed")
sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
import tiny_studies as tiny

from kernlab.lab.engine import StudyError
from kernlab.lab.engine.processes import Cluster, Ended
from kernlab.lab.engine.rows import RowStore, tables_dir
from kernlab.lab.engine.run import Workers, execute


@pytest.fixture(scope="module")
def workers():
    with Workers(1, "local:2x1") as workers:
        yield workers


def test_a_cluster_gives_the_rows_of_one_process(workers, tmp_path):
    here = execute(tiny.TINY, out=tmp_path / "here", progress=False)
    there = execute(tiny.TINY, out=tmp_path / "there", workers=workers, progress=False)
    assert there.computed == there.points
    told = ["seconds", "peak_bytes", "peak_note", "date"]
    told = [name for name in told if name in here.table]
    assert here.table.drop(columns=told).equals(there.table.drop(columns=told))
    assert execute(tiny.TINY, out=tmp_path / "there", workers=workers).computed == 0


def test_failures_are_rows(workers, tmp_path):
    outcome = execute(tiny.DIFFICULT, out=tmp_path, workers=workers, progress=False)
    status = outcome.table.set_index("method")["status"]
    assert status["fine"] == "ok"
    assert status["raises"] == "failed"
    assert status["refuses"] == "not run"
    message = outcome.table.set_index("method")["message"]["dies"]
    assert "killed" in message


def test_rows_outlive_the_scheduler(scheduler_to_kill, tmp_path):
    process, file = scheduler_to_kill
    give_up = time.monotonic() + 60
    while not Path(file).is_file():
        assert time.monotonic() < give_up, "no scheduler"
        time.sleep(0.1)
    address = json.loads(Path(file).read_text())["address"]
    store = RowStore(tiny.SLOW.id, tables_dir("quick", tmp_path))

    def kill_in_the_middle():
        while len(list(store.load())) < 3 and time.monotonic() < give_up:
            time.sleep(0.05)
        process.kill()

    threading.Thread(target=kill_in_the_middle, daemon=True).start()
    with (
        Workers(1, address) as workers,
        pytest.raises(StudyError, match="scheduler is lost; points that had finished are kept"),
    ):
        execute(tiny.SLOW, out=tmp_path, workers=workers, progress=False)
    again = execute(tiny.SLOW, out=tmp_path, progress=False)
    assert 3 <= again.kept < again.points == again.kept + again.computed


def test_a_call_that_outlasts_its_limit_is_ended():
    with Cluster("local:2x1") as cluster:
        found = dict(cluster.run(time.sleep, [(0,), (300,), (0,)], limit_seconds=2.0))
        assert [found[i] for i in (0, 2)] == [None, None]
        assert isinstance(found[1], Ended)
        assert found[1].why == ""


@pytest.mark.parametrize(
    ("where", "text"), [("local:2", "write local:4x1"), ("tcp://127.0.0.1:9", "no scheduler")]
)
def test_a_scheduler_that_is_not_there_is_refused(where, text):
    with pytest.raises(StudyError, match=text):
        Cluster(where)
