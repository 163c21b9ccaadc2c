"""Two-class sets that come with kernlab, as explorers take them: standardised, labels -1 and 1."""

from functools import cache

import numpy as np

from kernlab.datasets import load_dataset

SETS = ("magic", "spambase", "breast-cancer", "checkerboard")


@cache
def two_class_set(name):
    """Training rows and labels, test rows and labels."""
    data = load_dataset(name, scaling="standard")
    signs = [np.where(y == data.info["positive"], 1.0, -1.0) for y in (data.y_train, data.y_test)]
    return data.X_train, signs[0], data.X_test, signs[1]
