"""What compact support does to the kernel matrix: limits, Gershgorin radii, sparsity, fill-in."""

import time

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations import CompactKernel, compact
from kernlab.datasets import generators, load_dataset
from kernlab.kernels import Compact, gamma_from_sigma, make_kernel
from kernlab.lab.engine import NotRun, Positive, Study, as_cells, catalogued, product, several
from kernlab.lab.papers.common.cells import figures_by
from kernlab.lab.papers.common.fitting import dense, shape_of

EXPONENT = 3  # Askey's for three features, and the thesis' odd one
DENSE_ROWS = 600  # of matrices that are looked at in full
KERNEL = "compact kernel"
STANDARD = ("swiss-roll", "svmguide1", "cod-rna")
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


def _sets(profile):
    return STANDARD[:1] if profile == "quick" else STANDARD


@catalogued("sparse-l31", "Lemma 3.1: the limits of the kernel matrix")
def limits(datasets=None, alphas=None, seed=0):
    """Does the sparse kernel go from the Gaussian matrix to the identity with alpha?

    `alphas` are in units of 1 / sigma.
    """

    def grid(profile):
        every = alphas or [float(f"{a:.3g}") for a in np.geomspace(1e-3, 1e4, 29)]
        return product(datasets or _sets(profile), KERNEL, alpha_sigma=every)

    told = figures_by("{dataset}", _ends)
    return Study(grid=grid, measure=measure_limits, key_figures=told, needs=STANDARD)


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


def _ends(rows):
    rows = rows.sort_values("alpha_sigma")
    first, last = rows.iloc[0], rows.iloc[-1]
    return (
        f"{first['to_gaussian']:.1%} from the Gaussian matrix at alpha sigma = "
        f"{first['alpha_sigma']:g}, {last['to_limit']:.1%} from the limit at "
        f"{last['alpha_sigma']:g} ({last['equal_pairs']:.0f} pairs of equal rows)"
    )


@catalogued("sparse-l33", "Lemma 3.3: smaller Gershgorin radii")
def radii(datasets=None, factors: several(Positive) = (0.5, 1.0, 2.0), seed=0):
    """Are the Gershgorin radii smaller than the Gaussian's, and what does that prove?

    `factors` are those of the width that leaves the matrix 95 % sparse.
    """

    def grid(profile):
        return product(datasets or _sets(profile), KERNEL, sigma_factor=factors)

    told = figures_by("{dataset}, {sigma_factor:g} sigma", _smaller)
    return Study(grid=grid, measure=measure_radii, key_figures=told, needs=STANDARD)


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
    return [
        {"place": (i + 0.5) / len(X), "gaussian": full[j], "compact": sparse[j]} | shared
        for i, j in ((place, order[place]) for place in places)
    ]


def _smaller(rows):
    medians = rows[["compact", "gaussian"]].median()
    return (
        f"smaller in {rows['strictly_smaller'].iloc[0]:.0%} of the rows, "
        f"median {medians['compact']:.1f} against {medians['gaussian']:.1f}"
    )


BETAS = (0.1, 0.5, 1.0)


@catalogued("sparse-e41", "Equations 39 to 41: similarity against sparsity")
def trade_off(datasets=None, seed=0):
    """Which alpha trades similarity to the Gaussian kernel for sparsity best?"""

    return Study(
        grid=lambda profile: product(datasets or _sets(profile), KERNEL),
        measure=measure_trade_off,
        key_figures=_chosen,
        measured=_trade_off_measured,
        needs=STANDARD,
    )


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
    return [
        {"alpha": alpha, "similarity": similarity[k], "sparsity": sparsity[k]} | shared
        for k, alpha in enumerate(alphas)
    ]


def _at(rows, column, alpha):
    return float(np.interp(np.log(alpha), np.log(rows["alpha"]), rows[column]))


def _chosen(table):
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        for label, column in (("beta = 1", "alpha_at_beta_1"), ("1/(3 sigma)", "alpha_of_thesis")):
            alpha = rows[column].iloc[0]
            similarity, sparsity = (_at(rows, part, alpha) for part in ("similarity", "sparsity"))
            told = f"similarity {similarity:.2f}, sparsity {sparsity:.2f}"
            figures[f"{name}, {label}"] = told
    return figures


def _trade_off_measured(table):
    rows = table[table["dataset"] == table["dataset"].iloc[0]]
    sparsity = _at(rows, "sparsity", rows["alpha_of_quartile"].iloc[0])
    fitting = ("example", "entries that fit", round(100 * (1 - sparsity)))
    return as_cells([("example", "sparsity at least", round(sparsity, 2)), fitting])


PICTURE = 40  # blocks along a side of a picture
ARROWHEAD = 40
FILL_ROWS = {"quick": 1500, "standard": 6000, "paper": 6000}
REAL_SPARSITY = 0.97  # about that of the Swiss roll here
ORDERINGS = ("natural", "amd", "metis", "nesdis")


@catalogued("sparse-f3", "Figure 3: fill-in with and without a good ordering")
def fill_in(datasets=None, rows=None, seed=0):
    """How many entries does the Cholesky factor get, and how much does ordering save?

    Data sets stand beside the arrowhead and the Swiss roll, which has so many `rows`.
    """

    def grid(profile):
        real = datasets or ("pendigits" if profile == "quick" else "svmguide1",)
        points = product("arrowhead", ORDERINGS[:2], rows=ARROWHEAD)
        points += product(real, ORDERINGS[:2], rows=FILL_ROWS["quick"])
        return points + product("swiss-roll", ORDERINGS, rows=rows or FILL_ROWS[profile])

    filled = (
        "{entries_of_factor:,.0f} entries in the factor, {fill:.1f} times those of half the matrix"
    )
    told = figures_by("{dataset}, {method}", filled)
    return Study(grid=grid, measure=measure_fill, key_figures=told)


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
