"""Downloads arrive whole or not at all, and go on where they broke off."""

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
    download,
    get_dataset,
    load_dataset,
)
from kernlab.datasets.registry import DataFile

TEST_ROWS = "1 1:5\n-1 1:6\n"


@pytest.fixture
def site(monkeypatch, use_registry):
    made = Site()
    server = serve(made)
    monkeypatch.delenv("KERNLAB_OFFLINE")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "_BLOCK", 1)
    use_registry(TEXT.replace("http://127.0.0.1:1", made.url))
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def downloads(tmp_path):
    return tmp_path / "downloads"


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_a_missing_set_is_downloaded_and_kept(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    assert not dataset_available("tiny")
    assert load_dataset("tiny").X_train.shape == (4, 3)
    assert names(downloads) == ["tiny", "tiny.t"]
    assert dataset_available("tiny")
    load_dataset("tiny")
    assert len(site.requests) == 2


def test_a_packed_file_stays_packed(site, downloads):
    rows = as_svmlight(np.ones((8, 2)), [0, 1] * 4)
    site.files = {"/data/whole.xz": lzma.compress(rows.encode())}
    assert [path.name for path in get_dataset("halves", progress=False)] == ["whole.xz"]
    assert load_dataset("halves").X_train.shape == (6, 2)


def test_only_what_is_missing_is_downloaded(site, folder, downloads):
    (folder / "tiny").write_text(TINY)
    site.files = {"/data/tiny.t": TEST_ROWS.encode()}
    assert load_dataset("tiny").info["rows"]["test"] == 2
    assert [path for path, _ in site.requests] == ["/data/tiny.t"]
    assert data_path("tiny") == [folder / "tiny", downloads / "tiny.t"]


def test_a_broken_connection_is_taken_up_again(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    site.break_after = [7, 5]
    get_dataset("tiny", progress=False)
    ranges = [wanted for path, wanted in site.requests if path == "/data/tiny"]
    assert ranges == ["", "bytes=7-", "bytes=12-"]
    assert (downloads / "tiny").read_text() == TINY
    assert names(downloads) == ["tiny", "tiny.t"]


def test_what_was_received_is_kept_for_the_next_attempt(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    site.break_after = [7, 0, 0]
    with pytest.raises(DataNotFound, match="The 7 bytes received are kept: try again to go on"):
        load_dataset("tiny")
    assert names(downloads) == ["tiny.part", "tiny.part.version"]
    assert load_dataset("tiny").X_train.shape == (4, 3)
    assert ("/data/tiny", "bytes=7-") in site.requests
    assert names(downloads) == ["tiny", "tiny.t"]


def test_a_server_without_parts_starts_again(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    site.ranges = False
    site.break_after = [7]
    get_dataset("tiny", progress=False)
    assert (downloads / "tiny").read_text() == TINY


def test_without_a_version_nothing_is_pieced_together(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    site.version = ""
    site.break_after = [7]
    get_dataset("tiny", progress=False)
    assert [wanted for _, wanted in site.requests] == ["", "", ""]
    assert (downloads / "tiny").read_text() == TINY


def test_an_answer_that_ends_in_silence_is_no_file(site, downloads, monkeypatch):
    """Some versions of the libraries below do not notice; the announced length is what counts."""
    import requests

    class Short(requests.Response):
        def iter_content(self, *_, **__):
            yield TINY.encode()[:7]

        def close(self):
            pass

    def answer(*_, **__):
        response = Short()
        response.status_code = 200
        response.headers["Content-Length"] = str(len(TINY))
        return response

    monkeypatch.setattr(requests, "get", answer)
    with pytest.raises(DataError, match=f"7 of {len(TINY)} bytes were received"):
        get_dataset("tiny", progress=False)


def test_a_file_that_changed_meanwhile_is_fetched_whole(site, downloads):
    site.files = {"/data/tiny": b"an older file, longer", "/data/tiny.t": TEST_ROWS.encode()}
    site.break_after = [7, 0, 0]
    with pytest.raises(DataError):
        get_dataset("tiny", progress=False)
    site.files["/data/tiny"] = TINY.encode()
    site.version = '"2"'
    get_dataset("tiny", progress=False)
    assert (downloads / "tiny").read_text() == TINY


def test_a_part_longer_than_the_file_is_thrown_away(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    downloads.mkdir()
    (downloads / "tiny.part").write_text(TINY * 3)
    (downloads / "tiny.part.version").write_text('"1"')
    get_dataset("tiny", progress=False)
    assert (downloads / "tiny").read_text() == TINY


def test_a_wrong_checksum_leaves_nothing(site, downloads):
    site.files = {"/data/tiny": b"+1 1:2\n", "/data/tiny.t": TEST_ROWS.encode()}
    with pytest.raises(DataError, match=r"sent has the wrong checksum.*it was not kept"):
        get_dataset("tiny", progress=False)
    assert names(downloads) == []
    with pytest.raises(DataNotFound, match=r"A download was tried\. what .* wrong checksum"):
        load_dataset("tiny")


def test_a_truncated_archive_leaves_nothing(site, downloads):
    rows = as_svmlight(np.random.default_rng(0).random((500, 2)), [0, 1] * 250)
    site.files = {"/data/whole.xz": lzma.compress(rows.encode())[:-50]}
    with pytest.raises(DataError, match="damaged or truncated"):
        get_dataset("halves", progress=False)
    assert names(downloads) == []


def test_what_the_server_does_not_have(site, downloads):
    with pytest.raises(DataNotFound, match="404"):
        load_dataset("tiny")
    assert names(downloads) == []


def test_no_network(site, downloads):
    nowhere = DataFile("nowhere", url="http://127.0.0.1:9/nowhere")
    with pytest.raises(DataError, match="could not be downloaded: its host cannot be reached"):
        download.fetch(nowhere, progress=False)
    assert names(downloads) == []


def test_offline_is_obeyed(site, monkeypatch):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    for value in ("1", "true", "yes"):
        monkeypatch.setenv("KERNLAB_OFFLINE", value)
        with pytest.raises(DataNotFound, match="No download was tried"):
            load_dataset("tiny")
        with pytest.raises(DataError, match="KERNLAB_OFFLINE is set"):
            get_dataset("tiny")
    assert site.requests == []
    monkeypatch.setenv("KERNLAB_OFFLINE", "0")
    assert load_dataset("tiny").X_train.shape == (4, 3)


def test_a_file_inside_a_zip(site, downloads):
    X, y = np.arange(16.0).reshape(8, 2), [0, 1] * 4
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("in.csv", as_table(X, y))
        archive.writestr("other.csv", "x")
    site.files = {"/data/all.zip": packed.getvalue()}
    assert [path.name for path in get_dataset("zipped", progress=False)] == ["inside.csv"]
    assert load_dataset("zipped").X_train.shape == (6, 2)
    assert [path for path, _ in site.requests] == ["/data/all.zip"]


@pytest.mark.parametrize("data", [b"no zip at all", None])
def test_a_zip_that_does_not_hold_the_file(site, downloads, data):
    if data is None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("other.csv", "x")
        data = packed.getvalue()
    site.files = {"/data/all.zip": data}
    with pytest.raises(DataError, match=r"all.zip does not hold in\.csv"):
        get_dataset("zipped", progress=False)
    assert names(downloads) == []


def test_a_folder_that_cannot_be_written(site, tmp_path, monkeypatch):
    site.files = {"/data/tiny": TINY.encode()}
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setattr("kernlab.paths.downloads_dir", lambda: blocked / "downloads")
    with pytest.raises(DataError, match="tiny could not be downloaded"):
        get_dataset("tiny", progress=False)


def test_two_processes_download_once(site, downloads):
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    context = multiprocessing.get_context("fork")
    with context.Pool(3) as pool:
        found = pool.map(_get, range(3))
    assert found == [[4, 3]] * 3
    assert len(site.requests) == 2
    assert names(downloads) == ["tiny", "tiny.t"]


def _get(_):
    return list(load_dataset("tiny").X_train.shape)


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_progress_is_shown_where_it_is_wanted(site, capsys, monkeypatch, wanted):
    monkeypatch.setenv("KERNLAB_PROGRESS", wanted)
    site.files = {"/data/tiny": TINY.encode(), "/data/tiny.t": TEST_ROWS.encode()}
    get_dataset("tiny")
    assert ("downloading tiny" in capsys.readouterr().err) == (wanted == "1")
