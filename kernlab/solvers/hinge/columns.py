"""What ADMM on the hinge loss carries along: problems, their state, and the sums of a pass."""

from dataclasses import dataclass, field

import numpy as np

from kernlab.solvers.hinge.steps import N_SUMS


@dataclass(frozen=True)
class HingeProblem:
    """One binary problem: which code is the positive class, and which features it has.

    They are the first `width` stored ones (all, if None), combined to A = Q mix where `mix` is
    given.
    """

    positive: int
    width: int | None = None
    mix: np.ndarray | None = None


@dataclass(frozen=True)
class Settings:
    alpha: float
    beta: float
    tol: float
    max_iter: int
    C: float | None


@dataclass
class Column:
    """A problem under way: its weights u, their form c on stored features, and zeta for v and w."""

    problem: HingeProblem
    width: int
    u: np.ndarray
    c: np.ndarray
    zeta: np.ndarray
    beta: float
    gamma: float
    step: object = None
    pulled_v: np.ndarray = None  # A^T v and A^T w on the stored features, weighted
    pulled_w: np.ndarray = None
    change_u: float = 0.0
    figures: dict = field(default_factory=dict)
    trace: list = field(default_factory=list)
    settled: bool = False
    seconds: float = 0.0


class PassSums:
    """What a thread adds up in a pass: A^T v and A^T w, and the sums of `advance`."""

    def __init__(self, n_features, n_columns, gram=None):
        self.v = np.zeros((n_features, n_columns))
        self.w = np.zeros((n_features, n_columns))
        self.figures = np.zeros((n_columns, N_SUMS))
        self.gram = gram

    def merge(self, other):
        self.v += other.v
        self.w += other.w
        self.figures += other.figures
        if self.gram is not None:
            self.gram.merge(other.gram)
        return self


def pull(features, values, totals):
    """totals += features times the values of each column."""
    if len(values) == 1:  # a matrix times a vector is faster than one times a thin matrix
        totals[:, 0] += features @ values[0]
    else:
        totals += features @ values.T


def merged(states):
    total = states[0]
    for other in states[1:]:
        total.merge(other)
    return total
