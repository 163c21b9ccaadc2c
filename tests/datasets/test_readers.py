"""Every format in every compression comes back exactly, and once read is not read again."""

import hashlib
import lzma
import multiprocessing
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from written import PACKERS, TINY, as_arff, as_idx, as_svmlight, as_table, write

from kernlab.datasets import DataError, load_dataset, readers
from kernlab.datasets.registry import DataFile, Layout
from kernlab.paths import cache_dir

# Subnormal numbers are left out: strtod and repr agree on them, but they say nothing about data.
numbers = st.one_of(
    st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False),
    st.integers(-300, 300).map(float),
    st.sampled_from([2.0**31, -(2.0**31), 2.0**40, 255.0, 256.0, -129.0, 0.1]),
)
matrices = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=numbers
)


@st.composite
def rows_and_labels(draw, labels):
    X = draw(matrices)
    y = draw(st.lists(st.sampled_from(labels), min_size=len(X), max_size=len(X)))
    return X, y


def parse(path, layout, features, **options):
    return readers.read_file(path, DataFile(path.name), layout, features=features, **options)


def read(text, layout, features, ending="", **options):
    """What a file gives when it is parsed, and again when it comes from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "rows", text, ending)
        first = parse(path, layout, features, **options)
        second = parse(path, layout, features, **options)
        for one, other in ((first.X, second.X), (first.y, second.y)):
            one, other = (a.toarray() if sp.issparse(a) else a for a in (one, other))
            np.testing.assert_array_equal(one, other)
            assert one is None or one.dtype == other.dtype
        return second


@given(rows_and_labels([-1, 1, 7]), st.sampled_from(sorted(PACKERS)), st.booleans())
@settings(max_examples=40)
def test_svmlight_comes_back(made, ending, keep_sparse):
    X, y = made
    text = as_svmlight(X, y)
    parsed = read(text, Layout(), X.shape[1], ending, keep_sparse=keep_sparse)
    assert sp.issparse(parsed.X) == keep_sparse
    np.testing.assert_array_equal(parsed.X.toarray() if keep_sparse else parsed.X, X)
    assert parsed.y.dtype == np.int64
    assert parsed.y.tolist() == y
    assert parsed.sha256 == hashlib.sha256(text.encode()).hexdigest()


@given(
    rows_and_labels([-1, 1]) | rows_and_labels(["g", "h", "x y"]),
    st.sampled_from(sorted(PACKERS)),
    st.sampled_from([",", "\t", ";"]),
    st.sampled_from(["csv", "target first", "arff"]),
)
@settings(max_examples=60)
def test_tables_come_back(made, ending, separator, kind):
    (X, y), first = made, kind == "target first"
    words = isinstance(y[0], str)
    if kind == "arff" and not words:
        text, layout = as_arff(X, y), Layout("arff")
    else:
        text = as_table(X, y, separator, first)
        layout = Layout("csv", separator=separator, target=0 if first else -1)
    parsed = read(text, layout, X.shape[1], ending, text_labels=words)
    np.testing.assert_array_equal(parsed.X, X)
    assert parsed.y.tolist() == y


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))))
@settings(max_examples=20)
def test_idx_comes_back(images):
    images_read = read(as_idx(images), Layout("idx"), images[0].size)
    np.testing.assert_array_equal(images_read.X, images.reshape(len(images), -1))
    assert images_read.y is None
    labels = images[:, 0, 0]
    labels_read = read(as_idx(labels), Layout("idx"), images[0].size)
    assert labels_read.X is None
    assert labels_read.y.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("text", "layout", "X", "y"),
    [
        (
            "@relation r\n@attribute shift {W, N}\n@attribute x real\n@attribute class {1,0}\n"
            "@data\nN,2.5,1\nW,1,0\n",
            Layout("arff"), [[1, 2.5], [0, 1]], [1, 0],
        ),
        (
            "id,a,b,class\n7,1,2,0\n8,?,2,1\n9,3,4,1\n",
            Layout("csv", header=1, drop=(0,), missing="?"), [[1, 2], [3, 4]], [0, 1],
        ),
        (
            '"no","date","a","b","y"\n"1","2015-02-04, 17:51",3.5,1,1\n"2","2015",4,2,0\n',
            Layout("csv", header=1, drop=(0, 1)), [[3.5, 1], [4, 2]], [1, 0],
        ),
        ("+1 1:2 # a comment\r\n\r\n-1 2:3\r\n", Layout(), [[2, 0], [0, 3]], [1, -1]),
    ],
)  # fmt: skip
def test_what_files_may_hold_beside_numbers(text, layout, X, y):
    parsed = read(text, layout, 2)
    assert parsed.X.tolist() == X
    assert parsed.y.tolist() == y


SVM, CSV, GAPS, ARFF = Layout(), Layout("csv"), Layout("csv", missing="?"), Layout("arff")
HEAD = "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute c {0,1}\n@data\n"
FAULTS = [
    (SVM, "1 1:1\n1 3:1\n", "line 2: '3:1' is beyond the 2 features"),
    (CSV, "1,2,3,0\n1,2,3,0\n", "line 1: 4 fields, 3 expected"),
    (CSV, "1,2,0\n1,?,0\n", "line 2: field 2 is '?'"),
    (CSV, "1,2,0\n1,2,g\n", "line 2: the label is 'g'"),
    (GAPS, "1,2,0\n1,,0\n", "line 2: field 2 is empty"),
    (ARFF, HEAD + "1,u,0\n2,w,1\n", "line 7: field 2 is 'w', not one of u, v"),
    (ARFF, HEAD + "1,u,0\nx,v,1\n", "line 7: field 1 is 'x'"),
    (ARFF, HEAD.replace("@attribute a real\n", "") + "u,0\n", "2 attributes declared, 3 expected"),
    (ARFF, "a,b\n1,2\n", "line 1: 'a,b' is not part of an ARFF head"),
    (ARFF, HEAD, "holds no rows"),
    *[(layout, bytes(range(128, 256)) * 10, "line 1: ") for layout in (SVM, CSV, ARFF)],
    (Layout("idx"), b"P5 28 28", "which no idx file does"),
    (Layout("idx"), as_idx(np.ones((2, 2)))[:9], "ends within its head"),
    (Layout("idx"), as_idx(np.ones((2, 2)))[:-1], "announces 2 x 2 values, 3 bytes follow"),
    (Layout("idx"), as_idx(np.ones((2, 3))), "3 features, not 2"),
]


@pytest.mark.parametrize(("layout", "text", "message"), FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path, layout, text, message):
    path = write(tmp_path, "bad file", text)
    with pytest.raises(DataError) as caught:
        parse(path, layout, 2)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("layout", "ending"), [(SVM, ".gz"), (CSV, ".bz2"), (ARFF, ".xz"), (Layout("idx"), ".gz")]
)
def test_a_truncated_archive_is_no_data(tmp_path, layout, ending):
    X = np.random.default_rng(0).integers(0, 200, (3000, 2))
    y = np.arange(3000) % 2
    texts = {"svmlight": as_svmlight(X, y), "csv": as_table(X, y), "arff": as_arff(X, y)}
    path = write(tmp_path, "cut", texts.get(layout.format, as_idx(X)), ending)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=r"cut.*is damaged or truncated"):
        parse(path, layout, 2)


@pytest.mark.parametrize("layout", [SVM, Layout("idx")])
def test_what_unpacks_to_more_than_a_file_can_hold_is_refused_early(tmp_path, layout):
    path = tmp_path / "bomb.xz"
    path.write_bytes(lzma.compress(bytes(50_000_000)))
    with pytest.raises(DataError, match="bomb"):
        readers.read_file(path, DataFile("bomb", rows=10), layout, features=2)


# -------------------------------------------------------------------------------------------- cache
@pytest.fixture
def tiny(folder, tiny_registry):
    write(folder, "tiny", TINY)
    write(folder, "tiny.t", "1 1:5\n-1 1:6\n")
    return folder


@pytest.fixture
def opened(monkeypatch):
    """The names of the files whose text is read."""
    seen, open_data = [], readers.open_data

    def watching(path, **options):
        seen.append(path.name)
        return open_data(path, **options)

    monkeypatch.setattr(readers, "open_data", watching)
    return seen


def test_a_second_load_reads_no_text_and_a_changed_file_is_read_again(tiny, opened):
    first = load_dataset("tiny")
    assert opened == ["tiny", "tiny.t"]
    second = load_dataset("tiny")
    assert opened == ["tiny", "tiny.t"]
    np.testing.assert_array_equal(first.X_train, second.X_train)
    assert second.info == first.info
    write(tiny, "tiny.t", "1 1:7\n-1 1:8\n")
    assert load_dataset("tiny").X_test[0, 0] == 7
    os.utime(tiny / "tiny", ns=(1, 1))
    load_dataset("tiny")
    assert opened == ["tiny", "tiny.t", "tiny.t", "tiny"]
    path = tiny / "tiny"
    other = parse(path, Layout(), 4)
    assert other.X.shape == (4, 4), "another way of reading is another entry"


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not an archive", None])
def test_a_damaged_entry_is_made_anew(tiny, opened, damage):
    first = load_dataset("tiny")
    entries = sorted((cache_dir() / "datasets").glob("*.npz"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-40] if damage is None else damage)
    np.testing.assert_array_equal(first.X_train, load_dataset("tiny").X_train)
    assert len(opened) == 4
    for note in (cache_dir() / "datasets" / "checksums").iterdir():
        note.write_text("[1, 2")
    load_dataset("tiny")
    assert len(opened) == 6


def test_a_cache_that_cannot_be_written_is_no_obstacle(tiny, monkeypatch, tmp_path):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert load_dataset("tiny").X_train.shape == (4, 3)
    assert [path for path in (cache_dir() / "datasets").rglob("*") if path.is_file()] == []
    blocked = tmp_path / "a file"
    blocked.touch()
    monkeypatch.setenv("KERNLAB_CACHE", str(blocked))
    assert load_dataset("tiny").X_train.shape == (4, 3)


def test_processes_at_once_do_no_harm(tiny):
    with multiprocessing.get_context("fork").Pool(4) as pool:
        sums = pool.map(_load_often, range(4))
    assert len(set(sums)) == 1
    files = [path for path in (cache_dir() / "datasets").rglob("*") if path.is_file()]
    assert sorted(path.suffix for path in files) == [".json", ".json", ".npz", ".npz"]


def _load_often(_):
    total = 0.0
    for _ in range(10):
        for entry in (cache_dir() / "datasets").glob("*.npz"):
            entry.unlink(missing_ok=True)
        data = load_dataset("tiny")
        total += data.X_train.sum() + data.X_test.sum()
    return total


def test_late_large_numbers_are_not_cut():
    images = np.tile(np.arange(256.0), 40).reshape(-1, 16)
    images[-1, -1] = 1e10 + 1
    assert read(as_table(images, [0] * len(images)), CSV, 16).X[-1, -1] == 1e10 + 1
