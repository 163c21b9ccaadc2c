"""Scaling knows the training rows and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from kernlab.datasets.errors import DataError
from kernlab.datasets.scaling import scale

rows = hnp.arrays(np.float64, (8, 3), elements=st.integers(-50, 50).map(float))


@given(rows, rows, st.sampled_from(["unit", "symmetric", "standard"]))
@settings(deadline=None)
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


@given(rows)
@settings(deadline=None)
def test_ranges(train):
    varying = np.ptp(train, axis=0) > 0
    for kind, low, high in (("unit", 0, 1), ("symmetric", -1, 1)):
        (scaled,) = scale(kind, train)
        np.testing.assert_allclose(scaled.min(axis=0), low, atol=1e-12)
        np.testing.assert_allclose(scaled.max(axis=0)[varying], high, atol=1e-12)
    (scaled,) = scale("standard", train)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0)[varying], 1, atol=1e-12)


@given(rows, rows, st.sampled_from(["unit", "symmetric", "standard"]))
@settings(deadline=None)
def test_sparse_rows_scale_as_dense_ones(train, test, kind):
    train, test = np.abs(train), np.abs(test)
    dense = scale(kind, train, test)
    made = scale(kind, sparse.csr_matrix(train), sparse.csr_matrix(test))
    for one, other in zip(dense, made, strict=True):
        other = other.toarray() if sparse.issparse(other) else other
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_zeros_stay_zeros_where_they_can():
    X = sparse.csr_matrix(np.array([[0.0, 2.0], [4.0, 0.0]]))
    (scaled,) = scale("unit", X)
    assert sparse.issparse(scaled)
    assert not sparse.issparse(scale("symmetric", X)[0])
    assert not sparse.issparse(scale("unit", sparse.csr_matrix([[1.0, 2.0], [3.0, 0.0]]))[0])


def test_no_scaling_touches_nothing():
    X = np.arange(6.0).reshape(3, 2)
    for kind in (None, "none"):
        scaled, missing = scale(kind, X, None)
        assert scaled is X
        assert missing is None


def test_an_unknown_scaling_is_refused():
    with pytest.raises(DataError, match="choose from none, unit, symmetric, standard"):
        scale("minmax", np.ones((2, 2)))
