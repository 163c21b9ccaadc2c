"""Scores of new points through the structure of K~: few kernel values for each point.

A new point belongs to the leaf with the nearest centre. What the leaf's own points contribute is
computed exactly. All else lies in the siblings of the leaf's ancestors, and the rows of K that
belong to such a node t follow from those of its skeleton, for columns outside the node:

    K(x, I_t) c_t  ~  K(x, s_t) (U_t^T c_t)

so that the coefficients, gathered once up the tree, meet the skeletons of a few nodes instead of
all points.
"""

import numpy as np

from kernlab.rows.products import prepare_right, squared_distances
from kernlab.runtime import for_each_block, row_blocks

ROWS_AT_ONCE = 4096


def structured_scores(matrix, kernel, points, new, coefficients):
    """Scores of the rows `new`; `points` and `coefficients` stand in the order of the data."""
    tree = matrix.tree
    ordered = coefficients[tree.order]
    gathered = _gathered(matrix, ordered)
    leaf_of = _nearest_leaf(tree, points, new)
    scores = np.empty((new.shape[0], coefficients.shape[1]))

    def decide(leaf):
        t, rows = leaf
        positions, weights = _stand_ins(matrix, t, ordered, gathered)
        used = weights.any(axis=1)
        stand_ins, weights = points[tree.order[positions[used]]], weights[used]
        for some in row_blocks(len(rows), ROWS_AT_ONCE):
            scores[rows[some]] = kernel(new[rows[some]], stand_ins) @ weights

    for_each_block(decide, [(t, np.flatnonzero(leaf_of == t)) for t in np.unique(leaf_of)])
    return scores


def _gathered(matrix, ordered):
    """U_t^T c_t for every node but the root."""
    gathered = [None] * matrix.tree.n_nodes
    for t in range(matrix.tree.n_nodes - 1, 0, -1):
        gathered[t] = matrix.bases[t].gather(matrix.rows_of(t, ordered, gathered))
    return gathered


def _stand_ins(matrix, t, ordered, gathered):
    """Positions of the points that decide new points of leaf t, and their weights."""
    tree = matrix.tree
    others = tree.siblings_of_ancestors(t)
    positions = [np.arange(tree.start[t], tree.stop[t]), *(matrix.bases[k].points for k in others)]
    weights = [ordered[tree.start[t] : tree.stop[t]], *(gathered[k] for k in others)]
    return np.concatenate(positions), np.concatenate(weights)


def _nearest_leaf(tree, points, new):
    """The leaf whose centre is nearest, for each new point."""
    leaves = tree.leaves
    members = [tree.order[tree.start[t] : tree.stop[t]] for t in leaves]
    centres = np.stack([np.asarray(points[rows].mean(axis=0)).ravel() for rows in members])
    right = prepare_right(new, centres, distances=True)
    nearest = np.empty(new.shape[0], dtype=int)

    def find(rows):
        apart = np.empty((rows.stop - rows.start, len(leaves)), dtype=centres.dtype)
        squared_distances(new[rows], right, apart)
        nearest[rows] = leaves[np.argmin(apart, axis=1)]

    for_each_block(find, row_blocks(new.shape[0], ROWS_AT_ONCE))
    return nearest
