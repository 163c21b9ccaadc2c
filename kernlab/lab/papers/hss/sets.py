"""The data of the ADMM-HSS studies: the paper's sets, or parts of them, with labels -1 and 1."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.datasets import load_dataset, protocol_rows
from kernlab.lab.engine import Cell, Tolerance, catalogued
from kernlab.lab.papers.common.data_tables import counted
from kernlab.lab.papers.common.fitting import shape_of, signs

PAPERS = tuple(name for name, _ in protocol_rows("hss-t1")[1])


@dataclass(frozen=True, eq=False)
class Sample:
    """Training and test rows with labels -1 and 1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def shape(self):
        """What all rows of a table say of it."""
        return shape_of(self.X)

    def halves(self, share, seed):
        """Two samples of the training rows alone: to fit on, and `share` of them to test on."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        held = round(share * len(order))
        test, train = np.sort(order[:held]), np.sort(order[held:])
        return Sample(self.X[train], self.y[train], self.X[test], self.y[test])


def sample(name, rows=None, seed=0):
    """A set as the paper takes it, unscaled, or another, standardised: `rows` of each part at most.

    Many published files are sparse by their format only; where rows are few they become dense.
    """
    data = load_dataset(name, paper="hss", scaling=None if name in PAPERS else "standard")
    generator = np.random.default_rng(seed)
    train = _some(data.y_train, rows, generator)
    test = _some(data.y_test, rows, generator)
    return Sample(
        _affordable(data.X_train[train]), signs(data, data.y_train[train]),
        _affordable(data.X_test[test]), signs(data, data.y_test[test]),
    )  # fmt: skip


def _some(labels, rows, generator):
    if rows is None or len(labels) <= rows:
        return np.arange(len(labels))
    return np.sort(generator.choice(len(labels), rows, replace=False))


def _affordable(X, most_features=1000):
    """Dense rows unless they have very many features, as text has."""
    return X.toarray() if sp.issparse(X) and X.shape[1] <= most_features else X


@catalogued("hss-t1", "Data sets of ADMM-HSS")
def data_sets(datasets=None):
    """Are the data sets that are there those of Table 1?"""
    drawn = Tolerance(relative=0.005, reason="three standard deviations of rows drawn at random")
    positive = [Cell(f"positive {part} rows", f"positive_{part}_rows", drawn)
                for part in ("training", "test")]  # fmt: skip
    return counted("hss-t1", datasets, "features", "training rows", "test rows", *positive)
