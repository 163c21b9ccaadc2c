"""How much memory some lines of Python take at the worst moment, in a process of their own.

A promise `max_memory` holds if the process grows by at most `allowed(max_memory)`, or if what was
asked for is refused beforehand.
"""

import json
import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

from kernlab.runtime import parse_bytes

SCRIPT = """
import json
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.runtime import MemoryLimitError


def held(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


warnings.simplefilter("ignore")
{setup}
refusal = None
Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
before = held("VmRSS")
try:
{work}
except MemoryLimitError as error:
    refusal = str(error)
print(json.dumps([held("VmHWM") - before, refusal]))
"""


class Growth(NamedTuple):
    """The bytes that the process grew by, and the text of the refusal, if it was one."""

    bytes: int
    refusal: str | None


def growth(setup, work, threads=1):
    """What `work` adds to a process that has run `setup` (data, and small runs of the same code, so
    that what is compiled and loaded once does not count)."""
    script = SCRIPT.format(
        setup=textwrap.dedent(setup), work=textwrap.indent(textwrap.dedent(work).strip(), " " * 4)
    )
    names = ("KERNLAB_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return Growth(*json.loads(done.stdout.splitlines()[-1]))


def allowed(max_memory):
    """The growth that keeps a promise: a tenth and 50 MB more than it says."""
    return 1.1 * parse_bytes(max_memory) + 50e6
