"""The commands apart from `reproduce`: what they do, and what they exit with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernlab.lab import cli
from kernlab.lab.engine import record
from kernlab.lab.report.notebooks import files as notebook_files
from kernlab.lab.report.notebooks import refresh
from kernlab.runtime import MemoryLimitError


def test_help_is_cheap():
    """Nothing heavy may be loaded for it: that is what keeps it instant."""
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom kernlab.lab.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    for heavy in ("numpy", "pandas", "sklearn", "matplotlib", "numba", "papermill"):
        assert heavy not in loaded


def test_data_commands(kernlab, out):
    listing = kernlab("data", "list")
    assert listing.exit_code == 0
    a9a = next(line for line in listing.stdout.splitlines() if line.startswith("a9a "))
    assert "48,842" in a9a or "32,561" in a9a
    assert kernlab("data", "path", "magic").exit_code == 0
    missing = kernlab("data", "path", "higgs")
    assert missing.exit_code == 1
    assert "kernlab data get higgs" in missing.stderr
    assert "Traceback" not in missing.stderr
    assert kernlab("data", "verify", "magic").exit_code == 0
    assert kernlab("data", "verify", "higgs").exit_code == 1
    assert "no file is needed" in kernlab("data", "get", "two-moons").stdout


def test_unknown_names_are_one_paragraph_with_the_nearest(kernlab, house):
    near = {
        ("data", "get", "magik"): "magic",
        ("reproduce", "tiny-t2"): "Did you mean tiny-t1",
        ("bench", "fot"): "Did you mean fit",
        ("record", "show", "tiny-t2"): "Did you mean tiny-t1",
    }
    for words, hint in near.items():
        result = kernlab(*words)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert "Traceback" not in result.stderr
        assert hint in result.stderr


@pytest.mark.parametrize("error", [MemoryLimitError("K needs 8 GB"), PermissionError(13, "denied")])
def test_known_errors_without_traceback_unknown_ones_with(kernlab, monkeypatch, error):
    from kernlab.lab import doctor

    def fail():
        raise error

    monkeypatch.setattr(doctor, "diagnose", fail)
    result = kernlab("doctor")
    assert (result.exit_code, result.stderr) == (1, f"Error: {error}\n")
    assert isinstance(kernlab("--debug", "doctor").exception, type(error))

    def stumble():
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(doctor, "diagnose", stumble)
    assert isinstance(kernlab("doctor").exception, KeyError)


def test_wrong_options_are_explained(kernlab, tmp_path):
    for words in (
        ("reproduce", "--profile", "fast"),
        ("reproduce", "--jobs", "0"),
        ("reproduce", "--data", tmp_path / "none"),
        ("record", "check", "--sample", "0"),
        ("data", "get"),
        ("nonsense",),
    ):
        assert kernlab(*words).exit_code == 2


def test_options_hold_for_the_command_alone(kernlab, house, tmp_path, out):
    before = dict(os.environ)
    elsewhere = tmp_path / "elsewhere"
    result = kernlab("bench", "fit", "--out", elsewhere, "--data", tmp_path)
    assert result.exit_code == 0, result.output
    assert (elsewhere / "quick" / "tables" / "bench-fit.csv").exists()
    assert dict(os.environ) == before


def test_bench_lists_and_prints(kernlab, house):
    listing = kernlab("bench")
    assert listing.stdout.splitlines()[1].split(maxsplit=1) == ["fit", "What of bench-fit?"]
    result = kernlab("bench", "fit")
    assert result.exit_code == 0, result.output
    assert "1 s (0.5 s to 1.5 s)" in result.stdout.splitlines()[1]
    assert kernlab("bench", "bench-fit").exit_code == 0


def test_the_record_is_renewed_checked_and_shown(kernlab, house, tmp_path, monkeypatch):
    folder = tmp_path / "record"
    monkeypatch.setattr(record, "record_dir", lambda: folder)
    assert kernlab("record", "show").stdout == "Nothing.\n"
    assert kernlab("record", "check", "tiny-t1").exit_code == 1, "asked for and not there"
    assert (
        "tiny-t1: 4 points on record" in kernlab("record", "update", "tiny-t1", "--compute").stdout
    )
    assert sorted(p.name for p in folder.rglob("*.*")) == ["provenance.json", "tiny-t1.csv"]
    assert "tiny-t1  4 of 4" in kernlab("record", "show").stdout
    checked = kernlab("record", "check", "--sample", "3")
    assert checked.stdout == "3 points computed again, 0 not begun, 0 differ\n"
    assert checked.exit_code == 0
    table = folder / "tables" / "tiny-t1.csv"
    changed = table.read_text().replace(",0.", ",9.")
    table.write_text(changed)
    assert kernlab("record", "check", "tiny-t1").exit_code == 1
    monkeypatch.setattr(record, "_LARGEST", 10)
    refused = kernlab("record", "update", "tiny-t1")
    assert refused.exit_code == 1
    assert "tiny-t1 is not put on record: its table takes" in refused.stderr


def test_report_prints_its_path_once_there_is_something(kernlab, house, out):
    nothing = kernlab("report", "--profile", "standard")
    assert nothing.exit_code == 1
    assert "kernlab reproduce --profile standard" in nothing.stderr
    kernlab("reproduce", "tiny-t1", "--jobs", "1")
    result = kernlab("report")
    assert result.exit_code == 0, result.output
    assert Path(result.stdout.strip()) == out / "quick" / "index.html"
    assert "tiny-t1" in Path(result.stdout.strip()).read_text()


def test_notebooks_check(kernlab, house):
    good = kernlab("notebooks", "check")  # none there
    assert (good.exit_code, good.stdout) == (0, "The notebooks keep the rules.\n")
    (house / "00_bad.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5,
                                                   "metadata": {}, "cells": []}))  # fmt: skip
    result = kernlab("notebooks", "check")
    assert result.exit_code == 1
    assert all(line.startswith("00_bad") for line in result.stdout.splitlines())


def test_a_new_notebook_keeps_the_rules_and_takes_the_parameters_of_its_studies(
    kernlab, out, tmp_path, monkeypatch
):
    for module in (notebook_files, refresh):
        monkeypatch.setattr(module, "notebooks_dir", lambda: tmp_path)
    made = kernlab("notebooks", "new", "90_mine", "lasn-t2", "lasn-thm3")
    assert made.exit_code == 0, made.output
    assert kernlab("notebooks", "check").output == "The notebooks keep the rules.\n"
    text = (tmp_path / "90_mine.ipynb").read_text()
    for line in (
        "N_LANDMARKS: int = 100  # ",
        "DATASETS: list | None = None  # ",
        "C: float = 10.0",
    ):
        assert line in text
    again = kernlab("notebooks", "new", "90_mine", "lasn-t2")
    assert "another name" in again.stderr
    assert "Did you mean lasn-t2" in kernlab("notebooks", "new", "91", "lasn-t22").stderr


def test_lab_opens_a_copy_for_this_machine_alone(kernlab, house, out, monkeypatch):
    called = {}

    def execve(program, command, environment):
        called.update(command=command)
        raise SystemExit(0)

    monkeypatch.setattr(cli.os, "execve", execve)
    monkeypatch.setattr(cli.os, "geteuid", lambda: 0)
    (house / "00_a.ipynb").write_text("{}")
    assert kernlab("lab", "--no-browser", "--port=9999").exit_code == 0
    command = called["command"]
    assert command[1:4] == ["-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    assert command[-2:] == ["--no-browser", "--port=9999"]
    assert "--allow-root" in command
    assert not any("token" in word or "password" in word for word in command)
    assert f"--ServerApp.root_dir={out / 'lab'}" in command
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000)
    kernlab("lab")
    assert "--allow-root" not in called["command"]


def test_a_working_copy_keeps_what_was_changed(house, out):
    original, copy = house / "00_a.ipynb", out / "lab" / "00_a.ipynb"
    original.write_text("first")
    assert notebook_files.working_copy() == (out / "lab", [])
    original.write_text("second")
    assert notebook_files.working_copy()[1] == []
    assert copy.read_text() == "second", "untouched copies follow"
    copy.write_text("mine")
    assert notebook_files.working_copy()[1] == []
    original.write_text("third")
    assert notebook_files.working_copy()[1] == ["00_a.ipynb"]
    assert copy.read_text() == "mine"
    copy.unlink()
    assert notebook_files.working_copy()[1] == []
    assert copy.read_text() == "third"
    assert CliRunner().invoke(cli.main, ["lab", "--help"]).exit_code == 0


def test_recommend_says_what_to_take_of_a_file(kernlab, tmp_path):
    import numpy as np

    X = np.random.default_rng(0).normal(size=(200, 2))
    file = tmp_path / "rows.csv"
    np.savetxt(file, np.column_stack([X, np.sign(X[:, 0])]), delimiter=",", fmt="%.5f")
    said = kernlab("recommend", str(file), "--fit", "--seconds", "60")
    assert said.exit_code == 0, said.output
    for word in ("Take KernelMachine", "Why:", "exact + newton", "accuracy"):
        assert word in said.stdout
    wrong = kernlab("recommend", str(file), "--memory", "much")
    assert wrong.exit_code == 1
    assert "not an amount" in wrong.stderr
