"""FPC's propositions in numbers: centres that are fundamental, and the dual programme."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from kernlab.approximations import PolynomialMap
from kernlab.datasets import generators
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.common.equivalence import below
from kernlab.lab.papers.fpc.toy import features_of
from kernlab.solvers import solve_hinge_admm, solve_hinge_interior

PRIME = 2**31 - 1

# -------------------------------------------------------------------- Proposition 1
SPACES = {"quick": ((2, 3), (2, 9), (4, 3)), "standard": ((2, 3), (2, 9), (4, 3), (4, 5), (8, 3))}
CENTRES = ("first rows", "random rows", "uniform", "on a line", "on a parabola", "each twice")


@catalogued("fpc-p1", "Proposition 1: almost every set of centres is fundamental")
def fundamental_centres(degrees=None, seed=0):
    """Do n centres span the polynomials of degree s, and do doubles still see it?

    Parameters
    ----------
    degrees : sequence of int, optional
        In two variables; spaces of several dimensions by default.
    seed : int
    """

    def grid(profile):
        spaces = [(2, s) for s in degrees or ()] or SPACES.get(profile, SPACES["standard"])
        return [
            point
            for d, s in spaces
            for point in product("random centres", "PolynomialMap", CENTRES, variables=d, degree=s)
        ]

    return Study(grid=grid, measure=measure_centres, key_figures=_centres_key_figures)


def measure_centres(point, seed):
    """Rank of the functions (1 + x . eta_j)^s: in exact arithmetic, and what doubles see of it."""
    d, s = point["variables"], point["degree"]
    rng = np.random.default_rng(seed)
    n = math.comb(s + d, s)
    X = rng.random((4 * n, d))
    centres = _centres(point.variant, X, n, rng)
    fitted = PolynomialMap(s, centres=centres, scaling="none").fit(X)
    check = fitted.centre_check_
    return {
        "n_train": len(X),
        "n_features": d,
        "n_centres": n,
        "dimension": check.dimension,
        "exact_rank": rank_of_powers(centres, s),
        "double_rank": check.rank,
        "condition": check.condition,
    }


def _centres(kind, X, n, rng):
    d = X.shape[1]
    if kind == "random rows":
        return X[rng.choice(len(X), n, replace=False)]
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "on a line":
        return np.linspace(0, 1, n)[:, None] * np.ones(d)
    if kind == "on a parabola":  # x_d = x_1^2, exactly: 2^-40 is a double
        on_it = np.round(X[:n] * 2**20) / 2**20
        on_it[:, -1] = on_it[:, 0] ** 2
        return on_it
    if kind == "each twice":
        return np.repeat(X[: -(-n // 2)], 2, axis=0)[:n]
    return X[:n]


def rank_of_powers(centres, degree):
    """The rank of ((1 + eta_i . eta_j)^s) without rounding: by elimination modulo a prime.

    Doubles are fractions, and the denominators, powers of 2, have inverses modulo the prime. The
    rank modulo a prime is never above the true one, and the matrix has the functions' rank.
    """
    residues = np.array([[_residue(v) for v in row] for row in centres.tolist()], dtype=np.int64)
    products = np.ones((len(centres), len(centres)), dtype=np.int64)
    for column in residues.T:
        products = (products + column[:, None] * column[None, :] % PRIME) % PRIME
    matrix = np.ones_like(products)
    for _ in range(degree):
        matrix = matrix * products % PRIME
    return _rank_modulo(matrix)


def _residue(value):
    numerator, denominator = value.as_integer_ratio()
    return numerator * pow(denominator, -1, PRIME) % PRIME


def _rank_modulo(matrix):
    matrix, rank = matrix.copy(), 0
    for column in range(matrix.shape[1]):
        pivots = np.flatnonzero(matrix[rank:, column])
        if not len(pivots):
            continue
        pivot = rank + pivots[0]
        matrix[[rank, pivot]] = matrix[[pivot, rank]]
        matrix[rank] = matrix[rank] * pow(int(matrix[rank, column]), PRIME - 2, PRIME) % PRIME
        below_it = matrix[rank + 1 :]
        below_it -= below_it[:, column : column + 1] * matrix[rank] % PRIME
        below_it %= PRIME
        rank += 1
        if rank == len(matrix):
            break
    return rank


def _centres_key_figures(table):
    return {
        f"{row.variant}, degree {row.degree} in {row.variables} variables": (
            f"rank {row.exact_rank} of {row.dimension}"
        )
        for row in table.itertuples()
    }


# -------------------------------------------------------------------- Proposition 2
@catalogued("fpc-p2", "Proposition 2: the dual is a linear programme")
def dual_programme(degrees=(2, 4), repeats=None):
    """Do the linear programme, its dual and ADMM's optimum agree?"""

    def grid(profile):
        times = repeats or (1 if profile == "quick" else 5)
        names = ("fpc-toy", "two-moons", "gaussians")
        return product(names, "hinge optimum", repeats=times, degree=degrees)

    return Study(grid=grid, measure=measure_dual, key_figures=_dual_key_figures)


def measure_dual(point, seed):
    """Both linear programmes by HiGHS, ADMM's iterates at its usual stop and at the optimum."""
    make = {
        "fpc-toy": generators.fpc_toy,
        "two-moons": generators.two_moons,
        "gaussians": generators.gaussians,
    }[point.dataset]
    X, y = make(300, seed=point.repeat)
    F, _ = features_of(X, point["degree"], basis="chebyshev")
    powers, _ = features_of(X, point["degree"])
    early = solve_hinge_admm(powers, y)
    optimum = solve_hinge_interior(F, y, tol=1e-4, max_iter=50_000)
    dual = optimum.dual_variables
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "primal_value": primal_value(F, y),
        "dual_value": dual_value(F, y),
        "early_objective": early.objective,
        "objective": optimum.objective,
        "dual_sum": float(dual.sum()),
        "dual_violation": float(
            np.linalg.norm(F.T @ (y * dual)) / np.linalg.norm(F.T @ np.abs(dual))
        ),
        "gap": optimum.relative_gap,
        "kkt_residual": optimum.kkt_residual,
        "early_kkt_residual": early.kkt_residual,
        "n_iter": optimum.n_iter,
    }


def primal_value(F, y):
    """min 1/m sum xi over y F u >= 1 - xi, xi >= 0 (6)."""
    m, n = F.shape
    found = linprog(
        np.concatenate([np.zeros(n), np.full(m, 1 / m)]),
        A_ub=sp.hstack([sp.csr_matrix(-y[:, None] * F), -sp.eye(m)]).tocsr(),
        b_ub=-np.ones(m),
        bounds=[(None, None)] * n + [(0, None)] * m,
    )
    return float(found.fun)


def dual_value(F, y):
    """max sum a over F^T (y a) = 0, 0 <= a <= 1/m (7; the bounds stand for a + c = 1/m)."""
    m, n = F.shape
    found = linprog(-np.ones(m), A_eq=(y[:, None] * F).T, b_eq=np.zeros(n), bounds=[(0, 1 / m)] * m)
    return float(-found.fun)


def _dual_key_figures(table):
    difference = (table["primal_value"] - table["dual_value"]).abs().max()
    excess = ((table["objective"] - table["primal_value"]) / table["primal_value"]).max()
    early = ((table["early_objective"] - table["primal_value"]) / table["primal_value"]).min()
    return {
        "primal and dual value differ by": below(difference),
        "ADMM's optimum is above by a share of": below(excess, finest=-3),
        "FPC's usual stop is above by at least": f"{100 * early:.0f} %",
    }
