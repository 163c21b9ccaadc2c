"""The value of a compact kernel as a function of the squared distance, compiled.

    k = (1 - r)^e (c_0 + c_1 r + ...) exp(-gamma d^2),     r = alpha d < 1

holds both the thesis' kernel (c_0 = 1 alone, e = l) and Wendland's.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernlab.approximations.compact.wendland import Wendland, wendland_polynomial
from kernlab.bandwidth import positive
from kernlab.kernels import Compact, askey_exponent
from kernlab.runtime import REORDERED_SUMS, njit

SMOOTHNESS = {"wendland-c2": 1, "wendland-c4": 2, "wendland-c6": 3}
TAPERS = ("askey", *SMOOTHNESS)


@dataclass(frozen=True)
class Profile:
    """What the assembly needs to know of a kernel: where it ends, and its values before that."""

    alpha: float
    gamma: float
    exponent: float
    coefficients: tuple
    smallest_exponent: int | None = None  # that keeps the kernel positive definite

    @property
    def radius(self):
        return 1.0 / self.alpha

    def evaluate(self, squares):
        """Replace squared distances by the kernel's values."""
        _evaluate(squares, self.alpha, self.gamma, self.exponent, np.array(self.coefficients))


def check_compact(kernel):
    """A kernel that has compact support; anything else is refused."""
    if isinstance(kernel, Compact | Wendland):
        return kernel
    raise ValueError(
        f"kernel={kernel!r}: approximation 'compact' makes the Gaussian kernel compact, so it "
        "takes kernel='rbf', or a Compact or Wendland kernel"
    )


def make_compact_kernel(gamma, alpha, l, taper, n_features):
    """The kernel exp(-gamma d^2) made zero beyond 1 / alpha by the taper named."""
    if taper not in TAPERS:
        raise ValueError(f"taper={taper!r} is not one of {', '.join(TAPERS)}")
    if taper != "askey":
        return Wendland(gamma, alpha, n_features, SMOOTHNESS[taper])
    return Compact(gamma, alpha, settle_exponent(l, n_features))


def settle_exponent(l, n_features):
    """The exponent l: a number, "askey" (Askey's rule), or "askey-odd" (the thesis' listing)."""
    if l == "askey":
        return askey_exponent(n_features)
    if l == "askey-odd":
        return askey_exponent(n_features) | 1
    if isinstance(l, str):
        raise ValueError(f"l={l!r} is neither a number nor 'askey' nor 'askey-odd'")
    return int(l) if positive(l, "l") == int(l) else float(l)


def profile_of(kernel, n_features):
    """The profile of a compact kernel on rows of `n_features`."""
    if isinstance(check_compact(kernel), Wendland):
        exponent, coefficients = wendland_polynomial(kernel.dimension, kernel.smoothness)
        enough = wendland_polynomial(n_features, kernel.smoothness)[0]
        return Profile(kernel.alpha, kernel.gamma, float(exponent), coefficients, enough)
    exponent = float(positive(kernel.l, "l"))
    return Profile(kernel.alpha, kernel.gamma, exponent, (1.0,), askey_exponent(n_features))


@njit(fastmath=REORDERED_SUMS)
def _evaluate(squares, alpha, gamma, exponent, coefficients):
    whole = int(exponent)
    is_whole = whole == exponent and whole <= 1024
    degree = len(coefficients) - 1
    for k in range(len(squares)):
        square = squares[k]
        r = alpha * math.sqrt(square)
        rest = max(1.0 - r, 0.0)
        if is_whole:
            value, power, left = 1.0, rest, whole
            while left:
                if left & 1:
                    value *= power
                power *= power
                left >>= 1
        else:
            value = rest**exponent
        if degree:
            factor = coefficients[degree]
            for c in range(degree - 1, -1, -1):
                factor = factor * r + coefficients[c]
            value *= factor
        squares[k] = value * math.exp(-gamma * square)
