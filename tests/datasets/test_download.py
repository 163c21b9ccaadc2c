"""Downloads arrive whole and right, or not at all."""

import io
import lzma
import multiprocessing
import zipfile

import numpy as np
import pytest
from data_server import Site, serve
from tiny_registry import TEXT
from written import TINY, as_svmlight, as_table

from kernlab.datasets import (
    DataError,
    DataNotFound,
    data_path,
    dataset_available,
    get_dataset,
    load_dataset,
    verify_datasets,
)

TEST_ROWS = "1 1:5\n-1 1:6\n"
GOOD = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}


@pytest.fixture
def site(monkeypatch, use_registry):
    made = Site()
    server = serve(made)
    monkeypatch.delenv("KERNLAB_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    use_registry(TEXT.replace("http://127.0.0.1:1", made.url))
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def downloads(tmp_path):
    return tmp_path / "downloads"


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_missing_set_is_downloaded_once_and_its_checksums_are_recorded(site, downloads):
    site.files = GOOD
    assert not dataset_available("tiny")
    assert load_dataset("tiny").X_train.shape == (4, 3)
    assert names(downloads) == ["SHA256SUMS", "tiny", "tiny.t"]
    assert dataset_available("tiny")
    load_dataset("tiny")
    assert len(site.requests) == 2
    assert verify_datasets(["tiny"])["status"].tolist() == ["ok", "recorded"]
    (downloads / "tiny.t").write_text("1 1:5\n-1 1:7\n")
    found = verify_datasets(["tiny"])
    assert found["status"].tolist() == ["ok", "wrong checksum"]
    assert "the file that was downloaded had" in found["message"][1]


def test_only_what_is_missing_is_downloaded(site, folder, downloads):
    (folder / "tiny").write_text(TINY)
    site.files = GOOD
    assert load_dataset("tiny").info["rows"]["test"] == 2
    assert site.requests == ["/data/tiny.t"]
    assert data_path("tiny") == [folder / "tiny", downloads / "tiny.t"]


def test_packed_files_stay_packed_and_files_of_an_archive_come_out(site, downloads):
    rows = as_svmlight(np.ones((8, 2)), [0, 1] * 4)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("in.csv", as_table(np.arange(16.0).reshape(8, 2), [0, 1] * 4))
        archive.writestr("other.csv", "x")
    site.files = {
        "/data/whole.xz": lzma.compress(rows.encode()),
        "/data/all.zip": packed.getvalue(),
    }
    assert [path.name for path in get_dataset("halves", progress=False)] == ["whole.xz"]
    assert [path.name for path in get_dataset("zipped", progress=False)] == ["inside.csv"]
    assert load_dataset("halves").X_train.shape == (6, 2)
    assert load_dataset("zipped").X_train.shape == (6, 2)


def zipped(name="in.csv", content="1,2,0\n"):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def encrypted():
    """A zip file whose head says that its content is encrypted."""
    data = bytearray(zipped())
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        data[data.index(mark) + (6 if mark[2] == 3 else 8)] |= 1
    return bytes(data)


ROWS = as_svmlight(np.random.default_rng(0).random((500, 2)), [0, 1] * 250)


@pytest.mark.parametrize(
    ("name", "files", "options", "message"),
    [
        ("tiny", GOOD | {"/data/tiny": b"+1 1:2\n"}, {}, "wrong checksum"),
        ("tiny", GOOD, {"break_after": (7, 7)}, "could not be downloaded|broke off"),
        ("tiny", GOOD, {"length": ""}, None),
        ("tiny", GOOD, {"length": "abc"}, None),
        ("tiny", GOOD, {"kind": "text/html; charset=utf-8"}, "answers with a page"),
        ("tiny", GOOD, {"length": "99000000000"}, "announces 99,000,000,000 bytes"),
        ("tiny", {"/data/tiny": TINY.encode() + b"x" * 80_000_000}, {"length": ""}, "sends more"),
        ("tiny", {}, {}, "404"),
        ("unsampled", {"/data/rows": b"<!DOCTYPE html><p>Log in"}, {}, "line 1: a label"),
        ("unsampled", {"/data/rows": b"0 1:1\n"}, {}, "holds 1 rows, 10 expected"),
        ("halves", {"/data/whole.xz": lzma.compress(ROWS.encode())[:-50]}, {}, "truncated"),
        ("halves", {"/data/whole.xz": lzma.compress(bytes(10**8))}, {}, "zero|more than"),
        ("zipped", {"/data/all.zip": b"no zip at all"}, {}, "does not hold in.csv"),
        ("zipped", {"/data/all.zip": zipped("other.csv")}, {}, "does not hold in.csv"),
        ("zipped", {"/data/all.zip": encrypted()}, {}, "does not hold in.csv"),
        ("zipped", {"/data/all.zip": zipped(content="1" * 10**8)}, {}, "bytes, too many"),
    ],
)
def test_what_is_not_the_file_is_refused_and_nothing_of_it_stays(
    site, downloads, name, files, options, message
):
    site.files = files
    for option, value in options.items():
        setattr(site, option, list(value) if option == "break_after" else value)
    if message is None:
        get_dataset(name, progress=False)
        assert names(downloads) == ["SHA256SUMS", "tiny", "tiny.t"]
        return
    with pytest.raises(DataError, match=message):
        get_dataset(name, progress=False)
    assert names(downloads) == []
    with pytest.raises(DataNotFound, match="A download was tried"):
        load_dataset(name)


def test_offline_is_obeyed(site, monkeypatch):
    site.files = GOOD
    for value in ("1", "true", "yes"):
        monkeypatch.setenv("KERNLAB_OFFLINE", value)
        with pytest.raises(DataNotFound, match="No download was tried"):
            load_dataset("tiny")
        with pytest.raises(DataError, match="KERNLAB_OFFLINE is set"):
            get_dataset("tiny")
    assert site.requests == []
    monkeypatch.setenv("KERNLAB_OFFLINE", "0")
    assert load_dataset("tiny").X_train.shape == (4, 3)


def test_processes_that_download_at_once_do_no_harm(site, downloads):
    site.files = GOOD
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(_get, range(3)) == [[4, 3]] * 3
    assert names(downloads) == ["SHA256SUMS", "tiny", "tiny.t"]


def _get(_):
    return list(load_dataset("tiny").X_train.shape)
