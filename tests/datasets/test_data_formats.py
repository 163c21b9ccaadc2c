"""Every format in every compression comes back exactly; every fault is found at its line."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from written import PACKERS, as_arff, as_idx, as_svmlight, as_table, write

from kernlab.datasets.errors import DataError
from kernlab.datasets.formats import parse
from kernlab.datasets.registry import Layout

# Subnormal numbers are left out: strtod and repr agree on them, but they say nothing about data.
numbers = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False)
matrices = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=numbers
)


@st.composite
def rows_and_labels(draw, labels):
    X = draw(matrices)
    y = draw(st.lists(st.sampled_from(labels), min_size=len(X), max_size=len(X)))
    return X, y


def read(text, layout, features, ending="", **options):
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "rows", text, ending)
        return parse(path, layout, features=features, **options)


@given(rows_and_labels([-1, 1, 7]), st.sampled_from(sorted(PACKERS)), st.booleans())
@settings(max_examples=40, deadline=None)
def test_svmlight_comes_back(made, ending, keep_sparse):
    X, y = made
    text = as_svmlight(X, y)
    parsed = read(text, Layout(), X.shape[1], ending, keep_sparse=keep_sparse)
    assert sparse.issparse(parsed.X) == keep_sparse
    np.testing.assert_array_equal(parsed.X.toarray() if keep_sparse else parsed.X, X)
    assert parsed.y.dtype == np.int64
    assert parsed.y.tolist() == y
    assert parsed.sha256 == hashlib.sha256(text.encode()).hexdigest()


@given(
    rows_and_labels([-1, 1]),
    st.sampled_from(sorted(PACKERS)),
    st.sampled_from([",", "\t", ";", "blank"]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_tables_come_back(made, ending, separator, target_first):
    X, y = made
    text = as_table(X, y, " " if separator == "blank" else separator, target_first)
    layout = Layout("csv", separator=separator, target=0 if target_first else -1)
    parsed = read(text, layout, X.shape[1], ending)
    np.testing.assert_array_equal(parsed.X, X)
    assert parsed.y.tolist() == y
    assert parsed.sha256 == hashlib.sha256(text.encode()).hexdigest()


@given(rows_and_labels(["g", "h", "NA"]))
@settings(max_examples=20, deadline=None)
def test_word_labels_come_back(made):
    X, y = made
    y = [label.replace("NA", "x") for label in y]
    parsed = read(as_table(X, y), Layout("csv"), X.shape[1], text_labels=True)
    np.testing.assert_array_equal(parsed.X, X)
    assert parsed.y.tolist() == y


@given(rows_and_labels([0, 1]), st.sampled_from(sorted(PACKERS)))
@settings(max_examples=20, deadline=None)
def test_arff_comes_back(made, ending):
    X, y = made
    parsed = read(as_arff(X, y), Layout("arff"), X.shape[1], ending)
    np.testing.assert_array_equal(parsed.X, X)
    assert parsed.y.tolist() == y


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))))
@settings(max_examples=20, deadline=None)
def test_idx_comes_back(images):
    images_read = read(as_idx(images), Layout("idx"), images[0].size)
    np.testing.assert_array_equal(images_read.X, images.reshape(len(images), -1))
    assert images_read.y is None
    labels = images[:, 0, 0]
    labels_read = read(as_idx(labels), Layout("idx"), images[0].size)
    assert labels_read.X is None
    assert labels_read.y.tolist() == labels.tolist()


def test_nominal_values_are_numbered_as_declared(tmp_path):
    text = (
        "@relation r\n@attribute shift {W, N}\n@attribute x real\n@attribute class {1,0}\n"
        "@data\nN,2.5,1\nW,1,0\n"
    )
    parsed = parse(write(tmp_path, "r.arff", text), Layout("arff"), features=2)
    assert parsed.X.tolist() == [[1, 2.5], [0, 1]]
    assert parsed.y.tolist() == [1, 0]


def test_rows_with_a_missing_value_are_left_out(tmp_path):
    text = "id,a,b,class\n7,1,2,0\n8,?,2,1\n9,3,4,1\n"
    layout = Layout("csv", header=1, drop=(0,), missing="?")
    parsed = parse(write(tmp_path, "t", text), layout, features=2)
    assert parsed.X.tolist() == [[1, 2], [3, 4]]
    assert parsed.y.tolist() == [0, 1]


def test_dropped_columns_may_hold_words_and_quotes(tmp_path):
    text = '"no","date","x","y"\n"1","2015-02-04, 17:51",3.5,1\n"2","2015-02-05",4,0\n'
    layout = Layout("csv", header=1, drop=(0, 1))
    parsed = parse(write(tmp_path, "t", text), layout, features=1)
    assert parsed.X.tolist() == [[3.5], [4]]


def test_comments_and_other_line_ends_are_understood(tmp_path):
    text = "+1 1:2 # a comment\r\n\r\n-1 2:3\r\n"
    parsed = parse(write(tmp_path, "t", text), Layout(), features=2)
    assert parsed.X.tolist() == [[2, 0], [0, 3]]


def test_written_zeros_take_no_room(tmp_path):
    path = write(tmp_path, "t", "1 1:0 2:3\n-1 2:0\n")
    parsed = parse(path, Layout(), features=2, keep_sparse=True)
    assert parsed.X.nnz == 1
    assert parsed.X.toarray().tolist() == [[0, 3], [0, 0]]


SVM = Layout()
CSV = Layout("csv")
GAPS = Layout("csv", missing="?")
ARFF = Layout("arff")
HEAD = "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute c {0,1}\n@data\n"
FAULTS = [
    (SVM, "1 1:1\n1 1:x\n", "line 2: the value of '1:x' is not a finite number"),
    (SVM, "1 1:1\n1 2\n", "line 2: '2' is not INDEX:NUMBER"),
    (SVM, "1 1:1\nyes 1:1\n", "line 2: the label 'yes' is not a number"),
    (SVM, "1 1:1\n1 3:1\n", "line 2: '3:1' is beyond the 2 features"),
    (SVM, "1 1:1\n1 2:1 1:1\n", "line 2: index 1 comes after 2"),
    (SVM, "1 1:1\n1 1:1 1:2\n", "line 2: index 1 comes after 1"),
    (SVM, "1 1:1\n1 0:1\n", "line 2: index 0 comes after 0"),
    (SVM, "1 1:1\n1 -1:1\n", "line 2: '-1:1' is not INDEX:NUMBER"),
    (SVM, "1 1:1\n1 1:nan\n", "line 2: the value of '1:nan' is not a finite"),
    (SVM, "1 1:1\n1 1:inf\n", "line 2: the value of '1:inf' is not a finite"),
    (SVM, "1 1:1\n1 1:\n", "line 2: the value of '1:' is not a finite"),
    (SVM, "1 1:1\nnan 1:1\n", "line 2: the label 'nan' is not a number"),
    (SVM, "1 1:1\n1 1:\u00e4\n", "line 2"),
    (SVM, "", "holds no rows"),
    (CSV, "1,2,0\n1,2\n", "line 2: 2 fields, 3 expected"),
    (CSV, "1,2,0\n1,2,3,0\n", "line 2: 4 fields, 3 expected"),
    (CSV, "1,2,3,0\n1,2,3,0\n", "line 1: 4 fields, 3 expected"),
    (CSV, "1,0\n1,0\n", "line 1: 2 fields, 3 expected"),
    (CSV, "1,2,0\n1,x,0\n", "line 2: field 2 is 'x', not a finite number"),
    (CSV, "1,2,0\n1,,0\n", "line 2: field 2 is empty, not a finite number"),
    (CSV, "1,2,0\n1,NaN,0\n", "line 2: field 2 is 'NaN'"),
    (CSV, "1,2,0\n1,?,0\n", "line 2: field 2 is '?'"),
    (CSV, "1,2,0\n1,inf,0\n", "line 2: field 2 is 'inf'"),
    (CSV, "1,2,0\n1,2,\n", "line 2: the label is empty"),
    (CSV, "1,2,0\n1,2,g\n", "line 2: the label is 'g'"),
    (CSV, "", "holds no rows"),
    (GAPS, "1,2,0\n1,,0\n", "line 2: field 2 is empty"),
    (ARFF, HEAD + "1,u,0\n2,w,1\n", "line 7: field 2 is 'w', not one of u, v"),
    (ARFF, HEAD + "1,u,0\nx,v,1\n", "line 7: field 1 is 'x'"),
    (ARFF, HEAD + "1,u,0\n1,u\n", "line 7: 2 fields, 3 expected"),
    (ARFF, HEAD + "1,u,0\n1,u,0,1\n", "line 7: 4 fields, 3 expected"),
    (ARFF, HEAD + "1,u,0\n?,u,1\n", "line 7: field 1 is '?'"),
    (ARFF, HEAD.replace("@attribute a real\n", "") + "u,0\n", "2 attributes declared, 3 expected"),
    (ARFF, "a,b\n1,2\n", "line 1: 'a,b' is not part of an ARFF head"),
    (ARFF, HEAD, "holds no rows"),
]


@pytest.mark.parametrize(("layout", "text", "message"), FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path, layout, text, message):
    path = write(tmp_path, "bad file", text)
    with pytest.raises(DataError) as caught:
        parse(path, layout, features=2)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@given(rows_and_labels([0, 1]), st.data())
@settings(max_examples=30, deadline=None)
def test_the_damaged_line_is_the_one_that_is_named(made, data):
    X, y = made
    X = np.abs(X) + 1
    lines = as_table(X, y).splitlines()
    number = data.draw(st.integers(1, len(lines)))
    place = data.draw(st.integers(0, X.shape[1]))
    fields = lines[number - 1].split(",")
    fields[place] = "1.5e"
    lines[number - 1] = ",".join(fields)
    with pytest.raises(DataError, match=f"line {number}: .*'1.5e'"):
        read("\n".join(lines), Layout("csv"), X.shape[1])


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("layout", [SVM, CSV, ARFF, Layout("idx")])
def test_a_truncated_archive_is_no_data(tmp_path, layout, ending):
    X = np.random.default_rng(0).integers(0, 200, (3000, 2))
    y = np.arange(3000) % 2
    texts = {"svmlight": as_svmlight(X, y), "csv": as_table(X, y), "arff": as_arff(X, y)}
    path = write(tmp_path, "cut", texts.get(layout.format, as_idx(X)), ending)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut.*is damaged or truncated"):
        parse(path, layout, features=2)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_a_damaged_archive_is_no_data(tmp_path, ending):
    path = write(tmp_path, "hurt", as_svmlight(np.ones((4000, 2)), [1] * 4000), ending)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="hurt"):
        parse(path, SVM, features=2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "which no idx file does"),
        (b"\0\0\x08", "which no idx file does"),
        (b"P5 28 28", "which no idx file does"),
        (as_idx(np.ones((2, 2), np.uint8))[:-1], "announces 2 x 2 values, 3 bytes follow"),
        (as_idx(np.ones((2, 2), np.uint8)) + b"!", "5 bytes follow"),
        (as_idx(np.ones((2, 3), np.uint8)), "3 features, not 2"),
    ],
)
def test_a_file_that_is_not_idx(tmp_path, data, message):
    path = write(tmp_path, "images", data)
    with pytest.raises(DataError, match=message):
        parse(path, Layout("idx"), features=2)


def test_binary_rubbish_is_no_text(tmp_path):
    path = write(tmp_path, "rubbish", bytes(range(128, 256)) * 10)
    for layout in (SVM, CSV, ARFF):
        with pytest.raises(DataError, match="rubbish"):
            parse(path, layout, features=2)
