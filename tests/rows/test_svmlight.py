"""Files read by rows, against scikit-learn's reader, and files that are broken."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernlab.rows import svmlight as svmlightrows
from kernlab.rows.svmlight import SvmlightRows


def written(folder, text):
    path = folder / "rows.svm"
    path.write_bytes(text.encode())
    return path


def dense(block):
    return block.toarray() if sp.issparse(block) else block


@pytest.fixture(params=[2**22, 64], ids=["one piece", "pieces of 64 bytes"])
def pieces(request, monkeypatch):
    """However the file is cut into pieces, a row is whole."""
    monkeypatch.setattr(svmlightrows, "CHUNK_BYTES", request.param)


@pytest.mark.parametrize("density", [0.05, 1.0])
@pytest.mark.parametrize("zero_based", [False, True])
def test_any_slice_is_what_scikit_learn_reads(tmp_path, pieces, density, zero_based):
    generator = np.random.default_rng(0)
    X = sp.random(97, 30, density=density, random_state=0, format="lil")
    X[0, 29] = 1.0
    X = X.tocsr()
    X.data = X.data * 10.0 ** generator.integers(-12, 12, X.nnz)
    y = generator.normal(size=97)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=zero_based)
    rows = SvmlightRows(tmp_path / "rows.svm", zero_based=zero_based)
    expected, labels = load_svmlight_file(str(tmp_path / "rows.svm"), zero_based=zero_based)
    assert rows.shape == (97, 30)
    assert len(rows) == 97
    np.testing.assert_allclose(rows.labels, labels, rtol=1e-15)
    for part in (slice(0, 97), slice(0, 1), slice(13, 50), slice(90, 200), slice(5, 5)):
        block = rows[part]
        assert sp.issparse(block) == (density < 0.25)
        np.testing.assert_allclose(dense(block), expected[part].toarray(), rtol=4e-16)
    chosen = np.array([0, 3, 50, 96])
    np.testing.assert_allclose(dense(rows.take(chosen)), expected[chosen].toarray(), rtol=4e-16)


def test_all_that_the_format_allows(tmp_path, pieces):
    text = (
        "# a comment before all\n"
        "+1 1:0.5 3:-2e-3 # and one behind\n"
        "\n"
        "-1\t2:+.5   4:7.\r\n"
        "   \n"
        "3.5e0 1:1E2\n"
        "-1\n"
        "1 4:12345678901234567890"
    )
    rows = SvmlightRows(written(tmp_path, text))
    assert rows.shape == (5, 4)
    np.testing.assert_array_equal(rows.labels, [1, -1, 3.5, -1, 1])
    expected = np.zeros((5, 4))
    expected[0, [0, 2]] = 0.5, -2e-3
    expected[1, [1, 3]] = 0.5, 7.0
    expected[2, 0] = 100.0
    expected[4, 3] = 12345678901234567890
    np.testing.assert_allclose(dense(rows[0:5]), expected, rtol=4e-16)
    np.testing.assert_allclose(dense(rows.take([1, 4])), expected[[1, 4]], rtol=4e-16)


@settings(max_examples=200, deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_read_to_the_last_bit_or_nearly(value):
    text = np.frombuffer(f"1 1:{value!r}\n".encode(), dtype=np.uint8)
    values, indices = np.empty(1), np.empty(1, dtype=np.int32)
    found, fault, _ = svmlightrows._parse(text, False, values, indices, np.zeros(2, np.int32))
    assert (found, fault) == (1, 0)
    assert values[0] == pytest.approx(value, rel=1e-14, abs=1e-300)
    if abs(value) < 1e15 and value == round(value, 6):
        assert values[0] == pytest.approx(value, rel=3e-16)


def test_more_features_than_the_file_shows(tmp_path):
    path = written(tmp_path, "1 1:1\n-1 2:1\n")
    assert SvmlightRows(path, n_features=7)[0:2].shape == (2, 7)
    with pytest.raises(ValueError, match="has 2 features, more than n_features=1"):
        SvmlightRows(path, n_features=1)


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, 3_000_000_000, 9_999_999_999])
def test_indices_beyond_32_bits_stay_where_they_are(tmp_path, largest, zero_based):
    path = written(tmp_path, f"1 1:1 {largest}:.5\n-1 1:2\n1 2:1\n")
    rows = SvmlightRows(path, zero_based=zero_based)
    first = 0 if zero_based else 1
    assert rows.shape == (3, largest + 1 - first)
    for block in (rows[0:2], rows.take([0, 1])):
        np.testing.assert_array_equal(block.indices, [1 - first, largest - first, 1 - first])
        np.testing.assert_array_equal(block.data, [1.0, 0.5, 2.0])
        assert block[0, largest - first] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\nyes 1:2\n", "row 2: a label that is not a number"),
        ("1 1:1\n1x 1:2\n", "row 2: a label"),
        ("1 1:1\n1 2\n", "row 2: an entry that is not index:value"),
        ("1 a:1\n", "row 1: an entry"),
        ("1 qid:3 1:1\n", "row 1: an entry"),
        ("1 1:1\n1 0:2\n", "row 2: an index below 1"),
        ("1 99999999999:1\n", "row 1: an entry"),
        ("\n# nothing\n", "holds no rows"),
        ("", "holds no rows"),
    ],
)
def test_faults_are_named_with_their_row(tmp_path, pieces, text, message):
    with pytest.raises(ValueError, match=message):
        SvmlightRows(written(tmp_path, text))


@pytest.mark.parametrize("value", ["", "nan", "inf", "1e999", "1.2.3", "0x10", "1e", "-"])
def test_values_that_are_none_are_named_with_their_row(tmp_path, value):
    rows = SvmlightRows(written(tmp_path, f"1 1:1\n1 1:2\n1 1:{value}\n"))
    with pytest.raises(ValueError, match="row 3: a value that is not a finite number"):
        rows[1:3]


@pytest.mark.parametrize("features", [2, 1000])  # dense blocks, sparse blocks
def test_a_file_whose_columns_grow_after_it_was_opened(tmp_path, features):
    path = written(tmp_path, f"1 1:1 0002:1\n-1 1:2 {features:04}:1\n")
    rows = SvmlightRows(path)
    path.write_bytes(f"1 1:1 {features + 1:04}:1\n-1 1:2 0002:1\n".encode())
    for read in (lambda: rows[0:2], lambda: rows.take([0])):
        with pytest.raises(ValueError, match="has changed since"):
            read()


def test_a_file_that_changes_or_is_not_there(tmp_path):
    path = written(tmp_path, "1 1:1\n1 1:2\n")
    rows = SvmlightRows(path)
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(ValueError, match="has changed since"):
        rows[0:2]
    with pytest.raises(ValueError, match="no file"):
        SvmlightRows(tmp_path / "missing.svm")
    with pytest.raises(ValueError, match="step 1"):
        SvmlightRows(path)[::2]
