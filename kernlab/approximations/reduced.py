"""Kernel values at landmarks as features, K_rz: the reduced machine of Lee and Mangasarian.

Its function is a sum over k landmarks, as that of the Nystrom features. A linear machine on these
features penalises the coefficients, |mu|^2, where the kernel machine penalises the function,
mu^T K_zz mu; so F F^T is not near K. With the right penalty the problem is the one that the Nystrom
features solve exactly (LLSVM, Proposition 2).
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from kernlab.approximations.base import FeatureMap, held_bytes
from kernlab.approximations.landmarks import choose_landmarks


@dataclass(eq=False, repr=False)
class ReducedMap(FeatureMap):
    """The kernel values themselves as features: F = K(X, landmarks). Any kernel will do.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        The kernel's (see `make_kernel`).
    n_landmarks, landmarks, landmark_params
        As of `Nystrom`; rows at random by default, as in the reduced machine.
    random_state, max_memory
        As everywhere.

    Attributes
    ----------
    landmarks_ : array or CSR matrix

    Examples
    --------
    >>> import numpy as np
    >>> from kernlab.approximations import ReducedMap
    >>> X = np.eye(3)
    >>> ReducedMap(gamma=0.5, landmarks=X[:1]).fit_transform(X).round(3).ravel().tolist()
    [1.0, 0.368, 0.368]
    """

    is_kernel_map = False

    kernel: object = "rbf"
    _: KW_ONLY
    gamma: object = "scale"
    degree: int = 3
    coef0: float = 1.0
    n_landmarks: object = "sqrt"
    landmarks: object = "uniform"
    landmark_params: dict | None = None
    random_state: object = None
    max_memory: object = None

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
