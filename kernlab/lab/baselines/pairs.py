"""LIBSVM's machines taken apart: one per pair of classes, each with its own certificate.

For k classes LIBSVM trains k (k - 1) / 2 machines and stores their dual variables in k - 1 rows of
one matrix over all support vectors, which are sorted by class: the machine of classes i < j has
its variables of class i in row j - 1 and those of class j in row i.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from kernlab.kernels import kernel_product
from kernlab.solvers import certify_dual


@dataclass(frozen=True)
class PairMachine:
    """The machine that separates two classes: score = sum_i signed_dual_i k(x, x_i) + intercept."""

    positive: int
    negative: int
    support: np.ndarray  # positions among the rows trained on
    signed_dual: np.ndarray  # dual variables times labels
    intercept: float


def pair_machines(svc):
    """The machines inside a fitted SVC, in LIBSVM's order."""
    dual = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
    ends = np.cumsum(svc.n_support_)
    of_class = [
        np.arange(end - count, end) for end, count in zip(ends, svc.n_support_, strict=True)
    ]
    n_classes = len(svc.n_support_)
    machines = []
    for (i, j), intercept in zip(
        combinations(range(n_classes), 2), np.ravel(svc.intercept_), strict=True
    ):
        positions = np.concatenate([of_class[i], of_class[j]])
        signed = np.concatenate([dual[j - 1, of_class[i]], dual[i, of_class[j]]])
        # With two classes SVC turns the signs, so that scores are positive for the second.
        positive, negative = (j, i) if n_classes == 2 else (i, j)
        machines.append(
            PairMachine(positive, negative, svc.support_[positions], signed, float(intercept))
        )
    return machines


def certify_pairs(svc, kernel, rows, costs, loss, max_memory=None):
    """Certificates by (positive, negative) class, each on the rows of its two classes."""
    return {
        (machine.positive, machine.negative): _certify(
            machine, kernel, rows, costs, loss, max_memory
        )
        for machine in pair_machines(svc)
    }


def _certify(machine, kernel, rows, costs, loss, max_memory):
    own = np.flatnonzero((rows.labels == machine.positive) | (rows.labels == machine.negative))
    X, y = rows.X[own], rows.signs(machine.positive)[own]
    signed = np.zeros(len(rows.labels))
    signed[machine.support] = machine.signed_dual

    def multiply(v):
        used = np.flatnonzero(v)
        if used.size == 0:
            return np.zeros(len(v))
        return kernel_product(kernel, X, X[used], v[used], max_memory)

    return certify_dual(
        multiply,
        y,
        signed[own] * y,
        C=1.0,
        loss=loss,
        intercept="free",
        b=machine.intercept,
        sample_weight=costs[own],
    )
