"""Runs that do not reach their end: killed, interrupted, meeting another run of the same study."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
import tiny_studies as tiny
from tiny_studies import run_study

from kernlab.lab.engine import StudyError
from kernlab.lab.engine.record import results
from kernlab.lab.engine.rows import RowStore, tables_dir
from kernlab.lab.engine.run import execute

# Rows of this profile serve whatever happens to the rest of kernlab's code in the meantime.
PROFILE = "standard"
N_POINTS = 36
NOT_NUMBERS = ["seconds", "peak_bytes", "peak_note", "date"]


def start(study, out, jobs=0, **environment):
    return subprocess.Popen(
        [sys.executable, tiny.__file__, study, PROFILE, str(out), str(jobs)],
        env={**os.environ, "KERNLAB_TEST_DELAY": "0.15", **environment},
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


def wait_for(condition, seconds=60):
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it never came"
        time.sleep(0.01)


def wait_for_rows(out, n):
    path = tables_dir(PROFILE, out) / "tiny-slow.rows.jsonl"
    wait_for(lambda: len(lines(path)) >= n)
    return path


@pytest.mark.parametrize("jobs", [0, 2])
def test_after_kill_9_only_the_missing_points_are_computed(tmp_path, monkeypatch, jobs):
    process = start("SLOW", tmp_path / "killed", jobs)
    rows = wait_for_rows(tmp_path / "killed", 3)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    finished = len(lines(rows))
    assert 3 <= finished < N_POINTS
    # The processes that measured for it must not go on without it.
    assert not psutil.wait_procs(children, timeout=10)[1]

    monkeypatch.setenv("KERNLAB_TEST_DELAY", "0")
    monkeypatch.setenv(tiny.LOG, str(tmp_path / "log"))
    outcome = execute(tiny.SLOW, PROFILE, out=tmp_path / "killed")
    assert (outcome.kept, outcome.computed) == (finished, N_POINTS - finished)
    assert len(lines(tmp_path / "log")) == N_POINTS - finished
    whole = run_study(tiny.SLOW, PROFILE, out=tmp_path / "whole")
    pd.testing.assert_frame_equal(
        outcome.table.drop(columns=NOT_NUMBERS), whole.drop(columns=NOT_NUMBERS), check_exact=True
    )


@pytest.mark.parametrize("jobs", [0, 2])
def test_ctrl_c_keeps_what_is_finished_and_ends_the_workers(tmp_path, jobs):
    process = start("SLOW", tmp_path, jobs)
    rows = wait_for_rows(tmp_path, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert not psutil.wait_procs(children, timeout=10)[1]
    table = results(tiny.SLOW, PROFILE, out=tmp_path)
    # Ctrl-C may come in the moment after a row is on the disk: then the next run's table has it.
    assert 0 <= len(lines(rows)) - len(table) <= 1
    assert 2 <= len(lines(rows)) < N_POINTS
    assert table.status.eq("ok").all()


def test_line_cut_short_by_a_kill_is_dropped(tmp_path):
    run_study(tiny.TINY, PROFILE, out=tmp_path)
    rows = tables_dir(PROFILE, tmp_path) / "tiny-plain.rows.jsonl"
    content = rows.read_bytes()
    for cut in (1, 40, content.count(b"") - content.rfind(b"\n", 0, -1) - 3):
        rows.write_bytes(content[:-cut])
        outcome = execute(tiny.TINY, PROFILE, out=tmp_path)
        assert (outcome.kept, outcome.computed) == (N_POINTS - 1, 1)
        assert rows.read_bytes().count(b"\n") == N_POINTS
        assert execute(tiny.TINY, PROFILE, out=tmp_path).computed == 0


@pytest.mark.parametrize("damage", [b"\x00\x00\x00\n", b"[1]\n", b"\xff{\n", b'{"no": "point"}\n'])
def test_damaged_line_costs_one_point(tmp_path, damage):
    run_study(tiny.TINY, PROFILE, out=tmp_path)
    rows = tables_dir(PROFILE, tmp_path) / "tiny-plain.rows.jsonl"
    good = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join([*good[:5], damage, *good[6:]]))
    outcome = execute(tiny.TINY, PROFILE, out=tmp_path)
    assert (outcome.kept, outcome.computed) == (N_POINTS - 1, 1)


def test_second_run_of_the_same_study_is_refused_and_does_no_harm(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLAB_TEST_DELAY", "0")
    process = start("SLOW", tmp_path)
    wait_for_rows(tmp_path, 1)
    with pytest.raises(StudyError, match=f"Another process .number {process.pid}. is running"):
        run_study(tiny.SLOW, PROFILE, out=tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert execute(tiny.SLOW, PROFILE, out=tmp_path).kept >= 1  # the lock died with it


def test_waiting_for_the_other_run(tmp_path, monkeypatch):
    process = start("SLOW", tmp_path, KERNLAB_TEST_DELAY="0.02")
    wait_for_rows(tmp_path, 1)
    monkeypatch.setenv(tiny.LOG, str(tmp_path / "log"))
    outcome = execute(tiny.SLOW, PROFILE, out=tmp_path, wait_seconds=60)
    assert process.wait(timeout=30) == 0
    assert (outcome.kept, outcome.computed) == (N_POINTS, 0)


def test_records_are_on_the_disk_when_append_returns(tmp_path):
    store = RowStore("tiny-plain", Path(tmp_path))
    store.append({"point": "é", "gap": float("nan")})
    assert len(lines(store.rows_path)) == 1
    assert store.load()[0]["point"] == "é"
