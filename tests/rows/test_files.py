"""Files read by rows, against scikit-learn's and pandas' readers, and files that are broken."""

import bz2
import gzip
import lzma
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernlab.rows import DataError, as_rows, text
from kernlab.runtime import MemoryLimitError


def written(folder, content, name="rows.svm"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def dense(block):
    return block.toarray() if sp.issparse(block) else block


@pytest.fixture(params=[2**22, 64], ids=["one piece", "pieces of 64 bytes"])
def pieces(request, monkeypatch):
    """However the file is cut into pieces, a row is whole."""
    monkeypatch.setattr(text, "PIECE_BYTES", request.param)


@pytest.mark.parametrize("density", [0.05, 1.0])
@pytest.mark.parametrize("zero_based", [False, True])
def test_any_slice_is_what_scikit_learn_reads(tmp_path, pieces, density, zero_based):
    generator = np.random.default_rng(0)
    X = sp.random(97, 30, density=density, random_state=0, format="lil")
    X[0, [0, 29]] = 1.0
    X = X.tocsr()
    X.data = X.data * 10.0 ** generator.integers(-12, 12, X.nnz)
    y = generator.normal(size=97)
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(X, y, path, zero_based=zero_based, comment="made\nfor a test")
    rows = as_rows(path, zero_based=zero_based)
    assert as_rows(path, zero_based="auto").shape == rows.shape
    expected, labels = load_svmlight_file(path, zero_based=zero_based)
    assert rows.shape == (97, 30)
    np.testing.assert_array_equal(rows.labels, labels)
    for part in (slice(0, 97), slice(0, 1), slice(13, 50), slice(90, 200), slice(5, 5)):
        block = rows.block(part)
        assert sp.issparse(block) == (density < 0.25)
        np.testing.assert_array_equal(dense(block), expected[part].toarray())
    chosen = np.array([3, 0, 96, 50, 51, 52])
    np.testing.assert_array_equal(dense(rows.take(chosen)), expected[chosen].toarray())


def test_every_number_is_read_to_its_last_bit(tmp_path):
    generator = np.random.default_rng(0)
    values = generator.normal(size=400) * 10.0 ** generator.integers(-300, 300, 400)
    words = [f"{v:.{d}{f}}" for v in values for d in (3, 15, 17) for f in "ge"]
    words += ["9007199254740993", "1e22", "1e23", "3e-22", "0.1e-22", "-0", ".5", "5.", "0e9999"]
    words += ["5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "000123.25000"]
    words += ["0." + 30 * "0" + "7", "123456789012345678901234567890e-20", "1E+2", "+7"]
    path = written(tmp_path, "".join(f"{word} 1:{word} 3:1\n" for word in words))
    rows, expected = as_rows(path), np.array([float(word) for word in words])
    np.testing.assert_array_equal(rows.labels, expected)
    np.testing.assert_array_equal(dense(rows.block(slice(0, len(words))))[:, 0], expected)
    assert np.signbit(rows.labels[words.index("-0")])


def test_tables_are_read_to_the_last_bit_and_without_a_warning(tmp_path):
    """Whatever pandas: from 3.1 on it says that nobody need ask it to be exact."""
    draw = np.random.default_rng(0)
    X = draw.integers(0, 2**63, (500, 3)).view(np.float64)
    X = np.where(np.isfinite(X), X, 0.1)
    digits = ["".join(map(str, draw.integers(0, 10, 30))) for _ in range(500)]
    lines = [f"{a!r},{b!r},{c!r},0.{d},1" for (a, b, c), d in zip(X.tolist(), digits, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = as_rows(tmp_path / "table.csv").whole()
    np.testing.assert_array_equal(read[:, :3], X)
    assert read[:, 3].tolist() == [float(f"0.{d}") for d in digits]


def test_all_that_svmlight_allows(tmp_path, pieces):
    path = written(
        tmp_path,
        "# a comment before all\n"
        "+1 1:0.5 3:-2e-3 # and one behind: 5:5\n"
        "\n"
        "-1\t2:+.5   4:7.\r\n"
        "   \n"
        "3.5e0 1:1E2\n"
        "-1\n"
        "1 4:12345678901234567890",
    )
    rows = as_rows(path)
    np.testing.assert_array_equal(rows.labels, [1, -1, 3.5, -1, 1])
    expected = np.zeros((5, 4))
    expected[0, [0, 2]] = 0.5, -2e-3
    expected[1, [1, 3]] = 0.5, 7.0
    expected[2, 0] = 100.0
    expected[4, 3] = 12345678901234567890
    np.testing.assert_array_equal(dense(rows.block(slice(0, 5))), expected)
    np.testing.assert_array_equal(dense(rows.take([4, 1])), expected[[4, 1]])


TABLE = "1.5,2,0\n-3,4e-2,1\n\n0,+7,1\n"


@pytest.mark.parametrize(
    ("content", "options", "labels"),
    [
        (TABLE, {}, [0, 1, 1]),
        ("a,b,c\n" + TABLE, {}, [0, 1, 1]),
        ("\ufeffa,b,c\n" + TABLE, {"label": "c"}, [0, 1, 1]),
        (TABLE.replace(",", ";"), {}, [0, 1, 1]),
        (TABLE.replace(",", "  "), {}, [0, 1, 1]),
        (TABLE.replace(",", "\t"), {"label": -1}, [0, 1, 1]),
        (TABLE.replace(",0\n", ",no\n").replace(",1\n", ",yes\n"), {}, ["no", "yes", "yes"]),
        ("0,1.5,2\n1,-3,4e-2\n1,0,7\n", {"label": 0}, [0, 1, 1]),
        ("y,b,c\n0,1.5,2\n1,-3,4e-2\n1,0,7\n", {}, [0, 1, 1]),
        ("1.5,2\n-3,4e-2\n0,7\n", {"label": False}, None),
        ("1.5,2\n-3,4e-2\n0,7\n", {"n_features": 2}, None),
        ("1.5,2\n-3,4e-2\n0,7\n", {"y": [0, 1, 1]}, [0, 1, 1]),
    ],
)
def test_tables_say_where_their_labels_are(tmp_path, pieces, content, options, labels):
    rows = as_rows(written(tmp_path, content, "rows.csv"), **options)
    np.testing.assert_array_equal(rows.block(slice(0, 3)), [[1.5, 2], [-3, 4e-2], [0, 7]])
    np.testing.assert_array_equal(rows.take([2, 1]), [[0, 7], [-3, 4e-2]])
    assert (rows.labels is None) if labels is None else (list(rows.labels) == labels)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("content", ["1 1:1 3:2\n-1 2:1\n", "1,0,2,1\n0,1,0,-1\n"])
def test_compressed_texts_are_read_and_damaged_ones_named(tmp_path, pieces, compress, content):
    packed = compress(content.encode())
    rows = as_rows(written(tmp_path, packed))
    np.testing.assert_array_equal(dense(rows.whole()), [[1, 0, 2], [0, 1, 0]])
    assert list(rows.labels) == [1, -1]
    with pytest.raises(DataError, match="damaged or truncated"):
        as_rows(written(tmp_path, packed[:-8]))


def test_a_text_that_unpacks_to_more_than_memory_holds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("kernlab.rows.text.memory_limit", lambda: 10_000)
    path = written(tmp_path, lzma.compress(b"1,2,3\n" * 10_000))
    with pytest.raises(MemoryLimitError, match="Decompress the file"):
        as_rows(path)
    zeros = written(tmp_path, lzma.compress(bytes(10**8)))
    with pytest.raises(DataError, match="neither a text of rows"):
        as_rows(zeros)


def test_more_features_than_the_file_shows(tmp_path):
    path = written(tmp_path, "1 1:1\n-1 2:1\n")
    assert as_rows(path, n_features=7).block(slice(0, 2)).shape == (2, 7)
    with pytest.raises(DataError, match="line 2: '2:1' is beyond the 1 features"):
        as_rows(path, n_features=1)


def test_an_index_of_a_hundred_million_costs_nothing(tmp_path):
    rows = as_rows(written(tmp_path, "1 1:1 100000000:.5\n-1 1:2\n1 2:1\n"))
    assert rows.shape == (3, 10**8)
    for block in (rows.block(slice(0, 2)), rows.take([0, 1])):
        np.testing.assert_array_equal(block.indices, [0, 10**8 - 1, 0])
        np.testing.assert_array_equal(block.data, [1.0, 0.5, 2.0])
    assert rows.nbytes < 200


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1:1\nyes 1:2\n", "line 2: a label that is not a number: 'yes'"),
        ("1 1:1\n\n1x 1:2\n", "line 3: a label"),
        ("1 1:1\n1 2\n", "line 2: an entry that is not index:value"),
        ("1 a:1\n", "line 1: an entry"),
        ("1 qid:3 1:1\n", "line 1: an entry"),
        ("1 1:1\n1 0:2\n", "line 2: an index below 1"),
        ("1 1:1 1:2\n", "line 1: index 1 comes after 1"),
        ("1 1:1\n1 3:1 2:2\n", "line 2: index 2 comes after 3"),
        ("1 99999999999:1\n", "line 1: the index 99999999999 is beyond 2.31 - 1"),
        ("1 2147483648:1\n", "line 1: the index 2147483648 is beyond 2.31 - 1"),
        ("\n# nothing\n", "holds no rows"),
        ("", "holds no rows"),
        ("1,2\n3,4,5\n", "line 2: 3 fields, 2 expected"),
        ("1,2\n3,x\n", "line 2: the label is 'x'"),
        ("1,2\n,4\n", "line 2: field 1 is empty"),
        ("a,b\n1,2\nnan,4\n", "line 3: field 1 is 'nan'"),
        ("1,2\n3,4\r5,6\n", "line 2: "),
        *[
            (f"1 1:1\n1 1:2\n1 1:{value}\n", "line 3: a value that is not a finite number")
            for value in ("", "nan", "inf", "1e999", "1.2.3", "0x10", "1e", "-", "1_0")
        ],
    ],
)
def test_faults_are_named_with_their_line(tmp_path, pieces, content, message, packed):
    content = gzip.compress(content.encode()) if packed else content
    with pytest.raises(DataError, match=message):
        as_rows(written(tmp_path, content))


@pytest.mark.parametrize("after", ["1 1:1 0003:1\n-1 1:2 0002:1\n", "1 1:1\n", "nothing\n"])
def test_a_file_that_changes_after_it_was_opened(tmp_path, after):
    path = written(tmp_path, "1 1:1 0002:1\n-1 1:2 0002:1\n")
    rows = as_rows(path)
    path.write_text(after)
    for read in (lambda: rows.block(slice(0, 2)), lambda: rows.take([0])):
        with pytest.raises(DataError, match="has changed since"):
            read()


def test_what_cannot_be_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((4, 3)))
    written(tmp_path, (tmp_path / "rows.npy").read_bytes()[:-9], "cut.npy")
    np.save(tmp_path / "objects.npy", np.array([[{}]]))
    for name in ("cut.npy", "objects.npy"):
        with pytest.raises(DataError, match=rf"{name} is not a matrix in NumPy's .npy format"):
            as_rows(tmp_path / name)
    with pytest.raises(DataError, match="is not a text"):
        as_rows(written(tmp_path, b"\xff\xfe\xfa\n"))
    with pytest.raises(ValueError, match="step 1"):
        as_rows(written(tmp_path, "1 1:1\n")).block(slice(None, None, 2))


def test_parquet_is_read_by_row_groups(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).random((30, 3))
    frame = pandas.DataFrame(X, columns=list("abc")).assign(label=np.arange(30) % 2)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=7)
    rows = as_rows(tmp_path / "rows.parquet")
    assert rows.shape == (30, 3)
    np.testing.assert_array_equal(rows.labels, np.arange(30) % 2)
    np.testing.assert_allclose(rows.take([29, 0, 8]), X[[29, 0, 8]])
    np.testing.assert_allclose(np.vstack([block for _, block in rows.blocks()]), X)
