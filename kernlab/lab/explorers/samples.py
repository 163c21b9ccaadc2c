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
from kernlab.lab.explorers.base import choice

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

_LOADED = """from kernlab import load_dataset

data = load_dataset({name!r}, scaling="standard")
X, y = data.X_train{cut}, data.y_train{cut}
X_test, y_test = data.X_test, data.y_test"""
_MADE = """from kernlab.datasets import generators
from sklearn.preprocessing import StandardScaler

X, y = generators.{call}, seed=0)
X_test, y_test = generators.{call}, seed=1)"""
_OWN = """from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# X and y are your own rows and labels
X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
X, y = X{cut}, y{cut}"""
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


@dataclass(frozen=True, eq=False)
class Sample:
    """A data set that an explorer can choose.

    Parameters
    ----------
    name : str
        Of the set, and the file or name that is loaded unless rows are given.
    toy : bool
        Whether it is one that is generated here.
    own : Dataset or pair (X, y), optional
    """

    name: str
    toy: bool = False
    own: object = None

    def rows(self, most, *, plane=False):
        """At most so many training rows; for the plane, along two principal components."""
        return _rows(self, most, plane)

    def code(self, most, *, plane=False):
        """The Python lines that make X, y, X_test and y_test as `rows` does."""
        cut = "" if most is None else f"[:{most}]"
        if self.toy:
            maker, settings = _MAKERS[self.name]
            call = ", ".join([f"{maker}({most}", *(f"{k}={v}" for k, v in settings.items())])
            return _MADE.format(call=call) + _SCALE
        own = isinstance(self.own, tuple)
        text = _OWN.format(cut=cut) + _SCALE if own else _LOADED.format(name=self.name, cut=cut)
        wide = plane and self.rows(most).X.shape[1] > 2
        return text + (_PROJECT if wide else "")


@lru_cache(maxsize=16)
def _rows(sample, most, plane):
    if sample.toy:
        maker, settings = _MAKERS[sample.name]
        made = [getattr(generators, maker)(most, **settings, seed=seed) for seed in (0, 1)]
        return _scaled(*made[0], *made[1])
    positive = None
    if isinstance(sample.own, tuple):
        X, y = sample.own
        X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
        rows = _scaled(X[:most], y[:most], X_test, y_test)
    else:
        data = sample.own or load_dataset(sample.name, scaling="standard")
        positive = data.info["positive"]
        parts = (data.X_train[:most], data.y_train[:most], data.X_test, data.y_test)
        rows = Rows(*(_dense(part) for part in parts))
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
    scaler = StandardScaler().fit(_dense(X))
    X, X_test = (scaler.transform(_dense(part)) for part in (X, X_test))
    return Rows(X, np.asarray(y), X_test, np.asarray(y_test))


def _dense(part):
    return part.toarray() if hasattr(part, "toarray") else np.asarray(part)


def samples(own, *, toys=(), sets=()):
    """Name -> Sample, a reader's own data first, of which the first is shown first.

    Parameters
    ----------
    own : sequence
        Names of the registry, paths of files, Datasets, or pairs (X, y).
    toys, sets : sequences of str
        What else can be chosen: names of `TOYS` and of the registry.
    """
    found = [_own_sample(given, number) for number, given in enumerate(own, start=1)]
    found += [Sample(name, toy=True) for name in toys] + [Sample(name) for name in sets]
    first = {sample.name: sample for sample in reversed(found)}  # of two of one name
    return {sample.name: first[sample.name] for sample in found}


def sample_choice(own, sets, first):
    """The control that chooses among `samples`: a reader's own to begin with, or the one named."""
    return choice("data set", list(sets), next(iter(sets)) if own else first)


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
