"""The command line over a house of tiny studies, in this process or in one of its own."""

import os
import subprocess
import sys

import cli_house
import pytest
from click.testing import CliRunner

from kernlab.lab import cli, reproduce
from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine import run
from kernlab.lab.engine.measuring import measure_point
from kernlab.lab.report.notebooks import files as notebook_files


@pytest.fixture
def out(tmp_path, monkeypatch):
    """Where results go: a folder with spaces and umlauts. Options that set it are undone."""
    folder = tmp_path / "Ergebnisse für später"
    monkeypatch.setenv("KERNLAB_OUT", str(folder))
    monkeypatch.setenv("KERNLAB_DATA", str(tmp_path))
    return folder


@pytest.fixture
def house(monkeypatch, tmp_path, out):
    """The tiny studies, and a folder of notebooks that is empty at first."""
    before = dict(STUDIES), dict(FIGURES)
    cli_house.move_in()
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    monkeypatch.setattr(notebook_files, "notebooks_dir", lambda: notebooks)
    monkeypatch.setenv("KERNLAB_TEST_NOTEBOOKS", str(notebooks))
    yield notebooks
    for registry, content in zip((STUDIES, FIGURES), before, strict=True):
        registry.clear()
        registry.update(content)


class InThisProcess:
    """Stands for the processes that measure, which take seconds to start; others test those."""

    def __init__(self, jobs, scheduler=None):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, study, calls, limit):
        for number, call in enumerate(calls):
            yield number, measure_point(*call)


@pytest.fixture
def kernlab(monkeypatch):
    """Run a command in this process: its result with exit_code, output (both streams), stdout."""
    monkeypatch.setattr(reproduce, "Workers", InThisProcess)
    monkeypatch.setattr(run, "Workers", InThisProcess)

    def command(*arguments):
        return CliRunner().invoke(cli.main, [str(a) for a in arguments], catch_exceptions=True)

    return command


@pytest.fixture
def start(out):
    """Start the command line over the tiny house in a process of its own."""
    processes = []

    def run(*arguments, cwd=None, **environment):
        process = subprocess.Popen(
            [sys.executable, cli_house.__file__, *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
