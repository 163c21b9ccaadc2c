"""ADMM-HSS: the hierarchical matrix as nested blocks, and ADMM with a factor that is kept."""

import time
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle

from kernlab.approximations.hss import HSSKernel
from kernlab.estimators import HSSSVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import REACH, draw_machine, empty_plane, heading, panel, square
from kernlab.lab.explorers.samples import SHAPES
from kernlab.lab.papers.common.fitting import seconds_of
from kernlab.lab.plots.style import BLUE, RED


def _compressed(rows, h, **settings):
    kernel = HSSKernel(gamma=gamma_from_sigma(h), random_state=0, **settings)
    return seconds_of(lambda: kernel.fit(rows.X))


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
        rank = min(matrix.couplings[t].shape)
        (i, m), (j, n) = ((int(tree.start[c]), int(tree.sizes[c])) for c in tree.children[t])
        found += [(i, j, m, n, rank), (j, i, n, m, rank)]
    return found


RANKS = LogNorm(1, 300)  # on the scale of colours
CLUSTERINGS = ("2means", "kdtree", "pca", "cobble", "natural")


class HSSMatrix(ui.Declared):
    """a kernel matrix as nested blocks, by h, tolerance, largest rank and leaf size"""

    given = ui.Given(toys=("Swiss roll", *SHAPES), first="Swiss roll", rows=1000)
    controls = ui.Controls(
        clustering=ui.choice("clustering", CLUSTERINGS, "2means"),
        h=ui.log_slider("h", 0.5, -2, 1),
        rel_tol=ui.log_slider("rel_tol", 1e-2, -8, 0, step=0.25),
        max_rank=ui.count_slider("max. rank", RANKS.vmax, 0, 2.5),
        leaf_size=ui.choice("leaf size", (32, 64, 128, 256), 64),
    )
    places = (
        (0.005, 0.02, 0.325, 0.89), (0.338, 0.12, 0.012, 0.7),
        (0.445, 0.16, 0.2, 0.75), (0.675, 0.02, 0.32, 0.89),
    )  # fmt: skip
    size = (10.4, 3.5)
    code = """from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import gamma_from_sigma
{data}
kernel = HSSKernel(gamma=gamma_from_sigma({h:.4g}), rel_tol={rel_tol:.4g}, max_rank={max_rank},
    leaf_size={leaf_size}, clustering={clustering!r}, random_state=0).fit(X)"""

    def compute(self, rows, h, clustering, rel_tol, max_rank, leaf_size):
        settings = {"rel_tol": rel_tol, "max_rank": max_rank, "leaf_size": leaf_size}
        kernel, seconds = _compressed(rows, h, clustering=clustering, **settings)
        quality = kernel.quality(n_sampled=48)
        return SimpleNamespace(X=rows.X, kernel=kernel, quality=quality, seconds=seconds)

    def still(self, picture, bar, levels, plane):
        empty_plane(picture)
        colours = ScalarMappable(RANKS, "viridis_r")
        scale = picture.figure.colorbar(colours, cax=bar, label="rank (grey: dense)")
        scale.set_ticks([1, 10, 100], labels=["1", "10", "100"])
        panel(levels, "Ranks, from least to most", log="y", xlabel="level", xlim=(0.5, 7.5),
              ylim=(0.7, 2 * RANKS.vmax), yticks=(1, 10, 100))  # fmt: skip
        empty_plane(plane)

    def draw(self, fit, picture, _, levels, plane):
        tree, n, table = fit.kernel.matrix_.tree, len(fit.X), fit.quality.levels.iloc[1:]
        side = 2 * REACH / n
        for row, column, height, width, rank in blocks(fit.kernel.matrix_):
            x, y = column * side - REACH, REACH - (row + height) * side
            colour = "#4A4A4A" if rank is None else colormaps["viridis_r"](RANKS(max(rank, 1)))
            shape = (width * side, height * side)
            picture.add_patch(Rectangle((x, y), *shape, fc=colour, ec="white", lw=0.4))
            if rank is not None and min(height, width) > 0.055 * n:  # smaller than its number
                dark = RANKS(max(rank, 1)) > 0.5
                picture.text(
                    x + shape[0] / 2, y + shape[1] / 2, str(rank), ha="center", va="center",
                    fontsize=7.5, color="white" if dark else "#222222",
                )  # fmt: skip
        heading(picture, f"$\\tilde K$, {n:,} x {n:,}")
        levels.plot(table["level"], table["mean rank"], marker="o", ms=4, color=BLUE)
        between = (table["level"], table["smallest rank"], table["largest rank"])
        levels.fill_between(*between, color=BLUE, alpha=0.18, lw=0)
        colours = np.empty(n, dtype=int)  # of neighbouring leaves never the same
        for k, leaf in enumerate(tree.leaves):
            colours[tree.order[tree.start[leaf] : tree.stop[leaf]]] = (7 * k) % 20
        look = {"cmap": "tab20", "vmin": 0, "vmax": 19, "linewidths": 0}
        plane.scatter(*fit.X[:, [0, -1]].T, s=5, c=colours, **look)
        heading(plane, f"{len(tree.leaves)} leaves")
        matrix, quality = fit.kernel.matrix_, fit.quality
        dense, least = matrix.shape[0] ** 2 * matrix.dtype.itemsize, quality.smallest_eigenvalue
        definite = least > -1e-12 * quality.largest_eigenvalue
        return (
            f"error of K~ <b>{quality.sampled_error:.1e}</b>, "
            f"{'no negative eigenvalue' if definite else f'smallest eigenvalue {least:.2g}'}; "
            f"<b>{matrix.nbytes / 2**20:.2f} MB</b> of {dense / 2**20:.1f} MB; largest rank "
            f"{matrix.rank}; compressed in {1e3 * fit.seconds:.0f} ms"
        )


RESIDUALS = {"primal_residual": ("x - z", "#222222"), "dual_residual": ("z moves", "#B98800")}
GRID, REL_TOL, SMALLEST_RESIDUAL = 60, 1e-3, 1e-8


@lru_cache(maxsize=4)  # a move of C, beta or steps compresses nothing
def compress(rows, h):
    """All that depends on the data and h alone: K~, and the kernel between rows and new points."""
    kernel, seconds = _compressed(rows, h, rel_tol=REL_TOL)
    at_grid, at_fresh = (
        kernel.kernel_(new.astype(np.float32), rows.X.astype(np.float32))
        for new in (square(GRID)[1], rows.X_test)
    )
    return SimpleNamespace(kernel=kernel, at_grid=at_grid, at_fresh=at_fresh, seconds=seconds)


class HSSADMM(ui.Declared):
    """ADMM on a hierarchical kernel, by h, beta, C and steps"""

    given = ui.Given(toys=SHAPES, first="checkerboard", rows=1000, plane=True)
    controls = ui.Controls(
        h=ui.log_slider("h", 0.2, -1.5, 1),
        beta=ui.log_slider("beta", 10.0, -1, 4),
        C=ui.log_slider("C", 1.0, -3, 3),
        steps=ui.count_slider("steps", 30, 0, 1.8),
    )
    places = (0.005, 0.02, 0.40, 0.88), (0.475, 0.16, 0.22, 0.74), (0.765, 0.16, 0.225, 0.74)
    size = (10.5, 3.5)
    code = f"""from kernlab import HSSSVC
{{data}}
machine = HSSSVC(C={{C:.4g}}, h={{h:.4g}}, beta={{beta:.4g}}, max_iter={{steps}},
    rel_tol={REL_TOL:g}, random_state=0).fit(X, y)"""

    def compute(self, rows, h, beta, C, steps):
        kept, began = compress(rows, h), time.perf_counter()
        machine = HSSSVC(C=C, beta=beta, max_iter=steps).fit_on(kept.kernel, rows.y)
        weights = np.zeros(len(rows.y), dtype=np.float32)
        weights[machine.support_] = machine.dual_coef_[0]
        decisions, fresh = (
            values @ weights + machine.intercept_[0] for values in (kept.at_grid, kept.at_fresh)
        )
        fit = SimpleNamespace(rows=rows, kept=kept, machine=machine, decisions=decisions)
        fit.milliseconds = 1e3 * (time.perf_counter() - began)
        fit.accuracy = float(np.mean((fresh > 0) == (rows.y_test > 0)))
        fit.share = np.minimum(np.abs(weights) / C, 1.0)
        return fit

    def still(self, plane, residuals, duals):
        empty_plane(plane, title="Boundary and margins")
        for label, colour in RESIDUALS.values():
            residuals.plot([], [], color=colour, label=label)
        panel(residuals, "Residuals", log="y", xlabel="step", xlim=(0, 64), legend="upper right",
              ylim=(0.5 * SMALLEST_RESIDUAL, 1e4))  # fmt: skip
        panel(duals, "Rows of both classes", log="y", xlabel="dual variable / C",
              xlim=(-0.02, 1.02), ylim=(0.7, self.given.rows))  # fmt: skip

    def draw(self, fit, plane, residuals, duals):
        draw_machine(plane, fit, size=5, shown=500, alpha=0.5)
        trace = fit.machine.result_.trace
        for name, (_, colour) in RESIDUALS.items():
            values = np.maximum([row[name] for row in trace], SMALLEST_RESIDUAL)
            steps = [row["iteration"] for row in trace]
            residuals.plot(steps, values, color=colour, marker=".", ms=3)
        for label, colour in ((-1, BLUE), (1, RED)):
            counts, edges = np.histogram(fit.share[fit.rows.y == label], 40, (0.0, 1.0))
            duals.stairs(np.maximum(counts, 0.5), edges, color=colour, lw=1.3)
        return (
            f"accuracy <b>{fit.accuracy:.1%}</b> on fresh rows; {len(fit.machine.support_):,} of "
            f"{len(fit.rows.y):,} rows are support vectors, the largest dual variable is "
            f"{np.abs(fit.machine.dual_coef_).max(initial=0.0):.3g}; largest rank "
            f"{fit.kept.kernel.rank_}; compressed once for this h in "
            f"{1e3 * fit.kept.seconds:.0f} ms, refitted in <b>{fit.milliseconds:.0f} ms</b>"
        )


hss_matrix, hss_admm = HSSMatrix(), HSSADMM()
