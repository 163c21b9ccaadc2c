"""The data of the ADMM-HSS studies: the paper's sets, or parts of them, with labels -1 and 1."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kernlab.datasets import load_dataset, protocol_rows
from kernlab.lab.engine import Cell, Tolerance, catalogued
from kernlab.lab.papers.common.data_tables import counted
from kernlab.lab.papers.common.fitting import signs

PAPERS = tuple(name for name, _ in protocol_rows("hss-t1")[1])
MOST_DENSE = 1000  # features


def sample(name, rows=None):
    """A set as the paper takes it, unscaled, or another, standardised: `rows` of each part at most.

    Labels are -1 and 1. Many published files are sparse by their format only: unless they have very
    many features, as text has, rows are dense.
    """
    data = load_dataset(name, paper="hss", scaling=None if name in PAPERS else "standard")
    generator, parts = np.random.default_rng(0), {}
    for part, X, y in (("train", data.X_train, data.y_train), ("test", data.X_test, data.y_test)):
        if rows is not None and len(y) > rows:
            chosen = np.sort(generator.choice(len(y), rows, replace=False))
            X, y = X[chosen], y[chosen]
        X = X.toarray() if sp.issparse(X) and X.shape[1] <= MOST_DENSE else X
        parts |= {f"X_{part}": X, f"y_{part}": signs(data, y)}
    return replace(data, **parts)


def halves(data, share, seed):
    """The training rows alone, parted: those to fit on, and `share` of them to test on."""
    order = np.random.default_rng(seed).permutation(len(data.y_train))
    held = round(share * len(order))
    test, train = np.sort(order[:held]), np.sort(order[held:])
    X, y = data.X_train, data.y_train
    return replace(data, X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test])


@catalogued("hss-t1", "Data sets of ADMM-HSS")
def data_sets(datasets=None):
    """Are the data sets that are there those of Table 1?"""
    drawn = Tolerance(relative=0.005, reason="three standard deviations of rows drawn at random")
    positive = [Cell(f"positive {part} rows", f"positive_{part}_rows", drawn)
                for part in ("training", "test")]  # fmt: skip
    return counted("hss-t1", datasets, "features", "training rows", "test rows", *positive)
