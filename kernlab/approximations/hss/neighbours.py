"""Approximate nearest neighbours: which points a cluster's kernel values are largest with.

Two searches fill the same lists. `from_near_leaves` compares every leaf of the cluster tree with
the leaves whose centres are nearest: it needs no structure of its own, and leaves out a point's
own leaf, whose block is kept exactly anyway. `from_projection_trees` is the reference's search.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import for_each_block, njit, require_memory, row_blocks

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
