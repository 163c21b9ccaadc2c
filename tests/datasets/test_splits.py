"""Splits share out the rows as asked, by seed, with every class in its share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from kernlab.datasets import DataError
from kernlab.datasets.registry import Copy, DataFile, DataSet, Protocol
from kernlab.datasets.splits import plan_split, scale, split_rows, stratified_parts

ENTRY = DataSet("some", "Some rows", 1, (0, 1), copies=(Copy((DataFile("some"),)),))


def numbered(rows, start=0, classes=2):
    """Rows that carry their own number, so that a split can be followed."""
    return np.arange(start, start + rows, dtype=float)[:, None], np.arange(rows) % classes


def cut(parts, protocol, split=None, seed=0, entry=ENTRY, **options):
    sizes = {part: len(y) for part, (_, y) in parts.items()}
    plan = plan_split(entry, protocol, split, sizes, **options)
    made = split_rows(plan, parts, seed)
    for piece in made.values():
        if piece is not None:
            X, y = piece
            assert X.shape[0] == len(y)
            source = np.concatenate([labels for _, labels in parts.values()])
            assert np.array_equal(source[X[:, 0].astype(int)], y), "labels follow their rows"
    return plan, {part: piece and piece[0][:, 0].astype(int) for part, piece in made.items()}


@st.composite
def labels_and_sizes(draw):
    counts = draw(st.lists(st.integers(12, 60), min_size=2, max_size=5))
    y = np.repeat(np.arange(len(counts)), counts)
    y = np.random.default_rng(draw(st.integers(0, 99))).permutation(y)
    shares = draw(st.lists(st.floats(0.2, 0.45), min_size=1, max_size=2))
    sizes = [int(share * len(y)) for share in shares]
    if draw(st.booleans()):
        sizes.append(len(y) - sum(sizes))
    return y, sizes


@given(labels_and_sizes(), st.integers(0, 1000))
@settings(max_examples=60)
def test_stratified_parts(made, seed):
    y, sizes = made
    parts = stratified_parts(y, sizes, seed)
    assert [len(part) for part in parts] == sizes
    taken = np.concatenate(parts)
    assert len(np.unique(taken)) == len(taken), "disjoint"
    if sum(sizes) == len(y):
        assert np.array_equal(np.sort(taken), np.arange(len(y))), "complete"
    for part in parts:
        for label in np.unique(y):
            wanted = len(part) * np.mean(y == label)
            assert abs(np.sum(y[part] == label) - wanted) <= 2, "stratified"
    again = stratified_parts(y, sizes, seed)
    assert all(np.array_equal(one, two) for one, two in zip(parts, again, strict=True))
    other = stratified_parts(y, sizes, seed + 1)
    assert any(not np.array_equal(one, two) for one, two in zip(parts, other, strict=True))


def test_a_class_that_cannot_be_shared_out_is_refused():
    with pytest.raises(DataError, match="cannot be drawn with every class"):
        stratified_parts(np.array([0] * 9 + [1]), [5, 5], 0)


FIRST_ROWS = Protocol("lasn", train=0.6, site_without_test="first rows")
PRINTED = {"split": "printed", "train_rows": 12}


@pytest.mark.parametrize(
    ("rows", "protocol", "split", "expected"),
    [
        ((20, 10), Protocol(), None, (range(20), None, range(20, 30))),
        ((10, 0), FIRST_ROWS, "site", (range(6), None, range(6, 10))),
        ((20, 0), Protocol("p", **PRINTED, test_rows=4), None, (range(12), None, range(12, 16))),
        ((20, 6), Protocol("p", **PRINTED), None, (range(12), None, range(20, 26))),
        (
            (20, 0), Protocol("p", **PRINTED, valid_rows=3, test_rows=4), None,
            (range(12), range(12, 15), range(15, 19)),
        ),
    ],
)  # fmt: skip
def test_site_and_printed_splits_are_the_rows_in_their_order(rows, protocol, split, expected):
    parts = {"train": numbered(rows[0])}
    if rows[1]:
        parts["test"] = numbered(rows[1], start=rows[0])
    _, made = cut(parts, protocol, split=split)
    for part, wanted in zip(("train", "valid", "test"), expected, strict=True):
        assert (made[part] is None) if wanted is None else made[part].tolist() == list(wanted)


@pytest.mark.parametrize("split", ["site", "printed"])
def test_validation_rows_are_drawn_from_the_training_rows(split):
    parts = {"train": numbered(50), "test": numbered(6, start=50)}
    protocol = Protocol("p", train_rows=40, hold_out=0.2)
    _, made = cut(parts, protocol, split=split)
    kept = 40 if split == "printed" else 50
    assert (len(made["train"]), len(made["valid"])) == (kept * 4 // 5, kept // 5)
    together = np.concatenate([made["train"], made["valid"]])
    assert sorted(together) == list(range(kept))
    assert made["test"].tolist() == list(range(50, 56))
    _, other = cut(parts, protocol, split=split, seed=1)
    assert not np.array_equal(np.sort(made["valid"]), np.sort(other["valid"]))


def test_shuffled_pools_the_files_and_keeps_their_sizes():
    parts = {"train": numbered(30), "test": numbered(60, start=30)}
    _, made = cut(parts, Protocol(), split="shuffled")
    assert (len(made["train"]), len(made["test"])) == (30, 60)
    assert set(made["train"]) & set(range(30, 90)), "test rows of the site can train"
    _, made = cut(parts, Protocol("p", train_rows=10), split="shuffled")
    assert (len(made["train"]), len(made["test"])) == (10, 60)


def test_a_missing_test_file_is_replaced_and_said_so():
    entry = DataSet(
        "some", "Some", 1, (0, 1), copies=ENTRY.copies, test_optional="the test file is not there"
    )
    protocol = Protocol("p", split="printed", train=0.6, train_rows=20)
    plan, made = cut({"train": numbered(20)}, protocol, entry=entry, test_missing=True)
    assert (len(made["train"]), len(made["test"])) == (12, 8)
    assert "the test file is not there" in plan.note


# ------------------------------------------------------------------------------------------ scaling
matrices = hnp.arrays(np.float64, (8, 3), elements=st.integers(-50, 50).map(float))


@given(matrices, matrices, st.sampled_from(["unit", "symmetric", "standard"]))
def test_training_rows_alone_decide(train, test, kind):
    scaled, scaled_test = scale(kind, train, test)
    again, _ = scale(kind, train, 7 * test + 3)
    np.testing.assert_array_equal(scaled, again)
    # One affine map per feature, the same for both parts.
    both, _ = scale(kind, train, None)
    np.testing.assert_array_equal(scaled, both)
    for j in range(3):
        low, high = train[:, j].min(), train[:, j].max()
        if low == high:
            continue
        slope = np.ptp(scaled[:, j]) / (high - low)
        offset = scaled[train[:, j].argmin(), j]
        np.testing.assert_allclose(
            scaled_test[:, j], offset + slope * (test[:, j] - low), atol=1e-9
        )


@given(matrices, matrices)
def test_ranges_of_dense_and_sparse_rows(train, test):
    train, test = np.abs(train), np.abs(test)
    varying = np.ptp(train, axis=0) > 0
    for kind, low, high in (("unit", 0, 1), ("symmetric", -1, 1), ("standard", None, None)):
        scaled, other = scale(kind, train, test)
        if low is not None:
            np.testing.assert_allclose(scaled.min(axis=0), low, atol=1e-12)
            np.testing.assert_allclose(scaled.max(axis=0)[varying], high, atol=1e-12)
        else:
            np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
            np.testing.assert_allclose(scaled.std(axis=0)[varying], 1, atol=1e-12)
        made = scale(kind, sparse.csr_matrix(train), sparse.csr_matrix(test))
        for one, same in zip((scaled, other), made, strict=True):
            same = same.toarray() if sparse.issparse(same) else same
            np.testing.assert_allclose(one, same, atol=1e-12)


def test_zeros_stay_zeros_where_they_can():
    X = sparse.csr_matrix(np.array([[0.0, 2.0], [4.0, 0.0]]))
    (scaled,) = scale("unit", X)
    assert sparse.issparse(scaled)
    assert not sparse.issparse(scale("symmetric", X)[0])
    assert not sparse.issparse(scale("unit", sparse.csr_matrix([[1.0, 2.0], [3.0, 0.0]]))[0])
    assert scale("none", X, None) == [X, None]
    with pytest.raises(DataError, match="choose from none, unit, symmetric, standard"):
        scale("minmax", X)
