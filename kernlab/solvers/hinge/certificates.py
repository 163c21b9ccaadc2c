"""How good an iterate of ADMM on the hinge loss is, from its multipliers w.

The dual of the mean hinge loss is Proposition 2's linear programme: maximise sum_i a_i over
0 <= a_i <= c_i / M with A^T (y a) = 0. ADMM's a = -c y w is always within the bounds, and sums to
more than the optimum only as far as it violates the equation, which is measured here.
"""

import numpy as np

from kernlab.solvers.hinge.steps import DUAL, LOSS, MULTIPLIERS, SCORES, LinearStep


class HingeCertifier:
    """KKT residual, objective and lower bound, for problems on the first stored features.

    The residual is |P w| / |w|, P the projection on the span of all stored features of the width:
    |P w|^2 = A^T w . G^-1 A^T w.
    """

    def __init__(self, gram, ridge, C, total):
        self.gram, self.ridge, self.C, self.total = gram, ridge, C, total
        self._solvers = {}

    def __call__(self, weights, pulled, sums):
        """From the weights, A^T w and the sums of a pass (see `hinge_steps.advance`)."""
        objective = float(sums[LOSS]) / self.total
        solve = self._solver(len(pulled))
        squared = pulled @ solve(np.zeros_like(pulled), pulled)[0]
        seen, size = float(np.sqrt(max(0.0, squared))), float(np.sqrt(sums[MULTIPLIERS]))
        residual = min(1.0, seen / size) if size > 0 else 0.0
        if self.ridge:
            objective += 0.5 * self.ridge * float(weights @ weights)
            lower = float(sums[DUAL]) - 0.5 * float(pulled @ pulled) / self.ridge
            scale = self.C * self.total
            return residual, scale * objective, scale * max(lower, 0.0)
        # For any function f of the span, loss(f) >= sum a - w . f >= sum a - |P w| |f|.
        lower = float(sums[DUAL]) - seen * float(np.sqrt(sums[SCORES]))
        return residual, objective, max(lower, 0.0)

    def _solver(self, width):
        if width not in self._solvers:
            gram = self.gram[:width, :width]
            self._solvers[width] = LinearStep(gram, alpha=hair(gram), beta=1.0)
        return self._solvers[width]


def hair(gram):
    """What a diagonal may gain without being noticed: the Gram matrix's rounding, per feature."""
    diagonal = np.diag(gram)
    floor = max(float(diagonal.max(initial=0.0)), np.finfo(float).tiny) * 1e-12
    return 10 * len(gram) * np.finfo(float).eps * np.maximum(diagonal, floor)
