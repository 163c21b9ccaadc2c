"""Files are found where they are, and whatever is wrong with them is said."""

import lzma

import numpy as np
import pytest
from written import TINY, as_idx, write

from kernlab.datasets import (
    DataError,
    DataNotFound,
    data_path,
    dataset_available,
    get_dataset,
    load_dataset,
    verify_datasets,
)

pytestmark = pytest.mark.usefixtures("tiny_registry")

TEST_ROWS = "1 1:5\n-1 1:6\n"


@pytest.fixture
def tiny(folder):
    write(folder, "tiny", TINY)
    write(folder, "tiny.t", TEST_ROWS)
    return folder


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_every_ending_is_found(folder, ending):
    write(folder, "tiny", TINY, ending)
    write(folder, "tiny.t", TEST_ROWS, ending)
    data = load_dataset("tiny")
    expected = [[1, 0, 0.5], [0, 2, 0], [-1, 3.25, 0], [0, 0, 1e-3]]
    np.testing.assert_array_equal(data.X_train, expected)
    assert data.y_train.tolist() == [1, -1, 1, -1]
    assert data.X_test.shape == (2, 3)
    assert [path.name for path in data_path("tiny")] == [f"tiny{ending}", f"tiny.t{ending}"]
    assert get_dataset("tiny") == data_path("tiny")


def test_the_users_own_folder_comes_first(tiny, tmp_path):
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    write(downloads, "tiny", "broken")
    assert load_dataset("tiny").X_train.shape == (4, 3)
    (tiny / "tiny").unlink()
    with pytest.raises(DataError, match="line 1"):
        load_dataset("tiny")


def test_any_name_of_a_file_will_do(folder):
    lines = ["id,a,b,c", "x,?,2,no", *(f"x,{i},{i},{'yes' if i % 2 else 'no'}" for i in range(8))]
    write(folder, "other.csv", "\n".join(lines))
    data = load_dataset("table")
    assert set(data.y_train) == set(data.y_test) == {"yes", "no"}
    assert data.info["rows"] == {"train": 6, "valid": 0, "test": 2}
    assert sorted(np.concatenate([data.X_train, data.X_test])[:, 0]) == list(range(8))


def test_other_files_may_hold_the_same_rows(folder):
    lines = [f"{i % 2} 1:{i}\n" for i in range(8)]
    write(folder, "first", "".join(lines[:4]))
    assert not dataset_available("halves")
    write(folder, "second", "".join(lines[4:]))
    assert dataset_available("halves")
    X = np.concatenate([load_dataset("halves").X_train, load_dataset("halves").X_test])
    assert sorted(X[:, 0]) == list(range(8))
    write(folder, "whole", "0 1:9\n1 1:9\n" * 4, ".xz")
    assert load_dataset("halves").X_train[0, 0] == 9


def test_a_paper_may_use_the_first_columns_only(folder):
    write(folder, "whole", "".join(f"{i % 2} 1:{i + 1} 2:{-i - 1}\n" for i in range(8)))
    data = load_dataset("halves", paper="tiny-paper")
    assert data.X_train.shape[1] == data.X_test.shape[1] == data.info["features"] == 1
    assert data.X_train.min() > 0


def test_missing_files_are_named_with_place_and_command(folder, tmp_path):
    write(folder, "tiny.t", TEST_ROWS)
    assert not dataset_available("tiny")
    with pytest.raises(DataNotFound) as caught:
        load_dataset("tiny")
    text = str(caught.value)
    assert "\n  tiny\n" in text
    assert "tiny.t" not in text, "what is there is not missing"
    assert str(folder) in text
    assert str(tmp_path / "downloads") in text
    assert "kernlab data get tiny" in text
    assert "KERNLAB_OFFLINE" in text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tiny", TINY.replace("3.25", "3.26"), "tiny has the wrong checksum"),
        ("tiny.t", "1 1:5\n", r"tiny.t holds 1 rows, 2 expected"),
        ("tiny.t", "1 1:5\n3 1:6\n", "labels that tiny does not: 3; expected are -1, 1"),
    ],
)
def test_another_file_of_that_name_is_an_error(tiny, name, content, message):
    write(tiny, name, content)
    for _ in range(2):  # from the cache as well
        with pytest.raises(DataError, match=message):
            load_dataset("tiny")


def test_one_class_only_is_an_error(folder):
    write(folder, "onesided", "".join(f"{int(i > 3)} 1:{i}\n" for i in range(8)))
    with pytest.raises(DataError, match=r"hold one class only \(0\): as printed: the first 4 rows"):
        load_dataset("onesided", paper="tiny-paper")
    assert set(load_dataset("onesided", split="shuffled").y_train) == {0, 1}


def test_a_fixed_order_hides_the_order_of_the_copy(folder):
    lines = [f"{int(i > 3)} 1:{i}\n" for i in range(8)]
    write(folder, "sorted", "".join(lines))
    first = load_dataset("sorted", paper="tiny-paper")
    write(folder, "sorted", "".join(lines[::-1]))
    second = load_dataset("sorted", paper="tiny-paper")
    np.testing.assert_array_equal(first.X_train, second.X_train)
    np.testing.assert_array_equal(first.y_test, second.y_test)
    assert len(set(first.y_train)) == 2, "the order is not the sorted one"


def test_a_missing_test_file_is_said_in_info(folder):
    write(folder, "rows", "".join(f"{i % 2} 1:{i}\n" for i in range(10)))
    data = load_dataset("unsampled", paper="tiny-paper")
    assert data.info["rows"] == {"train": 6, "valid": 0, "test": 4}
    assert data.info["split"] == "shuffled"
    assert any("the test file is not available" in note for note in data.info["notes"])
    with pytest.raises(DataNotFound, match=r"rows\.t"):
        load_dataset("unsampled", split="site")
    write(folder, "rows.t", "".join(f"{i % 2} 1:{i}\n" for i in range(5)))
    data = load_dataset("unsampled", paper="tiny-paper")
    assert data.info["split"] == "site"
    assert data.info["notes"] == []


def test_images_and_labels_belong_together(folder):
    for prefix in ("", "t-"):
        write(folder, f"{prefix}images", as_idx(np.arange(12).reshape(3, 2, 2)), ".gz")
        write(folder, f"{prefix}labels", as_idx([0, 1, 2]))
    data = load_dataset("pictures")
    np.testing.assert_array_equal(data.X_train, np.arange(12).reshape(3, 4))
    assert data.y_train.tolist() == [0, 1, 2]
    binary = load_dataset("pictures-0")
    assert binary.y_train.tolist() == [1, -1, -1]
    assert binary.info["variant"] == "pictures"
    write(folder, "labels", as_idx([0, 1]))
    with pytest.raises(DataError, match="labels holds 2 rows, 3 expected"):
        load_dataset("pictures")
    write(folder, "labels", as_idx(np.arange(12).reshape(3, 2, 2)))
    with pytest.raises(DataError, match=r"must hold images and .*labels labels"):
        load_dataset("pictures")


@pytest.mark.parametrize(("label", "other"), [(1, 2), (2, 1)])
def test_a_file_with_two_labels_is_understood_by_its_counts(folder, label, other):
    labels = [label, other, other, label, other, other]
    text = "".join(f"{y} 1:{i + 1}\n" for i, y in enumerate(labels))
    write(folder, "two-labels", text)
    data = load_dataset("counted", split="shuffled", paper="tiny-paper")
    X, y = np.concatenate([data.X_train, data.X_test]), np.concatenate([data.y_train, data.y_test])
    assert sorted(X[y == 1, 0]) == [1, 4]
    assert set(y) == {-1, 1}
    write(folder, "two-labels", text.replace(f"{label} 1:4", f"{other} 1:4"))
    with pytest.raises(DataError, match="no class of counted has 2 rows"):
        load_dataset("counted", split="shuffled")


def test_verification_tells_every_state(tiny, folder):
    write(folder, "rows", "nonsense")
    write(folder, "whole", "0 1:1\n", ".xz")
    states = verify_datasets().set_index("dataset")["status"]
    assert states["tiny"].tolist() == ["ok", "unknown"]
    assert states["unsampled"] == "malformed"
    assert states["halves"] == "malformed", "one row of eight"
    assert states["table"] == "missing"
    write(folder, "tiny", "+1 1:2\n")
    assert verify_datasets(["tiny"])["status"].tolist() == ["wrong checksum", "unknown"]
    path = write(folder, "tiny", TINY, ".xz")
    (folder / "tiny").unlink()
    path.write_bytes(lzma.compress(TINY.encode())[:-20])
    found = verify_datasets(["tiny"])
    assert found["status"].tolist() == ["malformed", "unknown"]
    assert "truncated" in found["message"][0]
    assert found["file"][0] == str(path)


def test_too_much_for_the_memory_is_refused_first(tiny, monkeypatch):
    from kernlab.runtime import MemoryLimitError

    monkeypatch.setattr("kernlab.runtime.memory_limit", lambda _: 100)
    with pytest.raises(MemoryLimitError, match="reading tiny needs 192 bytes"):
        load_dataset("tiny")
