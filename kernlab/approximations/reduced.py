"""Kernel values at landmarks as features, K_rz: the reduced machine of Lee and Mangasarian.

Its function is a sum over k landmarks, as that of the Nystrom features. A linear machine on these
features penalises the coefficients, |mu|^2, where the kernel machine penalises the function,
mu^T K_zz mu; so F F^T is not near K. With the right penalty the problem is the one that the Nystrom
features solve exactly (LLSVM, Proposition 2).
"""

import numpy as np

from kernlab.approximations.base import FeatureMap, held_bytes
from kernlab.approximations.landmarks import choose_landmarks


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

    def _fit(self, rows, sample_weight=None):
        with self._timed("landmarks"):
            self.landmarks_ = choose_landmarks(
                rows,
                self.n_landmarks,
                self.landmarks,
                kernel=self.kernel_,
                random_state=self.random_state,
                sample_weight=sample_weight,
                max_memory=self.max_memory,
                **dict(self.landmark_params or {}),
            )

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
