"""RACQP: randomly assembled cyclic ADMM on the dual (Mihic, Zhu and Ye 2020).

    minimise over x   1/2 x'Qx - e'x   subject to   y'x = 0,   0 <= x <= C,   Q_ij = y_i y_j k_ij

with a copy z of x for the bounds. A step minimises the augmented Lagrangian over the blocks of a
random partition of the rows, one after the other,

    (Q_II + beta (I + y_I y_I')) x_I = e_I - Q_IR x_R + mu y_I + v_I + beta (z_I - y_I y_R'x_R),

R being all other rows; then z = min(max(x - v / beta, 0), C), mu -= beta y'x, v -= beta (x - z).
The authors' program minimises x'Qx - e'x instead: its C is half of the C here.
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.linalg as la

from kernlab.lab.baselines.kernel import DualMachine
from kernlab.runtime import memory_limit
from kernlab.solvers import best_intercept
from kernlab.solvers.problems import HINGE


@dataclass(eq=False, repr=False)
class RACQP(DualMachine):
    """Randomly assembled cyclic ADMM: the hinge with a free intercept, in random blocks.

    Parameters
    ----------
    C : float
    max_iter : int
        Steps, a setting as in its authors' experiments: after five the machine is far from its
        optimum (see `certify`).
    block_size : int
    beta : float
        The penalty for each block; it is multiplied by the number of blocks.
    kernel, gamma, degree, coef0 : see `kernlab.kernels.make_kernel`
    max_memory : int, str or None
        Where it has room for the kernel matrix twice it is kept, else computed in every step.
    """

    C: float = 1.0
    _: KW_ONLY
    max_iter: int = 5
    block_size: int = 500
    beta: float = 0.1

    def _train(self, X, y, costs, seed):
        n, rng = len(y), np.random.default_rng(seed)
        matrix = self.kernel_(X) if 16 * n * n <= memory_limit(self.max_memory) else None
        n_blocks = -(-n // self.block_size)
        beta = self.beta * n_blocks
        x, z, v = np.zeros(n), np.zeros(n), np.zeros(n)
        mu = balance = 0.0  # balance = y'x
        for _ in range(self.max_iter):
            for rows in np.array_split(rng.permutation(n), n_blocks):
                own, signs = x[rows], y[rows]
                K = self.kernel_(X[rows], X) if matrix is None else matrix[rows]
                # With the block's own share added again, R may be all rows.
                H = (K[:, rows] + beta) * np.outer(signs, signs)
                right = 1.0 + v[rows] + beta * z[rows] + H @ own
                right += signs * (mu - K @ (x * y) - beta * balance)
                H[np.diag_indices(len(rows))] += beta
                x[rows] = la.solve(H, right, assume_a="pos", overwrite_a=True, check_finite=False)
                balance += signs @ (x[rows] - own)
            z = np.clip(x - v / beta, 0.0, costs)
            mu -= beta * balance
            v -= beta * (x - z)
        scores = matrix @ (y * z) if matrix is not None else self._product(X, X, y * z)
        return z, best_intercept(scores, y, costs, HINGE), self.max_iter
