"""The Gram matrix of the rows that count, kept up to date as rows come and go.

The Hessian of a squared loss is I + 2 C G with G = sum of [F_i; 1] [F_i; 1]^T over the active rows.
From one Newton step to the next few rows change, and G is changed by just those.
"""

import numpy as np

SINGLE = np.dtype(np.float32)
ROUNDING_ALLOWED = 0.1  # of the identity in I + 2 C G


class ActiveGram:
    """G for a set of active rows, of features `rows` with costs per row."""

    def __init__(self, rows, costs):
        self.rows, self.costs = rows, costs
        self.active = np.zeros(rows.shape[0], dtype=bool)
        self.matrix = np.zeros((rows.shape[1] + 1, rows.shape[1] + 1))
        self.dtype = rows.dtype

    def update(self, active, C):
        """Make G that of the rows `active`; returns the number of rows it took."""
        self._choose_precision(active, C)
        came, went = np.flatnonzero(active & ~self.active), np.flatnonzero(self.active & ~active)
        now = np.count_nonzero(active)
        if len(came) + len(went) > now:
            came, went = np.flatnonzero(active), np.empty(0, dtype=int)
            self.matrix[...] = 0.0
        if len(came):
            self.rows.add_gram(self.matrix, came, self.costs, self.dtype)
        if len(went):
            self.rows.add_gram(self.matrix, went, self.costs, self.dtype, sign=-1.0)
        self.active = active
        return len(came) + len(went)

    def _choose_precision(self, active, C):
        """Leave single precision where its rounding could outgrow the identity in I + 2 C G.

        Products of rows of length |F_i| are rounded by at most eps |F_i|^2, so those in G by
        eps trace(G): a bound, not a guess.
        """
        if self.dtype != SINGLE:
            return
        trace = float(np.sum(self.costs[active] * self.rows.squared_norms[active]))
        if 2.0 * C * np.finfo(SINGLE).eps * trace > ROUNDING_ALLOWED:
            self.restart()

    def restart(self):
        """Forget all rows, and go on in double precision."""
        self.dtype = np.dtype(np.float64)
        self.active = np.zeros_like(self.active)
        self.matrix[...] = 0.0
