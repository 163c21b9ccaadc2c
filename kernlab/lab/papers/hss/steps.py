"""Where hierarchical compression matters: along the steps, and by the bound of equation 9.

After ten steps with beta = 100 dual variables have hardly moved, and machines that see nothing of
the kernel matrix decide almost alike, but for their intercept. What K~ is worth shows when ADMM is
let run: machines on a close K~ go to the optimum of the exact machine, the others elsewhere.
"""

import numpy as np
import scipy.linalg as la

from kernlab.approximations import ExactKernel
from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.common.cells import figures_by
from kernlab.lab.papers.hss.machines import (
    BLOCKS,
    HSS,
    IDENTITY,
    Lifted,
    accuracies,
    approximated,
    converged,
    decisions,
    papers_steps,
)
from kernlab.lab.papers.hss.sets import sample
from kernlab.lab.papers.hss.tables import SETTINGS
from kernlab.solvers import certify_dual


def cases_of(cases, profile, datasets, h, C, rows, *what, **parameters):
    """The points of a profile's cases (data set -> h, C, rows), or of sets that are named."""
    listed = dict.fromkeys(datasets or (), (h, C, rows))
    listed = listed or cases.get(profile, cases["standard"])
    return product(
        listed, *what, h=lambda name: listed[name][0], C=lambda name: listed[name][1],
        rows=lambda name: listed[name][2], **parameters,
    )  # fmt: skip


# ------------------------------------------------------------------------- along the steps
EXACT, COARSE, CLOSE = "exact K", "HSS, rel_tol 1", "HSS, rel_tol 0.01"
KINDS = (EXACT, CLOSE, COARSE, BLOCKS, IDENTITY)
STEPS = (1, 3, 10, 30, 100, 300, 1000)
PAPERS_BETA, OWN_BETA = "beta = 100", "beta = 1"
BETAS = {PAPERS_BETA: 100.0, OWN_BETA: 1.0}
CASES = {  # data set -> h, C, rows
    "quick": {"checkerboard": (0.3, 10.0, 800), "magic": (1.0, 1.0, 800)},
    "standard": {
        "checkerboard": (0.3, 10.0, 2500), "skin_nonskin": (10.0, 10.0, 2500),
        "ijcnn1": (0.1, 10.0, 2500), "a9a": (3.0, 10.0, 2500), "cod-rna": (10.0, 10.0, 2500),
    },
}  # fmt: skip
OPTIMUM = 1e-5
NEAR_OPTIMUM = 0.05  # relative gap with the exact kernel


@catalogued("hss-steps", "Where the approximation matters")
def step_sweep(datasets=None, h=1.0, C=1.0, rows=800, seed=0):
    """After how many steps does it matter what stands in for the kernel matrix?

    The catalogue's sets have h, C and rows of their own; the arguments are for sets that are named.
    """
    return Study(
        grid=lambda profile: cases_of(CASES, profile, datasets, h, C, rows, KINDS, BETAS),
        measure=measure_steps,
        predict_seconds=predict_seconds,
        key_figures=_in_the_end,
    )


def predict_seconds(point):
    """Solves with the exact matrix cost n^2; so do close hierarchical ones in many dimensions."""
    dense = point.method == EXACT or (point.method == CLOSE and point.dataset in ("a9a", "magic"))
    return 2.5e-6 * point["rows"] ** 2 if dense else 3e-3 * point["rows"]


def _kernel(kind, X, h, seed):
    if kind == EXACT:
        return ExactKernel(gamma=gamma_from_sigma(h)).fit(X)
    if kind in (COARSE, CLOSE):
        settings = SETTINGS["hss-t4"] if kind == COARSE else {"rel_tol": 1e-2}
        return approximated(HSS, X, h, seed, leaf_size=128, **settings)[0]
    return approximated(kind, X, h, seed)[0]


def measure_steps(point, seed):
    """A row for each number of steps; the last is the optimum with K~, however it is reached."""
    data, C = sample(point.dataset, point["rows"]), point["C"]
    exact = _kernel(EXACT, data.X, point["h"], seed)
    kernel = exact if point.method == EXACT else _kernel(point.method, data.X, point["h"], seed)
    beta = _large_enough(kernel, BETAS[point.variant])
    results = {steps: papers_steps(kernel, data.y, [C], steps, beta)[0] for steps in STEPS}
    results["optimum"] = converged(kernel, data.y, [C], tol=OPTIMUM, max_iter=3000)[0]
    sums = decisions(exact.kernel_, data.X_test, data.X, list(results.values()))
    intercepts = np.array([result.intercept for result in results.values()])
    rows = []
    ours = accuracies(sums + intercepts, data.y_test)
    for (steps, result), scored, column in zip(results.items(), ours, sums.T, strict=True):
        dual = np.abs(result.coefficients)
        proof = certify_dual(lambda v: exact.matrix_ @ v, data.y, dual, C=C, loss="hinge")
        with_best = accuracies((column + proof.intercept)[:, None], data.y_test)
        row = {
            "at_optimum": steps == "optimum",
            "steps": result.n_iter,
            "test_accuracy": scored,
            "best_intercept_accuracy": with_best[0],
            "exact_gap": proof.relative_gap,
            "kkt_residual": result.kkt_residual,
            "beta_used": beta,
        }
        rows.append(data.shape | row)
    return rows


def _large_enough(kernel, beta):
    """beta, doubled until ADMM converges with this matrix."""
    while not kernel.is_definite(beta / 2.2):
        beta *= 2.0
    return beta


def _in_the_end(table):
    """Optima of other problems are left unnamed: with an indefinite K~ there are several."""
    figures = {}
    papers = table[table["variant"] == PAPERS_BETA]
    for (name, kind), rows in papers.groupby(["dataset", "method"], sort=False):
        ends = rows["at_optimum"].astype(bool)
        ten, last = rows[(rows["steps"] == 10) & ~ends].iloc[0], rows[ends].iloc[0]
        near = last["exact_gap"] < NEAR_OPTIMUM
        figures[f"{name}, {kind}"] = f"{ten['test_accuracy']:.0%} after ten steps, " + (
            f"{last['test_accuracy']:.0%} at the optimum" if near else "then to another optimum"
        )
    return figures


# ------------------------------------------------------------------------- equation 9
BOUND_CASES = {
    "quick": {"magic": (3.0, 1.0, 600), "checkerboard": (0.3, 1.0, 600)},
    "standard": {
        "skin_nonskin": (10.0, 1.0, 1200), "cod-rna": (10.0, 1.0, 1200), "ijcnn1": (0.3, 1.0, 1200),
        "a9a": (1.0, 1.0, 1200), "checkerboard": (0.3, 1.0, 1200),
    },
}  # fmt: skip
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6)
QUICK_TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
AS_COMPRESSED, LIFTED = "as compressed", "lifted"
MINIMISED = 1e-9  # relative gap at which a minimiser counts as one
ROUNDING = 1e-12  # of the largest eigenvalue


@catalogued("hss-e9", "Equation 9: the objective's error and its bound")
def objective_bound(datasets=None, h=1.0, C=1.0, rows=600, tolerances=None, seed=0):
    """How far does the optimum move when K~ replaces K, and what does eq. 9 promise?

        |f(x) - f~(x~)| <= max(1/2 |x~^T Y (K~ - K) Y x~|, 1/2 |x^T Y (K~ - K) Y x|)
                        <= 1/2 max(|x~|^2, |x|^2) |K~ - K|_2

    x minimises the dual objective f with K, x~ minimises f~ with K~. Both must be global
    minimisers: the proof compares f~(x~) with f~(x). Where K~ has negative eigenvalues x~ need not
    be one; such rows say so. Lifting the eigenvalues of K~ to zero mends it, at the price of a
    larger error. The catalogue's sets have h, C and rows of their own.
    """
    forms = AS_COMPRESSED, LIFTED

    def grid(profile):
        every = tolerances or (QUICK_TOLERANCES if profile == "quick" else TOLERANCES)
        return cases_of(BOUND_CASES, profile, datasets, h, C, rows, "HSS", forms, rel_tol=every)

    return Study(
        grid=grid,
        measure=measure_bound,
        predict_seconds=bound_seconds,
        key_figures=_bound_figures,
    )


def bound_seconds(point):
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
        "holds": bool(gap <= quadratic + 10 * MINIMISED * abs(_value(K, x))),
        "kkt_residual": max(x_residual, other_residual),
    }


def _minimiser(approximation, y, C):
    """The coefficients a_i y_i of the optimum, and how far they are from satisfying KKT."""
    (result,) = converged(approximation, y, [C], tol=MINIMISED, max_iter=5000)
    return result.coefficients, float(result.kkt_residual)


def _value(K, coefficients):
    """The dual objective 1/2 x^T Y K Y x - e^T x at x = Y coefficients, x >= 0."""
    return float(0.5 * coefficients @ K @ coefficients - np.abs(coefficients).sum())


def _bound_figures(table):
    figures = figures_by("{variant}", _proved)(table)
    tightest = table[table["rel_tol"] == table["rel_tol"].min()]
    worst = (tightest["objective_error"] / tightest["optimum"].abs()).max()
    power = int(np.ceil(np.log10(max(worst, 1e-12))))
    told = f"below 1e{power} of the optimum"
    return figures | {"objective error at the tightest tolerance": told}


def _proved(rows):
    semidefinite, holds = (int(rows[name].sum()) for name in ("semidefinite", "holds"))
    return f"{semidefinite} of {len(rows)} matrices semidefinite, the bound holds for {holds}"
