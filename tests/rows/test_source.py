"""Rows from arrays, sparse matrices, memory maps and files: the same blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernlab.rows.source import RowSource

X = np.random.default_rng(0).standard_normal((50, 4)) * (np.arange(200).reshape(50, 4) % 3 > 0)


class FromDisk:
    """What h5py gives: shape, dtype, slices and sorted positions, and nothing else."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        if not isinstance(rows, slice):
            assert np.all(np.diff(rows) > 0), "such sources want positions in order, each once"
        return self._array[rows].copy()


@pytest.fixture(params=["array", "single", "columns", "sparse", "map", "file", "disk"])
def kept(request, tmp_path):
    """X as it may be kept."""
    path = tmp_path / "rows.npy"
    np.save(path, X)
    return {
        "array": X,
        "single": X.astype(np.float32),
        "columns": np.asfortranarray(X),
        "sparse": sp.csc_matrix(X),
        "map": np.load(path, mmap_mode="r"),
        "file": path,
        "disk": FromDisk(X),
    }[request.param]


def test_blocks_rows_and_bounds_are_those_of_the_array(kept):
    source = RowSource(kept)
    assert source.shape == X.shape
    block = source.block(slice(7, 19))
    np.testing.assert_allclose(block, X[7:19], rtol=1e-6)
    assert block.dtype == np.float64
    assert block.flags.c_contiguous
    np.testing.assert_allclose(source.rows([5, 3, 5]), X[[5, 3, 5]], rtol=1e-6)
    low, high = source.bounds()
    np.testing.assert_allclose(low, X.min(axis=0), rtol=1e-6)
    np.testing.assert_allclose(high, X.max(axis=0), rtol=1e-6)


def test_some_of_the_rows_are_a_source_too(kept):
    part = RowSource(kept).take(np.arange(0, 50, 2)).take(np.array([1, 3, 4]))
    assert part.shape == (3, 4)
    np.testing.assert_allclose(part.block(slice(1, 3)), X[[6, 8]], rtol=1e-6)
    np.testing.assert_allclose(part.rows([2, 0]), X[[8, 2]], rtol=1e-6)


def test_a_source_of_a_source_is_the_same(kept):
    again = RowSource(RowSource(kept).take(np.array([4, 9])))
    np.testing.assert_allclose(again.block(slice(0, 2)), X[[4, 9]], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named_with_their_place(bad):
    broken = X.copy()
    broken[31, 2] = bad
    with pytest.raises(ValueError, match="row 31, feature 2 is"):
        RowSource(broken).bounds()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros(3), "must come as a matrix"),
        (np.zeros((0, 3)), "has no values"),
        ("nowhere.npy", "no file nowhere.npy"),
    ],
)
def test_what_is_no_matrix_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        RowSource(bad)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"rows\.csv is not a matrix in NumPy's .npy format"):
        RowSource(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, X)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"rows\.npy"):
        RowSource(path)
