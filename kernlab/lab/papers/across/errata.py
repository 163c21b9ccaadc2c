"""Misprints of the papers as small runs: the printed formula, the corrected one, the difference."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from scipy.optimize import linprog
from sklearn.metrics import pairwise_distances

from kernlab.approximations import Nystrom, PolynomialMap
from kernlab.datasets import generators, load_dataset
from kernlab.estimators import FPC, LASN, KernelMachine, SparseCholeskySVC
from kernlab.kernels import make_kernel, total_variance
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Choice, catalogued, one_of, product, several
from kernlab.lab.papers.common.fitting import accuracy, signs

PRINTED, CORRECTED = "printed", "corrected"
ROWS = 400


@dataclass(frozen=True)
class Erratum:
    """A misprint that a small run shows.

    Parameters
    ----------
    where : str
        Paper and place.
    printed, corrected : str
        The two formulas, as matplotlib writes them.
    quantity, axis : str
        What is measured, and against what ("" where it is one number).
    run : callable
        Variant and seed -> pairs of (x, value).
    dataset : str
    log : bool
        Whether values are on a logarithmic axis.
    published : float, optional
        The value that the paper prints.
    digits : int
        How many digits of the last values are the same on every machine, where neither rounding
        nor the order of what weighs the same decides of them; 0 for none.
    """

    where: str
    printed: str
    corrected: str
    quantity: str
    axis: str
    run: Callable
    dataset: str
    log: bool = False
    published: float | None = None
    digits: int = 2


def _some(name, rows=ROWS, scaling="standard"):
    """Training rows and signs, test rows and signs: the first of a set's own random split."""
    data = load_dataset(name, scaling=scaling)
    X, y = data.X_train[:rows], signs(data, data.y_train[:rows])
    return X, y, data.X_test[:2000], signs(data, data.y_test[:2000])


def _loss(variant, seed):
    margins = np.linspace(-2.0, 2.0, 41)
    inner = margins if variant == PRINTED else 1.0 - margins
    return zip(margins, np.maximum(0.0, inner) ** 2, strict=True)


def _divisor(variant, seed):
    X = load_dataset("a9a").X_train
    if variant == CORRECTED:
        return [(0, total_variance(X))]
    rows = np.random.default_rng(seed).choice(X.shape[0], 1500, replace=False)
    squares = pairwise_distances(X[rows]) ** 2
    return [(0, squares.sum() / (len(rows) * (len(rows) - 1)))]


def _first_rows(variant, seed):
    split = "printed" if variant == PRINTED else "shuffled"
    data = load_dataset("mushrooms", paper="lasn", split=split)
    for k in (5, 10, 20, 40, 80):
        machine = LASN(k, random_state=seed).fit(data.X_train, data.y_train)
        yield k, 1.0 - machine.score(data.X_test, data.y_test)


def _unit_step(variant, seed):
    """Newton's method on the squared hinge, with halvings from the step 1 or from 1/2 on."""
    X, y, _, _ = _some("magic")
    F = Nystrom(gamma="variance", n_landmarks=50, random_state=seed).fit_transform(X)
    w, C, smallest = np.zeros(F.shape[1]), 10.0, variant == PRINTED

    def value(w):
        return 0.5 * w @ w + C * np.sum(np.maximum(0.0, 1.0 - y * (F @ w)) ** 2)

    def gradient(w):
        active = y * (F @ w) < 1
        A = F[active]
        return w - 2.0 * C * A.T @ (y[active] - A @ w), np.eye(len(w)) + 2.0 * C * A.T @ A

    start = la.norm(gradient(w)[0])
    for step in range(31):
        g, H = gradient(w)
        size = la.norm(g) / start
        yield step, max(size, 1e-16)
        if size < 1e-14:
            return
        direction = -la.solve(H, g, assume_a="pos")
        m = int(smallest)
        while value(w + 0.5**m * direction) > value(w) + 1e-4 * 0.5**m * (g @ direction) and m < 40:
            m += 1
        w = w + 0.5**m * direction


def _libsvm_gamma(variant, seed):
    data = load_dataset("liver-disorders", paper="lasn")
    gamma = 1.0 if variant == PRINTED else "variance"
    machine = LibSVM(C=10.0, loss="squared_hinge", gamma=gamma).fit(data.X_train, data.y_train)
    return [(0, accuracy(machine.predict(data.X_test), data.y_test))]


def _slack(variant, seed):
    """Whether y_i (w . x_i + b) >= 1 + xi_i (printed) or 1 - xi_i can hold at all, by noise."""
    for distance in (8.0, 6.0, 4.0, 2.0, 1.0):
        X, y = generators.gaussians(60, distance=distance, seed=seed)
        sign = 1.0 if variant == PRINTED else -1.0
        A = np.hstack([-y[:, None] * np.c_[X, np.ones(len(y))], sign * np.eye(len(y))])
        bounds = [(None, None)] * 3 + [(0, None)] * len(y)
        found = linprog(np.zeros(A.shape[1]), A, -np.ones(len(y)), bounds=bounds)
        yield distance, float(found.status == 0)


def _exponent(variant, seed):
    for features in range(1, 31):
        smallest = features // 2 + 1
        yield features, smallest if variant == PRINTED else smallest + (smallest % 2 == 0)


def _permutation(variant, seed):
    data = load_dataset("pendigits", scaling="unit")
    X, y = data.X_train[:1500], data.y_train[:1500]
    for sparsity in (0.99, 0.98, 0.95, 0.9):
        machine = SparseCholeskySVC(sparsity=sparsity, l=9).fit(X, y)
        rows = machine.rows_of(data.X_test[:2000])
        dual = np.zeros((len(machine.dual_coef_), len(y)))
        dual[:, machine.support_] = machine.dual_coef_
        if variant == PRINTED:  # the variables of the factor's order, permuted once more
            P = machine.permutation_
            dual = dual[:, P][:, P]
        scores = machine.approximation_.dual_decision(rows, dual.T, np.arange(len(y)))
        wrong = machine.answer(scores + machine.intercept_) != data.y_test[:2000]
        yield 1.0 - sparsity, float(np.mean(wrong))


def _intercept_sign(variant, seed):
    X, y, X_test, y_test = _some("magic", 1000)
    for C in (0.1, 1.0, 10.0):
        machine = KernelMachine("exact", "dual-admm", gamma="variance", C=C, loss="hinge")
        machine.fit(X, y)
        sums = machine.decision_function(X_test) - machine.intercept_[0]
        b = machine.intercept_[0] * (-1.0 if variant == PRINTED else 1.0)
        yield C, float(np.mean(np.sign(sums + b) != y_test))


def _admm(Q, y, C, beta, steps, printed=False):
    """ADMM of Algorithm 3 with a dense matrix: the iterates z, and how far x is from z."""
    factor = la.lu_factor(Q + beta * np.eye(len(y)))
    solved_y = la.lu_solve(factor, y)
    x = z = mu = np.zeros(len(y))
    for _ in range(steps):
        q = x if printed else np.ones(len(y)) + mu + beta * z
        solved = la.lu_solve(factor, q)
        x = solved - solved_y * (y @ solved) / (y @ solved_y)
        z = np.clip(x - mu / beta, 0.0, C)
        mu = mu - beta * (x - z)
        yield x, z


def _q_or_x(variant, seed):
    X, y, _, _ = _some("magic")
    K = make_kernel(gamma="variance", X=X)(X)
    Q = y[:, None] * K * y
    for step, (_, z) in enumerate(_admm(Q, y, 1.0, 10.0, 60, variant == PRINTED), start=1):
        yield step, -(0.5 * z @ Q @ z - z.sum())


def _indefinite(variant, seed):
    """beta = 1.9 and 2.1 times the size of the lowest eigenvalue of a K~ that is not PSD."""
    X, y, _, _ = _some("magic", 200)
    K = make_kernel(gamma="variance", X=X)(X)
    noise = np.random.default_rng(seed).normal(size=K.shape)
    Q = y[:, None] * (K + 0.2 * (noise + noise.T) / 2) * y
    P = np.eye(len(y)) - np.outer(y, y) / len(y)  # the x step keeps y'x = 0
    lowest = -la.eigvalsh(P @ Q @ P)[0]
    beta = (1.9 if variant == PRINTED else 2.1) * lowest
    for step, (x, z) in enumerate(_admm(Q, y, 1e6, beta, 400), start=1):
        if step % 10 == 0:
            size = la.norm(x - z) / max(1.0, la.norm(z))
            yield step, float(np.clip(size, 1e-16, 1e6))


def _unscaled(variant, seed):
    data = load_dataset("magic", paper="fpc", scaling="none")
    for degree in (1, 2, 3, 4):
        scaling = "none" if variant == PRINTED else "unit"
        machine = FPC(degree, scaling=scaling).fit(data.X_train[:3000], data.y_train[:3000])
        yield degree, 1.0 - machine.score(data.X_test, data.y_test)


def _ridge_or_optimum(variant, seed):
    data = load_dataset("fpc-toy")
    for degree in (2, 4, 6, 8, 10):
        settings = {"to_optimum": True, "tol": 1e-3} if variant == CORRECTED else {}
        machine = FPC(degree, basis="chebyshev", **settings).fit(data.X_train, data.y_train)
        scores = machine.decision_function(data.X_train)
        yield degree, float(np.mean(np.maximum(0, 1 - signs(data, data.y_train) * scores)))


def _single_precision(variant, seed):
    data = load_dataset("magic", paper="fpc", scaling="unit")
    X = data.X_train[:3000]
    for degree in (1, 2, 3, 4):
        F = PolynomialMap(degree).fit_transform(X[:, :4])
        F = F.astype(np.float32 if variant == PRINTED else np.float64)
        values = la.eigvalsh((F.T @ F).astype(np.float64))
        yield degree, float(max(-values[0] / values[-1], 1e-18))


ERRATA = {
    "lasn 1": Erratum(
        "LASN, eq. 3", r"$\max(0,\ y f(x))^2$", r"$\max(0,\ 1 - y f(x))^2$", "loss",
        "margin $y f(x)$", _loss, "gaussians"),
    "lasn 2": Erratum(
        "LASN, Section 6", r"mean of $|x_i - x_j|^2$", r"mean of $|x_i - \bar x|^2$",
        r"$\gamma$ of a9a", "", _divisor, "a9a", published=7.67),
    "lasn 4": Erratum(
        "LASN, line search", r"step $\rho^m$, $m \geq 1$", r"step $\rho^m$, $m \geq 0$",
        "gradient, relative to the start", "Newton step", _unit_step, "magic", True, digits=0),
    "lasn 9": Erratum(
        "LASN, Table 4", r"LIBSVM with $\gamma = 1$", r"LIBSVM with LASN's $\gamma$",
        "test accuracy (liver-disorders)", "", _libsvm_gamma, "liver-disorders", published=0.5),
    "lasn 10": Erratum(
        "LASN, Table 2", "first 60 % of a sorted file", "60 % at random",
        "test error (mushrooms)", "landmarks k", _first_rows, "mushrooms"),
    "sparse 16": Erratum(
        "Sparse, eq. 5", r"$y_i f(x_i) \geq 1 + \xi_i$", r"$y_i f(x_i) \geq 1 - \xi_i$",
        "constraints can hold", "distance of the classes", _slack, "gaussians"),
    "sparse 17": Erratum(
        "Sparse, Section 3", r"smallest $l \geq \lfloor n/2 \rfloor + 1$", "the next odd one",
        "exponent l", "features n", _exponent, "gaussians"),
    "sparse 18": Erratum(
        "Sparse, listing", r"$\lambda = \lambda_F[P]$", r"$\lambda = \lambda_F[P^{-1}]$",
        "test error (pendigits)", "share of $K$ kept", _permutation, "pendigits",
        digits=1),
    "hss 24": Erratum(
        "HSS, eq. 2 and 7", r"$f = \sum - b$", r"$f = \sum + b$", "test error (magic)", "C",
        _intercept_sign, "magic"),
    "hss 25": Erratum(
        "HSS, Algorithm 3", r"right-hand side $x^k$", r"$q^k = e + \mu^k + \beta z^k$",
        "dual objective", "ADMM step", _q_or_x, "magic"),
    "hss 27": Erratum(
        "HSS, Section 3", r"$\beta = 1.9\, |\lambda_{\min}|$", r"$\beta = 2.1\, |\lambda_{\min}|$",
        r"$|x - z|$", "ADMM step", _indefinite, "magic", True, digits=0),
    "fpc 30": Erratum(
        "FPC, Section VI", "features as they are", "scaled to [0, 1]", "test error (magic)",
        "degree s", _unscaled, "magic", digits=0),
    "fpc 31": Erratum(
        "FPC, Algorithm 1", "stopped as stated", "minimiser of the hinge loss",
        "training hinge loss (toy)", "degree s", _ridge_or_optimum, "fpc-toy"),
    "fpc 33": Erratum(
        "FPC, scripts", "$A^T A$ in single precision", "in double precision",
        "negative eigenvalue, relative", "degree s", _single_precision, "magic", True, digits=0),
}  # fmt: skip
"""The misprints, by paper and number."""


@catalogued("errata", "What the papers' misprints cost", paper="across")
def errata(which: several(one_of(*ERRATA)) = Choice(tuple(ERRATA)), seed=0):
    """What changes when a formula is taken as printed, and when it is corrected?

    `which` are keys of `ERRATA`, such as "hss 25".
    """
    return [
        point
        for name in which
        for point in product(ERRATA[name].dataset, name, (PRINTED, CORRECTED))
    ]


@errata.measure
def measure_erratum(point, seed):
    """One formula, run."""
    values = ERRATA[point.method].run(point.variant, seed)
    return [{"x": float(x), "value": float(value)} for x, value in values]


@errata.key_figures
def _differences(table):
    last = table.groupby(["method", "variant"], sort=False)["value"].last()
    figures = {}
    for name in dict.fromkeys(table["method"]):
        one, forms = ERRATA[name], (PRINTED, CORRECTED)
        if one.digits and {(name, form) for form in forms} <= set(last.index):
            said = [f"{form} {last[name, form]:.{one.digits}g}" for form in forms]
            quantity = one.quantity.replace("$", "").replace("\\", "")
            figures[f"{one.where}, {quantity}"] = ", ".join(said)
    return figures
