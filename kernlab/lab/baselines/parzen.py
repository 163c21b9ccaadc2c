"""The kernel mean classifier: every training row a vote, and nothing is optimised.

The class whose mean in the kernel's feature space is nearest:

    score_c(x) = mean over rows i of class c of k(x, x_i)  -  1/2 |mean of class c|^2

This is a Parzen window per class. ADMM on the dual of a support vector machine, stopped after a
few steps, has dual variables of almost two values, one per class, and decides much like this.
"""

import numpy as np

from kernlab.kernels import kernel_product, make_kernel
from kernlab.lab.baselines.base import Baseline


class Parzen(Baseline):
    """The nearest class mean in the kernel's feature space.

    Parameters: the kernel's (see `kernlab.kernels.make_kernel`) and max_memory. Class weights
    would change nothing: each class has one mean.
    """

    title = "Parzen window (kernel mean of each class)"
    compares = "what training adds to averaging the kernel; early-stopped ADMM amounts to this"
    _dtype = (np.float64, np.float32)

    def __init__(self, kernel="rbf", *, gamma="scale", degree=3, coef0=1.0, max_memory=None):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_memory = max_memory

    def _fit(self, rows):
        self.kernel_ = make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, X=rows.X
        )
        with self._clock("solve"):
            shares = np.zeros((rows.X.shape[0], len(self.classes_)), dtype=rows.X.dtype)
            shares[np.arange(len(rows.labels)), rows.labels] = rows.weights
            shares /= shares.sum(axis=0)
            self.X_fit_, self.shares_ = rows.X, shares
            means = kernel_product(self.kernel_, rows.X, rows.X, shares, self.max_memory)
            self.offsets_ = 0.5 * np.einsum("ic,ic->c", shares, means)

    def _decision(self, X):
        scores = kernel_product(self.kernel_, X, self.X_fit_, self.shares_, self.max_memory)
        scores -= self.offsets_
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _held(self):
        return self.X_fit_, self.shares_
