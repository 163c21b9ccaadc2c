"""The hierarchical matrix as nested blocks: where it is of low rank, what that costs and saves."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from kernlab.approximations.hss import HSSKernel, HSSQuality
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider
from kernlab.lab.explorers.plane import BLUE, REACH, empty_plane, fixed_figure, heading
from kernlab.lab.explorers.samples import TOYS, sample_choice, samples
from kernlab.lab.plots.style import house_style

ROWS = 1000
SETS = ("Swiss roll", *(name for name in TOYS if name != "gaussians"))
MOST_RANK, MOST_LEVELS = 300, 7
LEAVES = (32, 64, 128, 256)
CLUSTERINGS = ("2means", "kdtree", "pca", "cobble", "natural")
READABLE_SHARE = 0.055  # of the picture's side: smaller blocks carry no number
MOST_COLOURS = 20
RANKS = LogNorm(1, MOST_RANK)  # on the scale of colours
DENSE = "#4A4A4A"
PLACES = [  # of the four axes: left, bottom, width, height
    (0.005, 0.02, 0.325, 0.89),
    (0.338, 0.12, 0.012, 0.7),
    (0.445, 0.16, 0.2, 0.75),
    (0.675, 0.02, 0.32, 0.89),
]


@dataclass(frozen=True)
class MatrixFit:
    """A compressed matrix and what its picture shows."""

    X: np.ndarray
    kernel: HSSKernel
    quality: HSSQuality
    seconds: float


def fit_matrix(X, clustering, h, rel_tol, max_rank, leaf_size, seed=0):
    """Compress the Gaussian kernel matrix of some rows."""
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


@cache
@house_style()
def _scene():
    figure, (picture, bar, levels, plane) = fixed_figure(PLACES, (10.4, 3.5))
    empty_plane(picture)
    scale = figure.colorbar(ScalarMappable(RANKS, "viridis_r"), cax=bar, label="rank (grey: dense)")
    scale.set_ticks([1, 10, 100], labels=["1", "10", "100"])
    scale.outline.set_visible(False)
    levels.set(xlabel="level", title="Ranks, from least to most", xlim=(0.5, MOST_LEVELS + 0.5))
    levels.set(yscale="log", ylim=(0.7, 2 * MOST_RANK))
    levels.set_yticks([1, 10, 100], ["1", "10", "100"])
    levels.minorticks_off()
    empty_plane(plane)
    return Scene(figure)


def draw_matrix(fit):
    """The nested blocks, coloured by rank; the ranks of every level; the leaves in the plane."""
    tree, n = fit.kernel.matrix_.tree, len(fit.X)
    table = fit.quality.levels.iloc[1:]

    def moving(picture, _, levels, plane):
        _draw_blocks(picture, fit.kernel.matrix_)
        heading(picture, f"$\\tilde K$, {n:,} x {n:,}")
        levels.plot(table["level"], table["mean rank"], marker="o", ms=4, color=BLUE)
        levels.fill_between(
            table["level"], table["smallest rank"], table["largest rank"], color=BLUE, alpha=0.18,
            lw=0,
        )  # fmt: skip
        colours = np.empty(n, dtype=int)  # of neighbouring leaves never the same
        for k, leaf in enumerate(tree.leaves):
            colours[tree.order[tree.start[leaf] : tree.stop[leaf]]] = (7 * k) % MOST_COLOURS
        look = {"cmap": "tab20", "vmin": 0, "vmax": MOST_COLOURS - 1, "linewidths": 0}
        plane.scatter(*fit.X[:, [0, -1]].T, s=5, c=colours, **look)
        heading(plane, f"{len(tree.leaves)} leaves")

    return _scene().png(moving)


def _draw_blocks(ax, matrix):
    """Blocks in a square of side 2 REACH, from the top."""
    n = matrix.shape[0]
    scale = 2 * REACH / n
    for row, column, height, width, rank in blocks(matrix):
        x, y = column * scale - REACH, REACH - (row + height) * scale
        colour = DENSE if rank is None else colormaps["viridis_r"](RANKS(max(rank, 1)))
        ax.add_patch(
            Rectangle((x, y), width * scale, height * scale, fc=colour, ec="white", lw=0.4)
        )
        if rank is not None and min(height, width) > READABLE_SHARE * n:
            colour = "white" if RANKS(max(rank, 1)) > 0.5 else "#222222"
            middle = (x + width * scale / 2, y + height * scale / 2)
            ax.text(*middle, str(rank), ha="center", va="center", fontsize=7.5, color=colour)


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


def hss_matrix(*data):
    """The explorer: data set, clustering, h, tolerance, largest rank, leaf size.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=SETS)

    def draw(dataset, clustering, h, rel_tol, max_rank, leaf_size):
        X = sets[dataset].rows(ROWS).X
        fit = fit_matrix(X, clustering, h, rel_tol, round(max_rank), leaf_size)
        return draw_matrix(fit), describe(fit)

    def code(dataset, clustering, h, rel_tol, max_rank, leaf_size):
        return (
            "from kernlab.approximations.hss import HSSKernel\n"
            f"from kernlab.kernels import gamma_from_sigma\n{sets[dataset].code(ROWS)}\n"
            f"kernel = HSSKernel(gamma=gamma_from_sigma({h:.4g}), rel_tol={rel_tol:.4g}, "
            f"max_rank={round(max_rank)},\n    leaf_size={leaf_size}, clustering={clustering!r}, "
            "random_state=0).fit(X)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "Swiss roll"),
        "clustering": choice("clustering", list(CLUSTERINGS), "2means"),
        "h": log_slider("h", 0.5, -2, 1),
        "rel_tol": log_slider("rel_tol", 1e-2, -8, 0, step=0.25),
        "max_rank": log_slider("max. rank", MOST_RANK, 0, 2.5),
        "leaf_size": choice("leaf size", LEAVES, 64),
    }
    text = "a kernel matrix as nested blocks, by h, tolerance, largest rank and leaf size"
    return Explorer(draw, controls, text, code=code)
