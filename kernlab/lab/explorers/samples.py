"""The rows that explorers work on: toys in the plane, sets of the registry, or a reader's own.

Each knows the code that makes it, for who takes a setting from an explorer into a program.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kernlab.datasets import Dataset, generators, load_dataset
from kernlab.lab.papers.common.fitting import dense

SETS = ("magic", "spambase", "breast-cancer", "checkerboard")
_MAKERS = {
    "two moons": ("two_moons", {"noise": 0.2}),
    "circles": ("circles", {"noise": 0.12}),
    "spirals": ("spirals", {"noise": 0.04}),
    "checkerboard": ("checkerboard", {"noise": 0.1}),
    "gaussians": ("gaussians", {"distance": 2.5}),
    "FPC's toy": ("fpc_toy", {"noise": 0.1}),
    "Swiss roll": ("swiss_roll", {}),
}
TOYS = tuple(name for name in _MAKERS if name != "Swiss roll")  # those in the plane
SHAPES = tuple(name for name in TOYS if name != "gaussians")
ALONE = "own points alone"  # of no set at all

_LOADED = """from kernlab import load_dataset

data = load_dataset({name!r}, scaling="standard")
X, y = data.X_train[:{most}], data.y_train[:{most}]
X_test, y_test = data.X_test, data.y_test"""
_MADE = """from kernlab.datasets import generators
from sklearn.preprocessing import StandardScaler

X, y = generators.{call}, seed=0)
X_test, y_test = generators.{call}, seed=1)"""
_OWN = """from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# X and y are your own rows and labels
X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
X, y = X[:{most}], y[:{most}]"""
_SCALE = """
scaler = StandardScaler().fit(X)
X, X_test = scaler.transform(X), scaler.transform(X_test)"""
_PROJECT = """
from sklearn.decomposition import PCA

plane = PCA(2, whiten=True, random_state=0).fit(X)
X, X_test = plane.transform(X), plane.transform(X_test)"""


class Rows(NamedTuple):
    """Features of unit variance; labels -1 and 1, or the three classes of the Swiss roll."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    __hash__ = object.__hash__  # what is computed from rows is kept by whose they are
    __eq__ = object.__eq__


@dataclass(frozen=True, eq=False)
class Sample:
    """A data set that an explorer can choose: a toy, one that is loaded, or a reader's own."""

    name: str  # of the set or file that is loaded, unless it is a toy or given
    toy: bool = False
    own: object = None  # a Dataset or a pair (X, y)

    def rows(self, most, *, plane=False):
        """At most so many training rows; for the plane, along two principal components."""
        return _rows(self, most, plane)

    def code(self, most, *, plane=False):
        """The Python lines that make X, y, X_test and y_test as `rows` does."""
        if self.name == ALONE:
            return ""
        if self.toy:
            maker, settings = _MAKERS[self.name]
            call = ", ".join([f"{maker}({most}", *(f"{k}={v}" for k, v in settings.items())])
            return _MADE.format(call=call) + _SCALE
        own = isinstance(self.own, tuple)
        text = (_OWN + _SCALE if own else _LOADED).format(name=self.name, most=most)
        return text + (_PROJECT if plane and self.rows(most).X.shape[1] > 2 else "")


_listed = lru_cache(Sample)  # so that explorers share the rows and what comes of them


@lru_cache(maxsize=16)
def _rows(sample, most, plane):
    if sample.name == ALONE:
        return Rows(np.empty((0, 2)), np.empty(0), np.empty((0, 2)), np.empty(0))
    if sample.toy:
        maker, settings = _MAKERS[sample.name]
        (X, y), (X_test, y_test) = (
            getattr(generators, maker)(most, **settings, seed=seed) for seed in (0, 1)
        )
        return _scaled(X, y, X_test, y_test)
    if isinstance(sample.own, tuple):
        X, y = sample.own
        X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
        rows, positive = _scaled(X[:most], y[:most], X_test, y_test), None
    else:
        data = sample.own or load_dataset(sample.name, scaling="standard")
        parts = (data.X_train[:most], data.y_train[:most], data.X_test, data.y_test)
        rows, positive = Rows(*(dense(part) for part in parts)), data.info["positive"]
    classes = np.unique(rows.y)
    if len(classes) != 2:
        raise ValueError(f"{sample.name} has {len(classes)} classes: explorers show two")
    positive = positive if positive in classes else classes[1]
    y, y_test = (np.where(part == positive, 1.0, -1.0) for part in (rows.y, rows.y_test))
    X, X_test = rows.X, rows.X_test
    if plane and X.shape[1] > 2:
        projection = PCA(2, whiten=True, random_state=0).fit(X)
        X, X_test = projection.transform(X), projection.transform(X_test)
    return Rows(X, y, X_test, y_test)


def _scaled(X, y, X_test, y_test):
    scaler = StandardScaler().fit(dense(X))
    X, X_test = (scaler.transform(dense(part)) for part in (X, X_test))
    return Rows(X, np.asarray(y), X_test, np.asarray(y_test))


def samples(own, *, toys=(), sets=()):
    """Name -> Sample: a reader's own (names, paths, Datasets, pairs) before the sets listed."""
    found = [_own_sample(given, number) for number, given in enumerate(own, start=1)]
    found += [_listed(name, toy=True) for name in toys] + [_listed(name) for name in sets]
    first = {sample.name: sample for sample in reversed(found)}  # of two of one name
    return {sample.name: first[sample.name] for sample in found}


def _own_sample(given, number):
    if isinstance(given, Dataset):
        return Sample(given.name, own=given)
    if isinstance(given, str | Path):
        return Sample(str(given))
    if isinstance(given, tuple | list) and len(given) == 2:
        return Sample(f"own rows {number}", own=tuple(given))
    raise TypeError(
        f"{type(given).__name__} is no data set: give a name of the registry, the path of a file, "
        "a Dataset, or a pair (X, y)"
    )
