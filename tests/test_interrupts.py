"""Ctrl-C ends any fit soon, and leaves the threads of BLAS as they were.

A process of its own begins what would take minutes, gets the signal in the midst of it, and says
how long it took to hear of it: two seconds are promised, ten allowed where others use the machine.
"""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg as la

from kernlab.lapack import cholesky_factor, pivoted_cholesky
from kernlab.solvers import SOLVERS

SCRIPT = """
import json, os, signal, threading, time, warnings
import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info
from kernlab import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.approximations import (
    CompactKernel, ExactKernel, FourierMap, HSSKernel, Nystrom, PolynomialMap, ReducedMap)
from kernlab.runtime import Stopwatch
from kernlab.solvers import get_solver

def threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

def strike():
    global struck
    struck = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

warnings.simplefilter("ignore")
struck, found, before = None, "not interrupted", threads()
draw = np.random.default_rng(0)
n, p = {shape}
X = draw.normal(size=(n, p))
y = np.sign(X[:, 0] + draw.normal(size=n))
{setup}
stage, wait = {stage!r}, {wait}
if stage is None:
    threading.Timer(wait, strike).start()
else:
    enter = Stopwatch.stage
    def begun(watch, name):
        if name == stage and struck is None:
            threading.Timer(wait, strike).start()
        return enter(watch, name)
    Stopwatch.stage = begun
try:
    while True:
        {work}
except KeyboardInterrupt:
    found = time.perf_counter() - struck
print(json.dumps([found, before == threads()]), flush=True)
os._exit(0)
"""


def interrupted(work, shape=(2000, 5), setup="", stage=None, wait=1.0):
    """The seconds until a signal was heard; the signal comes `wait` seconds into a stage."""
    script = SCRIPT.format(work=work, shape=shape, setup=setup, stage=stage, wait=wait)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    seconds, as_before = json.loads(done.stdout.splitlines()[-1])
    assert as_before
    return seconds


ENDLESS = "tol=0.0, max_iter=10**8"
OF_SOLVERS = {
    "newton": "get_solver('newton').solve(X[:, :1000], y, C=1e3, method='cg', tol=0.0, "
    "gap_tol=0.0, max_iter=10**8)",
    "newton-cg": "get_solver('newton-cg').solve(K, y, C=1e9, tol=0.0, max_iter=10**8)",
    "dcd": f"get_solver('dcd').solve(X, y, C=1e6, {ENDLESS})",
    "sbm": f"get_solver('sbm').solve(X, y, C=1e6, block_rows=500, {ENDLESS})",
    "liblinear-dcd": "get_solver('liblinear-dcd').solve(X, y, C=1e6, tol=1e-300, max_iter=10**8)",
    "liblinear-tron": "get_solver('liblinear-tron').solve(np.repeat(X, 40, axis=0), "
    "np.repeat(y, 40), C=1e6, tol=1e-300, max_iter=10**8)",
    "dual-admm": f"get_solver('dual-admm').solve(ExactKernel(gamma=1.0).fit(X), y, C=1e6, "
    f"{ENDLESS})",
    "hinge-admm": f"get_solver('hinge-admm').solve(X, y, C=1e6, {ENDLESS})",
    "hinge-interior": "get_solver('hinge-interior').solve(X, y, C=1e6, tol=0.0)",
}
assert set(OF_SOLVERS) == set(SOLVERS)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_ends(solver):
    setup = "K = X @ X.T" if solver == "newton-cg" else ""
    assert interrupted(OF_SOLVERS[solver], (2000, 300), setup, wait=2.0) < 10


OF_STAGES = [  # an approximation, the rows, and the stage in whose midst the signal comes
    ("ExactKernel(gamma=1.0).fit(X)", (6000, 5), "kernel", 0.2),
    (
        "ExactKernel(gamma=100.0, factor='eigenvectors').fit_transform(X)",
        (2500, 5), "features", 0.5,
    ),
    ("ExactKernel(gamma=100.0).fit_transform(X)", (5000, 5), "features", 0.5),
    ("Nystrom(n_landmarks=3000).fit(X)", (200_000, 20), "landmarks", 0.5),
    ("Nystrom(n_landmarks=4000, landmarks='rpcholesky').fit(X)", (50_000, 20), "landmarks", 0.5),
    ("Nystrom(n_landmarks=4000, landmarks='leverage').fit(X)", (50_000, 20), "landmarks", 0.5),
    (
        "Nystrom(n_landmarks=4000, landmarks='uniform', factor='eigen-drop').fit(X)",
        (5000, 20), "map", 0.5,
    ),
    ("Nystrom(n_landmarks=2000, landmarks='uniform').fit_transform(X)",
     (200_000, 20), "features", 0.5),
    ("ReducedMap(n_landmarks=2000).fit_transform(X)", (200_000, 20), "features", 0.5),
    ("FourierMap(n_components=2000).fit_transform(X)", (200_000, 20), "features", 0.5),
    ("CompactKernel(gamma=0.5, l=1).fit(X)", (8000, 4), "assemble", 0.2),
    (
        "CompactKernel(gamma=2.0, l=1, backend='superlu').fit(X).features(X)",
        (8000, 3), "assemble", 2.0,
    ),
    ("HSSKernel(gamma=1.0, rel_tol=1e-8).fit(X)", (50_000, 8), "compress", 0.5),
    ("PolynomialMap(6).fit_transform(X)", (200_000, 5), "features", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("work", "shape", "stage", "wait"), OF_STAGES)
def test_a_stage_of_an_approximation_ends(work, shape, stage, wait):
    assert interrupted(work, shape, stage=stage, wait=wait) < 10


def test_factors_are_those_of_scipy():
    A = np.random.default_rng(0).normal(size=(300, 300))
    for dtype, near in ((np.float64, 1e-12), (np.float32, 1e-4)):
        K = (A @ A.T / 300 + np.eye(300)).astype(dtype)
        found = cholesky_factor(K)
        assert found[0].dtype == dtype
        np.testing.assert_allclose(la.cho_solve(found, K), np.eye(300), atol=near)
    low = A[:, :20] @ A[:, :20].T
    lower, pivots, rank = pivoted_cholesky(low, 1e-8)
    lower = np.tril(lower)[:, :rank]
    assert rank == 20
    np.testing.assert_allclose(lower @ lower.T, low[np.ix_(pivots - 1, pivots - 1)], atol=1e-8)
    with pytest.raises(la.LinAlgError):
        cholesky_factor(-K)
