"""How far an approximate kernel matrix moves the optimum of the dual (eq. 9 of the ADMM-HSS paper).

With f and f~ the dual's objectives (to be minimised) with K and K~, and x and x~ their minimisers,

    -1/2 x^T Y (K~ - K) Y x  <=  f(x) - f~(x~)  <=  1/2 x~^T Y (K - K~) Y x~

so |f(x) - f~(x~)| is at most the larger of the two in size, and at most 1/2 max |x|^2 |K~ - K|.
The left one needs that no point is below f~(x~), so that K~ has no negative eigenvalue. Where its
eigenvalues are at least -s, f~ + s/2 |. - x~|^2 is convex and least at x~, where the optimality
conditions hold: then f(x) lies below f~(x~) by at most s/2 |x~ - x|^2 more.
"""

from dataclasses import dataclass

import numpy as np

ROUNDING = 1e-10  # of the number of rows, which is the largest that an eigenvalue can be


@dataclass(frozen=True)
class KernelError:
    """`difference` is f(x) - f~(x~); `bound` holds for its size. `half_squared_length` times a norm
    of K~ - K is the paper's second bound."""

    difference: float
    bound: float
    half_squared_length: float


def kernel_error(approximation, y, approximate_dual, exact_dual, *, negative=0.0):
    """Eq. 9 for one problem: `approximate_dual` and `exact_dual` are the dual variables of the
    solutions with K~ and with K, both to more precision than what is asked about.

    `negative` is s, with which the bound is the wider; that eigenvalues go no lower is checked.
    """
    y = np.asarray(y, dtype=np.float64)
    shift = negative + ROUNDING * len(y)
    if not approximation.is_definite(shift):
        raise ValueError(
            f"eq. 9 does not hold here: K~ has an eigenvalue below {-negative:g}, so that a "
            "solution with K~ need not be the lowest point; tighten rel_tol until K~ is positive "
            "semidefinite, or give minus its smallest eigenvalue as `negative`"
        )
    duals = np.stack([approximate_dual, exact_dual], axis=1)
    signed = duals * y[:, None]
    near = np.asarray(approximation.operator() @ signed, dtype=np.float64)
    true = np.asarray(approximation.exact_product(signed), dtype=np.float64)
    quadratic_near, quadratic = (np.einsum("ij,ij->j", signed, image) for image in (near, true))
    difference = 0.5 * quadratic[1] - duals[:, 1].sum() - 0.5 * quadratic_near[0]
    difference += duals[:, 0].sum()
    slack = 0.5 * shift * float(np.sum((duals[:, 0] - duals[:, 1]) ** 2))
    return KernelError(
        difference=float(difference),
        bound=float(0.5 * np.abs(quadratic_near - quadratic).max()) + slack,
        half_squared_length=float(0.5 * np.einsum("ij,ij->j", duals, duals).max()),
    )
