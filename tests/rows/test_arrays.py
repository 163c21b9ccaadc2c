"""Rows of arrays, sparse matrices, memory maps and files: one protocol, the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression

from kernlab.rows import arrays, as_rows, validate_rows
from kernlab.runtime import MemoryLimitError

X = np.random.default_rng(0).standard_normal((50, 4)) * (np.arange(200).reshape(50, 4) % 3 > 0)
Y = np.arange(50) % 3


class FromDisk:
    """What h5py gives: shape, dtype, slices and sorted positions, and nothing else."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        if not isinstance(rows, slice):
            assert np.all(np.diff(rows) > 0), "such sources want positions in order, each once"
        return self._array[rows].copy()


KINDS = ["array", "single", "columns", "csc", "parts", "map", "npy", "disk", "frame", "list"]
KINDS += ["svmlight", "csv", "tsv", "xz", "selected", "joined", "joined sparse"]


@pytest.fixture(params=KINDS)
def rows(request, tmp_path):
    """X and Y as Rows, however they are kept."""
    return kept(request.param, tmp_path)


def kept(kind, folder):
    import lzma

    import pandas as pd

    np.save(folder / "rows.npy", X)
    dump_svmlight_file(X, Y, str(folder / "rows.svm"), zero_based=False)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(label=Y).to_csv(folder / "rows.csv", index=False)
    frame.assign(z=Y).to_csv(folder / "rows.tsv", index=False, header=False, sep="\t")
    (folder / "rows.xz").write_bytes(lzma.compress((folder / "rows.svm").read_bytes()))
    whole = sp.csr_matrix(X)
    parts = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    order = np.random.default_rng(1).permutation(50)
    made = {
        "array": lambda: as_rows(X, Y),
        "joined": lambda: as_rows(arrays.JoinedRows([X[:20], X[20:21], X[21:]]), Y),
        "joined sparse": lambda: as_rows(arrays.JoinedRows([whole[:1], whole[1:]]), Y),
        "single": lambda: as_rows(X.astype(np.float32), Y),
        "columns": lambda: as_rows(np.asfortranarray(X), Y),
        "csc": lambda: as_rows(sp.csc_matrix(X), Y),
        "parts": lambda: as_rows(sp.csr_matrix(parts, whole.shape), Y),
        "map": lambda: as_rows(np.load(folder / "rows.npy", mmap_mode="r"), Y),
        "npy": lambda: as_rows(str(folder / "rows.npy"), Y),
        "disk": lambda: as_rows(FromDisk(X), Y),
        "frame": lambda: as_rows(frame, Y),
        "list": lambda: as_rows(X.tolist(), Y.tolist()),
        "selected": lambda: as_rows(X[order], Y[order]).select(np.argsort(order)),
    }
    name = {"svmlight": "rows.svm"}.get(kind, f"rows.{kind}")
    return made[kind]() if kind in made else as_rows(folder / name)


def dense(block):
    return block.toarray() if sp.issparse(block) else block


def test_every_kind_of_rows_gives_the_same(rows, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_BYTES", 400)  # several blocks
    single = {"rtol": 1e-6}
    assert rows.shape == X.shape
    assert len(rows) == 50
    np.testing.assert_array_equal(rows.labels, Y)
    assert rows.dtype in (np.float32, np.float64)
    for chosen in (slice(0, 50), slice(7, 19), slice(49, 50), slice(5, 5)):
        block = rows.block(chosen)
        assert block.dtype == rows.dtype
        np.testing.assert_allclose(dense(block), X[chosen], **single)
    pieces = list(rows.blocks())
    assert len(pieces) > 1
    np.testing.assert_allclose(np.vstack([dense(b) for _, b in pieces]), X, **single)
    assert [s for s, _ in rows.blocks(20)] == [slice(0, 20), slice(20, 40), slice(40, 50)]
    for chosen in ([5, 3, 5], [], [49], np.arange(50)):
        taken = dense(rows.take(np.array(chosen, dtype=int)))
        np.testing.assert_allclose(taken, X[np.array(chosen, dtype=int)], **single)
    np.testing.assert_allclose(dense(rows.whole()), X, **single)
    low, high = rows.bounds()
    np.testing.assert_allclose(low, X.min(axis=0), **single)
    np.testing.assert_allclose(high, X.max(axis=0), **single)


def test_a_reduction_adds_what_blocks_and_their_vectors_give(rows, monkeypatch):
    monkeypatch.setattr(arrays, "BLOCK_BYTES", 400)
    weights = np.linspace(0, 1, 50)

    def moments(block, w):
        block = dense(block)
        return w @ block, block.T @ (block * w[:, None]), w.sum()

    first, second, count = rows.reduce(moments, weights)
    np.testing.assert_allclose(first, weights @ X, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(second, X.T @ (weights[:, None] * X), rtol=1e-6, atol=1e-6)
    assert count == pytest.approx(25.0)
    assert rows.reduce(lambda block: block.shape[0]) == 50


def test_selected_rows_are_rows_too(rows):
    part = rows.select(np.arange(0, 50, 2)).select(np.array([4, 1, 3]))
    assert part.shape == (3, 4)
    assert list(part.labels) == list(Y[[8, 2, 6]])
    np.testing.assert_allclose(dense(part.block(slice(1, 3))), X[[2, 6]], rtol=1e-6)
    np.testing.assert_allclose(dense(part.take([2, 0])), X[[6, 8]], rtol=1e-6)


def test_a_sample_is_of_distinct_rows_in_order_and_repeatable(rows):
    drawn = dense(rows.sample(20, random_state=3))
    assert drawn.shape == (20, 4)
    places = [int(np.argmin(np.abs(X - row).sum(axis=1))) for row in drawn]
    assert places == sorted(set(places))
    np.testing.assert_array_equal(drawn, dense(rows.sample(20, random_state=3)))
    assert dense(rows.sample(80)).shape == (50, 4)


def test_arrays_in_memory_are_not_copied():
    for given in (X, sp.csr_matrix(X), X.astype(np.float32)):
        assert as_rows(given).whole(max_memory=1) is given
        checked = validate_rows(LogisticRegression(), given)
        assert checked.in_memory
        assert np.shares_memory(getattr(checked.whole(), "data", X), given.data)
    whole_numbers = as_rows(np.arange(6).reshape(3, 2))
    assert not whole_numbers.in_memory
    assert whole_numbers.block(slice(0, 2)).dtype == np.float64
    with pytest.raises(MemoryLimitError, match="3 rows of 2 features"):
        whole_numbers.whole(max_memory=10)


@pytest.mark.parametrize("kind", ["array", "disk", "csc"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_with_their_place(kind, bad):
    broken = X.copy()
    broken[31, 2] = bad
    rows = as_rows({"array": broken, "disk": FromDisk(broken), "csc": sp.csc_matrix(broken)}[kind])
    for check in (rows.bounds, rows.check_finite):
        with pytest.raises(ValueError, match="row 31, feature 2 is"):
            check()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros(3), "must come as a matrix"),
        (np.zeros((0, 3)), "is empty"),
        ("nowhere.npy", "no file nowhere.npy"),
    ],
)
def test_what_is_no_matrix_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        as_rows(bad)
    with pytest.raises(ValueError, match="50 rows, but 49 labels"):
        as_rows(X, Y[:49])


def test_validation_is_one_door_for_all_kinds(rows):
    machine = LogisticRegression()
    checked = validate_rows(machine, rows, supervised=True)
    assert machine.n_features_in_ == 4
    np.testing.assert_array_equal(checked.labels, Y)
    np.testing.assert_allclose(dense(checked.whole()), X, rtol=1e-6)
    validate_rows(machine, rows, reset=False)
    machine.n_features_in_ = 5
    with pytest.raises(ValueError, match="X has 4 features, but LogisticRegression is expecting 5"):
        validate_rows(machine, rows, reset=False)


def test_a_frame_brings_its_names_and_a_stream_forgets_them(tmp_path):
    import pandas as pd

    machine = LogisticRegression()
    validate_rows(machine, pd.DataFrame(X, columns=list("abcd")))
    assert list(machine.feature_names_in_) == list("abcd")
    validate_rows(machine, kept("svmlight", tmp_path))
    assert not hasattr(machine, "feature_names_in_")
    with pytest.raises(ValueError, match="requires y"):
        validate_rows(machine, FromDisk(X), supervised=True)
    with pytest.raises(ValueError, match="requires y"):
        validate_rows(machine, X, supervised=True)
    with pytest.raises(ValueError, match="minimum of 60"):
        validate_rows(machine, X, min_rows=60)
    with pytest.raises(ValueError, match="needs at least 60"):
        validate_rows(machine, FromDisk(X), min_rows=60)
