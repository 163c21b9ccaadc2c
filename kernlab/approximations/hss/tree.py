"""The cluster tree: points ordered so that near ones stand together, in nested ranges.

A node's points are cut in two by a rule, which gives every row a score and a threshold up to which
rows go left; without one the lower half does. Both parts have points, whatever the rows are.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from kernlab.parameters import one_of
from kernlab.runtime import for_each_block

SMALLEST_SHARE = 0.2  # of a node's points that each child gets in the fast mode
LLOYD_STEPS = 30  # of 2-means in the fast mode; the paper's mode goes on until labels stand still
LLOYD_ROWS = 8192  # rows that 2-means looks at in the fast mode


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
    order = np.arange(rows.shape[0])
    level, nodes, depth = [(0, rows.shape[0], -1)], [], 0
    while level:
        first = len(nodes)
        nodes += [(start, stop, parent, depth) for start, stop, parent in level]
        large = [
            (first + k, start, stop, seed)
            for (k, (start, stop, _)), seed in zip(
                enumerate(level), seeds.spawn(len(level)), strict=True
            )
            if stop - start >= leaf_size
        ]

        def halve(node):
            _, start, stop, seed = node
            part = order[start:stop]
            share = 0.0 if thorough else SMALLEST_SHARE
            left, right = cut(rows[part], rule, np.random.default_rng(seed), share, thorough)
            order[start:stop] = np.concatenate([part[left], part[right]])
            return start + len(left)

        middles = for_each_block(halve, large)
        level = [
            piece
            for (node, start, stop, _), middle in zip(large, middles, strict=True)
            for piece in ((start, middle, node), (middle, stop, node))
        ]
        depth += 1
    start, stop, parent, depths = map(np.array, zip(*nodes, strict=True))
    children = np.full((len(nodes), 2), -1)
    below = np.arange(1, len(nodes))
    children[parent[below[0::2]]] = np.stack([below[0::2], below[1::2]], axis=1)
    return ClusterTree(order, start, stop, children, parent, depths)


# -------------------------------------------------------------------------------- the rules
def cut(rows, rule, generator, smallest_share=0.0, thorough=False):
    """The rows of the two parts, as two arrays of indices, each in its old order.

    `smallest_share` is what the smaller part gets at least: a cut that is more lopsided moves
    along its score. With `thorough`, 2-means sees all rows and runs until it has converged.
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

    With two centres the nearer one is on a side of a hyperplane, so a step is two products of the
    rows with one vector.
    """
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
        a, b = of_left / size, (total - of_left) / (len(left) - size)
        normal, threshold = _bisector(a, b)
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
        still = abs(image @ direction) > 1.0 - 1e-8
        direction = image
        if still:
            break
    return rows @ direction, None


def distance_to_farthest(rows, generator, thorough):
    """The median of the distance to the row that is farthest from the mean ("cobble")."""
    norms = row_norms(rows, squared=True)
    from_mean = norms - 2.0 * (rows @ (_sum(rows) / rows.shape[0]))
    farthest = _row(rows, int(np.argmax(from_mean)))
    return norms - 2.0 * (rows @ farthest), None


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
