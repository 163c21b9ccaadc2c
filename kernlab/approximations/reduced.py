"""Other maps by the kernel: those that the Nystrom features are compared with.

Table 1 of the LLSVM paper lists three empirical kernel maps. The third are the Nystrom features;
here are the other two, which agree with it in what they are made of and differ in what they solve.

- `ReducedMap`, K_rz: the reduced support vector machine of Lee and Mangasarian, whose function is a
  sum over k landmarks. A linear machine on these rows penalises the coefficients, |mu|^2, where the
  kernel machine penalises the function, mu^T K_zz mu; so F F^T is not near K. With the right
  penalty the problem is the one that the Nystrom features solve exactly (Proposition 2).
- `RootMap`, K_rr^(1/2): the symmetric root, F F^T = K exactly, at n features per row.
"""

import time

import numpy as np
import scipy.linalg as la

from kernlab.approximations.base import FeatureMap, held_bytes
from kernlab.approximations.landmarks import choose_landmarks
from kernlab.runtime import require_memory


class ReducedMap(FeatureMap):
    """The kernel values themselves as features: F = K(X, landmarks). Any kernel will do.

    Parameters: the kernel's (see `make_kernel`); `n_landmarks`, `landmarks` and `landmark_params`
    as in `Nystrom`, rows at random by default, as in the reduced machine. Fitted: `landmarks_`.
    """

    is_kernel_map = False

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=1.0,
        n_landmarks="sqrt",
        landmarks="uniform",
        landmark_params=None,
        random_state=None,
        max_memory=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.landmark_params = landmark_params
        self.random_state = random_state
        self.max_memory = max_memory

    def _fit(self, X):
        began = time.perf_counter()
        self.landmarks_ = choose_landmarks(
            X,
            self.n_landmarks,
            self.landmarks,
            kernel=self.kernel_,
            random_state=self.random_state,
            **dict(self.landmark_params or {}),
        )
        self.timings_["landmarks"] = time.perf_counter() - began

    @property
    def rank_(self):
        return self.landmarks_.shape[0]

    @property
    def nbytes(self):
        return held_bytes(self.landmarks_)

    def _block(self, X):
        """K(X, landmarks)"""
        return self.kernel_(X, self.landmarks_)

    def expansion(self, coefficients):
        return self.landmarks_, np.asarray(coefficients, dtype=np.float64)


class RootMap(FeatureMap):
    """The symmetric root of the kernel matrix: F = K^(1/2), new points by K(x, X) K^(-1/2).

    n features for n rows, 16 n^2 bytes and some 10 n^3 operations: the map by which Cortes, Mohri
    and Talwalkar argue, not one to compute with. Parameters: the kernel's; `floor`, the eigenvalue,
    relative to the largest, below which directions are left out of the inverse.
    """

    def __init__(
        self, kernel="rbf", *, gamma="scale", degree=3, coef0=1.0, floor=1e-12, max_memory=None
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.floor = floor
        self.max_memory = max_memory

    def _fit(self, X):
        n = X.shape[0]
        require_memory(
            5 * 8 * n * n,
            self.max_memory,
            what=f"the root of the kernel matrix of {n:,} rows",
            arithmetic=f"5 x {n:,}^2 x 8 bytes",
            way_out="Allow more with max_memory, take fewer rows, or use approximation='nystrom'.",
        )
        began = time.perf_counter()
        self.X_ = X
        values, vectors = la.eigh(self.kernel_(X.astype(np.float64, copy=False)))
        largest = max(float(values[-1]), np.finfo(float).tiny)
        if values[0] < -1e-8 * largest:
            raise ValueError(
                f"the {type(self.kernel_).__name__} kernel matrix is not positive semidefinite on "
                f"these rows (smallest eigenvalue {values[0]:.3g}), so it has no real root: choose "
                "other kernel parameters or a positive definite kernel"
            )
        kept = values > self.floor * largest
        self.inverse_root_ = (vectors[:, kept] / np.sqrt(values[kept])) @ vectors[:, kept].T
        self.effective_rank_ = int(kept.sum())
        self.timings_["root"] = time.perf_counter() - began

    @property
    def rank_(self):
        return self.X_.shape[0]

    @property
    def nbytes(self):
        return self.inverse_root_.nbytes

    def _block(self, X):
        """K(x, X) K^(-1/2)"""
        return self.kernel_(X, self.X_) @ self.inverse_root_

    def expansion(self, coefficients):
        return self.X_, self.inverse_root_ @ np.asarray(coefficients, dtype=np.float64)
