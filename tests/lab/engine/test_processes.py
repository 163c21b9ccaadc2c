"""Processes that call functions: results, deaths, and no process that outlives its purpose."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import psutil
import pytest
import tiny_studies as tiny

from kernlab.lab.engine import measuring, processes
from kernlab.lab.engine.processes import Ended, Processes

LONG = 600


def children():
    """The processes that work for this one; loky's own tracker of resources is none of them."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if "popen_loky" in " ".join(process.cmdline())]


def gone(working):
    return not psutil.wait_procs(working, timeout=20)[1]


def die_of(number):
    if number:
        os.kill(os.getpid(), number)
    return "alive"


def test_results_come_as_calls_finish_from_the_same_processes():
    with Processes(2) as pool:
        assert dict(pool.run(abs, [(-1,), (2,), (-3,)])) == {0: 1, 1: 2, 2: 3}
        before = {process.pid for process in children()}
        assert dict(pool.run(abs, [(-4,)])) == {0: 4}
        assert {process.pid for process in children()} == before
        working = children()
    assert gone(working)


def test_a_call_that_ends_its_process_takes_no_other_with_it(monkeypatch):
    calls = [(0,), (signal.SIGSEGV,), (0,), (signal.SIGKILL,), (0,), (lambda: 1,)]
    with Processes(1) as pool:
        results = dict(pool.run(die_of, calls))
    assert [results[i] for i in (0, 2, 4)] == ["alive"] * 3
    assert "SIGSEGV" in results[1].why
    assert "out of memory" in results[3].why
    assert "TypeError" in results[5].why
    monkeypatch.setattr(processes, "_START_SECONDS", 15)
    with Processes(2) as pool:
        results = dict(pool.run(time.sleep, [(0,), (0,), (LONG,), (0,)], limit_seconds=0.5))
    assert [results[i] for i in (0, 1, 3)] == [None] * 3
    assert isinstance(results[2], Ended)
    assert results[2].why == ""


def test_who_stops_listening_ends_what_is_at_work():
    with Processes(2) as pool:
        with closing(pool.run(time.sleep, [(0,), (LONG,)])) as results:
            assert next(results) == (0, None)
            working = children()
        assert sum(process.is_running() for process in working) <= 1  # the idle one stays
    assert gone(working)


def test_processes_at_work_end_when_their_parent_is_killed(tmp_path):
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, tiny.__file__, "SLOW", "standard", str(tmp_path), "2"],
        env={**os.environ, tiny.LOG: str(log), "KERNLAB_TEST_DELAY": str(LONG)},
        stderr=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 120
    while not log.exists() or len(log.read_text().splitlines()) < 2:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    working = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert gone(working)


@pytest.mark.parametrize("allowed", [True, False])
def test_peak_memory_is_what_the_block_added(monkeypatch, allowed):
    if not allowed:
        monkeypatch.setattr(measuring, "_CLEAR_REFS", measuring.Path("/nowhere/clear_refs"))
    size = 300_000_000 if allowed else 900_000_000  # above all that this process ever held
    with measuring.peak_memory() as found:
        np.ones(size, dtype=np.uint8).sum()
    assert size * 0.95 < found.bytes_added < size * 1.2
    assert found.note == ""
    with measuring.peak_memory() as smaller:
        np.ones(size // 3, dtype=np.uint8).sum()
    assert smaller.bytes_added > size / 3 * 0.95
    assert smaller.note == ("" if allowed else measuring.UPPER_BOUND)
    if allowed:
        assert smaller.bytes_added < size / 3 * 1.2
