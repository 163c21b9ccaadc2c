"""Anderson's acceleration of a fixed-point iteration v <- f(v).

The next v is the combination of the last few plain steps whose residuals f(v) - v nearly cancel,
in the least-squares sense. Where such a step has let the residual grow, it is undone: the plain
step is taken instead, and the memory is emptied. So it is where the step would lead far away: with
all variables at an edge of the box the residual no longer tells how far that was.
"""

import numpy as np

REJECTED_GROWTH = 2.0  # a residual that grows by more undoes an accelerated step
LONGEST = 100.0  # times the plain step
RIDGE = 1e-10


class Anderson:
    """One iteration accelerated, with a memory of `memory` steps."""

    def __init__(self, memory):
        self._memory = memory
        self.forget()

    def forget(self):
        """Empty the memory, as when the map has changed."""
        self._moves, self._changes, self._last, self._plain = [], [], None, None

    def next(self, v, plain):
        """Where to go from v, when the plain step leads to `plain`."""
        residual = plain - v
        length = float(np.linalg.norm(residual))
        if self._plain is not None and length > REJECTED_GROWTH * self._plain[1]:
            back = self._plain[0]
            self.forget()
            return back
        if self._last is not None:
            self._moves.append(v - self._last[0])
            self._changes.append(residual - self._last[1])
            del self._moves[: -self._memory], self._changes[: -self._memory]
        self._last, self._plain = (v, residual), None
        if not self._changes:
            return plain
        changes = np.stack(self._changes)
        gram = changes @ changes.T
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) + np.finfo(float).tiny
        weights = np.linalg.solve(gram, changes @ residual)
        ahead = weights @ changes + weights @ np.stack(self._moves)
        if np.linalg.norm(ahead) > LONGEST * length:
            self.forget()
            return plain
        self._plain = (plain, length)
        return plain - ahead
