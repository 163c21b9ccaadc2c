"""How near the machines on landmarks come to what this computer's arithmetic allows.

Every piece of work is fitted in a process of its own, with all threads, after a small fit that
compiles: by this code and, with `old`, by another checkout of kernlab on the same rows (`limit_fit`
knows public names only). Beside the seconds stands a roofline.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp

import kernlab
from kernlab.datasets import load_dataset
from kernlab.lab.bench import harness
from kernlab.lab.bench.harness import Asked, Growth, compared
from kernlab.lab.engine import NotRun, Point, catalogued
from kernlab.lab.engine.parameters import Kind, one_of, several
from kernlab.lab.papers.common.fitting import shape_of

THIS, OLD = "this code", "old code"
PATH = tuple(10.0 ** np.arange(-4, 5))


@dataclass(frozen=True)
class Work:
    """Rows, a machine, and the seconds asked for (or how many times those of another work)."""

    rows: tuple  # the name of a function below, and its arguments
    k: int
    asked: float | None = None
    of: str = ""
    machine: str = "LASN"
    repeats: int = 3
    costs: tuple = ()
    parameters: dict = field(default_factory=dict)

    @property
    def job(self):
        named = {"n_landmarks": self.k, "C": 10.0, "random_state": 0} | self.parameters
        told = {name: getattr(self, name) for name in ("machine", "costs", "repeats")}
        return told | {"parameters": named}


def _covtype(k, gamma, asked, rows=100_000, **more):
    return Work(("covtype", rows), k, asked, parameters={"gamma": gamma}, **more)


def _llsvm(name, asked):
    return Work(("site", name), 992, asked, machine="LLSVM", parameters={"runs": None})


WORKS = {
    "a9a": Work(("site", "a9a"), 1000, 0.45),
    "w8a": Work(("site", "w8a"), 1000, 0.5),
    "ijcnn1": Work(("site", "ijcnn1"), 1000, 0.35),
    "covtype-1000": _covtype(1000, 0.02, 1.4),
    "covtype-2000": _covtype(2000, 0.02, 3.5, repeats=2),
    "covtype-4000": _covtype(4000, 0.05, 9.0, repeats=1),
    "covtype-8000": _covtype(8000, 0.05, 25.0, repeats=1),
    "covtype-all-4000": _covtype(4000, 0.05, 45.0, rows=435_759, repeats=1),
    "covtype-all-10000": Work(
        ("covtype", 435_759), 10_000, 240.0, repeats=1,
        parameters={"gamma": 0.05, "max_memory": "8GB"},
    ),
    "census": Work(("census", 207_546), 992, 3.0, parameters={"gamma": 0.1}),
    "waves-1e5": Work(("waves", 100_000), 1000, parameters={"gamma": 0.05}),
    "waves-4e5": Work(("waves", 400_000), 1000, repeats=1, parameters={"gamma": 0.05}),
    "waves-4e6": Work(("waves", 4_000_000), 1000, repeats=1, parameters={"gamma": 0.05}),
    "path": _covtype(4000, 0.05, 3.0, of="covtype-4000", costs=PATH, repeats=1),
    "mnist-one": Work(("digits", True), 2000, repeats=1),
    "mnist-ten": Work(("digits", False), 2000, 3.0, of="mnist-one", repeats=1),
    "llsvm-a9a": _llsvm("a9a", 0.8),
    "llsvm-ijcnn1": _llsvm("ijcnn1", 0.7),
    "regression": Work(
        ("targets", 1_000_000), 1000, machine="LASNRegressor", repeats=1,
        parameters={"gamma": 0.1, "C": 1.0, "epsilon": 0.1},
    ),
    "tiny": Work(("waves", 3000), 50, repeats=1, parameters={"gamma": 0.05}),
    "tiny-path": Work(("waves", 3000), 50, 3.0, of="tiny", costs=PATH[:3], repeats=1,
                      parameters={"gamma": 0.05}),
}  # fmt: skip


# ------------------------------------------------------------------------------------------ rows
def site(name):
    """The files as published: training rows and labels, test rows and labels."""
    data = load_dataset(name)
    return data.X_train, data.y_train, data.X_test, data.y_test


def covtype(n):
    """Standardised rows of covtype drawn at random, class 2 against the rest."""
    data = _covertype()
    return data.X_train[:n], data.y_train[:n], data.X_test[:50_000], data.y_test[:50_000]


@lru_cache(maxsize=1)
def _covertype():
    return load_dataset("covtype-2", split="shuffled", scaling="standard")


def census(n):
    """15 categorical columns as 98 columns of zeros and ones; the label follows some pairs."""
    sizes = (8, 16, 7, 14, 6, 5, 2, 10, 9, 5, 4, 3, 3, 4, 2)
    generator = np.random.default_rng(0)
    n_all = n + 20_000
    codes = [np.minimum(generator.geometric(2.0 / size, n_all) - 1, size - 1) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = np.stack([start + code for start, code in zip(starts, codes, strict=True)], axis=1)
    X = sp.csr_matrix(
        (np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, len(sizes))),
        shape=(n_all, sum(sizes)),
    )
    score = sum(
        generator.standard_normal(size)[code] for size, code in zip(sizes, codes, strict=True)
    )
    for a, b in ((0, 1), (3, 4), (7, 8), (1, 9)):
        score += generator.standard_normal((sizes[a], sizes[b]))[codes[a], codes[b]]
    y = np.where(score + 2.0 * generator.standard_normal(n_all) > np.quantile(score, 0.75), 1, -1)
    return X[:n], y[:n], X[n:], y[n:]


def waves(n):
    """Rows with a wavy boundary in two of 20 columns."""
    X, y = harness.waves(n + 5000)
    return X[:n], y[:n], X[n:], y[n:]


def digits(one):
    """MNIST: ten classes, or the first against the others."""
    data = load_dataset("mnist")
    y = [np.where(y == 0, 1, -1) if one else y for y in (data.y_train, data.y_test)]
    return data.X_train, y[0], data.X_test, y[1]


def targets(n):
    """A smooth function of 10 columns, with noise."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n + 5000, 10))
    t = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * generator.standard_normal(n + 5000)
    return X[:n], t[:n], X[n:], t[n:]


@cache
def _folder():
    return tempfile.TemporaryDirectory()  # until this process ends


def _written(name, argument):
    """The file that a set's rows were written to."""
    file = Path(_folder().name) / f"{name}-{argument}"
    if not file.exists():
        joblib.dump(globals()[name](argument), file)
    return file


# ----------------------------------------------------------------------------------------- a fit
def _measure(point, seed):
    work = WORKS[point.dataset]
    file = _written(*work.rows)
    code = Path(point["checkout"] or Path(kernlab.__file__).parents[1])
    if not (code / "kernlab").is_dir():
        raise NotRun(f"there is no kernlab in {code}")
    done = subprocess.run(
        [sys.executable, "-P", Path(__file__).with_name("limit_fit.py"), str(file)],
        input=json.dumps(work.job), capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(code)},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.strip().splitlines()[-2:]))
    row = json.loads(done.stdout.splitlines()[-1])
    X = joblib.load(file, mmap_mode="r")[0]
    least = harness.roofline(X, row.get("rank") or work.k)
    return row | shape_of(X) | {"roofline_seconds": least, "n_landmarks": work.k}


def _beside(row, others):
    """The old code's seconds; or those of another work by the same code, and how many times."""
    work = WORKS[row["dataset"]]
    if not work.of:
        return {"asked": f"{work.asked:g} s" if work.asked else ""}
    asked = f"ratio: at most {work.asked:g} times {work.of}"
    return {"ratio": row["fit_seconds"] / others["fit_seconds"].median(), "asked": asked}


_CODES = (THIS, OLD)
ASKED = (
    *(
        Asked(
            name, {"dataset": name, "method": _CODES}, each=("dataset", "method"), cells=_beside,
            against={"dataset": work.of} if work.of else {"method": OLD},
        )
        for name, work in WORKS.items()
    ),
    *(
        Growth({"dataset": ends, "method": _CODES}, f"exponent at most {most}", ("method",), size)
        for ends, size, most in (
            (("covtype-1000", "covtype-8000"), "n_landmarks", 1.2),
            (("waves-1e5", "waves-4e6"), "n_train", 1.02),
        )
    ),
)  # fmt: skip
WorkNames = several(one_of(*WORKS))
Checkout = Kind("the folder of another checkout", str)


@catalogued(
    "bench-limit", "Machines on landmarks against this computer's arithmetic", paper="bench"
)
def near_limit(profile, works: WorkNames = None, old: Checkout = None, seed=0):
    """How near do fits on landmarks come to the arithmetic that they cannot do without?

    Parameters
    ----------
    works : names of `WORKS`; None for all of them, and two tiny ones under the quick profile.
    old : the folder of another checkout of kernlab, whose fits are to stand beside.
    """
    codes = {THIS: ""} | ({OLD: str(Path(old).resolve())} if old else {})
    tiny = [name for name in WORKS if name.startswith("tiny")]
    chosen = works or (tiny if profile == "quick" else [n for n in WORKS if n not in tiny])
    return [
        Point.make(name, method, checkout=code) for name in chosen for method, code in codes.items()
    ]


near_limit.measure(_measure, timing=True, comparison=partial(compared, ASKED))
