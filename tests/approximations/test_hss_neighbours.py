"""Neighbour lists against all pairs, and equal points against np.unique."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from kernlab.approximations.hss import neighbours
from kernlab.approximations.hss.neighbours import from_near_leaves, from_projection_trees
from kernlab.approximations.hss.tree import build_tree
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(600, 4)).astype(np.float32)
TREE = build_tree(ROWS, leaf_size=64, seed=0)
ROWS = ROWS[TREE.order]
EVERYONE = np.arange(600)
LEAF_OF = np.repeat(np.arange(len(TREE.leaves)), TREE.sizes[TREE.leaves])


def nearest(distances, k):
    return [set(row) for row in np.argsort(distances, axis=1)[:, :k]]


def near_leaves(rows=ROWS, k=7, points=EVERYONE, candidates=10_000, **more):
    return from_near_leaves(
        rows, TREE, k, points=points, candidates=candidates,
        generator=np.random.default_rng(0), **more,
    )  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
def test_near_leaves_find_the_nearest_outside_the_own_leaf(sparse):
    found = near_leaves(sp.csr_matrix(ROWS) if sparse else ROWS)
    distances = euclidean_distances(ROWS)
    distances[LEAF_OF[:, None] == LEAF_OF[None, :]] = np.inf
    assert [set(row) for row in found.ids] == nearest(distances, 7)
    assert found.recall == 1.0


def test_few_candidates_lower_the_recall_and_it_says_so():
    found = near_leaves(candidates=100)
    distances = euclidean_distances(ROWS)
    distances[LEAF_OF[:, None] == LEAF_OF[None, :]] = np.inf
    true = nearest(distances, 7)
    share = np.mean([len(set(row) & own) / 7 for row, own in zip(found.ids, true, strict=True)])
    assert 0.3 < share < 0.95
    assert abs(found.recall - share) < 0.1


def test_only_the_points_named_are_searched_and_found():
    points = np.flatnonzero(RNG.random(600) < 0.5)
    found = near_leaves(points=points)
    assert found.ids.shape == (len(points), 7)
    assert set(found.ids.ravel()) <= set(points)
    assert found.recall == 1.0


def test_fewer_points_than_neighbours_leave_gaps():
    found = near_leaves(points=np.array([0, 1, 599]))
    assert sorted(found.ids[0]) == [-1] * 6 + [599]


def test_projection_trees_find_the_nearest(monkeypatch):
    monkeypatch.setattr(neighbours, "PROJECTION_LEAF", 150)
    asked = np.arange(100, 300)
    found = from_projection_trees(
        ROWS, 5, asked=asked, iterations=60, generator=np.random.default_rng(0)
    )
    distances = euclidean_distances(ROWS)
    np.fill_diagonal(distances, np.inf)
    true = nearest(distances[asked], 5)
    share = np.mean([len(set(row) & own) / 5 for row, own in zip(found.ids, true, strict=True)])
    assert share > 0.97
    assert found.recall >= neighbours.GOOD_RECALL
    assert all(len(set(row)) == 5 and i not in row for i, row in zip(asked, found.ids, strict=True))


def test_one_projection_tree_of_one_part_is_exact():
    found = from_projection_trees(ROWS, 3, asked=EVERYONE, iterations=5, generator=RNG)
    distances = euclidean_distances(ROWS)
    np.fill_diagonal(distances, np.inf)
    assert [set(row) for row in found.ids] == nearest(distances, 3)


def test_lists_that_are_too_long_are_refused_with_the_arithmetic():
    with pytest.raises(MemoryLimitError, match="600 x 7 x 8 bytes"):
        near_leaves(max_memory="10kB")
