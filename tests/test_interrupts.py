"""Ctrl-C ends any fit soon, and leaves the threads of BLAS as they were.

A process of its own begins what would take minutes and says so; a signal comes to it from outside,
as from a terminal, for a thread of its own could not send one while compiled code keeps Python's
lock. It says when it has heard: two seconds are promised, ten allowed where others use the machine.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import numpy as np
import pytest
import scipy.linalg as la
from threadpoolctl import threadpool_info, threadpool_limits

from kernlab.approximations.compact.factor import available_backends
from kernlab.runtime import (
    blas_threads_for,
    cholesky_factor,
    eigenvalues,
    pivoted_cholesky,
    single_blas_thread,
    times_transposed_triangle,
    triangle_of_squares,
)
from kernlab.solvers import SOLVERS

SCRIPT = """
import json, os, sys, time, warnings
import numpy as np
from threadpoolctl import threadpool_info
from kernlab.approximations import (
    CompactKernel, ExactKernel, FourierMap, HSSKernel, Nystrom, PolynomialMap, ReducedMap)
from kernlab.approximations.compact.factor import available_backends
from kernlab.runtime import Stopwatch, eigenvalues
from kernlab.solvers import SOLVERS

def threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

def say(*words):
    print(json.dumps(words), flush=True)

def until_heard(work, shape, stage):
    draw, awaited = np.random.default_rng(0), [stage]
    X = draw.normal(size=shape)
    y = np.sign(X[:, 0] + draw.normal(size=len(X)))
    def entered(watch, name):
        if name in awaited:
            awaited.clear()
            say("begun")
        return enter(watch, name)
    Stopwatch.stage = entered
    try:
        if stage is None:
            say("begun")
        while True:
            exec(work, globals(), {"X": X, "y": y})
    except KeyboardInterrupt:
        return time.monotonic()

warnings.simplefilter("ignore")
available_backends()  # loads a BLAS of its own
enter, before = Stopwatch.stage, threads()
for case in json.loads(sys.argv[1]):
    say(until_heard(*case), before == threads())
os._exit(0)
"""

ENDLESS = "tol=0.0, max_iter=10**8"
OF_SOLVERS = {
    "newton": "SOLVERS['newton'].solve(X, y, C=1e3, method='cg', tol=0.0, gap_tol=0.0, "
    "max_iter=10**8)",
    "newton-cg": "SOLVERS['newton-cg'].solve(X @ X.T, y, C=1e9, tol=0.0, max_iter=10**8)",
    "dcd": f"SOLVERS['dcd'].solve(X, y, C=1e6, {ENDLESS})",
    "sbm": f"SOLVERS['sbm'].solve(X, y, C=1e6, block_rows=500, {ENDLESS})",
    "dual-admm": f"SOLVERS['dual-admm'].solve(ExactKernel(gamma=1.0).fit(X), y, C=1e6, {ENDLESS})",
    "hinge-admm": f"SOLVERS['hinge-admm'].solve(X, y, C=1e6, {ENDLESS})",
    "hinge-interior": "SOLVERS['hinge-interior'].solve(X, y, C=1e6, tol=0.0)",
    "liblinear-dcd": "SOLVERS['liblinear-dcd'].solve(X, y, C=1e6, tol=1e-300, max_iter=10**8)",
    "liblinear-tron": "SOLVERS['liblinear-tron'].solve(np.repeat(X, 40, axis=0), "
    "np.repeat(y, 40), C=1e6, tol=1e-300, max_iter=10**8)",
}
assert set(OF_SOLVERS) == set(SOLVERS)
# What is done, with rows of which shape, and the stage in whose midst the signal comes. A family
# has one process, in which work that nobody waits for any more goes on: the longest is last.
FAMILIES = {
    "solvers": [(work, (2000, 300), None) for work in OF_SOLVERS.values()],
    "landmarks": [
        ("Nystrom(n_landmarks=3000).fit(X)", (200_000, 20), "landmarks"),
        ("Nystrom(n_landmarks=4000, landmarks='rpcholesky').fit(X)", (50_000, 20), "landmarks"),
    ],
    "features": [
        (f"{work}.fit_transform(X)", shape, "features")
        for work, shape in (
            ("Nystrom(n_landmarks=2000, landmarks='uniform')", (200_000, 20)),
            ("FourierMap(n_components=2000)", (200_000, 20)),
            ("ReducedMap(n_landmarks=2000, landmarks='uniform')", (200_000, 20)),
            ("PolynomialMap(6)", (200_000, 5)),
            ("ExactKernel(gamma=100.0)", (5000, 5)),
            ("ExactKernel(gamma=100.0, factor='eigenvectors')", (3000, 5)),
        )
    ],
    "matrices": [
        ("ExactKernel(gamma=1.0).fit(X)", (6000, 5), "kernel"),
        ("CompactKernel(gamma=0.5, l=1).fit(X)", (8000, 4), "assemble"),
        ("HSSKernel(gamma=1.0, rel_tol=1e-8).fit(X)", (30_000, 8), "compress"),
        (
            "HSSKernel(gamma=100.0, leaf_size=2000, rel_tol=1e-2).fit(X).shifted(1.0)",
            (4000, 2),
            "factor",
        ),
        *(
            (f"CompactKernel(backend={backend!r}, {how}).fit(X).features(X)", shape, "factor")
            for backend, how, shape in (
                ("cholmod", "ordering='natural', gamma=0.5, max_memory='8GB'", (14_000, 8)),
                ("superlu", "gamma=2.0", (8000, 3)),
            )
            if backend in available_backends()
        ),
        (
            "Nystrom(n_landmarks=3000, landmarks='first', factor='eigen-drop').fit(X)",
            (5000, 20),
            "map",
        ),
        ("eigenvalues(X @ X.T)", (4000, 100), None),
    ],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_signal_from_outside_ends_what_would_take_minutes(family):
    command = [sys.executable, "-c", SCRIPT, json.dumps(FAMILIES[family])]
    threads = {"OPENBLAS_NUM_THREADS": "2", "KERNLAB_NUM_THREADS": "2", "PYTHONFAULTHANDLER": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    late = []
    with subprocess.Popen(command, env=os.environ | threads, **pipes) as process:
        watch = threading.Timer(200, process.kill)
        watch.start()
        for work, *_ in FAMILIES[family]:
            begun = process.stdout.readline()
            assert begun == '["begun"]\n', (work, process.stderr.read(), process.wait())
            time.sleep(0.3)
            struck = time.monotonic()
            process.send_signal(signal.SIGINT)
            heard, as_before = json.loads(process.stdout.readline() or "[Infinity, false]")
            if heard - struck > 10.0 or not as_before:
                late.append((work, heard - struck, as_before))
        watch.cancel()
    assert not late


def test_a_signal_while_threads_are_limited_leaves_no_limit():
    """Python hears signals where a function begins and after a call of C: one comes at each."""

    def interrupted_at(place):
        def heard(frame, event, argument):
            nonlocal place
            place -= event in ("call", "c_return")
            if place == 0:
                raise KeyboardInterrupt

        sys.setprofile(heard)
        try:
            with single_blas_thread(), blas_threads_for(5000):
                pass
        finally:
            sys.setprofile(None)

    with single_blas_thread():
        pass  # looks for BLAS libraries, once
    with threadpool_limits(3, user_api="blas"):
        for place in itertools.count(1):
            with suppress(KeyboardInterrupt):
                interrupted_at(place)
                break
            now = {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}
            assert now == {3}, f"signal {place} left a limit"
    assert place > 50


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


@pytest.mark.parametrize("rows", [0, 70, 200])
def test_a_triangle_of_squares_is_that_of_both_matrices_below_each_other(rows):
    A = np.zeros((200, 200), order="F")
    A[:rows] = np.random.default_rng(0).normal(size=(rows, 200))
    squares = A.T @ A + 0.09 * np.eye(200)
    R = np.triu(triangle_of_squares(A, rows, 0.3))
    np.testing.assert_allclose(R.T @ R, squares, atol=1e-11)


def test_a_transposed_triangle_times_the_first_rows():
    draw = np.random.default_rng(0)
    L, A = draw.normal(size=(70, 70)), np.asfortranarray(draw.normal(size=(200, 90)))
    expected = np.vstack([np.tril(L).T @ A[:70], A[70:]])
    times_transposed_triangle(np.asfortranarray(L), A)
    np.testing.assert_allclose(A, expected, atol=1e-12)


def test_eigenvalues_are_those_of_scipy():
    A = np.random.default_rng(0).normal(size=(300, 300))
    for dtype, near in ((np.float64, 1e-12), (np.float32, 1e-4)):
        K = (A @ A.T / 300 + np.eye(300)).astype(dtype)
        values, vectors = eigenvalues(K)
        assert values.dtype == vectors.dtype == dtype
        np.testing.assert_allclose(values, la.eigvalsh(K), atol=near)
        np.testing.assert_allclose(vectors * values @ vectors.T, K, atol=near)
        np.testing.assert_allclose(eigenvalues(K, vectors=False), values, atol=near)
