"""`max_memory` is a promise: a process grows by no more, or the refusal comes beforehand.

The cases run in a process of their own, after small runs of the same code: what is compiled and
loaded once does not count.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from kernlab.runtime import parse_bytes

SCRIPT = """
import ctypes
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab import FPC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.approximations import Nystrom
from kernlab.runtime import MemoryLimitError


def held(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


warnings.simplefilter("ignore")
generator = np.random.default_rng(0)
small = generator.normal(size=(300, 8))
machines = LASN(10), LLSVM(10), KernelMachine("exact", "newton"), FPC()
for machine in (*machines, SparseCholeskySVC(sigma="cv")):
    machine.fit(small, np.sign(small[:, 0]))
Nystrom(n_landmarks=10, landmarks="rpcholesky").fit(small)
Nystrom(n_landmarks=10).fit(sp.csr_matrix(small))
for setup, work in json.load(sys.stdin):
    exec(setup)
    refusal = None
    ctypes.CDLL(None).malloc_trim(0)  # what the cases before held is given back
    Path("/proc/self/clear_refs").write_text("5")  # and the largest size so far forgotten
    before = held("VmRSS")
    try:
        exec(work)
    except MemoryLimitError as error:
        refusal = str(error)
    print(json.dumps([held("VmHWM") - before, refusal]))
"""

LONG, WIDE = "generator.normal(size=(100_000, 20))", "generator.normal(size=(3000, 2000))"
WIDEST = "generator.normal(size=(1000, 5000))"
CLOUD = "generator.normal(size=(9000, 20))"
SQUARE = "generator.normal(size=(2000, 5))"
SPARSE = (
    "sp.csr_matrix((np.ones(150_000), (np.repeat(np.arange(5000), 30), "
    "generator.integers(0, 300_000, 150_000))), (5000, 300_000))"
)
FITS = [
    (LONG, "LLSVM(300, runs=1, max_memory={limit!r})", "60MB", False),
    (LONG, "LLSVM(100, max_memory={limit!r})", "165MB", False),
    (WIDE, "LASN(1000, landmarks='uniform', max_memory={limit!r})", "100MB", False),
    (LONG, "LASN(1000, landmarks='rpcholesky', max_memory={limit!r})", "100MB", True),
    (SPARSE, "LASN(300, max_memory={limit!r})", "20MB", False),
    (SQUARE, "KernelMachine('exact', 'newton', max_memory={limit!r})", "165MB", False),
    (WIDEST, "LASN(max_memory={limit!r})", "25MB", False),
    (WIDEST, "FPC(max_memory={limit!r})", "110MB", False),
    (LONG, "SparseCholeskySVC(max_memory={limit!r})", "20MB", True),
    (WIDEST, "SparseCholeskySVC(max_memory={limit!r})", "30MB", True),
    (WIDEST, "SparseCholeskySVC(sigma='cv', max_memory={limit!r})", "70MB", True),
    (CLOUD, "SparseCholeskySVC(sigma='cv', max_memory={limit!r})", "10MB", False),
]


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Of each case the bytes that a process grows by, and the text of the refusal, if it was one.

    The last reads a file of more than 128 MB.
    """
    folder = tmp_path_factory.mktemp("files")
    rows = np.random.default_rng(1).normal(size=(2000, 22)).round(6)
    dump_svmlight_file(rows, rows[:, 0] > 0, str(folder / "part.svm"), zero_based=False)
    part = (folder / "part.svm").read_bytes()
    path, sample = folder / "large.svm", folder / "sample.svm"
    sample.write_bytes(3 * part)  # more than one block
    with path.open("wb") as file:
        while file.tell() < 2**27:
            file.write(part)
    labels = "y = np.sign(generator.normal(size=X.shape[0]))"
    cases = [
        (f"X = {rows}\n{labels}", f"{machine.format(limit=limit)}.fit(X, y)")
        for rows, machine, limit, _ in FITS
    ]
    machine = "machine = LLSVM(20, gamma=0.02, runs=1, block_rows=5000, random_state=0)"
    fit = f"assert machine.fit({str(path)!r}).result_.relative_gap < 0.2"
    cases.append((f"{machine}\nmachine.fit({str(sample)!r})", fit))
    names = ("KERNLAB_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        env=os.environ | dict.fromkeys(names, "1"),
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("case", range(len(FITS)))
def test_a_fit_takes_what_it_may_or_is_refused(grown, case):
    *_, limit, is_refused = FITS[case]
    taken, refusal = grown[case]
    assert (refusal is not None) == is_refused
    assert taken <= 1.1 * parse_bytes(limit) + 50e6


def test_a_file_of_twice_the_memory_taken(grown):
    """A process that grows by less than 64 MB trains on a file of more than 128 MB."""
    taken, refusal = grown[-1]
    assert refusal is None
    assert taken < 2**26
