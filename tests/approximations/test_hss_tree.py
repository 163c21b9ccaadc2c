"""The cluster tree: every point in its place, whatever the points and the rule."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlab.approximations.hss.splits import SPLITS, cut
from kernlab.approximations.hss.tree import build_tree, comparable_rows

RNG = np.random.default_rng(0)


def tree_of(X, **parameters):
    return build_tree(comparable_rows(X), **{"leaf_size": 32, "seed": 0} | parameters)


def check(tree, n, leaf_size):
    assert np.array_equal(np.sort(tree.order), np.arange(n))
    assert (tree.start[0], tree.stop[0], tree.parent[0]) == (0, n, -1)
    for t in range(tree.n_nodes):
        a, b = tree.children[t]
        if tree.is_leaf(t):
            assert tree.sizes[t] < leaf_size
            continue
        assert a > t
        assert b > t
        assert (tree.start[t], tree.stop[a], tree.stop[t]) == (
            tree.start[a], tree.start[b], tree.stop[b],
        )  # fmt: skip
        assert min(tree.sizes[[a, b]]) > 0
        assert list(tree.parent[[a, b]]) == [t, t]
        assert list(tree.depth[[a, b]]) == [tree.depth[t] + 1] * 2


@pytest.mark.parametrize("rule", SPLITS)
@pytest.mark.parametrize("thorough", [False, True])
@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 300),
    features=st.integers(1, 5),
    distinct=st.integers(1, 300),
    seed=st.integers(0, 100),
)
def test_nodes_partition_the_points(rule, thorough, n, features, distinct, seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(distinct, features))[generator.integers(distinct, size=n)]
    check(tree_of(X, rule=rule, thorough=thorough), n, 32)


@pytest.mark.parametrize("rule", SPLITS)
def test_the_depth_is_bounded_however_lopsided_the_points(rule):
    X = np.exp(np.linspace(0, 30, 4000))[:, None]  # 2-means takes off a few points at a time
    tree = tree_of(X, rule=rule)
    assert tree.depth[-1] <= np.ceil(np.log(4000 / 32) / -np.log(0.8)) + 1


def test_two_means_finds_clusters_that_are_far_apart():
    centres = 100.0 * RNG.normal(size=(4, 6))
    labels = RNG.integers(4, size=800)
    tree = tree_of(centres[labels] + RNG.normal(size=(800, 6)), leaf_size=300, thorough=True)
    leaves = [set(labels[tree.order[tree.start[t] : tree.stop[t]]]) for t in tree.leaves]
    assert sorted(map(len, leaves)) == [1, 1, 1, 1]


def test_two_means_cuts_lower_the_spread_more_than_a_random_cut():
    X = RNG.normal(size=(500, 2)) * [5.0, 1.0]
    left, right = cut(comparable_rows(X), "2means", np.random.default_rng(0))
    assert abs(X[left, 0].mean() - X[right, 0].mean()) > 6.0


def test_kdtree_cuts_the_widest_coordinate_and_pca_the_widest_direction():
    X = RNG.normal(size=(400, 3)) * [1.0, 9.0, 2.0]
    left, right = cut(X.astype(np.float32), "kdtree", RNG)
    assert X[left, 1].max() <= X[right, 1].min()
    rotated = X @ np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    left, right = cut(rotated.astype(np.float32), "pca", RNG)
    along = X[:, 1]  # the widest direction, up to its sign
    assert abs(along[left].mean() - along[right].mean()) > 10.0


def test_cobble_parts_by_the_distance_to_the_farthest_point():
    X = np.vstack([RNG.normal(size=(99, 2)), [[50.0, 0.0]]])
    left, right = cut(X.astype(np.float32), "cobble", RNG)
    distances = np.linalg.norm(X - X[99], axis=1)
    assert 99 in left
    assert distances[left].max() <= distances[right].min()


def test_the_natural_order_stays():
    tree = tree_of(RNG.normal(size=(200, 2)), rule="natural")
    assert np.array_equal(tree.order, np.arange(200))


def test_sparse_rows_give_a_tree_as_well():
    X = sp.random(300, 40, density=0.2, random_state=0, format="csr")
    for rule in SPLITS:
        check(tree_of(X, rule=rule), 300, 32)


def test_the_seed_decides():
    X = RNG.normal(size=(500, 4))
    first, again, other = (tree_of(X, seed=seed).order for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_siblings_of_ancestors_are_everything_outside():
    tree = tree_of(RNG.normal(size=(400, 3)))
    for t in range(tree.n_nodes):
        covered = np.zeros(400, dtype=int)
        for s in [t, *tree.siblings_of_ancestors(t)]:
            covered[tree.start[s] : tree.stop[s]] += 1
        assert (covered == 1).all()


@pytest.mark.parametrize("n_parts", [1, 2, 5, 1000])
def test_a_forest_holds_every_node_once_and_parents_first(n_parts):
    tree = tree_of(RNG.normal(size=(700, 3)))
    subtrees, above = tree.forest(n_parts)
    assert sorted(np.concatenate([*subtrees, above])) == list(range(tree.n_nodes))
    for nodes in [*subtrees, above]:
        place = {t: i for i, t in enumerate(nodes)}
        assert all(place.get(tree.parent[t], -1) < place[t] for t in nodes)


def test_huge_and_distant_coordinates_neither_overflow_nor_blur():
    for X in (1e200 * RNG.normal(size=(100, 2)), 1e9 + RNG.normal(size=(100, 2))):
        rows = comparable_rows(X)
        assert rows.dtype == np.float32
        spread = (X - X.mean(axis=0)) / np.abs(X - X.mean(axis=0)).max()
        np.testing.assert_allclose(rows, spread, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"rule": "magic"}, "clustering='magic'"), ({"leaf_size": 1}, "leaf_size must be")],
)
def test_bad_parameters_say_what_is_wrong(parameters, message):
    with pytest.raises(ValueError, match=message):
        tree_of(np.eye(5), **parameters)
