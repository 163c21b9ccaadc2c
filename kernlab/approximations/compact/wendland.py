"""Wendland functions: compact support at the least degree that is positive definite.

Askey's function (1 - r)_+^l has a kink at the origin. Wendland's functions are polynomials in r on
[0, 1] that are positive definite in p dimensions and 2 s times differentiable; s = 0 is Askey's
with the smallest exponent that is allowed. With m = floor(p/2) + s + 1 they read

    s = 1:  (1 - r)^(m+1) ((m + 1) r + 1)
    s = 2:  (1 - r)^(m+2) ((m^2 + 4 m + 3) r^2 + (3 m + 6) r + 3) / 3
    s = 3:  (1 - r)^(m+3) ((m^3 + 9 m^2 + 23 m + 15) r^3 + (6 m^2 + 36 m + 45) r^2
                           + (15 m + 45) r + 15) / 15
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernlab.kernels import Kernel
from kernlab.rows.products import squared_distances


def wendland_polynomial(dimension, smoothness):
    """The exponent e and the coefficients c of (1 - r)^e (c_0 + c_1 r + c_2 r^2 + ...)."""
    m = dimension // 2 + smoothness + 1
    coefficients = {
        0: (1,),
        1: (1, m + 1),
        2: (3, 3 * m + 6, m**2 + 4 * m + 3),
        3: (15, 15 * m + 45, 6 * m**2 + 36 * m + 45, m**3 + 9 * m**2 + 23 * m + 15),
    }
    if smoothness not in coefficients:
        raise ValueError(f"smoothness must be 0, 1, 2 or 3, not {smoothness!r}")
    if dimension < 1:
        raise ValueError(f"dimension must be at least 1, not {dimension!r}")
    first, *others = coefficients[smoothness]
    return m + smoothness, (1.0, *(c / first for c in others))


@dataclass(frozen=True)
class Wendland(Kernel):
    """k(x, z) = phi(alpha d) exp(-gamma d^2), phi Wendland's function; zero beyond 1 / alpha

    Positive definite in up to `dimension` dimensions; 2 `smoothness` times differentiable.
    """

    gamma: float
    alpha: float
    dimension: int
    smoothness: int = 1
    sees_distances: ClassVar[bool] = True

    def __post_init__(self):
        wendland_polynomial(self.dimension, self.smoothness)

    def _fill(self, X, right, out):
        exponent, coefficients = wendland_polynomial(self.dimension, self.smoothness)
        squared_distances(X, right, out)
        r = np.sqrt(out)
        r *= self.alpha
        np.minimum(r, 1.0, out=r)
        out *= -self.gamma
        np.exp(out, out=out)
        out *= np.polynomial.polynomial.polyval(r, coefficients)
        out *= (1.0 - r) ** exponent
