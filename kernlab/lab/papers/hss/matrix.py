"""What hierarchical compression works with: singular values, clustering (Figure 1), tolerances."""

import time

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations.hss import HSSKernel, build_tree
from kernlab.datasets import load_dataset
from kernlab.kernels import gamma_from_sigma, make_kernel
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.common.cells import figures_by
from kernlab.lab.papers.common.fitting import shape_of
from kernlab.lab.papers.hss.sets import sample
from kernlab.rows.products import unit_rows

# ------------------------------------------------------------------------------- Figure 1
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = ("not clustered", "clustered")
SINGULAR_VALUES, PICTURE = "singular values", "picture"
PAPERS_SET, FILE_ROWS = "heart_scale", 270
PICTURE_SIDE = 54
LEAF_SIZE = 32


@catalogued("hss-f1", "Figure 1: singular values, and what clustering does")
def low_rank(datasets=None, widths=None, rows=FILE_ROWS, seed=0):
    """When is a Gaussian kernel matrix of low rank, as a whole or off its diagonal?

    `widths` are values of h.
    """

    def grid(profile):
        names = datasets or ("wdbc" if profile == "quick" else PAPERS_SET,)
        values = product(names, SINGULAR_VALUES, h=widths or WIDTHS, rows=rows)
        return values + product(names, PICTURE, ORDERS, h=1.0, rows=rows)

    needs = (PAPERS_SET,)
    return Study(grid=grid, measure=measure_low_rank, key_figures=_ranks, needs=needs)


def measure_low_rank(point, seed):
    """The singular values of K, or K as a picture and the rank of its off-diagonal block."""
    data = load_dataset(point.dataset, scaling="symmetric")
    X = sp.vstack([sp.csr_matrix(data.X_train), sp.csr_matrix(data.X_test)])
    X = X.toarray()[: point["rows"]]
    K = make_kernel("rbf", gamma=gamma_from_sigma(point["h"]))(X)
    shared = shape_of(X)
    if point.method == SINGULAR_VALUES:
        values = la.svdvals(K)
        return [
            {"place": (i + 1) / len(X), "singular_value": value / values[0]} | shared
            for i, value in enumerate(values)
        ]
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


def _ranks(table):
    table = one_set(table)
    values, pictures = (table[table["method"] == kind] for kind in (SINGULAR_VALUES, PICTURE))
    figures = figures_by("h = {h:g}", _above_a_percent)(values.sort_values("h", kind="stable"))
    return figures | figures_by("h = 1, {variant}", _off_diagonal)(pictures)


def _above_a_percent(rows):
    count = int((rows["singular_value"] > 1e-2).sum())
    every = rows["n_train"].iloc[0]
    return f"{count} of {every:.0f} singular values above 1 % of the largest"


def _off_diagonal(rows):
    rank, share = rows.iloc[0][["off_diagonal_rank", "off_diagonal_share"]]
    return f"off-diagonal block: rank {rank:.0f} to 1 % of |K|, {share:.0%} of |K|_F^2"


# --------------------------------------------------- what tolerances promise, and what they give
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
MODES = ("fast", "paper")
ERROR_SETS = {  # data set -> h, rows
    "quick": {"swiss-roll": (1.0, 1000), "magic": (1.0, 1000)},
    "standard": {
        "skin_nonskin": (10.0, 20_000), "cod-rna": (10.0, 20_000), "magic": (1.0, 10_000),
        "ijcnn1": (0.1, 20_000), "a9a": (1.0, 10_000),
    },
}  # fmt: skip
QUICK_TOLERANCES = (1.0, 1e-2, 1e-4, 1e-6)
MAX_RANK = 2000


@catalogued("hss-error", "Tolerances and what they give")
def tolerance_sweep(datasets=None, h=1.0, rows=2000, tolerances=None, leaf_size=None, seed=0):
    """How close is K~ to K at a tolerance, with what ranks, and is it definite?

    The catalogue's sets have widths and rows of their own; h and `rows` are of sets that are named.
    """

    def grid(profile):
        cases = dict.fromkeys(datasets or (), (h, rows))
        cases = cases or ERROR_SETS.get(profile, ERROR_SETS["standard"])
        every = tolerances or (QUICK_TOLERANCES if profile == "quick" else TOLERANCES)
        return product(
            cases, MODES, h=lambda name: cases[name][0], rows=lambda name: cases[name][1],
            rel_tol=every,
            leaf_size=lambda name: leaf_size or (128 if cases[name][1] < 5000 else 256),
        )  # fmt: skip

    return Study(
        grid=grid,
        measure=measure_error,
        predict_seconds=error_seconds,
        key_figures=figures_by("{dataset}, h = {h:g}, {method}", _reached, _whole),
    )


def error_seconds(point):
    """A high-dimensional kernel at a tight tolerance is compressed to its full rank."""
    full = point.dataset in ("a9a", "magic") and point["rel_tol"] < 0.1
    return (1.5e-7 if full else 1e-8) * point["rows"] ** 2


def measure_error(point, seed):
    """One row per level of the tree: ranks and bytes, and the quality of the whole."""
    X = sample(point.dataset, point["rows"]).X
    kernel = HSSKernel(
        gamma=gamma_from_sigma(point["h"]), rel_tol=point["rel_tol"], max_rank=MAX_RANK,
        leaf_size=point["leaf_size"], mode=point.method, random_state=seed,
    )  # fmt: skip
    began = time.perf_counter()
    kernel.fit(X)
    seconds = time.perf_counter() - began
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


def _whole(table):
    return table["level_of_level"] == 0


def _reached(rows):
    last = rows.loc[rows["rel_tol"].idxmin()]
    indefinite = "" if (rows["smallest_eigenvalue"] < -1e-4).any() else "never "
    error = _power(last["sampled_error"])
    return f"error {error} at rel_tol {last['rel_tol']:g}, K~ {indefinite}indefinite"


def _power(value):
    """A power of ten well above a value: what may be compared between machines."""
    return f"below 1e{int(np.ceil(np.log10(max(3 * value, 1e-16))))}"
