"""The losses of a support vector machine, and what their duals look like.

All problems here are

    minimise over w, b   1/2 |w|^2 + sum_i C_i loss(y_i (w . x_i + b))                    (P)

and their duals

    maximise over a      sum_i a_i - 1/2 |sum_i a_i y_i x_i|^2 - sum_i a_i^2 curvature / C_i   (D)
    subject to           0 <= a_i <= upper_i,   and sum_i a_i y_i = 0 where b is free.

w and a belong together where w = sum_i a_i y_i x_i and a_i = C_i times minus the loss's slope.
"""

import numbers
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Loss:
    name: str
    curvature: float  # the dual's quadratic term: 0 for the hinge, 1/4 for the squared hinge

    def value(self, margins):
        """The loss of each row, given y_i f(x_i)."""
        slack = np.maximum(0.0, 1.0 - margins)
        return slack * slack if self.curvature else slack

    def slope(self, margins):
        """Minus the derivative with respect to the margin (the hinge's at the kink: 0)."""
        slack = np.maximum(0.0, 1.0 - margins)
        return 2.0 * slack if self.curvature else (slack > 0).astype(margins.dtype)

    def upper(self, costs):
        """The largest dual variables that are allowed."""
        return np.where(costs > 0, np.inf, 0.0) if self.curvature else costs

    def dual_diagonal(self, costs):
        """What the loss adds to the diagonal of the dual's matrix: 1 / (2 C), or nothing."""
        return 2.0 * self.curvature / costs if self.curvature else np.zeros_like(costs)


HINGE = Loss("hinge", 0.0)
SQUARED_HINGE = Loss("squared_hinge", 0.25)
LOSSES = {loss.name: loss for loss in (HINGE, SQUARED_HINGE)}


def get_loss(name):
    if name not in LOSSES:
        raise ValueError(f"loss={name!r} is not one of {', '.join(LOSSES)}")
    return LOSSES[name]


def signs(y, n_rows):
    """The labels as numbers -1.0 and 1.0, one per row; anything else is refused."""
    y = np.asarray(y, dtype=np.float64)
    if y.shape != (n_rows,):
        raise ValueError(f"{n_rows} rows of features, but labels of shape {y.shape}")
    if not np.all(np.abs(y) == 1.0):
        raise ValueError(f"labels must be -1 and 1; these are {np.unique(y)[:5]}")
    return y


SMALLEST, LARGEST = 1e-300, 1e150  # costs, whose reciprocals and squares are still numbers


def row_costs(C, n_rows, sample_weight=None):
    """C for each row: C times its weight; a row of weight zero counts for nothing."""
    if not (isinstance(C, numbers.Real) and np.isfinite(C) and C > 0):
        raise ValueError(f"C must be a positive number, not {C!r}")
    costs = _weighted(C, n_rows, sample_weight)
    if np.any((costs > LARGEST) | ((costs < SMALLEST) & (costs > 0))):
        named = f"C={C!r}" if sample_weight is None else f"C={C!r} times sample_weight"
        raise ValueError(
            f"{named} is beyond what can be computed with: a row's cost must lie between "
            f"{SMALLEST:g} and {LARGEST:g}, or be 0"
        )
    return costs


def _weighted(C, n_rows, sample_weight):
    if sample_weight is None:
        return np.full(n_rows, float(C))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"sample_weight must be {n_rows} numbers that are not negative")
    return float(C) * weights
