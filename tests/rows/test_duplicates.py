"""Equal rows merged: which are equal, and that the machine of the distinct rows is the machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlab import SparseCholeskySVC
from kernlab.rows import distinct_rows, products

RNG = np.random.default_rng(0)
GRID = RNG.integers(0, 12, (600, 2)) / 12.0  # about 144 places, in each several rows
LABELS = (np.hypot(*(GRID - 0.5).T) < 0.35) ^ (RNG.random(600) < 0.1)
NEW = RNG.random((200, 2))


def machine(**changes):
    return SparseCholeskySVC(**{"sigma": 0.1, "l": 3, "random_state": 0, "tol": 1e-8} | changes)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(*[st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0])] * 3), min_size=1),
    seed=st.integers(0, 1000),
    sparse=st.booleans(),
)
def test_they_are_the_rows_that_a_dictionary_would_keep(rows, seed, sparse):
    X = np.array(rows)
    labels = np.random.default_rng(seed).integers(0, 2, len(X))
    counts, first = {}, {}
    for i, key in enumerate(zip(map(tuple, (X + 0.0).tolist()), labels.tolist(), strict=True)):
        counts[key] = counts.get(key, 0) + 1
        first.setdefault(key, i)
    found = distinct_rows(sp.csr_matrix(X) if sparse else X, labels)
    if len(first) == len(X):
        assert found is None
    else:
        assert list(found.first) == list(first.values())
        assert list(found.counts) == list(counts.values())


def test_features_that_are_exchanged_or_shifted_are_other_rows():
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 0.0, 2.0]])
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32)):
        assert distinct_rows(rows) is None
    split = sp.csr_matrix(([1.0, 1.0, 2.0, 0.0], [0, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
    assert list(distinct_rows(split).counts) == [2]  # 1 + 1 is 2, and a stored 0 is none
    assert split.nnz == 4
    wide = sp.csr_matrix(([1.0, 1.0, 1.0], [0, 10**9, 0], [0, 1, 2, 3]), shape=(3, 2 * 10**9))
    assert list(distinct_rows(wide).first) == [0, 1]


def test_keys_that_collide_merge_nothing(monkeypatch):
    monkeypatch.setattr(products, "_keys", lambda table, seed: np.zeros(len(table), np.uint64))
    assert distinct_rows(np.arange(4.0)[:, None]) is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", ["penalised", "none", "free"])
@pytest.mark.parametrize("solver", ["newton", "cholesky"])
def test_merging_leaves_the_machine_as_it_is(solver, intercept, weighted):
    """The shift is large enough to matter: it must be divided by the number of equal rows."""
    if (solver, intercept) == ("cholesky", "free"):
        pytest.skip("LIBLINEAR has no free intercept")
    weights = RNG.integers(1, 3, 600).astype(float) if weighted else None
    same = {"solver": solver, "intercept": intercept, "shift": 0.3, "class_weight": "balanced"}
    same["max_iter"] = 10_000 if solver == "cholesky" else None
    plain = machine(**same).fit(GRID, LABELS, sample_weight=weights)
    merged = machine(**same, merge=True).fit(GRID, LABELS, sample_weight=weights)
    assert plain.distinct_ is None
    assert 150 < len(merged.distinct_.first) < 500
    assert merged.distinct_.counts.sum() == 600
    assert merged.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    np.testing.assert_allclose(
        merged.decision_function(NEW), plain.decision_function(NEW), atol=2e-4
    )
    assert merged.approximation_.matrix_.nnz < plain.approximation_.matrix_.nnz / 2
