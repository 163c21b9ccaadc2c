"""What compact support does to the kernel matrix (limits, radii, sparsity, fill-in), and its cost.

The Swiss roll is what stages are timed on, beside the thesis' double loop.
"""

import math
import time

import numpy as np
import pandas as pd
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations import CompactKernel, compact
from kernlab.datasets import generators, load_dataset
from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import Compact, gamma_from_sigma, make_kernel
from kernlab.lab.engine import (
    Choice,
    NotRun,
    Positive,
    Tolerance,
    catalogued,
    figures_by,
    product,
    several,
)
from kernlab.lab.papers.common.fitting import dense, seconds_in, seconds_of, shape_of, solved
from kernlab.runtime import MemoryLimitError, njit

EXPONENT = 3  # Askey's for three features, and the thesis' odd one
DENSE_ROWS = 600  # of matrices that are looked at in full
KERNEL = "compact kernel"
STANDARD = ("swiss-roll", "svmguide1", "cod-rna")
SETS = Choice(STANDARD[:1], STANDARD)
ALPHAS = tuple(float(f"{a:.3g}") for a in np.geomspace(1e-3, 1e4, 29))
SIGMA = 0.1  # on the Swiss roll in the unit cube


def roll(rows, *, scaling="unit", seed=0):
    """The Swiss roll in the unit cube, or in [-1, 1], which the thesis' sparsity implies."""
    X, y = generators.swiss_roll(rows, seed=seed)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return (X if scaling == "unit" else 2.0 * X - 1.0), y


def _rows_of(point):
    """At most `DENSE_ROWS` rows of a data set, and a sigma that leaves its matrix 95 % sparse."""
    if point.dataset == "swiss-roll":
        return roll(DENSE_ROWS)[0], SIGMA
    data = load_dataset(point.dataset, paper="sparse")
    X = dense(data.X_train[:DENSE_ROWS])
    return X, compact.radius_by_quantile(X, 0.95, 0) / 3.0


@catalogued("sparse-l31", "Lemma 3.1: the limits of the kernel matrix")
def limits(datasets=SETS, alphas=Choice(ALPHAS), seed=0):
    """Does the sparse kernel go from the Gaussian matrix to the identity with alpha?

    `alphas` are in units of 1 / sigma.
    """
    return product(datasets, KERNEL, alpha_sigma=alphas)


@limits.measure(needs=STANDARD)
def measure_limits(point, seed):
    """How far K is from the Gaussian kernel matrix and from the identity, relative to either."""
    X, sigma = _rows_of(point)
    gamma = gamma_from_sigma(sigma)
    K = Compact(gamma, point["alpha_sigma"] / sigma, EXPONENT)(X)
    gaussian = make_kernel("rbf", gamma=gamma)(X)
    identity = np.eye(len(X))
    # Equal rows have the kernel 1 at any alpha: the limit that there is counts them.
    equal = (gaussian == 1.0).astype(float)
    return shape_of(X) | {
        "sigma": sigma,
        "to_gaussian": la.norm(K - gaussian) / la.norm(gaussian),
        "to_identity": la.norm(K - identity) / la.norm(identity),
        "to_limit": la.norm(K - equal) / la.norm(equal),
        "equal_pairs": int((equal.sum() - len(X)) / 2),
        "sparsity": 1.0 - np.count_nonzero(K) / K.size,
        "smallest_eigenvalue": float(la.eigvalsh(K)[0]),
    }


@limits.key_figures("{dataset}")
def _ends(rows):
    rows = rows.sort_values("alpha_sigma")
    first, last = rows.iloc[0], rows.iloc[-1]
    return (
        f"{first['to_gaussian']:.1%} from the Gaussian matrix at alpha sigma = "
        f"{first['alpha_sigma']:g}, {last['to_limit']:.1%} from the limit at "
        f"{last['alpha_sigma']:g} ({last['equal_pairs']:.0f} pairs of equal rows)"
    )


@catalogued("sparse-l33", "Lemma 3.3: smaller Gershgorin radii")
def radii(datasets=SETS, factors: several(Positive) = (0.5, 1.0, 2.0), seed=0):
    """Are the Gershgorin radii smaller than the Gaussian's, and what does that prove?

    `factors` are those of the width that leaves the matrix 95 % sparse.
    """
    return product(datasets, KERNEL, sigma_factor=factors)


@radii.measure(needs=STANDARD)
def measure_radii(point, seed):
    """Both radii of every row, in the order of the Gaussian's; what they say of definiteness."""
    X, sigma = _rows_of(point)
    sigma *= point["sigma_factor"]
    gamma = gamma_from_sigma(sigma)
    K = Compact(gamma, 1.0 / (3.0 * sigma), EXPONENT)(X)
    gaussian = make_kernel("rbf", gamma=gamma)(X)
    sparse, full = compact.gershgorin_radii(sp.csr_matrix(K)), gaussian.sum(axis=1) - 1.0
    order = np.argsort(full, kind="stable")
    shared = shape_of(X) | {
        "sigma": sigma,
        "never_larger": bool(np.all(sparse <= full)),
        "strictly_smaller": float(np.mean(sparse < full)),
        "bound_on_smallest_eigenvalue": 1.0 - sparse.max(),
        "smallest_eigenvalue": float(la.eigvalsh(K)[0]),
        "smallest_eigenvalue_of_gaussian": float(la.eigvalsh(gaussian)[0]),
    }
    places = np.linspace(0, len(X) - 1, 120).astype(int)
    rows = order[places]
    curves = {"place": (places + 0.5) / len(X), "gaussian": full[rows], "compact": sparse[rows]}
    return pd.DataFrame(curves).assign(**shared)


@radii.key_figures("{dataset}, {sigma_factor:g} sigma")
def _smaller(rows):
    medians = rows[["compact", "gaussian"]].median()
    return (
        f"smaller in {rows['strictly_smaller'].iloc[0]:.0%} of the rows, "
        f"median {medians['compact']:.1f} against {medians['gaussian']:.1f}"
    )


BETAS = (0.1, 0.5, 1.0)


@catalogued("sparse-e41", "Equations 39 to 41: similarity against sparsity")
def trade_off(datasets=SETS, seed=0):
    """Which alpha trades similarity to the Gaussian kernel for sparsity best?"""
    return product(datasets, KERNEL)


@trade_off.measure(needs=STANDARD)
def measure_trade_off(point, seed):
    """The curves A(alpha) and S(alpha), and the alphas that the rules choose."""
    if point.dataset == "swiss-roll":
        X, sigma = roll(3000)[0], SIGMA
    else:
        X = load_dataset(point.dataset, paper="sparse").X_train
        sigma = compact.radius_by_quantile(X, 0.95, seed) / 3.0
    largest = compact.radius_by_quantile(X, 0.0, seed)
    alphas = np.geomspace(0.3 / largest, 30.0 / sigma, 60)
    similarity, sparsity = compact.similarity_and_sparsity(X, sigma, alphas, EXPONENT, seed)
    shared = shape_of(X) | {
        "sigma": sigma,
        "alpha_of_quartile": 1.0 / compact.radius_by_quantile(X, 0.75, seed),
        "alpha_of_thesis": 1.0 / (3.0 * sigma),
    }
    for beta in BETAS:
        alpha = compact.alpha_by_trade_off(X, sigma, EXPONENT, beta, random_state=seed)
        shared[f"alpha_at_beta_{beta:g}"] = alpha
    curves = {"alpha": alphas, "similarity": similarity, "sparsity": sparsity}
    return pd.DataFrame(curves).assign(**shared)


def _at(rows, column, alpha):
    return float(np.interp(np.log(alpha), np.log(rows["alpha"]), rows[column]))


@trade_off.key_figures
def _chosen(table):
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        for label, column in (("beta = 1", "alpha_at_beta_1"), ("1/(3 sigma)", "alpha_of_thesis")):
            alpha = rows[column].iloc[0]
            similarity, sparsity = (_at(rows, part, alpha) for part in ("similarity", "sparsity"))
            told = f"similarity {similarity:.2f}, sparsity {sparsity:.2f}"
            figures[f"{name}, {label}"] = told
    return figures


@trade_off.measured({})
def _trade_off_measured(table):
    rows = table[table["dataset"] == table["dataset"].iloc[0]]
    sparsity = _at(rows, "sparsity", rows["alpha_of_quartile"].iloc[0])
    yield "example", "sparsity at least", round(sparsity, 2)
    yield "example", "entries that fit", round(100 * (1 - sparsity))


PICTURE = 40  # blocks along a side of a picture
ARROWHEAD = 40
FILL_ROWS = 1500
REAL_SPARSITY = 0.97  # about that of the Swiss roll here
ORDERINGS = ("natural", "amd", "metis", "nesdis")


@catalogued("sparse-f3", "Figure 3: fill-in with and without a good ordering")
def fill_in(datasets=Choice(("pendigits",), ("svmguide1",)), rows=Choice(FILL_ROWS, 6000), seed=0):
    """How many entries does the Cholesky factor get, and how much does ordering save?

    Data sets stand beside the arrowhead and the Swiss roll, which has so many `rows`.
    """
    points = product("arrowhead", ORDERINGS[:2], rows=ARROWHEAD)
    points += product(datasets, ORDERINGS[:2], rows=FILL_ROWS)
    return points + product("swiss-roll", ORDERINGS, rows=rows)


FILLED = "{entries_of_factor:,.0f} entries in the factor, {fill:.1f} times those of half the matrix"


@fill_in.measure(key_figures=figures_by("{dataset}, {method}", FILLED))
def measure_fill(point, seed):
    """The pattern of a matrix and of its factor in one ordering, as coarse pictures."""
    matrix = _matrix_to_factor(point)
    began = time.perf_counter()
    try:
        analysis = compact.Analysis(matrix, ordering=point.method)
    except ValueError as error:
        raise NotRun(str(error)) from None
    factor = analysis.factorise()
    seconds = time.perf_counter() - began
    order = factor.permutation
    shared = {
        "n_train": matrix.shape[0],
        "entries_of_matrix": matrix.nnz,
        "entries_of_factor": analysis.nonzeros,
        "fill": analysis.nonzeros / ((matrix.nnz + matrix.shape[0]) / 2),
        "approximate_seconds": seconds,
    }
    pictures = {"matrix": matrix[order][:, order], "factor": factor.lower}
    return [
        {"picture": name, "block_row": i, "block_column": j, "share": share} | shared
        for name, picture in pictures.items()
        for i, j, share in _blocks(picture)
    ]


def arrowhead_matrix(size):
    """A positive definite matrix with a full first row and column: the thesis' Figure 3.

    Eliminated in its own order it fills up entirely; with the full row last it does not fill at
    all, which is what a minimum degree ordering finds.
    """
    if size < 1:
        raise ValueError(f"an arrowhead matrix needs at least one row, not {size}")
    matrix = sp.lil_matrix((size, size))
    matrix[0, :] = matrix[:, 0] = 1.0
    matrix.setdiag(float(size))
    return matrix.tocsc()


def _matrix_to_factor(point):
    if point.dataset == "arrowhead":
        return arrowhead_matrix(point["rows"]).tocsr()
    if point.dataset == "swiss-roll":
        X = roll(point["rows"])[0]
        sigma = 0.06 * np.sqrt(1500 / point["rows"])  # as many near rows at any size
    else:
        X = load_dataset(point.dataset, paper="sparse").X_train[: point["rows"]]
        sigma = compact.radius_by_quantile(X, REAL_SPARSITY, 0) / 3.0
    return CompactKernel(gamma=gamma_from_sigma(sigma)).fit(X).matrix_


def _blocks(matrix):
    """Which of `PICTURE` x `PICTURE` blocks have entries, and what share of each."""
    size = matrix.shape[0]
    side = min(PICTURE, size)
    coordinates = matrix.tocoo()
    counts = np.zeros((side, side))
    np.add.at(counts, (coordinates.row * side // size, coordinates.col * side // size), 1.0)
    shares = counts / (size / side) ** 2
    return [(int(i), int(j), round(float(shares[i, j]), 4)) for i, j in np.argwhere(counts > 0)]


NEAR_ROWS = 100  # sigma shrinks with n so that each row keeps about as many
SIZES = (1000, 3000, 10_000, 30_000, 100_000)


def sigma_for(n_rows, near_rows=NEAR_ROWS):
    """The sigma at which a row of the Swiss roll in the unit cube has about so many near rows."""
    return 0.02 * math.sqrt(30_000 / n_rows * near_rows / 96)


@catalogued("sparse-f5", "Figure 5: the Swiss roll in three classes")
def swiss_roll(rows=1500):
    """What do the data look like that the thesis generates?"""
    return product("swiss-roll", "generated", rows=rows)


@swiss_roll.measure
def measure_roll(point, seed):
    """The points in space, and where they lie on the unrolled sheet."""
    X, y = generators.swiss_roll(point["rows"], seed=0)
    # The angle along the roll is the distance from its axis: the roll is (t cos t, h, t sin t).
    t = np.hypot(X[:, 0], X[:, 2])
    return pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(t=t, label=y, n_train=len(y))


@swiss_roll.key_figures
def _classes(table):
    shares = table["label"].value_counts(normalize=True).sort_index()
    return {f"class {label:.0f}": f"{share:.0%} of the rows" for label, share in shares.items()}


@swiss_roll.measured({})
def _roll_measured(table):
    yield "swiss-roll", "features", len({"x1", "x2", "x3"} & set(table))
    yield "swiss-roll", "classes", table["label"].nunique()


METHODS = ("double loop", "cholesky", "newton")


@catalogued("sparse-cost", "What each stage costs")
def stages(sizes=Choice((1000, 2000, 4000, 8000), SIZES, (*SIZES, 225_000)), seed=0):
    """Does assembling the kernel take most of the training time?

    The thesis says so. It holds for its loop over all pairs; assembled by cells the kernel is the
    cheapest stage.
    """
    return product("swiss-roll", METHODS, rows=sizes)


@stages.measure(timing=True)
def measure_cost(point, seed):
    """Seconds of each stage; the double loop is the thesis' `sp_rbf`, compiled."""
    n = point["rows"]
    X, y = roll(n)
    sigma = sigma_for(n)
    shared = {"n_train": n, "n_features": 3, "sigma": sigma}
    if point.method == "double loop":
        kernel = 1.0 / (3.0 * sigma), 1.0 / (2.0 * sigma**2), EXPONENT
        _count_pairs(X[:10], *kernel)  # compiled before the clock starts
        (entries, _), seconds = seconds_of(lambda: _count_pairs(X, *kernel))
        told = {"entries": entries, "assemble_seconds": seconds, "fit_seconds": seconds}
        return shared | told
    machine = SparseCholeskySVC(sigma=sigma, l=EXPONENT, solver=point.method)
    machine.fit(X[:500], y[:500])  # compiled before the clock starts
    try:
        machine.fit(X, y)
    except MemoryLimitError as error:
        raise NotRun(str(error)) from None
    return shared | {
        "entries": machine.approximation_.matrix_.nnz,
        "entries_of_factor": machine.approximation_.factor_nonzeros_,
        "assemble_seconds": seconds_in(machine, "predict", "sort", "assemble"),
        "factor_seconds": seconds_in(machine, "order", "factor", "features"),
        "solve_seconds": machine.timings_["solve"],
        "approximate_seconds": machine.timings_["approximate"],
        "fit_seconds": machine.timings_["total"],
        **solved(machine.result_, "kkt_residual", "gap", "n_iter"),
    }


@njit
def _count_pairs(X, alpha, gamma, exponent):
    """All pairs one after the other, as the listing goes through them, without storing entries."""
    entries, total = 0, 0.0
    for i in range(X.shape[0]):
        for j in range(i, X.shape[0]):
            square = 0.0
            for f in range(X.shape[1]):
                square += (X[i, f] - X[j, f]) ** 2
            rest = 1.0 - alpha * math.sqrt(square)
            if rest > 0.0:
                total += rest**exponent * math.exp(-gamma * square)
                entries += 1 if i == j else 2
    return entries, total


@stages.key_figures("{method}")
def _entries_a_row(rows):
    largest = rows.loc[rows["rows"].idxmax()]
    return f"{largest['entries'] / largest['rows']:.0f} entries a row at {largest['rows']:,.0f}"


@stages.measured({"memory": Tolerance(relative=0.01, reason="arithmetic")})
def _cost_measured(table):
    """The text's arithmetic done again: 8 bytes for each entry of 200,000 rows."""
    n, kept = 200_000, 0.05
    slip = (
        "a slip of the text: 5 % of 200,000 squared entries of 8 bytes are 16 GB, or 8 GB "
        "for one triangle; 4 GB would take a sparsity of 98.75 %"
    )
    return [
        ("setting", "training rows", n),
        ("setting", "bytes an entry", 8),
        ("sparse kernel", "sparsity", 100 * (1 - kept)),
        ("dense kernel", "memory", 8 * n**2 / 1e9, "the printed 160 GB hold one triangle"),
        ("sparse kernel", "memory", 8 * kept * n**2 / 1e9, slip),
    ]
