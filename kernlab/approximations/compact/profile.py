"""The value of a compact kernel as a function of the squared distance, compiled.

    k = (1 - r)^e (c_0 + c_1 r + ...) exp(-gamma d^2),     r = alpha d < 1

holds both the thesis' kernel (c_0 = 1 alone, e = l) and Wendland's.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernlab.bandwidth import positive, resolve_gamma
from kernlab.compiled import REORDERED_SUMS, njit
from kernlab.kernels import Compact, askey_exponent
from kernlab.wendland import Wendland, wendland_polynomial

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


def make_compact_kernel(kernel, gamma, alpha, l, taper, X):  # noqa: E741 - as in the paper
    """The kernel of compact support that the parameters name, settled on the rows of X."""
    if isinstance(kernel, Compact | Wendland):
        return kernel
    if kernel not in ("rbf", "compact"):
        raise ValueError(
            f"kernel={kernel!r}: approximation 'compact' makes the Gaussian kernel compact, so it "
            "takes kernel='rbf', or a Compact or Wendland kernel"
        )
    if taper not in TAPERS:
        raise ValueError(f"taper={taper!r} is not one of {', '.join(TAPERS)}")
    gamma = resolve_gamma(gamma, X)
    alpha = math.sqrt(2.0 * gamma) / 3.0 if alpha is None else positive(alpha, "alpha")
    if taper != "askey":
        return Wendland(gamma, alpha, X.shape[1], SMOOTHNESS[taper])
    return Compact(gamma, alpha, settle_exponent(l, X.shape[1]))


def settle_exponent(l, n_features):  # noqa: E741 - as in the paper
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
    if isinstance(kernel, Wendland):
        exponent, coefficients = wendland_polynomial(kernel.dimension, kernel.smoothness)
        enough = wendland_polynomial(n_features, kernel.smoothness)[0]
        return Profile(kernel.alpha, kernel.gamma, float(exponent), coefficients, enough)
    if isinstance(kernel, Compact):
        if not kernel.l > 0:
            raise ValueError(f"the exponent l must be positive, not {kernel.l!r}")
        enough = n_features // 2 + 1
        return Profile(kernel.alpha, kernel.gamma, float(kernel.l), (1.0,), enough)
    raise TypeError(
        f"{type(kernel).__name__} is not a kernel of compact support: take Compact or Wendland"
    )


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
