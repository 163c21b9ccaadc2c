"""The commands apart from `reproduce`: what they print, and what they exit with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernlab.lab import cli
from kernlab.runtime import MemoryLimitError

BIN = Path(sys.executable).parent


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


def test_every_command_has_help_that_says_something(kernlab):
    def walk(command, words):
        result = kernlab(*words, "--help")
        assert result.exit_code == 0
        assert command.help, words
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, [*words, name])

    walk(cli.main, [])


def test_installed_command_runs():
    text = subprocess.check_output([BIN / "kernlab", "--version"], text=True)
    assert "0.1" in text


def test_doctor_exits_by_its_verdict(kernlab, monkeypatch):
    from kernlab.lab import doctor

    for well in (True, False):
        monkeypatch.setattr(doctor, "diagnose", lambda well=well: ("all looked at", well))
        result = kernlab("doctor")
        assert "all looked at" in result.stdout
        assert result.exit_code == (0 if well else 1)


def test_data_list_and_path(kernlab, out, tmp_path):
    listing = kernlab("data", "list")
    assert listing.exit_code == 0
    a9a = next(line for line in listing.stdout.splitlines() if line.startswith("a9a "))
    assert "48,842" in a9a or "32,561" in a9a
    assert kernlab("data", "path", "magic").exit_code == 0
    missing = kernlab("data", "path", "higgs")
    assert missing.exit_code == 1
    assert "kernlab data get higgs" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_data_verify_and_get(kernlab, out):
    good = kernlab("data", "verify", "magic")
    assert (good.exit_code, "magic" in good.stdout) == (0, True)
    gone = kernlab("data", "verify", "higgs")
    assert gone.exit_code == 1
    assert "missing" in gone.stdout
    made = kernlab("data", "get", "two-moons")
    assert "no file is needed" in made.stdout


def test_unknown_names_are_one_paragraph_with_the_nearest(kernlab, house):
    for words in (("data", "get", "magik"), ("reproduce", "tiny-t2"), ("bench", "fot")):
        result = kernlab(*words)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: ")
        assert "Traceback" not in result.stderr
    assert "magic" in kernlab("data", "get", "magik").stderr
    assert "Did you mean fit" in kernlab("bench", "fot").stderr


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
        ("data", "get"),
        ("nonsense",),
    ):
        assert kernlab(*words).exit_code == 2


def test_bench_lists_and_prints(kernlab, house):
    listing = kernlab("bench")
    assert listing.stdout.splitlines()[1].split(maxsplit=1) == ["fit", "What of bench-fit?"]
    result = kernlab("bench", "fit")
    assert result.exit_code == 0, result.output
    header, first, *_ = result.stdout.splitlines()
    assert header.split() == ["dataset", "method", "fit_seconds", "test_accuracy", "peak_bytes",
                              "status"]  # fmt: skip
    assert first.split()[:2] == ["toy", "LASN"]
    assert "1 s (0.5 s to 1.5 s)" in first
    assert kernlab("bench", "bench-fit").exit_code == 0


def test_report_prints_its_path(kernlab, house, out):
    kernlab("reproduce", "tiny-t1", "--jobs", "1")
    result = kernlab("report")
    assert result.exit_code == 0, result.output
    assert Path(result.stdout.strip()) == out / "quick" / "index.html"
    assert "tiny-t1" in Path(result.stdout.strip()).read_text()


def test_notebooks_check(kernlab, house):
    assert kernlab("notebooks", "check").exit_code == 0  # none there
    (house / "00_bad.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5,
                                                   "metadata": {}, "cells": []}))  # fmt: skip
    result = kernlab("notebooks", "check")
    assert result.exit_code == 1
    assert all(line.startswith("00_bad") for line in result.stdout.splitlines())
    assert "no cells tagged 'parameters'" in result.stdout


def test_lab_is_for_this_machine_alone(monkeypatch):
    called = {}

    def execve(program, command, environment):
        called.update(command=command, environment=environment)
        raise SystemExit(0)

    monkeypatch.setattr(cli.os, "execve", execve)
    monkeypatch.setattr(cli.os, "geteuid", lambda: 0)
    assert CliRunner().invoke(cli.main, ["lab", "--no-browser", "--port=9999"]).exit_code == 0
    command = called["command"]
    assert command[1:4] == ["-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    assert command[-2:] == ["--no-browser", "--port=9999"]
    assert "--allow-root" in command
    assert not any("token" in word or "password" in word for word in command)
    monkeypatch.setattr(cli.os, "geteuid", lambda: 1000)
    CliRunner().invoke(cli.main, ["lab"])
    assert "--allow-root" not in called["command"]
