"""The cluster tree: points ordered so that near ones stand together, in nested ranges."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.hss.splits import SPLITS, cut
from kernlab.runtime import for_each_block

SMALLEST_SHARE = 0.2  # of a node's points that each child gets in the fast mode


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
    def levels(self):
        """The nodes of each level, the root's first."""
        return [np.flatnonzero(self.depth == level) for level in range(self.depth[-1] + 1)]

    def is_leaf(self, node):
        return self.children[node, 0] < 0

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
    """Cut the rows (see `comparable_rows`) in two until every part is smaller than `leaf_size`.

    `thorough` is the reference's way: 2-means to convergence and parts as lopsided as they come.
    Otherwise the smaller part of a cut has at least a fifth of the points, which bounds the
    depth of the tree whatever the data. `seed`: whatever `numpy.random.SeedSequence` takes.
    """
    if rule not in SPLITS:
        raise ValueError(f"clustering={rule!r} is not one of {', '.join(SPLITS)}")
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


def comparable_rows(X):
    """The rows in single precision, for clusters and neighbours; dense ones about zero and of
    size one, so that nothing overflows and nothing far from the origin is blurred."""
    largest = float(np.abs(X.data if sp.issparse(X) else X).max(initial=0.0)) or 1.0
    if sp.issparse(X):
        scaled = sp.csr_matrix((X.data / largest, X.indices, X.indptr), shape=X.shape)
        return scaled.astype(np.float32)
    scaled = X / largest
    scaled -= scaled.mean(axis=0)
    spread = float(np.abs(scaled).max(initial=0.0)) or 1.0
    return (scaled / spread).astype(np.float32)
