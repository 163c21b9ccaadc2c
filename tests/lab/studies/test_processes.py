"""Processes that call functions: results, deaths, and no process that outlives its purpose."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import psutil
import tiny_studies as tiny

from kernlab.lab.engine.processes import Died, ProcessPool

LONG = 600


def children():
    """The processes that work for this one; Python's own tracker of resources is none of them."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if "spawn_main" in " ".join(process.cmdline())]


def gone(processes):
    return not psutil.wait_procs(processes, timeout=20)[1]


def test_results_come_as_calls_finish():
    with ProcessPool(2) as pool:
        assert dict(pool.run(abs, [(-1,), (2,), (-3,)])) == {0: 1, 1: 2, 2: 3}
        before = {process.pid for process in children()}
        assert dict(pool.run(abs, [(-4,)])) == {0: 4}
        assert {process.pid for process in children()} == before  # they are used again
        working = children()
    assert gone(working)


def test_a_call_that_kills_its_process_takes_no_other_with_it():
    calls = [(0,), (signal.SIGSEGV,), (0,), (signal.SIGKILL,), (0,)]
    with ProcessPool(1) as pool:
        results = dict(pool.run(tiny.die_of, calls))
    assert [results[i] for i in (0, 2, 4)] == ["alive"] * 3
    assert results[1] == Died("signal 11: SIGSEGV")
    assert "out of memory" in results[3].how


def test_who_stops_listening_ends_what_is_at_work():
    with ProcessPool(2) as pool:
        with closing(pool.run(time.sleep, [(0,), (LONG,)])) as results:
            assert next(results) == (0, None)
            working = children()
            assert len(working) == 2
        assert sum(process.is_running() for process in working) == 1  # the idle one stays
    assert gone(working)


def test_processes_at_work_end_when_their_parent_is_killed(tmp_path):
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, tiny.__file__, "SLOW", "standard", str(tmp_path), "2"],
        env={**os.environ, tiny.LOG: str(log), "KERNLAB_TEST_DELAY": str(LONG)},
    )
    give_up = time.monotonic() + 120
    while not log.exists() or len(log.read_text().splitlines()) < 2:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    working = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert gone(working)
