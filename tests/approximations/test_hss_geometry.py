"""Cluster tree and neighbour lists: every point in its place, whatever the points and the rule."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import euclidean_distances

from kernlab.approximations.hss import build_tree, geometry
from kernlab.approximations.hss.geometry import (
    SPLITS,
    cut,
    from_near_leaves,
    from_projection_trees,
)
from kernlab.rows.products import unit_rows
from kernlab.runtime import MemoryLimitError

RNG = np.random.default_rng(0)


def tree_of(X, **parameters):
    return build_tree(unit_rows(X)[0], **{"leaf_size": 32, "seed": 0} | parameters)


@pytest.mark.parametrize("rule", SPLITS)
@settings(max_examples=15)
@given(
    n=st.integers(1, 300),
    features=st.integers(1, 5),
    distinct=st.integers(1, 300),
    thorough=st.booleans(),
    sparse=st.booleans(),
    seed=st.integers(0, 100),
)
def test_nodes_partition_the_points(rule, n, features, distinct, thorough, sparse, seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(distinct, features))[generator.integers(distinct, size=n)]
    X = sp.csr_matrix(np.where(X > 0, X, 0.0)) if sparse else X
    tree = tree_of(X, rule=rule, thorough=thorough)
    assert np.array_equal(np.sort(tree.order), np.arange(n))
    assert (tree.start[0], tree.stop[0], tree.parent[0]) == (0, n, -1)
    for t in range(tree.n_nodes):
        a, b = tree.children[t]
        if tree.is_leaf(t):
            assert tree.sizes[t] < 32
            continue
        assert min(a, b) > t
        assert (tree.start[t], tree.stop[a], tree.stop[t]) == (
            tree.start[a], tree.start[b], tree.stop[b],
        )  # fmt: skip
        assert min(tree.sizes[[a, b]]) > 0
        assert list(tree.parent[[a, b]]) == [t, t]
        assert list(tree.depth[[a, b]]) == [tree.depth[t] + 1] * 2
        covered = np.zeros(n, dtype=int)
        for s in [a, *tree.siblings_of_ancestors(a)]:
            covered[tree.positions(s)] += 1
        assert (covered == 1).all()
    for n_parts in (1, 2, 5, 1000):
        subtrees, above = tree.forest(n_parts)
        assert sorted(np.concatenate([*subtrees, above])) == list(range(tree.n_nodes))
        for nodes in [*subtrees, above]:
            place = {t: i for i, t in enumerate(nodes)}
            assert all(place.get(tree.parent[t], -1) < place[t] for t in nodes)


@pytest.mark.parametrize("rule", SPLITS)
def test_the_depth_is_bounded_however_lopsided_the_points(rule):
    X = np.exp(np.linspace(0, 30, 4000))[:, None]  # 2-means takes off a few points at a time
    tree = tree_of(X, rule=rule)
    assert tree.depth[-1] <= np.ceil(np.log(4000 / 32) / -np.log(0.8)) + 1


def test_every_rule_cuts_where_it_says():
    centres, labels = 100.0 * RNG.normal(size=(4, 6)), RNG.integers(4, size=800)
    tree = tree_of(centres[labels] + RNG.normal(size=(800, 6)), leaf_size=300, thorough=True)
    leaves = [set(labels[tree.order[tree.positions(t)]]) for t in tree.leaves]
    assert sorted(map(len, leaves)) == [1, 1, 1, 1]

    X = RNG.normal(size=(400, 3)) * [1.0, 9.0, 2.0]
    left, right = cut(unit_rows(X)[0], "2means", RNG)
    assert abs(X[left, 1].mean() - X[right, 1].mean()) > 10.0
    left, right = cut(X.astype(np.float32), "kdtree", RNG)
    assert X[left, 1].max() <= X[right, 1].min()
    rotated = X @ np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    left, right = cut(rotated.astype(np.float32), "pca", RNG)
    assert abs(X[left, 1].mean() - X[right, 1].mean()) > 10.0  # the widest direction
    X[0] = [0.0, 200.0, 0.0]
    left, right = cut(X.astype(np.float32), "cobble", RNG)
    distances = np.linalg.norm(X - X[0], axis=1)
    assert distances[left].max() <= distances[right].min()
    assert np.array_equal(tree_of(X, rule="natural").order, np.arange(400))


# ------------------------------------------------------------------------------ neighbours
ROWS = RNG.normal(size=(600, 4)).astype(np.float32)
TREE = build_tree(ROWS, leaf_size=64, seed=0)
ROWS = ROWS[TREE.order]
EVERYONE = np.arange(600)
APART = euclidean_distances(ROWS)
np.fill_diagonal(APART, np.inf)
OUTSIDE = np.where(TREE.leaf_of[:, None] == TREE.leaf_of[None, :], np.inf, APART)


def share_found(ids, distances):
    """The share of the true nearest in the lists, which may hold no point twice."""
    k = ids.shape[1]
    true = [set(row) for row in np.argsort(distances, axis=1)[:, :k]]
    assert all(len(set(row)) == k for row in ids)
    return np.mean([len(set(row) & own) / k for row, own in zip(ids, true, strict=True)])


def near_leaves(rows=ROWS, points=EVERYONE, candidates=10_000, **more):
    generator = np.random.default_rng(0)
    return from_near_leaves(
        rows, TREE, 7, points=points, candidates=candidates, generator=generator, **more
    )


def test_near_leaves_find_the_nearest_outside_the_own_leaf():
    for rows in (ROWS, sp.csr_matrix(ROWS)):
        found = near_leaves(rows)
        assert share_found(found.ids, OUTSIDE) == found.recall == 1.0
    few = near_leaves(candidates=100)
    share = share_found(few.ids, OUTSIDE)
    assert 0.3 < share < 0.95
    assert abs(few.recall - share) < 0.1
    points = np.flatnonzero(RNG.random(600) < 0.5)
    among = near_leaves(points=points)
    assert share_found(np.searchsorted(points, among.ids), OUTSIDE[np.ix_(points, points)]) == 1.0
    assert sorted(near_leaves(points=np.array([0, 1, 599])).ids[0]) == [-1] * 6 + [599]
    with pytest.raises(MemoryLimitError, match="600 x 7 x 8 bytes"):
        near_leaves(max_memory="10kB")


def test_projection_trees_find_the_nearest(monkeypatch):
    of = np.arange(100, 300)
    one = from_projection_trees(ROWS, 3, of=of, iterations=1, generator=RNG)  # all pairs
    assert share_found(one.ids, APART[of]) == 1.0
    monkeypatch.setattr(geometry, "PROJECTION_LEAF", 150)
    many = from_projection_trees(ROWS, 5, of=of, iterations=60, generator=np.random.default_rng(0))
    assert share_found(many.ids, APART[of]) > 0.97
    assert many.recall >= geometry.GOOD_RECALL
