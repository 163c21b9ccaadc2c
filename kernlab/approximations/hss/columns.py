"""Which columns of the kernel matrix a node's rows are judged by.

A node's basis must serve all columns outside the node, n of them; it is found from a few.

`SampledColumns`, the fast mode: the columns of near points matter most and are taken from the
neighbour lists. They say nothing about the far field, so points from everywhere else are added:
from every sibling of an ancestor the same number, drawn from the points that still stand for it,
which are the skeletons of what is compressed already. A skeleton spans what its cluster can
contribute, outliers included, and so does a sample of it better than a sample of the cluster.

`NeighbourColumns`, the reference's way: all neighbours of a node's points and nothing else; where
these turn out to be too few, twice as many are searched for and the subtree is done again.
"""

from copy import copy, deepcopy

import numpy as np

from kernlab.approximations.hss.neighbours import from_projection_trees

NEAR_SHARE = 1.0  # near columns per row
LEAST_FAR = 64
SPARE_COLUMNS = 32
KEPT_SHARE = 16  # neighbours passed on to the parent, per row
SPARE_RANK = 10  # columns beyond the rank that the reference wants to see


class SampledColumns:
    """As many near columns as rows, and far ones the more, the tighter `rel_tol`.

    `points` are the sorted positions that columns are drawn from, and `found` their neighbours.
    """

    def __init__(self, tree, points, found, rel_tol=1.0):
        self.tree, self._points, self._found = tree, points, found
        digits = -np.log10(np.clip(rel_tol, 1e-10, 1.0))
        self._far_share = 1.0 + 0.5 * digits
        self._standing = points  # those that stand for their clusters, sorted

    @property
    def recall(self):
        return self._found.recall

    def afresh(self, rel_tol, max_rank):
        """The same as at the beginning, for a compression with these tolerances."""
        return SampledColumns(self.tree, self._points, self._found, rel_tol)

    def first(self, t, n_rows, neighbours, generator):
        """Columns to begin with for node t, from the `neighbours` of its points outside it."""
        near = int(NEAR_SHARE * n_rows) + SPARE_COLUMNS
        far = max(LEAST_FAR, int(self._far_share * n_rows))
        return self._draw(t, near, far, neighbours, generator)

    def fresh(self, t, size, used, neighbours, generator):
        """About `size` columns, near and far, that are none of those in `used`."""
        drawn = self._draw(t, size // 2, size - size // 2, neighbours, generator)
        return np.setdiff1d(drawn, used)

    def passed_on(self, n_rows, neighbours, generator):
        """The neighbours that a node's parent chooses from."""
        return _sample(neighbours, KEPT_SHARE * n_rows, generator)

    def too_few(self, t, n_columns, rank):
        """Whether a node must be done again; here a basis was tested on columns of its own."""
        return False

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

    def at_leaf(self, t):
        """The neighbours of a leaf's points that lie outside it."""
        a, b = np.searchsorted(self._points, [self.tree.start[t], self.tree.stop[t]])
        return _outside(self.tree, t, self._found.ids[a:b])

    def of_children(self, t, neighbours):
        """Those of the children's neighbours that lie outside their parent."""
        return _outside(self.tree, t, np.concatenate(neighbours))

    def level_done(self, nodes, skeletons):
        """From now on the skeletons of these nodes stand for their points."""
        replaced = np.zeros(len(self._standing), dtype=bool)
        for t in nodes:
            a, b = np.searchsorted(self._standing, [self.tree.start[t], self.tree.stop[t]])
            replaced[a:b] = True
        kept = [self._standing[~replaced], *(skeletons[t] for t in nodes)]
        self._standing = np.sort(np.concatenate(kept))


class NeighbourColumns:
    """All neighbours of a node's points outside it, `k` for each point at first."""

    def __init__(self, tree, rows, k, *, iterations, generator, max_memory=None):
        self.tree, self._rows, self._iterations = tree, rows, iterations
        self._generator, self._max_memory, self._max_rank = generator, max_memory, rows.shape[0]
        self._everything = rows.shape[0] - 1
        self._k = np.full(tree.n_nodes, min(k, self._everything))
        self._lists = [None] * tree.n_nodes
        self.recall = self._search(0)

    def afresh(self, rel_tol, max_rank):
        """The same as at the beginning, for a compression with these tolerances."""
        other = copy(self)
        other._max_rank, other._generator = max_rank, deepcopy(self._generator)
        other._k, other._lists = self._k.copy(), list(self._lists)
        return other

    def _search(self, t):
        """Fill the lists of all leaves below t with as many neighbours as are due there."""
        leaves = [leaf for leaf in self.tree.subtree(t) if self.tree.is_leaf(leaf)]
        if self._k[t] == self._everything:
            for leaf in leaves:
                self._lists[leaf] = _outside(self.tree, leaf, np.arange(self._everything + 1))
            return 1.0
        start, stop = self.tree.start[t], self.tree.stop[t]
        found = from_projection_trees(
            self._rows,
            int(self._k[t]),
            asked=np.arange(start, stop),
            iterations=self._iterations,
            generator=self._generator,
            max_memory=self._max_memory,
        )
        for leaf in leaves:
            mine = slice(self.tree.start[leaf] - start, self.tree.stop[leaf] - start)
            self._lists[leaf] = _outside(self.tree, leaf, found.ids[mine])
        return found.recall

    def first(self, t, n_rows, neighbours, generator):
        return neighbours

    def fresh(self, t, size, used, neighbours, generator):
        return used[:0]

    def passed_on(self, n_rows, neighbours, generator):
        return neighbours

    def too_few(self, t, n_columns, rank):
        """The reference's test of a node; after it has failed, more neighbours are at hand."""
        all_there_are = self._everything + 1 - self.tree.sizes[t]
        enough = min(self.tree.sizes[t], self._max_rank, all_there_are)
        if n_columns >= enough or rank + SPARE_RANK < n_columns:
            return False
        below = self.tree.subtree(t)
        self._k[below] = min(max(2 * self._k[below].max(), 1), self._everything)
        self._search(t)
        return True

    def at_leaf(self, t):
        return self._lists[t]

    def of_children(self, t, neighbours):
        return _outside(self.tree, t, np.concatenate(neighbours))

    def level_done(self, nodes, skeletons):
        pass


def _sample(pool, size, generator):
    if len(pool) <= size:
        return pool
    return pool[generator.choice(len(pool), size, replace=False)]


def _outside(tree, t, ids):
    ids = np.unique(ids)
    return ids[((ids >= 0) & (ids < tree.start[t])) | (ids >= tree.stop[t])]
