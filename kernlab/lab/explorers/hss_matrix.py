"""The hierarchical matrix as nested blocks: where it is of low rank, what that costs and saves."""

import time
from dataclasses import dataclass

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from kernlab.approximations.hss import HSSKernel, HSSQuality
from kernlab.datasets import generators
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.playground import TOYS
from kernlab.lab.plots.style import house_style, new_figure

ROWS = 1000
SETS = {name: toy for name, toy in TOYS.items() if name != "gaussians"} | {
    "Swiss roll": lambda rows, seed: generators.swiss_roll(rows, seed=seed),
}
LEAVES = (32, 64, 128, 256)
CLUSTERINGS = ("2means", "kdtree", "pca", "cobble", "natural")
READABLE_SHARE = 0.055  # of the picture's side: smaller blocks carry no number
MOST_COLOURS = 20
DENSE = "#4A4A4A"
PLACES = (  # of the four axes: left, bottom, width, height
    (0.005, 0.02, 0.325, 0.89),
    (0.338, 0.12, 0.012, 0.7),
    (0.445, 0.16, 0.2, 0.75),
    (0.675, 0.02, 0.32, 0.89),
)


@dataclass(frozen=True)
class MatrixFit:
    """A compressed matrix and what its picture shows."""

    X: np.ndarray
    kernel: HSSKernel
    quality: HSSQuality
    seconds: float


def fit_matrix(dataset, clustering, h, rel_tol, max_rank, leaf_size, rows=ROWS, seed=0):
    """Compress the Gaussian kernel matrix of a toy standardised to unit variance."""
    X, _ = SETS[dataset](rows, seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = HSSKernel(
        gamma=gamma_from_sigma(h),
        rel_tol=rel_tol,
        max_rank=max_rank,
        leaf_size=leaf_size,
        clustering=clustering,
        random_state=seed,
    )
    began = time.perf_counter()
    kernel.fit(X)
    seconds = time.perf_counter() - began
    return MatrixFit(X, kernel, kernel.quality(n_sampled=48), seconds)


def blocks(matrix):
    """Every block of the picture: (row, column, height, width, rank), rank None where dense.

    An off-diagonal block has the rank of its coupling, the smaller of its two sides' ranks.
    """
    tree, found = matrix.tree, []
    for t in range(tree.n_nodes):
        start, size = int(tree.start[t]), int(tree.sizes[t])
        if tree.is_leaf(t):
            found.append((start, start, size, size, None))
            continue
        a, b = tree.children[t]
        rank = min(matrix.couplings[t].shape)
        (i, m), (j, n) = ((int(tree.start[c]), int(tree.sizes[c])) for c in (a, b))
        found += [(i, j, m, n, rank), (j, i, n, m, rank)]
    return found


@house_style()
def draw_matrix(fit):
    """The nested blocks, coloured by rank; the ranks of every level; the leaves in the plane."""
    figure, (picture, bar, levels, plane) = new_figure(1, 4, panel=(2.6, 3.5))
    figure.set_layout_engine("none")  # fixed places: no layout to solve at every release
    for ax, place in zip((picture, bar, levels, plane), PLACES, strict=True):
        ax.set_position(place)
    _draw_blocks(picture, bar, fit.kernel.matrix_)
    table = fit.quality.levels.iloc[1:]
    if len(table):
        depth = table["level"]
        levels.plot(depth, table["mean rank"], marker="o", ms=4, color="#0062B0")
        levels.fill_between(
            depth, table["smallest rank"], table["largest rank"], color="#0062B0", alpha=0.18, lw=0
        )
    levels.set(xlabel="level", title="Ranks, from least to most")
    levels.set_ylim(bottom=0)
    levels.xaxis.get_major_locator().set_params(integer=True)
    _draw_leaves(plane, fit)
    return figure


def _draw_blocks(ax, bar, matrix):
    n = matrix.shape[0]
    low_rank = [block for block in blocks(matrix) if block[4] is not None]
    dense = [block for block in blocks(matrix) if block[4] is None]
    ax.add_collection(
        PatchCollection([_rectangle(block) for block in dense], facecolor=DENSE, edgecolor="white",
                        linewidth=0.3)
    )  # fmt: skip
    bar.set_visible(bool(low_rank))
    if low_rank:
        ranks = np.array([block[4] for block in low_rank])
        drawn = PatchCollection(
            [_rectangle(block) for block in low_rank],
            cmap="viridis_r", norm=Normalize(0, max(10, ranks.max())), edgecolor="white",
            linewidth=0.4,
        )  # fmt: skip
        drawn.set_array(ranks)
        ax.add_collection(drawn)
        scale = ax.figure.colorbar(drawn, cax=bar, label="rank (grey: dense)")
        scale.outline.set_visible(False)
        for row, column, height, width, rank in low_rank:
            if min(height, width) > READABLE_SHARE * n:
                colour = "white" if drawn.norm(rank) > 0.45 else "#222222"
                ax.text(column + width / 2, row + height / 2, str(rank), ha="center", va="center",
                        fontsize=7.5, color=colour)  # fmt: skip
    ax.set(xlim=(0, n), ylim=(n, 0), xticks=[], yticks=[], aspect="equal")
    ax.set_title(f"K~, {n:,} x {n:,}")
    ax.grid(visible=False)


def _rectangle(block):
    row, column, height, width, _ = block
    return Rectangle((column, row), width, height)


def _draw_leaves(ax, fit):
    """The points, every leaf of the tree in a colour that its neighbours do not have."""
    tree = fit.kernel.matrix_.tree
    colours = np.empty(len(fit.X), dtype=int)
    for k, leaf in enumerate(tree.leaves):
        colours[tree.order[tree.start[leaf] : tree.stop[leaf]]] = (7 * k) % MOST_COLOURS
    ax.scatter(
        *fit.X[:, [0, -1]].T, s=5, c=colours, cmap="tab20", vmax=MOST_COLOURS - 1, linewidths=0
    )
    ax.set(xticks=[], yticks=[], title=f"{len(tree.leaves)} leaves")
    ax.grid(visible=False)


def describe(fit):
    """Error, definiteness, memory and seconds, in one line of HTML."""
    matrix, quality = fit.kernel.matrix_, fit.quality
    dense = matrix.shape[0] ** 2 * matrix.dtype.itemsize
    definite = (
        "no negative eigenvalue"
        if quality.smallest_eigenvalue > -1e-12 * quality.largest_eigenvalue
        else f"smallest eigenvalue {quality.smallest_eigenvalue:.2g}"
    )
    return (
        f"error of K~ <b>{quality.sampled_error:.1e}</b>, {definite}; "
        f"<b>{matrix.nbytes / 2**20:.2f} MB</b> of {dense / 2**20:.1f} MB; largest rank "
        f"{matrix.rank}; compressed in {1e3 * fit.seconds:.0f} ms"
    )


def hss_matrix():
    """The explorer: data set, clustering, h, tolerance, largest rank, leaf size."""

    def draw(dataset, clustering, h, rel_tol, max_rank, leaf_size):
        fit = fit_matrix(dataset, clustering, h, rel_tol, round(max_rank), leaf_size)
        return draw_matrix(fit), describe(fit)

    controls = {
        "dataset": choice("data set", list(SETS), "Swiss roll"),
        "clustering": choice("clustering", list(CLUSTERINGS), "2means"),
        "h": log_slider("h", 0.5, -2, 1),
        "rel_tol": log_slider("rel_tol", 1e-2, -8, 0, step=0.25),
        "max_rank": log_slider("max. rank", 300, 0, 2.5),
        "leaf_size": choice("leaf size", LEAVES, 64),
    }
    text = "a kernel matrix as nested blocks, by h, tolerance, largest rank and leaf size"
    return Explorer(draw, controls, text)
