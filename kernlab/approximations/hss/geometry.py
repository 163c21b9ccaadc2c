"""What an HSS approximation needs to know of the points, whatever the kernel's width: the cluster
tree, the points in its order, and their neighbours. Approximations of the same rows may share it.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.hss.columns import NeighbourColumns, SampledColumns
from kernlab.approximations.hss.neighbours import from_near_leaves
from kernlab.approximations.hss.tree import build_tree, comparable_rows
from kernlab.rows import distinct_rows
from kernlab.runtime import memory_limit

CANDIDATES_PER_NEIGHBOUR = 4
LEAST_CANDIDATES = 2048


@dataclass(frozen=True)
class GeometrySettings:
    """What decides a geometry: parameters of `HSSKernel` that do not depend on the kernel."""

    leaf_size: int
    clustering: str
    approximate_neighbors: int
    ann_iterations: int
    is_papers: bool
    dtype: np.dtype
    centred: bool  # whether points may be moved: the kernel sees distances only
    entropy: int | None
    max_memory: int | str | None


@dataclass(frozen=True, eq=False)
class Geometry:
    """`rows` are the points X in the order of the `tree`, in the precision asked for."""

    X: object
    settings: GeometrySettings
    tree: object
    rows: object
    columns: object  # how compression samples columns, with the neighbours that it wants

    def serves(self, settings, X):
        """Whether another approximation, of the rows X, would find the same."""
        return self.settings == settings and _equal(self.X, X)


def find_geometry(X, settings, seeds, clock):
    """The geometry of the rows X; `seeds` are two seeds, for the tree and for the neighbours."""
    tree = build_tree(
        comparable_rows(X),
        leaf_size=settings.leaf_size,
        rule=settings.clustering,
        thorough=settings.is_papers,
        seed=seeds[0],
    )
    clock.lap("tree")
    rows = _in_order(X, tree.order, settings)
    columns = _columns(tree, rows, settings, np.random.default_rng(seeds[1]))
    clock.lap("neighbours")
    return Geometry(X, settings, tree, rows, columns)


def _in_order(X, order, settings):
    """The rows in the tree's order: dense where that is affordable, in the precision asked."""
    dtype = settings.dtype
    if sp.issparse(X):
        needed = X.shape[0] * X.shape[1] * dtype.itemsize
        rows = X[order].astype(dtype)
        return rows.toarray() if needed <= memory_limit(settings.max_memory) // 8 else rows
    if dtype != X.dtype and settings.centred:
        X = X - X.mean(axis=0)  # far from the origin single precision would blur distances
    return X[order].astype(dtype, copy=False)


def _columns(tree, rows, settings, generator):
    rows_to_compare, k = comparable_rows(rows), settings.approximate_neighbors
    if settings.is_papers:
        return NeighbourColumns(
            tree,
            rows_to_compare,
            k,
            iterations=settings.ann_iterations,
            generator=generator,
            max_memory=settings.max_memory,
        )
    leaf_of = np.repeat(np.arange(len(tree.leaves)), tree.sizes[tree.leaves])
    # Equal points have equal columns; drawn as often as they occur, they crowd out the rare ones.
    distinct = distinct_rows(rows, leaf_of)
    points = np.arange(len(leaf_of)) if distinct is None else distinct.first
    found = from_near_leaves(
        rows_to_compare,
        tree,
        k,
        points=points,
        candidates=max(LEAST_CANDIDATES, CANDIDATES_PER_NEIGHBOUR * k),
        generator=generator,
        max_memory=settings.max_memory,
    )
    return SampledColumns(tree, points, found)


def _equal(X, Z):
    if X is Z:
        return True
    if X.shape != Z.shape or X.dtype != Z.dtype or sp.issparse(X) != sp.issparse(Z):
        return False
    return (X != Z).nnz == 0 if sp.issparse(X) else np.array_equal(X, Z)
