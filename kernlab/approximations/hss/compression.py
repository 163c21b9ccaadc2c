"""Compression: from a kernel and points to the hierarchically semi-separable matrix.

Level by level from the bottom, each node but the root finds a basis for its rows of the kernel
matrix from a sample of the columns outside it: a leaf's rows are its points, an inner node's the
skeletons of its children. A basis is an interpolative decomposition, A ~ U A[skeleton] with U = I
on the skeleton's rows and E on the others, so that U serves every column that behaves like those of
A. No entry of the kernel matrix is looked at beyond leaves' blocks, couplings and these samples.
"""

from copy import copy, deepcopy
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from tqdm.auto import tqdm

from kernlab.approximations.hss.geometry import (
    ClusterTree,
    build_tree,
    from_near_leaves,
    from_projection_trees,
)
from kernlab.approximations.hss.matrix import Basis, HSSMatrix, interpolate_rows
from kernlab.rows import distinct_rows
from kernlab.rows.arrays import held_bytes
from kernlab.rows.products import unit_rows
from kernlab.runtime import (
    bar_options,
    for_each_block,
    format_bytes,
    memory_limit,
    require_memory,
    thread_count,
)

LARGEST = 1e18  # whose square single precision holds
CANDIDATES_PER_NEIGHBOUR = 4
LEAST_CANDIDATES = 2048
NEAR_SHARE = 1.0  # near columns per row
LEAST_FAR = 64
SPARE_COLUMNS = 32
KEPT_SHARE = 16  # neighbours passed on to the parent, per row
SPARE_RANK = 10  # columns beyond the rank that the reference wants to see
LEAST_TEST = 64  # columns held out to test a basis on
TEST_SLACK = 10.0  # how much more may be left on them than on the columns it was found from
MOST_COLUMNS = 32  # per row


# -------------------------------------------------------------------------------- geometry
@dataclass(frozen=True, eq=False)
class Geometry:
    """What compression needs to know of the points X, whatever the kernel's width: `settings` are
    the parameters of `HSSKernel` that decide it, `rows` the points in the order of the `tree`, in
    the precision asked for, `columns` what bases are judged by."""

    X: object
    settings: dict
    tree: ClusterTree
    rows: object
    columns: object  # SampledColumns or NeighbourColumns

    @property
    def nbytes(self):
        """Bytes held while a matrix is compressed: rows, neighbours, and rows to compare."""
        return held_bytes(self.rows) + self.columns.nbytes

    def serves(self, settings, X):
        """Whether another approximation, of the rows X, would find the same."""
        if self.settings != settings or self.X.shape != X.shape or self.X.dtype != X.dtype:
            return False
        if self.X is X or sp.issparse(self.X) != sp.issparse(X):
            return self.X is X
        return (self.X != X).nnz == 0 if sp.issparse(X) else np.array_equal(self.X, X)


def find_geometry(X, settings, seeds, timed):
    """The `Geometry` of the rows X, by two seeds, for the tree and for the neighbours.

    `settings` : leaf_size, clustering, approximate_neighbors, mode, dtype, centred
    (whether points may be moved, for the kernel sees distances only), random_state, max_memory.
    `timed` : function of a stage's name that gives a context.
    """
    thorough, k = settings["mode"] == "paper", settings["approximate_neighbors"]
    candidates = max(LEAST_CANDIDATES, CANDIDATES_PER_NEIGHBOUR * k)
    _require_room(X, settings, candidates)
    with timed("tree"):
        tree = build_tree(
            unit_rows(X, spread=True)[0],
            leaf_size=settings["leaf_size"],
            rule=settings["clustering"],
            thorough=thorough,
            seed=seeds[0],
        )
    with timed("neighbours"):
        rows = _in_order(X, tree.order, settings)
        to_compare, generator = unit_rows(rows, spread=True)[0], np.random.default_rng(seeds[1])
        options = {"generator": generator, "max_memory": settings["max_memory"]}
        if thorough:
            columns = NeighbourColumns(tree, to_compare, k, **options)
        else:
            # Equal points have equal columns; drawn as often as they occur, they crowd out the
            # rare ones.
            distinct = distinct_rows(rows, tree.leaf_of)
            points = np.arange(len(tree.order)) if distinct is None else distinct.first
            found = from_near_leaves(
                to_compare, tree, k, points=points, candidates=candidates, **options
            )
            columns = SampledColumns(tree, points, found)
    return Geometry(X, settings, tree, rows, columns)


def _require_room(X, settings, candidates):
    """Refuse rows whose copies do not fit: in order, and in single precision to be compared."""
    (n, p), item = X.shape, settings["dtype"].itemsize
    if sp.issparse(X) and not _is_filled(X, settings):
        rows, compared, row = X.nnz * (item + 4), 16 * X.nnz, X.nnz // n
    else:
        rows, compared, row = n * p * item, 4 * n * p, p
    k, candidates = min(settings["approximate_neighbors"], n - 1), min(n, candidates)
    require_memory(
        rows + compared + 8 * n * k + thread_count() * 16 * candidates * row,
        settings["max_memory"],
        what=f"the cluster tree of {n:,} points and their neighbours",
        arithmetic=f"{format_bytes(rows + compared)} of rows in its order and in single precision, "
        f"{n:,} x {k:,} x 8 bytes of neighbours, {candidates:,} candidates on each thread",
        way_out="Allow more with max_memory, or take fewer rows, features or neighbours.",
    )


def _is_filled(X, settings):
    """Whether sparse rows are filled in, for kernel values by BLAS: where that is affordable."""
    needed = X.shape[0] * X.shape[1] * settings["dtype"].itemsize
    return needed <= memory_limit(settings["max_memory"]) // 8


def _in_order(X, order, settings):
    """The rows in the tree's order, in the precision asked for."""
    dtype = settings["dtype"]
    values = X.data if sp.issparse(X) else X
    if dtype == np.float32 and X.dtype != dtype and np.abs(values).max(initial=0.0) > LARGEST:
        raise ValueError(
            "dtype='float32' cannot hold the squares of these rows: take dtype=None, or scale them"
        )
    if sp.issparse(X):
        rows = X[order].astype(dtype)
        return rows.toarray() if _is_filled(X, settings) else rows
    if dtype != X.dtype and settings["centred"]:
        X = X - X.mean(axis=0)  # far from the origin single precision would blur distances
    return X[order].astype(dtype, copy=False)


# ------------------------------------------------------------------- columns a basis is found from
class SampledColumns:
    """The fast mode: as many near columns as rows, and far ones the more, the tighter `rel_tol`.

    Near points say nothing of the far field: so from every sibling of an ancestor the same number
    is drawn, of the points that still stand for it, the skeletons of what is compressed already.
    `points` are the sorted positions that columns are drawn from, and `found` their neighbours.
    """

    def __init__(self, tree, points, found, rel_tol=1.0):
        self.tree, self._points, self._found = tree, points, found
        self.recall, self.nbytes = found.recall, found.ids.nbytes
        self._far_share = 1.0 - 0.5 * np.log10(np.clip(rel_tol, 1e-10, 1.0))
        self._standing = points  # those that stand for their clusters, sorted

    def begin(self, rel_tol, max_rank):
        """The same for a compression with these tolerances, which may change it."""
        return SampledColumns(self.tree, self._points, self._found, rel_tol)

    def first(self, t, n_rows, neighbours, generator):
        """Columns to begin with for node t, from the `neighbours` of its points outside it."""
        near = int(NEAR_SHARE * n_rows) + SPARE_COLUMNS
        far = max(LEAST_FAR, int(self._far_share * n_rows))
        return self._draw(t, near, far, neighbours, generator)

    def further(self, t, size, used, neighbours, generator):
        """About `size` columns, near and far, that are none of those in `used`."""
        drawn = self._draw(t, size // 2, size - size // 2, neighbours, generator)
        return np.setdiff1d(drawn, used)

    def passed_on(self, n_rows, neighbours, generator):
        """The neighbours that a node's parent chooses from."""
        return _sample(neighbours, KEPT_SHARE * n_rows, generator)

    def too_few(self, t, n_columns, rank):
        """Whether a node must be done again; here a basis was tested on columns of its own."""
        return False

    def at_leaf(self, t):
        """The neighbours of a leaf's points that lie outside it."""
        a, b = np.searchsorted(self._points, [self.tree.start[t], self.tree.stop[t]])
        return self.tree.outside(t, self._found.ids[a:b])

    def level_done(self, nodes, skeletons):
        """From now on the skeletons of these nodes stand for their points."""
        replaced = np.zeros(len(self._standing), dtype=bool)
        for t in nodes:
            a, b = np.searchsorted(self._standing, [self.tree.start[t], self.tree.stop[t]])
            replaced[a:b] = True
        kept = [self._standing[~replaced], *(skeletons[t] for t in nodes)]
        self._standing = np.sort(np.concatenate(kept))

    def _draw(self, t, near, far, neighbours, generator):
        chosen = _sample(neighbours, near, generator)
        # What the neighbour lists do not yield is made up for from afar.
        return np.union1d(chosen, self._far(t, far + near - len(chosen), generator))

    def _far(self, t, wanted, generator):
        """An equal number from every sibling of an ancestor; from small ones all they have."""
        others = self.tree.siblings_of_ancestors(t)
        ends = np.stack([self.tree.start[others], self.tree.stop[others]])
        bounds, chosen = np.searchsorted(self._standing, ends), []
        for done, k in enumerate(np.argsort(bounds[1] - bounds[0])):
            pool = self._standing[bounds[0, k] : bounds[1, k]]
            chosen.append(_sample(pool, -(-wanted // (len(others) - done)), generator))
            wanted -= len(chosen[-1])
        return np.concatenate(chosen)


class NeighbourColumns:
    """The reference's way: all neighbours of a node's points outside it and nothing else, `k` for
    each point at first; where these are too few, the subtree is done again with twice as many."""

    def __init__(self, tree, rows, k, *, generator, max_memory=None):
        self.tree, self._rows = tree, rows
        self._generator, self._max_memory, self._max_rank = generator, max_memory, rows.shape[0]
        self._all_others = rows.shape[0] - 1
        self._k = np.full(tree.n_nodes, min(k, self._all_others))
        self._lists = [None] * tree.n_nodes
        self.recall = self._search(0)
        self.nbytes = held_bytes(rows) + 4 * rows.shape[0] * int(self._k[0])

    def begin(self, rel_tol, max_rank):
        other = copy(self)
        other._max_rank, other._generator = max_rank, deepcopy(self._generator)
        other._k, other._lists = self._k.copy(), list(self._lists)
        return other

    def _search(self, t):
        """Fill the lists of all leaves below t with as many neighbours as are due there."""
        tree, start = self.tree, self.tree.start[t]
        leaves = [leaf for leaf in tree.subtree(t) if tree.is_leaf(leaf)]
        if self._k[t] == self._all_others:
            for leaf in leaves:
                self._lists[leaf] = tree.outside(leaf, np.arange(self._all_others + 1))
            return 1.0
        found = from_projection_trees(
            self._rows,
            int(self._k[t]),
            of=np.arange(start, tree.stop[t]),
            generator=self._generator,
            max_memory=self._max_memory,
        )
        for leaf in leaves:
            mine = slice(tree.start[leaf] - start, tree.stop[leaf] - start)
            self._lists[leaf] = tree.outside(leaf, found.ids[mine])
        return found.recall

    def first(self, t, n_rows, neighbours, generator):
        return neighbours

    def further(self, t, size, used, neighbours, generator):
        return used[:0]

    def passed_on(self, n_rows, neighbours, generator):
        return neighbours

    def too_few(self, t, n_columns, rank):
        """The reference's test of a node; where it fails, more neighbours are searched for."""
        others = self._all_others + 1 - self.tree.sizes[t]
        enough = min(self.tree.sizes[t], self._max_rank, others)
        if n_columns >= enough or rank + SPARE_RANK < n_columns:
            return False
        below = self.tree.subtree(t)
        self._k[below] = min(max(2 * self._k[below].max(), 1), self._all_others)
        self._search(t)
        return True

    def at_leaf(self, t):
        return self._lists[t]

    def level_done(self, nodes, skeletons):
        pass


def _sample(pool, size, generator):
    return pool if len(pool) <= size else pool[generator.choice(len(pool), size, replace=False)]


# -------------------------------------------------------------------------------- compression
def compress(geometry, kernel, *, rel_tol, abs_tol, max_rank, seed, max_memory=None):
    """The HSS matrix of `kernel` on the points of a `Geometry`.

    A node at depth l ends its basis where the next pivot is at most rel_tol / l times the first, or
    at most abs_tol / l, or at rank max_rank. `seed` is a `numpy.random.SeedSequence`.
    """
    tree, limit = geometry.tree, memory_limit(max_memory)
    work = _Compression(geometry, kernel, (rel_tol, abs_tol, max_rank), seed, limit)
    with tqdm(total=tree.n_nodes, desc="compressing", unit="node", **bar_options()) as bar:
        for nodes in reversed(tree.levels):
            work.begin_level(nodes)
            for_each_block(work.node, nodes)
            work.columns.level_done(nodes, work.skeletons)
            bar.update(len(nodes))
    return work.matrix


class _Compression:
    def __init__(self, geometry, kernel, tolerances, seed, limit):
        self.rows, self.kernel, self.tree = geometry.rows, kernel, geometry.tree
        self.columns = geometry.columns.begin(tolerances[0], tolerances[2])
        self.tolerances, self.limit, self.held = tolerances, limit, geometry.nbytes
        n = self.tree.n_nodes
        self.matrix = HSSMatrix(self.tree, [None] * n, [None] * n, [None] * n)
        self.seeds = seed.spawn(n)
        self.skeletons, self.neighbours = [None] * n, [None] * n

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
        self.matrix.bases[t] = Basis(
            found.skeleton, found.rest, found.E, self.skeletons[t], columns
        )
        self.neighbours[t] = self.columns.passed_on(len(points), neighbours, generator)

    def _basis(self, t, points, neighbours, generator):
        """A basis that holds on columns it was not found from, and how many it was found from."""
        rel_tol, abs_tol, max_rank = self.tolerances
        within = {"rel_tol": rel_tol / self.tree.depth[t], "abs_tol": abs_tol / self.tree.depth[t]}
        used = self.columns.first(t, len(points), neighbours, generator)
        test = max(LEAST_TEST, len(used) // 8)
        self._require_room(t, len(points), len(used), test)
        block = self._kernel_block(points, used)
        while True:
            found = interpolate_rows(block, **within, max_rank=max_rank, generator=generator)
            further = self.columns.further(t, test, used, neighbours, generator)
            if not len(further) or not len(found.rest) or len(used) > MOST_COLUMNS * len(points):
                return found, len(used)
            unseen = self._kernel_block(points, further)
            missed = unseen[found.rest] - found.E @ unseen[found.skeleton]
            allowed = max(within["rel_tol"] * found.first, within["abs_tol"], found.pivot)
            allowed *= TEST_SLACK * np.sqrt(len(further) / len(used))
            if np.einsum("ij,ij->i", missed, missed).max() <= allowed**2:
                return found, len(used)
            misses = np.einsum("ij,ij->j", missed, missed)
            worst = np.argsort(misses)[-max(LEAST_TEST // 4, len(further) // 4) :]
            used = np.concatenate([used, further[worst]])
            test = len(used)
            self._require_room(t, len(points), len(used), test)
            block = np.hstack([block, unseen[:, worst]])

    def _leaf(self, t):
        points = np.arange(self.tree.start[t], self.tree.stop[t])
        if self.matrix.blocks[t] is None:
            self.matrix.blocks[t] = self.kernel(self.rows[points[0] : points[-1] + 1])
            if not np.isfinite(self.matrix.blocks[t]).all():
                raise ValueError("the kernel has values that are not finite on these rows")
        return points, self.columns.at_leaf(t)

    def _inner(self, t):
        a, b = self.tree.children[t]
        self.matrix.couplings[t] = self._kernel_block(self.skeletons[a], self.skeletons[b])
        neighbours = np.concatenate([self.neighbours[a], self.neighbours[b]])
        self.neighbours[a] = self.neighbours[b] = None
        points = np.concatenate([self.skeletons[a], self.skeletons[b]])
        return points, self.tree.outside(t, neighbours)

    def _kernel_block(self, points, others):
        if len(points) == 0 or len(others) == 0:
            return np.zeros((len(points), len(others)), self.rows.dtype)
        return self.kernel(self.rows[points], self.rows[others])

    def begin_level(self, nodes):
        """Note what is held when the nodes of a level are begun, and what they will keep: a block
        or coupling, and a basis, which of rank r on m rows has (m - r) r entries."""
        tree, entries = self.tree, 0
        for t in nodes:
            if tree.is_leaf(t):
                a = b = rows = int(tree.sizes[t])
            else:
                a, b = (len(self.skeletons[child]) for child in tree.children[t])
                rows = a + b
            rank = min(self.tolerances[2], rows // 2)
            entries += a * b + (rows - rank) * rank
        self.at_work = min(thread_count(), len(nodes))
        self.kept = self.held + self.matrix.nbytes + self.rows.dtype.itemsize * entries
        self._require_room(nodes[0], 0, 0, 0)

    def _require_room(self, t, n_rows, n_columns, n_test):
        """Refuse a block that, with one like it on each thread, is too large to find a basis of."""
        item, p = self.rows.dtype.itemsize, self.rows.shape[1]
        if sp.issparse(self.rows):
            p = min(p, 2 * self.rows.nnz // self.rows.shape[0] + 1)
        values = n_rows * (2 * n_columns + 3 * n_test + 5 * n_rows) + 4 * n_columns * p
        require_memory(
            self.kept + self.at_work * item * values,
            self.limit,
            what=f"the HSS matrix of {len(self.tree.order):,} points",
            arithmetic=f"{format_bytes(self.kept)} of rows, blocks and bases up to level "
            f"{self.tree.depth[t]}, and on {self.at_work} threads nodes with up to {n_rows:,} rows "
            f"and {n_columns:,} sampled columns, {item} bytes an entry",
            way_out="Allow more with max_memory, take a smaller leaf_size or max_rank, looser "
            "tolerances, or dtype='float32'.",
        )
