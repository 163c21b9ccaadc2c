"""load_dataset on what every installation has: embedded, scikit-learn's and generated sets."""

import hashlib
import lzma

import numpy as np
import pytest
from written import as_svmlight, as_table

from kernlab.datasets import (
    DataError,
    DataNotFound,
    data_path,
    dataset_available,
    get_entry,
    is_bundled,
    list_datasets,
    load_dataset,
    verify_datasets,
)

# Rows, and rows of the positive class, as UCI and the LIBSVM site publish them; where they are
# KEEL's copies, as data/README.md says.
EMBEDDED = {
    "magic": (19020, 12332), "breast-cancer": (683, 239), "spambase": (4597, 1812),
    "letter": (20000, None), "pendigits": (10992, None), "satimage": (6435, None),
    "liver-disorders": (345, 155), "a9a": (48842, 11687), "mushrooms": (8124, 3916),
    "banknote": (1372, 610), "seismic": (2584, 170), "occupancy": (20560, 4750),
    "musk": (6598, 1017), "default": (30000, 6636), "skin_nonskin": (245057, 50859),
    "htru2": (17898, 1639), "shuttle": (58000, None), "a1a": (32561, 7841), "a8a": (32561, 7841),
}  # fmt: skip
PARTS = {
    "a1a": (1605, 395), "a2a": (2265, 572), "a3a": (3185, 773), "a4a": (4781, 1188),
    "a6a": (11220, 2692), "a7a": (16100, 3918), "a8a": (22696, 5506),
}  # fmt: skip
OF_THE_SITE = {"a1a", "a8a", "a9a", "mushrooms", *EMBEDDED.keys() & {"breast-cancer", "spambase"}}
OF_THE_SITE |= {"letter", "pendigits", "satimage"}


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_need_nothing_else(name):
    rows, positives = EMBEDDED[name]
    data = load_dataset(name, split="shuffled")
    assert sum(data.info["rows"].values()) == rows
    assert data.X_train.dtype == np.float64
    assert data.info["licence"] == "CC BY 4.0"
    assert data.info["checksum"]
    if positives:
        labels = np.concatenate([data.y_train, data.y_test])
        assert np.sum(labels == data.info["positive"]) == positives
    assert set(verify_datasets([name])["status"]) == {"ok" if name in OF_THE_SITE else "derived"}


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_of_the_adult_set_come_back_to_the_byte(name):
    """Checksums are those of the files themselves."""
    assert dataset_available(name)
    assert is_bundled(name)
    assert list_datasets().set_index("name").loc[name, "where"] == "embedded"
    rows, positives = PARTS[name]
    data = load_dataset(name)
    assert data.info["rows"] == {"train": rows, "valid": 0, "test": 32561 - rows}
    assert (data.y_train == 1).sum() == positives
    digests = {file.name: {file.sha256, *file.copies} for file in get_entry(name).copies[0].files()}
    for path in data_path(name):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in digests[path.name]


def test_fpc_splits_and_scales():
    data = load_dataset("magic", paper="fpc", seed=3)
    assert data.info["rows"] == {"train": 9510, "valid": 4755, "test": 4755}
    np.testing.assert_allclose(data.X_train.min(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X_train.max(axis=0), 1, atol=1e-12)
    assert data.info["scaling"] == "unit"
    raw = load_dataset("magic", paper="fpc", seed=3, scaling="none")
    low, high = raw.X_train.min(axis=0), raw.X_train.max(axis=0)
    np.testing.assert_allclose(data.X_valid, (raw.X_valid - low) / (high - low), atol=1e-12)
    np.testing.assert_allclose(data.X_test, (raw.X_test - low) / (high - low), atol=1e-12)
    assert data.X_test.max() > 1, "test rows did not take part"


@pytest.mark.parametrize(
    ("paper", "rows"),
    [
        ("llsvm", (15216, 0, 3804)),
        ("lasn", (11412, 0, 7608)),
        ("lasn-cv", (9129, 2283, 7608)),
        ("sparse", (12743, 0, 6277)),
        ("hss", (13314, 0, 5706)),
        ("fpc", (9510, 4755, 4755)),
        (None, (14265, 0, 4755)),
    ],
)
def test_every_paper_has_its_habits(paper, rows):
    data = load_dataset("magic", paper=paper)
    assert tuple(data.info["rows"].values()) == rows
    assert data.info["paper"] == paper
    shares = [np.mean(y == "g") for y in (data.y_train, data.y_test)]
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "site"}, "no published test file"),
        ({"split": "printed"}, "needs a paper"),
        ({"split": "printed", "paper": "lasn"}, "prints no row counts for magic"),
        ({"split": "mixed"}, "there is no split 'mixed'"),
        ({"scaling": "minmax"}, "there is no scaling 'minmax'"),
        ({"paper": "nystrom"}, "there is no paper 'nystrom'"),
        ({"paper": "lasn", "split": "site"}, "one class only"),
    ],
)
def test_what_cannot_be_had_is_refused(options, message):
    with pytest.raises(DataError, match=message):
        load_dataset("magic", **options)


# ------------------------------------------------------------------------------ files of one's own
X, Y = np.random.default_rng(0).random((100, 3)), np.repeat([0, 1], [70, 30])


@pytest.fixture(params=["svm", "csv", "words", "xz", "npy"])
def own(request, tmp_path):
    path = tmp_path / f"my.{request.param}"
    text = as_svmlight(X, Y)
    if request.param == "npy":
        np.save(path, np.column_stack([X, Y]))
    elif request.param == "xz":
        path.write_bytes(lzma.compress(text.encode()))
    elif request.param == "svm":
        path.write_text(text)
    else:
        labels = np.array(["no", "yes"])[Y] if request.param == "words" else Y
        path.write_text("a,b,c,label\n" + as_table(X, labels))
    return path


def test_a_file_of_ones_own_is_a_data_set(own):
    for name in (own, str(own)):
        data = load_dataset(name)
    assert data.info["rows"] == {"train": 80, "valid": 0, "test": 20}
    assert data.info["title"] == own.name
    assert list(data.info["checksum"]) == [own.name]
    positive = data.info["positive"]
    assert np.mean(data.y_train == positive) == np.mean(data.y_test == positive) == 0.3
    both = np.concatenate([data.X_train, data.X_test])
    np.testing.assert_allclose(np.sort(both, axis=0), np.sort(X, axis=0))
    scaled = load_dataset(own, scaling="unit", seed=1)
    np.testing.assert_allclose(scaled.X_train.min(axis=0), 0, atol=1e-12)
    assert not np.array_equal(scaled.y_train, data.y_train)
    assert load_dataset(own, paper="fpc").info["rows"] == {"train": 50, "valid": 25, "test": 25}


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(DataNotFound, match=r"there is no file .*nowhere\.svm"):
        load_dataset("nowhere.svm")
    (tmp_path / "bad.csv").write_text("1,2\n3,x\n")
    with pytest.raises(DataError, match="line 2: the label is 'x'"):
        load_dataset(tmp_path / "bad.csv")
    np.save(tmp_path / "one.npy", np.ones((4, 1)))
    with pytest.raises(DataError, match="no features beside"):
        load_dataset(tmp_path / "one.npy")
