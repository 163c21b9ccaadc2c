"""The cache makes a second load quick and never makes it wrong."""

import multiprocessing
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from written import TINY, write

from kernlab.datasets import cache, load_dataset
from kernlab.datasets import rows as rows_module
from kernlab.datasets.formats import Parsed
from kernlab.paths import cache_dir

TEST_ROWS = "1 1:5\n-1 1:6\n"


@pytest.fixture
def tiny(folder, tiny_registry):
    write(folder, "tiny", TINY)
    write(folder, "tiny.t", TEST_ROWS)
    return folder


@pytest.fixture
def count_parses(monkeypatch):
    parsed = []

    def counting(path, *arguments, **options):
        parsed.append(path.name)
        return rows_module_parse(path, *arguments, **options)

    rows_module_parse = rows_module.parse
    monkeypatch.setattr(rows_module, "parse", counting)
    return parsed


def test_a_second_load_parses_and_hashes_nothing(tiny, count_parses, monkeypatch):
    first = load_dataset("tiny")
    assert count_parses == ["tiny", "tiny.t"]

    def never(*_, **__):
        raise AssertionError("the text is read again")

    monkeypatch.setattr("kernlab.datasets.checksums.text_digest", never)
    monkeypatch.setattr("kernlab.datasets.streams.open_data", never)
    monkeypatch.setattr("kernlab.datasets.formats.open_data", never)
    second = load_dataset("tiny")
    assert count_parses == ["tiny", "tiny.t"]
    np.testing.assert_array_equal(first.X_train, second.X_train)
    assert second.X_train.dtype == np.float64
    assert second.info == first.info


def test_a_changed_file_is_read_again(tiny, count_parses):
    load_dataset("tiny")
    write(tiny, "tiny.t", "1 1:7\n-1 1:8\n")
    assert load_dataset("tiny").X_test[0, 0] == 7
    os.utime(tiny / "tiny", ns=(1, 1))
    load_dataset("tiny")
    assert count_parses == ["tiny", "tiny.t", "tiny.t", "tiny"]


def test_another_way_of_reading_is_another_entry(tmp_path):
    path = write(tmp_path, "rows", "1 1:2\n")
    parsed = Parsed(np.ones((1, 1)), np.array([1]), "a" * 64)
    cache.keep(path, cache.recipe_of("dense", 1), parsed)
    assert cache.recall(path, cache.recipe_of("dense", 1)) is not None
    assert cache.recall(path, cache.recipe_of("sparse", 1)) is None


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not an archive", None])
def test_a_damaged_entry_is_made_anew(tiny, count_parses, damage):
    first = load_dataset("tiny")
    entries = sorted((cache_dir() / "datasets").glob("*.npz"))
    assert len(entries) == 2
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-40] if damage is None else damage)
    second = load_dataset("tiny")
    np.testing.assert_array_equal(first.X_train, second.X_train)
    assert count_parses == ["tiny", "tiny.t"] * 2
    load_dataset("tiny")
    assert len(count_parses) == 4


def test_a_damaged_note_of_a_checksum_is_no_obstacle(tiny, count_parses):
    load_dataset("tiny")
    for note in (cache_dir() / "datasets" / "checksums").iterdir():
        note.write_text("[1, 2")
    load_dataset("tiny")
    assert len(count_parses) == 4


def test_a_failed_write_leaves_nothing_behind(tiny, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert load_dataset("tiny").X_train.shape == (4, 3)
    folder = cache_dir() / "datasets"
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_processes_at_once_do_no_harm(tiny, use_registry):
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
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


values = st.one_of(
    st.integers(-300, 300).map(float),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([2.0**31, -(2.0**31), 2.0**40, 255.0, 256.0, -129.0, 0.1]),
)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=values))
@settings(max_examples=80, deadline=None)
def test_numbers_are_kept_exactly(X):
    y = np.arange(len(X))
    for made in (X, sparse.csr_matrix(X)):
        packed = cache._packed(Parsed(made, y, "0" * 64))
        back = cache._unpacked(packed, "0" * 64)
        dense = back.X.toarray() if sparse.issparse(back.X) else back.X
        assert dense.dtype == np.float64
        np.testing.assert_array_equal(dense, X)
        np.testing.assert_array_equal(back.y, y)


def test_small_numbers_take_little_room():
    images = np.arange(256.0).reshape(16, 16)
    assert cache._packed(Parsed(images, None, ""))["X"].dtype == np.uint8
    assert cache._packed(Parsed(images / 3, None, ""))["X"].dtype == np.float64
    assert cache._packed(Parsed(images / 4, None, ""))["X"].dtype == np.float32


def test_a_late_large_number_is_not_cut():
    X = np.zeros((5000, 1))
    X[-1] = 1e10 + 1
    np.testing.assert_array_equal(cache._narrow(X), X)
