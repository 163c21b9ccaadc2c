"""The Gram matrix of the rows that count, kept up to date as rows come and go.

The Hessian of a squared loss is V = I + 2 C G with G = sum of [F_i; 1] [F_i; 1]^T over the active
rows. From one Newton step to the next few rows change, and G is changed by just those.

G need not be exact, for its factor preconditions conjugate gradients whose products are with V
itself: one product confirms an exact factor. So where there is much to multiply G is taken in
single precision, twice as fast. Rounding then shows as one or two products more, and where it costs
many, G is taken again in double.
"""

import numpy as np

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MANY_VALUES = 2**21
LARGEST = 1e30  # squared lengths of features that products in single precision can hold


class ActiveGram:
    """G over the active rows of `rows`, with a cost for each."""

    patience = 30  # products after which the factor is no help

    def __init__(self, rows, costs, dtype=None):
        self.rows, self.costs = rows, costs
        self.active = np.zeros(rows.shape[0], dtype=bool)
        self.matrix = np.zeros((rows.shape[1] + 1, rows.shape[1] + 1))
        self.dtype = _cheapest(rows) if dtype is None else dtype

    def update(self, active):
        """Make G that of the rows `active`; returns the number of rows it took."""
        came, went = np.flatnonzero(active & ~self.active), np.flatnonzero(self.active & ~active)
        if len(came) + len(went) > np.count_nonzero(active):
            came, went = np.flatnonzero(active), np.empty(0, dtype=int)
            self.matrix[...] = 0.0
        if len(came):
            self.rows.add_gram(self.matrix, came, self.costs, self.dtype)
        if len(went):
            self.rows.add_gram(self.matrix, went, self.costs, self.dtype, sign=-1.0)
        self.active = active
        return len(came) + len(went)

    def finer(self):
        """What to take instead where this is no help; None if there is nothing better."""
        return ActiveGram(self.rows, self.costs, DOUBLE) if self.dtype == SINGLE else None


def _cheapest(rows):
    """Single precision where there is much to multiply, and nothing that it cannot hold."""
    much = rows.dtype == SINGLE or rows.shape[0] * rows.shape[1] >= MANY_VALUES
    return SINGLE if much and rows.squared_norms.max(initial=0.0) < LARGEST else DOUBLE
