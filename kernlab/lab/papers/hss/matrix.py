"""What hierarchical compression works with and where it matters: tolerances, steps, equation 9."""

import numpy as np
import pandas as pd
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations import ExactKernel
from kernlab.approximations.hss import HSSKernel, build_tree
from kernlab.datasets import load_dataset
from kernlab.kernels import gamma_from_sigma, make_kernel
from kernlab.lab.engine import Choice, catalogued, figures_by, product
from kernlab.lab.papers.common.fitting import seconds_of, shape_of
from kernlab.lab.papers.hss import machines
from kernlab.lab.papers.hss.machines import BLOCKS, HSS, IDENTITY, sample
from kernlab.lab.papers.hss.tables import SETTINGS
from kernlab.rows.products import unit_rows
from kernlab.solvers import certify_dual

WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = ("not clustered", "clustered")
SINGULAR_VALUES, PICTURE = "singular values", "picture"
PAPERS_SET, FILE_ROWS = "heart_scale", 270
PICTURE_SIDE = 54
OFF_DIAGONAL = (
    "off-diagonal block: rank {off_diagonal_rank:.0f} to 1 % of |K|, "
    "{off_diagonal_share:.0%} of |K|_F^2"
)
LEAF_SIZE = 32


@catalogued("hss-f1", "Figure 1: singular values, and what clustering does")
def low_rank(
    datasets=Choice(("wdbc",), (PAPERS_SET,)), widths=Choice(WIDTHS), rows=FILE_ROWS, seed=0
):
    """When is a Gaussian kernel matrix of low rank, as a whole or off its diagonal?

    `widths` are values of h.
    """
    values = product(datasets, SINGULAR_VALUES, h=widths, rows=rows)
    return values + product(datasets, PICTURE, ORDERS, h=1.0, rows=rows)


@low_rank.measure(needs=(PAPERS_SET,))
def measure_low_rank(point, seed):
    """The singular values of K, or K as a picture and the rank of its off-diagonal block."""
    data = load_dataset(point.dataset, scaling="symmetric")
    X = sp.vstack([sp.csr_matrix(data.X_train), sp.csr_matrix(data.X_test)])
    X = X.toarray()[: point["rows"]]
    K = make_kernel("rbf", gamma=gamma_from_sigma(point["h"]))(X)
    shared = shape_of(X)
    if point.method == SINGULAR_VALUES:
        values = la.svdvals(K)
        places = np.arange(1, len(X) + 1) / len(X)
        told = {"place": places, "singular_value": values / values[0]}
        return pd.DataFrame(told).assign(**shared)
    middle = len(X) // 2
    if point.variant == "clustered":
        tree = build_tree(unit_rows(X, spread=True)[0], leaf_size=LEAF_SIZE, seed=seed)
        K = K[np.ix_(tree.order, tree.order)]
        middle = int(tree.stop[tree.children[0, 0]])
    apart = la.svdvals(K[:middle, middle:])
    shared |= {
        "off_diagonal_rank": int(np.sum(apart > 1e-2 * la.norm(K, 2))),
        "off_diagonal_share": float(2 * np.sum(apart**2) / np.sum(K**2)),
    }
    return [
        {"block_row": i, "block_column": j, "value": round(float(K[a][:, b].mean()), 4)} | shared
        for i, a in enumerate(_bands(len(K)))
        for j, b in enumerate(_bands(len(K)))
    ]


def _bands(size):
    return np.array_split(np.arange(size), min(PICTURE_SIDE, size))


def one_set(table):
    """The rows of one data set, the paper's if it is there: sets do not belong in one picture."""
    names = set(table["dataset"])
    return table[table["dataset"] == (PAPERS_SET if PAPERS_SET in names else min(names))]


@low_rank.key_figures
def _ranks(table):
    table = one_set(table)
    values, pictures = (table[table["method"] == kind] for kind in (SINGULAR_VALUES, PICTURE))
    figures = figures_by("h = {h:g}", _above_a_percent)(values.sort_values("h", kind="stable"))
    return figures | figures_by("h = 1, {variant}", OFF_DIAGONAL)(pictures)


def _above_a_percent(rows):
    count = int((rows["singular_value"] > 1e-2).sum())
    every = rows["n_train"].iloc[0]
    return f"{count} of {every:.0f} singular values above 1 % of the largest"


TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
MODES = ("fast", "paper")
ERROR_SETS = Choice(  # data set -> h, rows
    {"swiss-roll": (1.0, 1000), "magic": (1.0, 1000)},
    {"skin_nonskin": (10.0, 20_000), "cod-rna": (10.0, 20_000), "magic": (1.0, 10_000),
     "ijcnn1": (0.1, 20_000), "a9a": (1.0, 10_000)},
)  # fmt: skip
TIGHTENED = Choice((1.0, 1e-2, 1e-4, 1e-6), TOLERANCES)
MAX_RANK = 2000


@catalogued("hss-error", "Tolerances and what they give")
def tolerance_sweep(
    profile, datasets=None, h=1.0, rows=2000, tolerances=TIGHTENED, leaf_size=None, seed=0
):
    """How close is K~ to K at a tolerance, with what ranks, and is it definite?

    The catalogue's sets have widths and rows of their own; h and `rows` are of sets that are named.
    """
    cases = dict.fromkeys(datasets or (), (h, rows)) or ERROR_SETS.of(profile)
    return product(
        cases, MODES, h=lambda name: cases[name][0], rows=lambda name: cases[name][1],
        rel_tol=tolerances,
        leaf_size=lambda name: leaf_size or (128 if cases[name][1] < 5000 else 256),
    )  # fmt: skip


@tolerance_sweep.measure
def measure_error(point, seed):
    """One row per level of the tree: ranks and bytes, and the quality of the whole."""
    X = sample(point.dataset, point["rows"]).X_train
    kernel = HSSKernel(
        gamma=gamma_from_sigma(point["h"]), rel_tol=point["rel_tol"], max_rank=MAX_RANK,
        leaf_size=point["leaf_size"], mode=point.method, random_state=seed,
    )  # fmt: skip
    _, seconds = seconds_of(lambda: kernel.fit(X))
    quality = kernel.quality()
    shared = shape_of(X) | {
        "approximate_seconds": seconds,
        "sampled_error": quality.sampled_error,
        "smallest_eigenvalue": quality.smallest_eigenvalue,
        "largest_eigenvalue": quality.largest_eigenvalue,
        "nbytes": kernel.nbytes,
        "largest_rank": kernel.rank_,
        "recall": kernel.neighbour_recall_,
    }
    return [
        {name.replace(" ", "_") + "_of_level": value for name, value in level.items()} | shared
        for level in quality.levels.to_dict("records")
    ]


@tolerance_sweep.key_figures(
    "{dataset}, h = {h:g}, {method}", lambda table: table["level_of_level"] == 0
)
def _reached(rows):
    last = rows.loc[rows["rel_tol"].idxmin()]
    indefinite = "" if (rows["smallest_eigenvalue"] < -1e-4).any() else "never "
    # A power of ten well above it: what may be compared between machines.
    power = int(np.ceil(np.log10(max(3 * last["sampled_error"], 1e-16))))
    return f"error below 1e{power} at rel_tol {last['rel_tol']:g}, K~ {indefinite}indefinite"


def cases_of(cases, datasets, h, C, rows, *what, **parameters):
    """The points of a profile's cases (data set -> h, C, rows), or of sets that are named."""
    listed = dict.fromkeys(datasets or (), (h, C, rows)) or cases
    return product(
        listed, *what, h=lambda name: listed[name][0], C=lambda name: listed[name][1],
        rows=lambda name: listed[name][2], **parameters,
    )  # fmt: skip


EXACT, COARSE, CLOSE = "exact K", "HSS, rel_tol 1", "HSS, rel_tol 0.01"
KINDS = (EXACT, CLOSE, COARSE, BLOCKS, IDENTITY)
STEPS = (1, 3, 10, 30, 100, 300, 1000)
PAPERS_BETA, OWN_BETA = "beta = 100", "beta = 1"
BETAS = {PAPERS_BETA: 100.0, OWN_BETA: 1.0}
CASES = Choice(  # data set -> h, C, rows
    {"checkerboard": (0.3, 10.0, 800), "magic": (1.0, 1.0, 800)},
    {"checkerboard": (0.3, 10.0, 2500), "skin_nonskin": (10.0, 10.0, 2500),
     "ijcnn1": (0.1, 10.0, 2500), "a9a": (3.0, 10.0, 2500), "cod-rna": (10.0, 10.0, 2500)},
)  # fmt: skip
OPTIMUM = 1e-5
NEAR_OPTIMUM = 0.05  # relative gap with the exact kernel


@catalogued("hss-steps", "Where the approximation matters")
def step_sweep(profile, datasets=None, h=1.0, C=1.0, rows=800, seed=0):
    """After how many steps does it matter what stands in for the kernel matrix?

    The catalogue's sets have h, C and rows of their own; the arguments are for sets that are named.
    """
    return cases_of(CASES.of(profile), datasets, h, C, rows, KINDS, BETAS)


def _kernel(kind, X, h, seed):
    if kind == EXACT:
        return ExactKernel(gamma=gamma_from_sigma(h)).fit(X)
    if kind in (COARSE, CLOSE):
        settings = SETTINGS["hss-t4"] if kind == COARSE else {"rel_tol": 1e-2}
        return machines.approximated(HSS, X, h, seed, leaf_size=128, **settings)[0]
    return machines.approximated(kind, X, h, seed)[0]


@step_sweep.measure
def measure_steps(point, seed):
    """A row for each number of steps; the last is the optimum with K~, however it is reached."""
    data, C = sample(point.dataset, point["rows"]), point["C"]
    X, y = data.X_train, data.y_train
    exact = _kernel(EXACT, X, point["h"], seed)
    kernel = exact if point.method == EXACT else _kernel(point.method, X, point["h"], seed)
    beta = BETAS[point.variant]
    while not kernel.is_definite(beta / 2.2):
        beta *= 2.0
    results = {steps: machines.papers_steps(kernel, y, [C], steps, beta)[0] for steps in STEPS}
    results["optimum"] = machines.converged(kernel, y, [C], tol=OPTIMUM, max_iter=3000)[0]
    sums = machines.decisions(exact.kernel_, data.X_test, X, list(results.values()))
    intercepts = np.array([result.intercept for result in results.values()])
    rows = []
    ours = machines.accuracies(sums + intercepts, data.y_test)
    for (steps, result), scored, column in zip(results.items(), ours, sums.T, strict=True):
        dual = np.abs(result.coefficients)
        proof = certify_dual(lambda v: exact.matrix_ @ v, y, dual, C=C, loss="hinge")
        with_best = machines.accuracies((column + proof.intercept)[:, None], data.y_test)
        row = {
            "at_optimum": steps == "optimum",
            "steps": result.n_iter,
            "test_accuracy": scored,
            "best_intercept_accuracy": with_best[0],
            "exact_gap": proof.relative_gap,
            "kkt_residual": result.kkt_residual,
            "beta_used": beta,
        }
        rows.append(shape_of(X) | row)
    return rows


@step_sweep.key_figures("{dataset}, {method}", lambda table: table["variant"] == PAPERS_BETA)
def _in_the_end(rows):
    """Optima of other problems are left unnamed: with an indefinite K~ there are several."""
    ends = rows["at_optimum"].astype(bool)
    ten, last = rows[(rows["steps"] == 10) & ~ends].iloc[0], rows[ends].iloc[0]
    near = last["exact_gap"] < NEAR_OPTIMUM
    then = f"{last['test_accuracy']:.0%} at the optimum" if near else "then to another optimum"
    return f"{ten['test_accuracy']:.0%} after ten steps, {then}"


BOUND_CASES = Choice(
    {"magic": (3.0, 1.0, 600), "checkerboard": (0.3, 1.0, 600)},
    {"skin_nonskin": (10.0, 1.0, 1200), "cod-rna": (10.0, 1.0, 1200), "ijcnn1": (0.3, 1.0, 1200),
     "a9a": (1.0, 1.0, 1200), "checkerboard": (0.3, 1.0, 1200)},
)  # fmt: skip
BOUND_TOLERANCES = Choice((1.0, 1e-1, 1e-2, 1e-3, 1e-4), (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6))
AS_COMPRESSED, LIFTED = "as compressed", "lifted"
MINIMISED = 1e-9  # relative gap at which a minimiser counts as one
ROUNDING = 1e-12  # of the largest eigenvalue


@catalogued("hss-e9", "Equation 9: the objective's error and its bound")
def objective_bound(
    profile, datasets=None, h=1.0, C=1.0, rows=600, tolerances=BOUND_TOLERANCES, seed=0
):
    """How far does the optimum move when K~ replaces K, and what does eq. 9 promise?

        |f(x) - f~(x~)| <= max(1/2 |x~^T Y (K~ - K) Y x~|, 1/2 |x^T Y (K~ - K) Y x|)
                        <= 1/2 max(|x~|^2, |x|^2) |K~ - K|_2

    x minimises the dual objective f with K, x~ minimises f~ with K~. Both must be global
    minimisers: the proof compares f~(x~) with f~(x). Where K~ has negative eigenvalues x~ need not
    be one; such rows say so. Lifting the eigenvalues of K~ to zero mends it, at the price of a
    larger error. The catalogue's sets have h, C and rows of their own.
    """
    what = "HSS", (AS_COMPRESSED, LIFTED)
    return cases_of(BOUND_CASES.of(profile), datasets, h, C, rows, *what, rel_tol=tolerances)


@objective_bound.measure
def measure_bound(point, seed):
    """Both optima and both sides of the bound."""
    data = sample(point.dataset, point["rows"])
    gamma = gamma_from_sigma(point["h"])
    exact = ExactKernel(gamma=gamma).fit(data.X_train)
    kernel = HSSKernel(gamma=gamma, rel_tol=point["rel_tol"], leaf_size=64, random_state=seed)
    kernel.fit(data.X_train)
    n = len(data.y_train)
    K, approximate = exact.matrix_, kernel.operator() @ np.eye(n)
    smallest, largest = la.eigvalsh(approximate)[[0, -1]]
    stand_in = kernel
    if point.variant == LIFTED and smallest < 0:
        lift = -smallest + ROUNDING * largest
        stand_in, approximate = machines.Lifted(kernel, lift), approximate + lift * np.eye(n)
        smallest += lift
    x, x_residual = _minimiser(exact, data.y_train, point["C"])
    other, other_residual = _minimiser(stand_in, data.y_train, point["C"])
    difference = approximate - K
    gap = abs(_value(K, x) - _value(approximate, other))
    quadratic = 0.5 * max(abs(v @ difference @ v) for v in (x, other))
    norm = la.norm(difference, 2)
    return shape_of(data.X_train) | {
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
    (result,) = machines.converged(approximation, y, [C], tol=MINIMISED, max_iter=5000)
    return result.coefficients, float(result.kkt_residual)


def _value(K, coefficients):
    return float(0.5 * coefficients @ K @ coefficients - np.abs(coefficients).sum())


@objective_bound.key_figures
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
