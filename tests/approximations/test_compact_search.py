"""Near pairs by cells and by products, against all pairs; and the assembly and products on top."""

import itertools
import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from kernlab.approximations.compact import assembly
from kernlab.approximations.compact.assembly import (
    CellGrid,
    Front,
    NearKernel,
    SparseProduct,
)
from kernlab.kernels import Compact
from kernlab.rows.near import Hits, ProductSearch
from kernlab.runtime import MemoryLimitError, row_blocks

RNG = np.random.default_rng(0)


def clustered(n, p):
    """Rows in clumps, some of them equal: where cells are fuller than the average."""
    centres = RNG.normal(size=(7, p))
    rows = centres[RNG.integers(7, size=n)] + 0.1 * RNG.normal(size=(n, p))
    rows[n // 2 : n // 2 + 5] = rows[0]
    return rows


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X, np.float64)


def searches(X, radius):
    front = Front(dense(X), 0)
    n_axes = front(dense(X)).shape[1]
    grids = [CellGrid(dense(X), radius, front, k) for k in {1, min(2, n_axes), min(4, n_axes)}]
    return [*grids, ProductSearch(X, radius)]


def pairs_above(search, n, block=37):
    """A dense matrix of squared distances of the pairs found, NaN elsewhere; each pair once."""
    found = np.full((n, n), np.nan)
    for rows in row_blocks(n, block):
        hits = search.above(rows)
        assert len(hits.columns) == len(hits.squares) == hits.counts.sum()
        for q, (a, b) in enumerate(itertools.pairwise(hits.starts)):
            columns = hits.columns[a:b]
            assert np.all(np.diff(columns) > 0)
            assert np.all(columns > rows.start + q)
            i, js = search.order[rows.start + q], search.order[columns]
            assert np.all(np.isnan(found[i, js]) & np.isnan(found[js, i]))
            found[i, js] = hits.squares[a:b]
    return np.fmin(found, found.T)


CASES = {
    "line": (RNG.random((300, 1)), 0.02),
    "plane": (RNG.random((300, 2)), 0.1),
    "far from the origin": (1e6 + RNG.random((200, 3)), 0.2),
    "clumps": (clustered(300, 3), 0.15),
    "integers": (RNG.integers(0, 6, size=(300, 3)).astype(float), 1.5),
    "six dimensions": (clustered(300, 6), 0.4),
    "many dimensions": (clustered(200, 60), 1.2),
    "more features than rows": (clustered(40, 700), 4.0),
    "collinear": (RNG.random((200, 1)) @ RNG.normal(size=(1, 9)), 0.3),
    "single precision": (clustered(200, 5).astype(np.float32), 0.4),
    "a constant feature": (np.column_stack([RNG.random((200, 2)), np.ones(200)]), 0.1),
    "a far row": (np.vstack([clustered(99, 6), np.full((1, 6), 1e9)]), 0.4),
    "cells beyond counting": (np.vstack([RNG.random((50, 3)), 1e12 * RNG.random((50, 3))]), 0.3),
    "sparse": (sp.random(200, 150, 0.05, format="csr", random_state=0), 1.0),
    "one row": (np.ones((1, 3)), 1.0),
    "one wide row": (np.ones((1, 9)), 1.0),
    "equal rows": (np.ones((50, 4)), 1e-9),
}


@pytest.mark.parametrize("case", CASES)
def test_every_near_pair_is_found_once_with_its_exact_distance(case):
    X, radius = CASES[case]
    squares = cdist(dense(X), dense(X), "sqeuclidean")
    near = squares < radius**2
    np.fill_diagonal(near, False)
    for search in searches(X, radius):
        found = pairs_above(search, X.shape[0])
        np.testing.assert_array_equal(~np.isnan(found), near)
        np.testing.assert_allclose(found[near], squares[near], rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("case", CASES)
def test_new_rows_find_their_near_rows(case):
    X, radius = CASES[case]
    new = dense(X)[::3] + 0.1 * radius
    new = np.vstack([new, dense(X)[:1] + 1e3 * radius, dense(X)[:1] - 1e3 * radius, dense(X)[:1]])
    new = sp.csr_matrix(new) if sp.issparse(X) else new.astype(X.dtype)
    squares = cdist(dense(new), dense(X), "sqeuclidean")
    near = squares < radius**2
    for search in searches(X, radius):
        for rows in (new, new.toarray() if sp.issparse(new) else sp.csr_matrix(new)):
            hits = search.around(rows)
            found = np.full(squares.shape, np.nan)
            found[
                np.repeat(np.arange(len(hits.counts)), hits.counts), search.order[hits.columns]
            ] = hits.squares
            np.testing.assert_array_equal(~np.isnan(found), near)
            np.testing.assert_allclose(found[near], squares[near], atol=1e-9)


@settings(max_examples=60)
@given(
    rows=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.integers(1, 5)),
        elements=st.integers(-8, 8).map(lambda k: k / 4),
    ),
    radius=st.sampled_from([0.25, 0.3, 0.5, 1.0, 2.5, 50.0]),
)
def test_rows_on_a_lattice_are_no_trap(rows, radius):
    """Distances equal to the radius, cells whose edges are full of rows, all rows in a cell."""
    squares = cdist(rows, rows, "sqeuclidean")
    near = squares < radius**2
    np.fill_diagonal(near, False)
    # Squares of multiples of 1/4 are exact, so a pair at just the radius is known not to be near.
    sure = np.abs(squares - radius**2) > (1e-12 if radius == 0.3 else -1.0)
    for search in searches(rows, radius):
        found = ~np.isnan(pairs_above(search, len(rows), block=16))
        np.testing.assert_array_equal(found[sure], near[sure])
    if radius != 0.3:
        K = Compact(1.0, 1.0 / radius, 4)(rows, rows.copy())
        np.testing.assert_array_equal(K > 0, squares < radius**2)


@pytest.mark.parametrize("n_features", [2, 6])
def test_a_full_buffer_is_emptied_and_the_search_goes_on(monkeypatch, n_features):
    monkeypatch.setattr(assembly, "BUFFER", 400)
    X = RNG.random((300, n_features))
    search = CellGrid(X, 0.6, Front(X), 2)
    assert search.above(slice(0, 300)).counts.sum() > 1000
    near = cdist(X, X) < 0.6
    np.fill_diagonal(near, False)
    np.testing.assert_array_equal(~np.isnan(pairs_above(search, 300, block=300)), near)


def test_what_the_screen_lets_pass_is_not_kept():
    """Of rows in 20 dimensions, eight directions of them let millions pass that are not near."""
    X = RNG.normal(size=(20_000, 20))
    search = CellGrid(X, 3.0, Front(X), 2)
    search.above(slice(0, 1))  # compiles
    tracemalloc.start()
    found = search.above(slice(0, 1024))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.columns) < 5000
    assert most < 2 * 12 * assembly.BUFFER


# ------------------------------------------------------------------------------- assembly
def test_assembly_stops_when_the_entries_found_pass_the_limit():
    class Everything:
        order, blocks = np.arange(100_000), 0

        def above(self, rows):
            self.blocks += 1
            time.sleep(0.01)  # or all blocks are done before the first refusal is heard of
            return Hits(None, np.zeros(5_000_000, np.int32), np.zeros(0))

    search = Everything()
    kernel = NearKernel(search, Compact(1.0, 0.5, 2), 100_000)
    with pytest.raises(MemoryLimitError, match=r"entries found so far, 12 bytes each"):
        kernel.matrix(np.ones(100_000), max_memory="50MB")
    assert search.blocks < 50


# ------------------------------------------------------------------------------- products
@pytest.mark.parametrize("n_vectors", [1, 2, 3, 4, 5, 7, 8, 11])
def test_products_are_scipys(n_vectors):
    A = sp.random(300, 300, 0.1, format="csr", random_state=2)
    V = RNG.normal(size=(300, n_vectors))
    np.testing.assert_allclose(SparseProduct(A)(V), A @ V, atol=1e-12)
    long = sp.csr_matrix(A)
    long.indices, long.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    np.testing.assert_allclose(SparseProduct(long)(np.asfortranarray(V)), A @ V, atol=1e-12)
