"""The papers' real files: every one loads with the counts that are known of it."""

import csv

import numpy as np
import pytest
from scipy import sparse

from kernlab.datasets import (
    get_entry,
    load_dataset,
)
from kernlab.datasets.files import find
from kernlab.datasets.readers import read_file
from kernlab.datasets.registry import registry

# Where a file's count of positives or rows is not that of the rows that are read from it.
READ_DIFFERENTLY = {"breast-cancer-wisconsin.data.xz": (683, 239)}


@pytest.fixture(scope="session")
def parsed_once(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def real_files(real_data, parsed_once, monkeypatch):
    monkeypatch.setenv("KERNLAB_DATA", str(real_data))
    monkeypatch.setenv("KERNLAB_CACHE", str(parsed_once))
    return real_data


def manifest(folder):
    with (folder / "MANIFEST.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def registered(path):
    """(entry, copy, file) of the registry that mean this file."""
    for entry in registry().sets.values():
        for copy in entry.copies:
            for file in copy.files():
                if path.name.removesuffix(".xz") in file.names and not entry.base:
                    return entry, copy, file
    raise AssertionError(f"{path.name} is not in the registry")


def test_every_file_of_the_manifest_loads_with_its_counts(real_files):
    listed = manifest(real_files)
    assert len(listed) > 50
    for line in listed:
        path = real_files / line["file"]
        entry, copy, file = registered(path)
        classes = copy.classes or entry.classes
        parsed = read_file(
            path, file, copy.layout, features=entry.features,
            text_labels=isinstance(classes[0], str), keep_sparse=entry.sparse,
        )  # fmt: skip
        rows, positives = int(line["rows"]), line["positives"]
        rows, positives = READ_DIFFERENTLY.get(line["file"], (rows, positives))
        assert parsed.rows == rows, line["name"]
        if parsed.X is not None:
            assert parsed.X.shape[1] == int(line["features"]), line["name"]
            assert sparse.issparse(parsed.X) == entry.sparse
        if positives and parsed.y is not None:
            positive = {"covtype": 2, "shuttle": 1}.get(entry.name, entry.positive)
            assert np.sum(parsed.y == positive) == int(positives), line["name"]


@pytest.mark.parametrize("name", ["magic", "breast-cancer", "liver-disorders"])
def test_embedded_and_original_files_give_the_same_rows(real_files, name, monkeypatch):
    original = load_dataset(name, paper="fpc", scaling="none", seed=1)
    assert {path.parent for path in find(get_entry(name)).paths.values()} == {real_files}
    monkeypatch.delenv("KERNLAB_DATA")
    embedded = load_dataset(name, paper="fpc", scaling="none", seed=1)
    assert embedded.info["checksum"] != original.info["checksum"]
    for part in ("X_train", "y_train", "X_valid", "y_valid", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(embedded, part), getattr(original, part))
