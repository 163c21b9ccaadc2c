"""Where the points stand: the cluster tree, and which points are near each other.

The cluster tree orders points so that near ones stand together, in nested ranges. Neighbours tell
which columns of the kernel matrix are largest in a cluster's rows.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.parameters import one_of
from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import for_each_block, njit, require_memory, row_blocks

SMALLEST_SHARE = 0.2  # of a node's points that each child gets in the fast mode
LLOYD_STEPS = 30  # of 2-means in the fast mode; the paper's mode goes on until labels stand still
LLOYD_ROWS = 8192  # rows that 2-means looks at in the fast mode
RECALL_POINTS = 100
GOOD_RECALL = 0.99
PROJECTION_TREES = 5  # of the reference, at the most
PROJECTION_LEAF = 6000  # points among which the reference compares all pairs
ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class ClusterTree:
    """A binary tree over `order`, the rows of the data as they stand side by side.

    Node t holds the positions start[t] to stop[t] of `order`; node 0 is the root and holds all.
    `children[t]` are its two children, or -1 and -1 at a leaf. Nodes are numbered level by level,
    so children come after their parents, and the nodes of a level are a range.
    """

    order: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    children: np.ndarray
    parent: np.ndarray
    depth: np.ndarray

    @property
    def n_nodes(self):
        return len(self.start)

    @property
    def sizes(self):
        return self.stop - self.start

    @property
    def leaves(self):
        """The leaves from left to right."""
        leaves = np.flatnonzero(self.children[:, 0] < 0)
        return leaves[np.argsort(self.start[leaves])]

    @property
    def leaf_of(self):
        """The place among `leaves` of each position's leaf."""
        return np.repeat(np.arange(len(self.leaves)), self.sizes[self.leaves])

    @property
    def levels(self):
        """The nodes of each level, the root's first."""
        return [np.flatnonzero(self.depth == level) for level in range(self.depth[-1] + 1)]

    def is_leaf(self, node):
        return self.children[node, 0] < 0

    def positions(self, node):
        """The positions of a node's points, a slice."""
        return slice(self.start[node], self.stop[node])

    def siblings_of_ancestors(self, node):
        """The nodes whose ranges together are everything outside the node's, nearest first."""
        found = []
        while node > 0:
            above = self.parent[node]
            left, right = self.children[above]
            found.append(right if left == node else left)
            node = above
        return np.array(found, dtype=int)

    def subtree(self, node):
        """A node and all below it, parents before children."""
        found = [node]
        for t in found:
            if not self.is_leaf(t):
                found.extend(self.children[t])
        return np.array(found)

    def forest(self, n_parts):
        """About `n_parts` disjoint subtrees of similar size, and the nodes above them all."""
        roots, above = [0], []
        while len(roots) < n_parts:
            largest = max(roots, key=lambda t: 0 if self.is_leaf(t) else self.sizes[t])
            if self.is_leaf(largest):
                break
            roots.remove(largest)
            roots.extend(self.children[largest])
            above.append(largest)
        return [self.subtree(t) for t in roots], np.array(sorted(above), dtype=int)

    def outside(self, node, ids):
        """The positions among `ids` that are not the node's, sorted and once each."""
        ids = np.unique(ids)
        return ids[((ids >= 0) & (ids < self.start[node])) | (ids >= self.stop[node])]


def build_tree(rows, *, leaf_size, rule="2means", thorough=False, seed=None):
    """Cut rows in two until every part is smaller than `leaf_size`.

    Parameters
    ----------
    rows : array or CSR matrix, in single precision (see `unit_rows`).
    rule : "2means", "kdtree", "pca", "cobble" or "natural".
    thorough : bool, default False
        The reference's way: 2-means to convergence and parts as lopsided as they come. Otherwise
        the smaller part of a cut has at least a fifth of the points, which bounds the depth.
    seed : whatever `numpy.random.SeedSequence` takes, or one.

    Returns
    -------
    ClusterTree
    """
    one_of(*SPLITS)(rule, "clustering")
    if not leaf_size >= 2:
        raise ValueError(f"leaf_size must be at least 2, not {leaf_size!r}")
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    order, share = np.arange(rows.shape[0]), 0.0 if thorough else SMALLEST_SHARE
    level, nodes, depth = [(0, rows.shape[0], -1)], [], 0
    while level:
        first = len(nodes)
        nodes += [(*node, depth) for node in level]
        numbered = zip(itertools.count(first), level, seeds.spawn(len(level)), strict=False)
        large = [(t, a, b, own) for t, (a, b, _), own in numbered if b - a >= leaf_size]

        def halve(node):
            _, start, stop, seed = node
            part = order[start:stop]
            left, right = cut(rows[part], rule, np.random.default_rng(seed), share, thorough)
            order[start:stop] = np.concatenate([part[left], part[right]])
            return start + len(left)

        level = []
        for (t, start, stop, _), middle in zip(large, for_each_block(halve, large), strict=True):
            level += [(start, middle, t), (middle, stop, t)]
        depth += 1
    start, stop, parent, depths = map(np.array, zip(*nodes, strict=True))
    children = np.full((len(nodes), 2), -1)
    below = np.arange(1, len(nodes))
    children[parent[below[0::2]]] = below.reshape(-1, 2)
    return ClusterTree(order, start, stop, children, parent, depths)


# -------------------------------------------------------------------------------- cuts
def cut(rows, rule, generator, smallest_share=0.0, thorough=False):
    """The rows of the two parts, as two arrays of indices, each in its old order.

    A rule gives every row a score and a threshold up to which rows go left; without one the lower
    half does. The smaller part gets the share `smallest_share` at least: a cut that is more
    lopsided moves along its score. With `thorough`, 2-means sees all rows, until it has converged.
    """
    scores, threshold = SPLITS[rule](rows, generator, thorough)
    n = len(scores)
    on_left = n // 2 if threshold is None else int(np.count_nonzero(scores <= threshold))
    if on_left in (0, n):
        on_left = n // 2  # rows that are all alike are dealt out by their order
    fewest = max(1, int(smallest_share * n))
    on_left = min(max(on_left, fewest), n - fewest)
    left = np.zeros(n, dtype=bool)
    left[np.argsort(scores, kind="stable")[:on_left]] = True
    return np.flatnonzero(left), np.flatnonzero(~left)


def two_means(rows, generator, thorough):
    """Clusters around two centres: k-means++ seeding, then Lloyd's steps until labels stand still.
    The nearer centre is on a side of a hyperplane, so a step is two products with one vector."""
    sample = rows
    if not thorough and rows.shape[0] > LLOYD_ROWS:
        sample = rows[np.sort(generator.choice(rows.shape[0], LLOYD_ROWS, replace=False))]
    normal, threshold = _seeds(sample, generator)
    total, before = _sum(sample), None
    for _ in range(10_000 if thorough else LLOYD_STEPS):
        left = sample @ normal <= threshold
        size = np.count_nonzero(left)
        if size in (0, len(left)) or (before is not None and np.array_equal(left, before)):
            break
        before = left
        of_left = sample.T @ left.astype(sample.dtype)
        normal, threshold = _bisector(of_left / size, (total - of_left) / (len(left) - size))
    return rows @ normal, threshold


def _seeds(rows, generator):
    """Two rows: one at random, the other with a chance that grows with its squared distance."""
    first = _row(rows, generator.integers(rows.shape[0]))
    distances = row_norms(rows, squared=True).astype(np.float64) - 2.0 * (rows @ first)
    distances = np.maximum(distances + first @ first, 0.0)
    if distances.sum() == 0.0:
        return _bisector(first, first)
    second = generator.choice(len(distances), p=distances / distances.sum())
    return _bisector(first, _row(rows, second))


def _bisector(a, b):
    """(normal, threshold): points x with normal . x <= threshold are nearer to a."""
    return b - a, 0.5 * ((b - a) @ (a + b))


def widest_coordinate(rows, generator, thorough):
    """The median of the coordinate with the largest range (a k-d tree)."""
    span = _dense(rows.max(axis=0)) - _dense(rows.min(axis=0))
    return _dense(rows[:, [int(np.argmax(span))]]).ravel(), None


def leading_direction(rows, generator, thorough):
    """The median along the direction of largest variance."""
    mean = _sum(rows) / rows.shape[0]
    direction = generator.normal(size=rows.shape[1]).astype(rows.dtype)
    direction /= np.linalg.norm(direction)
    for _ in range(200):
        scores = rows @ direction - mean @ direction
        image = rows.T @ scores - mean * scores.sum()
        length = np.linalg.norm(image)
        if length == 0.0:
            break
        image /= length
        still, direction = abs(image @ direction) > 1.0 - 1e-8, image
        if still:
            break
    return rows @ direction, None


def distance_to_farthest(rows, generator, thorough):
    """The median of the distance to the row that is farthest from the mean ("cobble")."""
    norms = row_norms(rows, squared=True)
    from_mean = norms - 2.0 * (rows @ (_sum(rows) / rows.shape[0]))
    return norms - 2.0 * (rows @ _row(rows, int(np.argmax(from_mean)))), None


def order_of_the_data(rows, generator, thorough):
    """The first half and the second half, in the order of the data."""
    return np.arange(rows.shape[0]), None


SPLITS = {
    "2means": two_means,
    "kdtree": widest_coordinate,
    "pca": leading_direction,
    "cobble": distance_to_farthest,
    "natural": order_of_the_data,
}


def _sum(rows):
    return _dense(rows.sum(axis=0)).ravel().astype(rows.dtype, copy=False)


def _row(rows, i):
    return _dense(rows[[i]]).ravel()


def _dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


# -------------------------------------------------------------------------------- neighbours
class Neighbours(NamedTuple):
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
        k, size = self.ids.shape[1], min(len(self.of), RECALL_POINTS)
        some = np.sort(generator.choice(len(self.of), size, replace=False))
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

    `rows` : all points in the tree's order, in single precision. `points` : sorted positions, whose
    neighbours are searched for, among themselves. `candidates` : a leaf is compared with as many
    others, nearest centres first, as together hold so many points.
    """
    lists = _Lists(rows, points, k, max_memory)
    leaves = tree.leaves
    bounds = np.searchsorted(points, np.append(tree.start[leaves], rows.shape[0]))
    members = [points[a:b] for a, b in itertools.pairwise(bounds)]
    centres = np.stack(
        [np.asarray(rows[tree.positions(t)].mean(axis=0), dtype=np.float32).ravel() for t in leaves]
    )
    apart, sizes = _squares(centres, centres), np.diff(bounds)
    np.fill_diagonal(apart, np.inf)

    def search(j):
        nearest = np.argsort(apart[j])[:-1]
        enough = np.searchsorted(np.cumsum(sizes[nearest]), candidates) + 1
        others = np.concatenate([members[i] for i in nearest[:enough]])
        if len(members[j]) and len(others):
            lists.compare(np.arange(bounds[j], bounds[j + 1]), others)

    if len(leaves) > 1 and k > 0:
        for_each_block(search, range(len(leaves)))
    return Neighbours(lists.ids, lists.recall(generator, points, tree.leaf_of))


def from_projection_trees(rows, k, *, of, generator, iterations=PROJECTION_TREES, max_memory=None):
    """The `k` nearest of each of the points `of`, by random projection trees, as the reference.

    Each halves the points along random directions until fewer than 6,000 are left, whose pairs are
    all compared. Trees are merged until the lists of 100 points hold 99 % of the true nearest.
    """
    lists = _Lists(rows, of, k, max_memory)
    everyone, recall = np.arange(rows.shape[0]), 1.0
    place = np.full(rows.shape[0], -1)
    place[of] = np.arange(len(of))
    for iteration in range(iterations if k > 0 else 0):
        pieces = []
        for part in _projection_leaves(rows, generator):
            mine = place[part][place[part] >= 0]
            pieces += [(mine[some], part) for some in row_blocks(len(mine), ROWS_AT_ONCE)]
        for_each_block(lambda piece, again=iteration > 0: lists.compare(*piece, again), pieces)
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
