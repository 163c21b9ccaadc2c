"""Equation 9: how far the optimum moves when K~ stands in for K, measured beside the bound.

    |f(x) - f~(x~)| <= max(1/2 |x~^T Y (K~ - K) Y x~|, 1/2 |x^T Y (K~ - K) Y x|)
                    <= 1/2 max(|x~|^2, |x|^2) |K~ - K|_2

x minimises the dual objective f with K, x~ minimises f~ with K~. Both must be global minimisers:
the proof compares f~(x~) with f~(x). Where K~ has negative eigenvalues x~ need not be one; such
rows say so. Lifting the eigenvalues of K~ to zero mends it, at the price of a larger error.
"""

import warnings

import numpy as np
import scipy.linalg as la
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import ExactKernel
from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.hss.nulls import Lifted
from kernlab.lab.papers.hss.sets import sample
from kernlab.solvers import solve_dual_admm

CASES = {
    "quick": (("magic", 3.0, 1.0, 600), ("checkerboard", 0.3, 1.0, 600)),
    "standard": (
        ("skin_nonskin", 10.0, 1.0, 1200),
        ("cod-rna", 10.0, 1.0, 1200),
        ("ijcnn1", 0.3, 1.0, 1200),
        ("a9a", 1.0, 1.0, 1200),
        ("checkerboard", 0.3, 1.0, 1200),
    ),
}
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
QUICK_TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
AS_COMPRESSED, LIFTED = "as compressed", "lifted"
OPTIMUM = 1e-9  # relative gap at which a minimiser counts as one
ROUNDING = 1e-12  # of the largest eigenvalue


@catalogued("hss-e9", "Equation 9: the objective's error and its bound")
def objective_bound(datasets=None, h=1.0, C=1.0, rows=600, tolerances=None, seed=0):
    """How far does the optimum move when K~ replaces K, and what does eq. 9 promise?

    Parameters
    ----------
    datasets : sequence of str, optional
        Those of the catalogue by default, each with h, C and rows of its own.
    h, C, rows : float, float, int
        For data sets that are named.
    tolerances : sequence of float, optional
    seed : int
    """

    def grid(profile):
        listed = CASES.get(profile, CASES["standard"])
        every = tolerances or (QUICK_TOLERANCES if profile == "quick" else TOLERANCES)
        forms = (AS_COMPRESSED, LIFTED)
        return [
            point
            for name, width, cost, size in [(n, h, C, rows) for n in datasets or ()] or listed
            for point in product(name, "HSS", forms, h=width, C=cost, rows=size, rel_tol=every)
        ]

    return Study(
        grid=grid, measure=measure_bound, predict_seconds=predict_seconds, key_figures=_key_figures
    )


def predict_seconds(point):
    """Some thousand solves with dense matrices, and their eigenvalues."""
    return 5e-6 * point["rows"] ** 2 + 1e-9 * point["rows"] ** 3


def measure_bound(point, seed):
    """Both optima and both sides of the bound."""
    data = sample(point.dataset, point["rows"])
    gamma = gamma_from_sigma(point["h"])
    exact = ExactKernel(gamma=gamma).fit(data.X)
    kernel = HSSKernel(gamma=gamma, rel_tol=point["rel_tol"], leaf_size=64, random_state=seed)
    kernel.fit(data.X)
    n = len(data.y)
    K, approximate = exact.matrix_, kernel.operator() @ np.eye(n)
    smallest, largest = la.eigvalsh(approximate)[[0, -1]]
    stand_in = kernel
    if point.variant == LIFTED and smallest < 0:
        lift = -smallest + ROUNDING * largest
        stand_in, approximate = Lifted(kernel, lift), approximate + lift * np.eye(n)
        smallest += lift
    x, x_residual = _minimiser(exact, data.y, point["C"])
    other, other_residual = _minimiser(stand_in, data.y, point["C"])
    difference = approximate - K
    gap = abs(_value(K, x) - _value(approximate, other))
    quadratic = 0.5 * max(abs(v @ difference @ v) for v in (x, other))
    norm = la.norm(difference, 2)
    return data.shape | {
        "smallest_eigenvalue": smallest,
        "semidefinite": bool(smallest >= -ROUNDING * largest),
        "kernel_error": norm / la.norm(K, 2),
        "optimum": _value(K, x),
        "objective_error": gap,
        "quadratic_bound": quadratic,
        "norm_bound": 0.5 * max(x @ x, other @ other) * norm,
        "holds": bool(gap <= quadratic + 10 * OPTIMUM * abs(_value(K, x))),
        "kkt_residual": max(x_residual, other_residual),
    }


def _minimiser(approximation, y, C):
    """The coefficients a_i y_i of the optimum, and how far they are from satisfying KKT."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the table says how far
        result = solve_dual_admm(approximation, y, C=C, tol=OPTIMUM, max_iter=5000)
    return result.coefficients, float(result.kkt_residual)


def _value(K, coefficients):
    """The dual objective 1/2 x^T Y K Y x - e^T x at x = Y coefficients, x >= 0."""
    return float(0.5 * coefficients @ K @ coefficients - np.abs(coefficients).sum())


def _key_figures(table):
    figures = {}
    for form, rows in table.groupby("variant", sort=False):
        figures[form] = (
            f"{int(rows['semidefinite'].sum())} of {len(rows)} matrices semidefinite, "
            f"the bound holds for {int(rows['holds'].sum())}"
        )
    tightest = table[table["rel_tol"] == table["rel_tol"].min()]
    worst = (tightest["objective_error"] / tightest["optimum"].abs()).max()
    figures["objective error at the tightest tolerance"] = (
        f"below 1e{int(np.ceil(np.log10(max(worst, 1e-12))))} of the optimum"
    )
    return figures
