"""Approximate nearest neighbours: which points a cluster's kernel values are largest with.

Two searches fill the same lists. `from_near_leaves` compares every leaf of the cluster tree with
the leaves whose centres are nearest: it needs no structure of its own, and leaves out a point's
own leaf, whose block is kept exactly anyway. `from_projection_trees` is the reference's search.

What compression needs to know of the points, whatever the kernel's width: the cluster tree, the
points in its order, and which columns of the kernel matrix a node's rows are judged by.
Approximations of the same rows may share it.

A node's basis must serve all columns outside the node, n of them; it is found from a few.

`SampledColumns`, the fast mode: the columns of near points matter most and are taken from the
neighbour lists. They say nothing about the far field, so points from everywhere else are added:
from every sibling of an ancestor the same number, drawn from the points that still stand for it,
which are the skeletons of what is compressed already. A skeleton spans what its cluster can
contribute, outliers included, and so does a sample of it better than a sample of the cluster.

`NeighbourColumns`, the reference's way: all neighbours of a node's points and nothing else; where
these turn out to be too few, twice as many are searched for and the subtree is done again.
"""

import itertools
from copy import copy, deepcopy
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.base import held_bytes
from kernlab.approximations.hss.tree import ClusterTree, build_tree
from kernlab.rows import distinct_rows
from kernlab.rows.products import prepare_right, squared_distances, unit_rows
from kernlab.runtime import (
    for_each_block,
    format_bytes,
    memory_limit,
    njit,
    require_memory,
    row_blocks,
    thread_count,
)

LARGEST = 1e18  # whose square single precision holds
RECALL_POINTS = 100
GOOD_RECALL = 0.99
PROJECTION_LEAF = 6000  # points among which the reference compares all pairs
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Neighbours:
    """The positions of each point's neighbours in no order, -1 where fewer were found; `recall` is
    the share of the true nearest that a sample's lists hold."""

    ids: np.ndarray
    recall: float


class _Lists:
    """The nearest found so far of each of the points `of`: positions and squared distances."""

    def __init__(self, rows, of, k, max_memory=None):
        require_memory(
            8 * len(of) * k,
            max_memory,
            what=f"the lists of {k:,} neighbours of {len(of):,} points",
            arithmetic=f"{len(of):,} x {k:,} x 8 bytes",
            way_out="Allow more with max_memory, or take fewer neighbours.",
        )
        self.rows, self.of = rows, of
        self.ids = np.full((len(of), k), -1, dtype=np.int32)
        self.distances = np.full((len(of), k), np.inf, dtype=np.float32)

    def compare(self, mine, others, may_repeat=False):
        """Bring the lists of `mine`, indices into `of`, up to date with the points `others`;
        some of these `may_repeat` what is listed already."""
        positions = self.of[mine]
        block = _squares(self.rows[positions], self.rows[others])
        _keep_nearest(block, mine, positions, others, self.ids, self.distances, may_repeat)

    def recall(self, generator, points, group):
        """The share of the true neighbours among `points`, outside the own group, in the lists of
        a few points."""
        k = self.ids.shape[1]
        some = np.sort(
            generator.choice(len(self.of), min(len(self.of), RECALL_POINTS), replace=False)
        )
        true = np.empty((len(some), len(points)), dtype=np.float32)
        for part in row_blocks(len(points), PROJECTION_LEAF):
            true[:, part] = _squares(self.rows[self.of[some]], self.rows[points[part]])
        found = possible = 0
        for i, row in zip(some, true, strict=True):
            row[group[points] == group[self.of[i]]] = np.inf
            listed = np.searchsorted(points, self.ids[i][self.ids[i] >= 0])
            reachable = min(k, int(np.isfinite(row).sum()))
            if reachable:
                radius = np.partition(row, reachable - 1)[reachable - 1]
                equally_near = row[listed] <= radius * (1.0 + 1e-4)  # ties are decided by rounding
                found += min(reachable, np.count_nonzero(equally_near))
                possible += reachable
        return found / possible if possible else 1.0


def from_near_leaves(rows, tree, k, *, points, candidates, generator, max_memory=None):
    """The `k` nearest outside each point's own leaf, among the `points` of the nearest leaves.

    Parameters
    ----------
    rows : all points in the tree's order, in single precision.
    points : array of positions, sorted, whose neighbours are searched for, among themselves.
    candidates : a leaf is compared with as many others, nearest centres first, as together hold so
        many points.

    Returns
    -------
    Neighbours
    """
    lists = _Lists(rows, points, k, max_memory)
    leaves = tree.leaves
    bounds = np.searchsorted(points, np.append(tree.start[leaves], rows.shape[0]))
    members = [points[a:b] for a, b in itertools.pairwise(bounds)]
    centres = np.stack(
        [np.asarray(rows[tree.positions(t)].mean(axis=0), dtype=np.float32).ravel() for t in leaves]
    )
    nearest = _nearest_leaves(centres, np.diff(bounds), candidates)

    def search(j):
        others = np.concatenate([members[i] for i in nearest[j]])
        if len(members[j]) and len(others):
            lists.compare(np.arange(bounds[j], bounds[j + 1]), others)

    if len(leaves) > 1 and k > 0:
        for_each_block(search, range(len(leaves)))
    return Neighbours(lists.ids, lists.recall(generator, points, tree.leaf_of))


def from_projection_trees(rows, k, *, of, iterations, generator, max_memory=None):
    """The `k` nearest of each of the points `of`, by random projection trees.

    Each tree halves the points along random directions until fewer than 6,000 are left, and
    compares all pairs of those. Trees are merged until the lists of 100 points hold 99 % of the
    true nearest, or `iterations` have been made.
    """
    lists = _Lists(rows, of, k, max_memory)
    everyone, recall = np.arange(rows.shape[0]), 1.0
    place = np.full(rows.shape[0], -1)
    place[of] = np.arange(len(of))
    for iteration in range(iterations if k > 0 else 0):
        pieces = []
        for part in _projection_leaves(rows, generator):
            mine = place[part]
            mine = mine[mine >= 0]
            pieces += [
                (mine[i : i + ROWS_AT_ONCE], part, iteration > 0)
                for i in range(0, len(mine), ROWS_AT_ONCE)
            ]
        for_each_block(lambda piece: lists.compare(*piece), pieces)
        recall = lists.recall(generator, everyone, everyone)
        if recall >= GOOD_RECALL:
            break
    return Neighbours(lists.ids, recall)


def _projection_leaves(rows, generator):
    """Parts of the points that random directions, one after the other, leave together."""
    parts = [np.arange(rows.shape[0])]
    while parts:
        part = parts.pop()
        if len(part) < PROJECTION_LEAF:
            yield part
            continue
        direction = generator.normal(size=rows.shape[1]).astype(np.float32)
        rank = np.argsort(rows[part] @ direction, kind="stable")
        parts += [part[rank[: len(part) // 2]], part[rank[len(part) // 2 :]]]


def _nearest_leaves(centres, sizes, candidates):
    """For each leaf the others, nearest first, that together hold `candidates` points."""
    apart = _squares(centres, centres)
    np.fill_diagonal(apart, np.inf)
    chosen = []
    for row in apart:
        order = np.argsort(row)[:-1]
        enough = np.searchsorted(np.cumsum(sizes[order]), candidates) + 1
        chosen.append(order[:enough])
    return chosen


def _squares(left, right):
    """Squared distances of rows in single precision."""
    block = np.empty((left.shape[0], right.shape[0]), dtype=np.float32)
    squared_distances(left, prepare_right(left, right, distances=True), block)
    return block


@njit
def _keep_nearest(block, mine, positions, others, ids, distances, may_repeat):
    """Each list is a heap with the farthest neighbour first."""
    k = ids.shape[1]
    for row in range(len(mine)):
        me = positions[row]
        heap, names = distances[mine[row]], ids[mine[row]]
        for column in range(len(others)):
            distance, name = block[row, column], others[column]
            if distance >= heap[0] or name == me:
                continue
            if may_repeat and name in names:
                continue
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= k:
                    break
                if child + 1 < k and heap[child + 1] > heap[child]:
                    child += 1
                if heap[child] <= distance:
                    break
                heap[hole], names[hole] = heap[child], names[child]
                hole = child
            heap[hole], names[hole] = distance, name


CANDIDATES_PER_NEIGHBOUR = 4
LEAST_CANDIDATES = 2048
NEAR_SHARE = 1.0  # near columns per row
LEAST_FAR = 64
SPARE_COLUMNS = 32
KEPT_SHARE = 16  # neighbours passed on to the parent, per row
SPARE_RANK = 10  # columns beyond the rank that the reference wants to see


@dataclass(frozen=True, eq=False)
class Geometry:
    """`rows` are the points X in the order of the `tree`, in the precision asked for; `settings`
    the parameters of `HSSKernel` that decide all this, by name."""

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
    """The geometry of the rows X.

    Parameters
    ----------
    settings : dict with leaf_size, clustering, approximate_neighbors, ann_iterations, mode,
        dtype, centred (whether points may be moved, for the kernel sees distances only),
        random_state and max_memory.
    seeds : two seeds, for the tree and for the neighbours.
    timed : function of a stage's name that gives a context.

    Returns
    -------
    Geometry
    """
    thorough = settings["mode"] == "paper"
    _require_room(X, settings)
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
        to_compare, k = unit_rows(rows, spread=True)[0], settings["approximate_neighbors"]
        options = {
            "generator": np.random.default_rng(seeds[1]),
            "max_memory": settings["max_memory"],
        }
        if thorough:
            iterations = settings["ann_iterations"]
            columns = NeighbourColumns(tree, to_compare, k, iterations=iterations, **options)
        else:
            # Equal points have equal columns; drawn as often as they occur, they crowd out the
            # rare ones.
            distinct = distinct_rows(rows, tree.leaf_of)
            points = np.arange(len(tree.order)) if distinct is None else distinct.first
            candidates = max(LEAST_CANDIDATES, CANDIDATES_PER_NEIGHBOUR * k)
            found = from_near_leaves(
                to_compare, tree, k, points=points, candidates=candidates, **options
            )
            columns = SampledColumns(tree, points, found)
    return Geometry(X, settings, tree, rows, columns)


def _require_room(X, settings):
    """Refuse rows whose copies do not fit: in order, and in single precision to be compared."""
    (n, p), item = X.shape, settings["dtype"].itemsize
    if sp.issparse(X) and not _is_filled(X, settings):
        rows, compared, row = X.nnz * (item + 4), 16 * X.nnz, X.nnz // n
    else:
        rows, compared, row = n * p * item, 4 * n * p, p
    k = min(settings["approximate_neighbors"], n - 1)
    candidates = min(n, max(LEAST_CANDIDATES, CANDIDATES_PER_NEIGHBOUR * k))
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


class SampledColumns:
    """As many near columns as rows, and far ones the more, the tighter `rel_tol`.

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
        return outside(self.tree, t, self._found.ids[a:b])

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
        bounds = np.searchsorted(
            self._standing, np.stack([self.tree.start[others], self.tree.stop[others]])
        )
        chosen = []
        for done, k in enumerate(np.argsort(bounds[1] - bounds[0])):
            pool = self._standing[bounds[0, k] : bounds[1, k]]
            chosen.append(_sample(pool, -(-wanted // (len(others) - done)), generator))
            wanted -= len(chosen[-1])
        return np.concatenate(chosen)


class NeighbourColumns:
    """All neighbours of a node's points outside it, `k` for each point at first."""

    def __init__(self, tree, rows, k, *, iterations, generator, max_memory=None):
        self.tree, self._rows, self._iterations = tree, rows, iterations
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
                self._lists[leaf] = outside(tree, leaf, np.arange(self._all_others + 1))
            return 1.0
        found = from_projection_trees(
            self._rows,
            int(self._k[t]),
            of=np.arange(start, tree.stop[t]),
            iterations=self._iterations,
            generator=self._generator,
            max_memory=self._max_memory,
        )
        for leaf in leaves:
            mine = slice(tree.start[leaf] - start, tree.stop[leaf] - start)
            self._lists[leaf] = outside(tree, leaf, found.ids[mine])
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
    if len(pool) <= size:
        return pool
    return pool[generator.choice(len(pool), size, replace=False)]


def outside(tree, t, ids):
    """The positions among `ids` that are not node t's, sorted and once each."""
    ids = np.unique(ids)
    return ids[((ids >= 0) & (ids < tree.start[t])) | (ids >= tree.stop[t])]
