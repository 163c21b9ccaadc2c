"""What hierarchical compression works with: singular values, clustering (Figure 1), tolerances."""

import time

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from kernlab.approximations.hss import HSSKernel, build_tree
from kernlab.datasets import load_dataset
from kernlab.kernels import gamma_from_sigma, make_kernel
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.hss.sets import sample
from kernlab.rows.products import unit_rows

# ------------------------------------------------------------------------------- Figure 1
WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
ORDERS = ("not clustered", "clustered")
SINGULAR_VALUES, PICTURE = "singular values", "picture"
FILE_ROWS = 270  # as many as heart_scale has
PICTURE_SIDE = 54
LEAF_SIZE = 32


@catalogued("hss-f1", "Figure 1: singular values, and what clustering does")
def low_rank(datasets=None, widths=None, rows=FILE_ROWS, seed=0):
    """When is a Gaussian kernel matrix of low rank, as a whole or off its diagonal?

    Parameters
    ----------
    datasets : sequence of str, optional
    widths : sequence of float, optional
        Values of h.
    rows : int
    seed : int
    """

    def grid(profile):
        names = datasets or ("wdbc" if profile == "quick" else "heart_scale",)
        values = product(names, SINGULAR_VALUES, h=widths or WIDTHS, rows=rows)
        return values + product(names, PICTURE, ORDERS, h=1.0, rows=rows)

    return Study(
        grid=grid,
        measure=measure_low_rank,
        key_figures=_figure_key_figures,
        needs=("heart_scale",),
    )


def measure_low_rank(point, seed):
    """The singular values of K, or K as a picture and the rank of its off-diagonal block."""
    data = load_dataset(point.dataset, scaling="symmetric")
    X = sp.vstack([sp.csr_matrix(data.X_train), sp.csr_matrix(data.X_test)]).toarray()[
        : point["rows"]
    ]
    K = make_kernel("rbf", gamma=gamma_from_sigma(point["h"]))(X)
    shared = {"n_train": len(X), "n_features": X.shape[1]}
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


def _figure_key_figures(table):
    figures = {}
    values = table[table["method"] == SINGULAR_VALUES]
    for h, rows in values.groupby("h"):
        count = int((rows["singular_value"] > 1e-2).sum())
        figures[f"h = {h:g}"] = (
            f"{count} of {rows['n_train'].iloc[0]:.0f} singular values above 1 % of the largest"
        )
    for order, rows in table[table["method"] == PICTURE].groupby("variant", sort=False):
        row = rows.iloc[0]
        figures[f"h = 1, {order}"] = (
            f"off-diagonal block: rank {row['off_diagonal_rank']:.0f} to 1 % of |K|, "
            f"{row['off_diagonal_share']:.0%} of |K|_F^2"
        )
    return figures


# --------------------------------------------------- what tolerances promise, and what they give
TOLERANCES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
MODES = ("fast", "paper")
ERROR_SETS = {
    "quick": (("swiss-roll", 1.0, 1000), ("magic", 1.0, 1000)),
    "standard": (
        ("skin_nonskin", 10.0, 20_000),
        ("cod-rna", 10.0, 20_000),
        ("magic", 1.0, 10_000),
        ("ijcnn1", 0.1, 20_000),
        ("a9a", 1.0, 10_000),
    ),
}
QUICK_TOLERANCES = (1.0, 1e-2, 1e-4, 1e-6)
MAX_RANK = 2000


@catalogued("hss-error", "Tolerances and what they give")
def tolerance_sweep(datasets=None, h=1.0, rows=2000, tolerances=None, leaf_size=None, seed=0):
    """How close is K~ to K at a tolerance, with what ranks, and is it definite?

    Parameters
    ----------
    datasets : sequence of str, optional
        Those of the catalogue by default, each with a width and rows of its own.
    h, rows : float, int
        For data sets that are named.
    tolerances : sequence of float, optional
    leaf_size : int, optional
    seed : int
    """

    def grid(profile):
        listed = ERROR_SETS.get(profile, ERROR_SETS["standard"])
        every = tolerances or (QUICK_TOLERANCES if profile == "quick" else TOLERANCES)
        return [
            point
            for name, width, size in [(n, h, rows) for n in datasets or ()] or listed
            for point in product(
                name, MODES, h=width, rows=size, rel_tol=every,
                leaf_size=leaf_size or (128 if size < 5000 else 256),
            )
        ]  # fmt: skip

    return Study(
        grid=grid,
        measure=measure_error,
        predict_seconds=error_seconds,
        key_figures=_error_key_figures,
    )


def error_seconds(point):
    """A high-dimensional kernel at a tight tolerance is compressed to its full rank."""
    full = point.dataset in ("a9a", "magic") and point["rel_tol"] < 0.1
    return (1.5e-7 if full else 1e-8) * point["rows"] ** 2


def measure_error(point, seed):
    """One row per level of the tree: ranks and bytes, and the quality of the whole."""
    X = sample(point.dataset, point["rows"]).X
    kernel = HSSKernel(
        gamma=gamma_from_sigma(point["h"]),
        rel_tol=point["rel_tol"],
        max_rank=MAX_RANK,
        leaf_size=point["leaf_size"],
        mode=point.method,
        random_state=seed,
    )
    began = time.perf_counter()
    kernel.fit(X)
    seconds = time.perf_counter() - began
    quality = kernel.quality()
    shared = {
        "n_train": X.shape[0],
        "n_features": X.shape[1],
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


def _error_key_figures(table):
    figures = {}
    whole = table[table["level_of_level"] == 0]
    for (name, h, mode), rows in whole.groupby(["dataset", "h", "method"], sort=False):
        steps = rows.sort_values("rel_tol", ascending=False)
        last = steps.iloc[-1]
        figures[f"{name}, h = {h:g}, {mode}"] = (
            f"error {_power(last['sampled_error'])} at rel_tol {last['rel_tol']:g}, "
            f"K~ {'' if (steps['smallest_eigenvalue'] < -1e-4).any() else 'never '}indefinite"
        )
    return figures


def _power(value):
    """A power of ten well above a value: what may be compared between machines."""
    return f"below 1e{int(np.ceil(np.log10(max(3 * value, 1e-16))))}"
