"""FPC's propositions and theorems in numbers, and its Figure 2."""

import math

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.svm import SVC

from kernlab.approximations import PolynomialMap
from kernlab.datasets import generators
from kernlab.lab.engine import Choice, catalogued, figures_by, product
from kernlab.lab.papers.common.fitting import shape_of, solved
from kernlab.lab.papers.common.theory import below
from kernlab.lab.papers.fpc.toy import MACHINES, course_of, described, errors, fit, toy
from kernlab.solvers import solve_hinge_admm, solve_hinge_interior

SETTINGS = {"beta = 1": {}, "beta = 1/30": {"beta": 1 / 30}, "alpha = 0.01": {"alpha": 0.01}}


@catalogued("fpc-thm12", "Theorems 1 and 2: ADMM converges, in steps that never grow")
def convergence(steps=Choice(1000, 5000)):
    """How do ADMM's steps and its objective fall, and where does FPC stop?"""
    optimum = product("fpc-toy", "hinge optimum", "to the optimum", steps=steps)
    return product("fpc-toy", "FPC", SETTINGS, steps=steps) + optimum


@convergence.measure
def measure_convergence(point, seed):
    """Squared H-norm, objective and residual of the steps 1, ..., spaced ever wider."""
    X, y, _, _ = toy(1000, point.repeat)
    F = PolynomialMap(9, basis="chebyshev").fit_transform(X)
    if point.method == "FPC":
        settings = {"tol": 0.0, "max_iter": point["steps"]} | SETTINGS[point.variant]
        trace = course_of(X, y, **settings)[0].trace_table()
        growth = trace["change"].pct_change().iloc[1:].max()
    else:
        trace = solve_hinge_interior(F, y, tol=1e-4).trace_table()
        growth = np.nan
    value = primal_value(F, y)
    kept = np.unique(np.geomspace(1, len(trace), 60).round().astype(int)) - 1
    named = {"iteration": "step", "residual": "kkt_residual"}
    told = trace.iloc[kept][["iteration", "change", "objective", "residual"]].rename(columns=named)
    told = told.assign(excess=told["objective"] - value, largest_growth=growth)
    return told.assign(**shape_of(X))


@convergence.key_figures("the step with {variant}", lambda table: table["method"] == "FPC")
def _steps(rows):
    k_times = rows["step"] * rows["change"]
    monotone = "never grows" if rows["largest_growth"].iloc[-1] <= 1e-6 else "grows somewhere"
    shrinks = "falls" if k_times.iloc[-1] < 0.5 * k_times.max() else "does not fall"
    return f"{monotone}; k times its square {shrinks}"


SMOOTHNESS = (1.0, 2.0)
ROWS = Choice((100, 300, 1000, 3000), (100, 300, 1000, 3000, 10_000, 30_000))


@catalogued("fpc-thm3", "Theorem 3: the learning rate")
def learning_rate(sizes=ROWS, repeats=Choice(3, 10, 50)):
    """Does the excess error fall as fast as the theorem says when s grows with m?

    `sizes` are training rows m.
    """
    points = []
    for alpha in SMOOTHNESS:
        variant = f"smoothness {alpha:g}"
        points += product("fpc-toy", MACHINES, variant, repeats, rows=sizes, smoothness=alpha)
    return points


def prescribed_degree(m, smoothness, variables=2):
    """[(m / log m)^theta] with theta = 1 / (alpha + d): the labels are turned with a probability
    that is bounded away from 1/2, so Tsybakov's q is infinite."""
    return max(1, int((m / math.log(m)) ** (1.0 / (smoothness + variables))))


@learning_rate.measure
def measure_rate(point, seed):
    m = point["rows"]
    degree = prescribed_degree(m, point["smoothness"])
    X, y, X_test, y_test = toy(m, point.repeat, test_rows=20_000)
    machine = fit(point.method, X, y, degree)
    theta = 1.0 / (point["smoothness"] + 2)
    return {
        "chosen_degree": degree,
        "excess_error": errors(machine, X, y, X_test, y_test)["test_error"],
        "rate": (m / math.log(m)) ** (-point["smoothness"] * theta),
        **described(machine, X),
    }


@learning_rate.key_figures("{method}, {variant}")
def _ends(rows):
    means = rows.groupby("rows")["excess_error"].mean()
    return (
        f"{100 * means.iloc[0]:.1f} % at {means.index[0]} rows, "
        f"{100 * means.iloc[-1]:.1f} % at {means.index[-1]}"
    )


DOUBLED = (50, 100, 200, 400, 800, 1600, 3200, 6400)


@catalogued("fpc-f2", "Figure 2: the margin shrinks as data grow")
def shrinking_margin(sizes=Choice(DOUBLED[:6], DOUBLED), repeats=Choice(3, 10)):
    """What becomes of the margin when more and more rows are drawn?"""
    return product("fpc-toy", "LIBSVM", "separable", repeats, rows=sizes)


@shrinking_margin.measure
def measure_margin(point, seed):
    """A machine without slack on rows without noise: the width of its margin, and who is near."""
    X, y = generators.fpc_toy(point["rows"], noise=0.0, seed=point.repeat)
    machine = SVC(C=1e8, gamma=5.0, cache_size=500).fit(X, y)
    height = np.abs(X[:, 1] - generators.fpc_bayes_curve(X[:, 0]))
    signed = machine.dual_coef_.ravel()
    K = np.exp(-5.0 * ((machine.support_vectors_[:, None] - machine.support_vectors_) ** 2).sum(-1))
    return shape_of(X) | {
        "margin": 2.0 / math.sqrt(signed @ K @ signed),
        "support_vectors": len(signed),
        "rows_near": int(np.sum(height < 0.02)),
        "train_error": float(np.mean(machine.predict(X) != y)),
    }


@shrinking_margin.key_figures
def _margin_key_figures(table):
    near = table.groupby("rows")["rows_near"].median()
    return {f"{m} rows": f"{count:.0f} within 0.02 of the curve" for m, count in near.items()}


PRIME = 2**31 - 1
SPACES = Choice(((2, 3), (2, 9), (4, 3)), ((2, 3), (2, 9), (4, 3), (4, 5), (8, 3)))
CENTRES = ("first rows", "random rows", "uniform", "on a line", "on a parabola", "each twice")


@catalogued("fpc-p1", "Proposition 1: almost every set of centres is fundamental")
def fundamental_centres(profile, degrees=None, seed=0):
    """Do n centres span the polynomials of degree s, and do doubles still see it?

    `degrees` are in two variables; by default there are spaces of several dimensions.
    """
    points = []
    for d, s in [(2, s) for s in degrees or ()] or SPACES.of(profile):
        points += product("random centres", "PolynomialMap", CENTRES, variables=d, degree=s)
    return points


RANKS = figures_by(
    "{variant}, degree {degree} in {variables} variables", "rank {exact_rank} of {dimension}"
)


@fundamental_centres.measure(key_figures=RANKS)
def measure_centres(point, seed):
    """Rank of the functions (1 + x . eta_j)^s: in exact arithmetic, and what doubles see of it."""
    d, s = point["variables"], point["degree"]
    rng = np.random.default_rng(seed)
    n = math.comb(s + d, s)
    X = rng.random((4 * n, d))
    centres = _centres(point.variant, X, n, rng)
    fitted = PolynomialMap(s, centres=centres, scaling="none").fit(X)
    check = fitted.centre_check_
    return shape_of(X) | {
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


@catalogued("fpc-p2", "Proposition 2: the dual is a linear programme")
def dual_programme(degrees=(2, 4), repeats=Choice(1, 5)):
    """Do the linear programme, its dual and ADMM's optimum agree?"""
    names = ("fpc-toy", "two-moons", "gaussians")
    return product(names, "hinge optimum", repeats=repeats, degree=degrees)


@dual_programme.measure
def measure_dual(point, seed):
    """Both linear programmes by HiGHS, ADMM's iterates at its usual stop and at the optimum."""
    X, y = getattr(generators, point.dataset.replace("-", "_"))(300, seed=point.repeat)
    F = PolynomialMap(point["degree"], basis="chebyshev").fit_transform(X)
    early = solve_hinge_admm(PolynomialMap(point["degree"]).fit_transform(X), y)
    optimum = solve_hinge_interior(F, y, tol=1e-4, max_iter=50_000)
    dual = optimum.dual_variables
    violation = np.linalg.norm(F.T @ (y * dual)) / np.linalg.norm(F.T @ np.abs(dual))
    return shape_of(X) | {
        "primal_value": primal_value(F, y),
        "dual_value": dual_value(F, y),
        "early_objective": early.objective,
        "dual_sum": float(dual.sum()),
        "dual_violation": float(violation),
        "early_kkt_residual": early.kkt_residual,
        **solved(optimum, "objective", "gap", "kkt_residual", "n_iter"),
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


@dual_programme.key_figures
def _dual_key_figures(table):
    least = table["primal_value"]
    excess, early = ((table[name] - least) / least for name in ("objective", "early_objective"))
    return {
        "primal and dual value differ by": below((least - table["dual_value"]).abs().max()),
        "ADMM's optimum is above by a share of": below(excess.max(), finest=-3),
        "FPC's usual stop is above by at least": f"{100 * early.min():.0f} %",
    }
