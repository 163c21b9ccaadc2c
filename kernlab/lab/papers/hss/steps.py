"""Where hierarchical compression matters: along the steps, from the paper's ten to the optimum.

After ten steps with beta = 100 dual variables have hardly moved, and machines that see nothing of
the kernel matrix decide almost alike, but for their intercept. What K~ is worth shows when ADMM is
let run: machines on a close K~ go to the optimum of the exact machine, the others elsewhere.
"""

import numpy as np

from kernlab.approximations import ExactKernel
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.hss.machines import (
    BLOCKS,
    HSS,
    IDENTITY,
    accuracies,
    approximated,
    converged,
    decisions,
    papers_steps,
)
from kernlab.lab.papers.hss.sets import sample
from kernlab.lab.papers.hss.tables import SETTINGS
from kernlab.solvers import certify_dual

EXACT, COARSE, CLOSE = "exact K", "HSS, rel_tol 1", "HSS, rel_tol 0.01"
KINDS = (EXACT, CLOSE, COARSE, BLOCKS, IDENTITY)
STEPS = (1, 3, 10, 30, 100, 300, 1000)
PAPERS_BETA, OWN_BETA = "beta = 100", "beta = 1"
BETAS = {PAPERS_BETA: 100.0, OWN_BETA: 1.0}
CASES = {  # data set, h, C, rows
    "quick": (("checkerboard", 0.3, 10.0, 800), ("magic", 1.0, 1.0, 800)),
    "standard": (
        ("checkerboard", 0.3, 10.0, 2500),
        ("skin_nonskin", 10.0, 10.0, 2500),
        ("ijcnn1", 0.1, 10.0, 2500),
        ("a9a", 3.0, 10.0, 2500),
        ("cod-rna", 10.0, 10.0, 2500),
    ),
}
OPTIMUM = 1e-5
NEAR_OPTIMUM = 0.05  # relative gap with the exact kernel


@catalogued("hss-steps", "Where the approximation matters")
def step_sweep(datasets=None, h=1.0, C=1.0, rows=800, seed=0):
    """After how many steps does it matter what stands in for the kernel matrix?

    Parameters
    ----------
    datasets : sequence of str, optional
        Those of the catalogue by default, each with h, C and rows of its own.
    h, C, rows : float, float, int
        For data sets that are named.
    seed : int
    """

    def grid(profile):
        listed = CASES.get(profile, CASES["standard"])
        return [
            point
            for name, width, cost, size in [(n, h, C, rows) for n in datasets or ()] or listed
            for point in product(name, KINDS, BETAS, h=width, C=cost, rows=size)
        ]

    return Study(
        grid=grid, measure=measure_steps, predict_seconds=predict_seconds, key_figures=_key_figures
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
    for (steps, result), scored, column in zip(
        results.items(), accuracies(sums + intercepts, data.y_test), sums.T, strict=True
    ):
        proof = certify_dual(
            lambda v: exact.matrix_ @ v, data.y, np.abs(result.coefficients), C=C, loss="hinge"
        )
        rows.append(
            data.shape
            | {
                "at_optimum": steps == "optimum",
                "steps": result.n_iter,
                "test_accuracy": scored,
                "best_intercept_accuracy": accuracies(
                    (column + proof.intercept)[:, None], data.y_test
                )[0],
                "exact_gap": proof.relative_gap,
                "kkt_residual": result.kkt_residual,
                "beta_used": beta,
            }
        )
    return rows


def _large_enough(kernel, beta):
    """beta, doubled until ADMM converges with this matrix."""
    while not kernel.is_definite(beta / 2.2):
        beta *= 2.0
    return beta


def _key_figures(table):
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
