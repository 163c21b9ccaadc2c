"""Compression: from a kernel and a cluster tree to the hierarchically semi-separable matrix.

Level by level from the bottom, and within a level on all cores. A leaf's rows are its points, an
inner node's rows the skeletons of its children; each node but the root finds a basis for its rows
of the kernel matrix from a sample of the columns outside it. No entry of the kernel matrix is
looked at beyond the leaves' blocks, the couplings and these samples.
"""

from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from kernlab.approximations.hss.interpolation import interpolate_rows
from kernlab.approximations.hss.matrix import Basis, HSSMatrix
from kernlab.runtime import bar_options, for_each_block, require_memory

LEAST_TEST = 64  # columns held out to test a basis on
TEST_SLACK = 10.0  # how much more may be left on them than on the columns it was found from
MOST_COLUMNS = 32  # per row


@dataclass(frozen=True)
class Tolerances:
    """A node at depth l ends its basis where the next pivot is at most rel_tol / l times the
    first, or at most abs_tol / l, or at rank max_rank."""

    rel_tol: float
    abs_tol: float
    max_rank: int

    def at(self, depth):
        return {
            "rel_tol": self.rel_tol / depth,
            "abs_tol": self.abs_tol / depth,
            "max_rank": self.max_rank,
        }


def compress(rows, kernel, tree, columns, tolerances, *, seed, max_memory=None):
    """The HSS matrix of `kernel` on `rows`, the points in the tree's order.

    `columns` chooses the sampled columns (see the module of that name); `seed` is a
    `numpy.random.SeedSequence`.
    """
    work = _Compression(rows, kernel, tree, columns, tolerances, seed)
    held = 0
    with tqdm(total=tree.n_nodes, desc="compressing", unit="node", **bar_options()) as bar:
        for nodes in reversed(tree.levels):
            held += work.bytes_of_level(nodes)
            require_memory(
                held,
                max_memory,
                what=f"the HSS matrix of {len(tree.order):,} points",
                arithmetic=work.arithmetic(nodes),
                way_out="Allow more with max_memory, take a smaller leaf_size or max_rank, looser "
                "tolerances, or dtype='float32'.",
            )
            for_each_block(work.node, nodes)
            columns.level_done(nodes, work.skeletons)
            bar.update(len(nodes))
    return HSSMatrix(tree, work.blocks, work.couplings, work.bases)


class _Compression:
    def __init__(self, rows, kernel, tree, columns, tolerances, seed):
        self.rows, self.kernel, self.tree = rows, kernel, tree
        self.columns, self.tolerances = columns, tolerances
        self.seeds = seed.spawn(tree.n_nodes)
        self.blocks, self.couplings, self.bases, self.skeletons, self.neighbours = (
            [None] * tree.n_nodes for _ in range(5)
        )

    def node(self, t):
        points, neighbours = self._leaf(t) if self.tree.is_leaf(t) else self._inner(t)
        if t == 0:
            self.skeletons[t] = points
            return
        generator = np.random.default_rng(self.seeds[t])
        found, columns = self._basis(t, points, neighbours, generator)
        if self.columns.too_few(t, columns, found.rank):
            for below in self.tree.subtree(t)[::-1]:
                self.node(below)
            return
        self.skeletons[t] = points[found.skeleton]
        self.bases[t] = Basis(found.skeleton, found.rest, found.E, self.skeletons[t], columns)
        self.neighbours[t] = self.columns.passed_on(len(points), neighbours, generator)

    def _basis(self, t, points, neighbours, generator):
        """A basis that holds on columns it was not found from, and how many it was found from."""
        within = self.tolerances.at(self.tree.depth[t])
        used = self.columns.first(t, len(points), neighbours, generator)
        block = self._kernel_block(points, used)
        test = max(LEAST_TEST, len(used) // 8)
        while True:
            found = interpolate_rows(block, **within, generator=generator)
            fresh = self.columns.fresh(t, test, used, neighbours, generator)
            if len(fresh) == 0 or len(found.rest) == 0 or len(used) > MOST_COLUMNS * len(points):
                return found, len(used)
            unseen = self._kernel_block(points, fresh)
            missed = unseen[found.rest] - found.E @ unseen[found.skeleton]
            allowed = max(within["rel_tol"] * found.first, within["abs_tol"], found.pivot)
            allowed *= TEST_SLACK * np.sqrt(len(fresh) / len(used))
            if np.einsum("ij,ij->i", missed, missed).max() <= allowed**2:
                return found, len(used)
            misses = np.einsum("ij,ij->j", missed, missed)
            worst = np.argsort(misses)[-max(LEAST_TEST // 4, len(fresh) // 4) :]
            block = np.hstack([block, unseen[:, worst]])
            used = np.concatenate([used, fresh[worst]])
            test = len(used)

    def _leaf(self, t):
        points = np.arange(self.tree.start[t], self.tree.stop[t])
        if self.blocks[t] is None:
            self.blocks[t] = self.kernel(self.rows[points[0] : points[-1] + 1])
            if not np.isfinite(self.blocks[t].sum()):
                raise ValueError("the kernel has values that are not finite on these rows")
        return points, self.columns.at_leaf(t)

    def _inner(self, t):
        a, b = self.tree.children[t]
        self.couplings[t] = self._kernel_block(self.skeletons[a], self.skeletons[b])
        neighbours = self.columns.of_children(t, [self.neighbours[a], self.neighbours[b]])
        self.neighbours[a] = self.neighbours[b] = None
        return np.concatenate([self.skeletons[a], self.skeletons[b]]), neighbours

    def _kernel_block(self, points, others):
        if len(points) == 0 or len(others) == 0:
            return np.zeros((len(points), len(others)), self.rows.dtype)
        return self.kernel(self.rows[points], self.rows[others])

    # --------------------------------------------------------------------------- memory
    def _rows_and_kept(self, t):
        """Rows of a node, and the entries of the block or coupling that it keeps."""
        if self.tree.is_leaf(t):
            size = int(self.tree.sizes[t])
            return size, size * size
        a, b = (len(self.skeletons[child]) for child in self.tree.children[t])
        return a + b, a * b

    def bytes_of_level(self, nodes):
        """At most; a basis of rank r on m rows holds (m - r) r entries."""
        total = 0
        for t in nodes:
            rows, kept = self._rows_and_kept(t)
            rank = min(self.tolerances.max_rank, rows // 2)
            total += kept + (rows - rank) * rank
        return total * self.rows.dtype.itemsize

    def arithmetic(self, nodes):
        largest = max(self._rows_and_kept(t)[0] for t in nodes)
        return (
            f"at level {self.tree.depth[nodes[0]]} {len(nodes):,} nodes with up to {largest:,} "
            f"rows, {self.rows.dtype.itemsize} bytes an entry, and what lies below them"
        )
