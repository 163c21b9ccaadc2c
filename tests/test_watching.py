"""Bars are shown to people: on terminals, and in notebooks that somebody has opened."""

import io

import pytest
from tqdm import tqdm

from kernlab import runtime as watching

KERNEL, OPENED = {"JPY_PARENT_PID": "1"}, {"JPY_PARENT_PID": "1", "JPY_SESSION_NAME": "a.ipynb"}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def drawn(file, **options):
    """What a bar of something that takes long writes to a file."""
    options = watching.bar_options(**options) | {"delay": 0}
    for _ in tqdm(range(3), file=file, **options):
        pass
    return file.getvalue()


@pytest.fixture
def where(monkeypatch):
    """Put the process where an environment says that it is."""

    def settle(environment):
        for name in ("JPY_PARENT_PID", "JPY_SESSION_NAME", "VSCODE_PID", "KERNLAB_PROGRESS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setitem(watching.sys.modules, "ipykernel", watching)

    return settle


@pytest.mark.parametrize(
    ("environment", "file", "shown"),
    [
        ({}, Terminal, True),
        ({}, io.StringIO, False),  # a log
        (KERNEL, io.StringIO, False),  # a notebook run in batch
        (OPENED, io.StringIO, True),
        ({"KERNLAB_PROGRESS": "1"}, io.StringIO, True),
        (OPENED | {"KERNLAB_PROGRESS": "0"}, Terminal, False),
    ],
)
def test_a_bar_is_drawn_where_somebody_watches(where, environment, file, shown):
    where(environment)
    assert bool(drawn(file())) == shown
    assert not drawn(file(), wanted=False)
