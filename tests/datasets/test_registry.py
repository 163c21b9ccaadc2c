"""The registry says what the papers print, and nothing that contradicts itself."""

import hashlib
import lzma
import re

import pytest

from kernlab import paths
from kernlab.datasets import DataError
from kernlab.datasets.load import generated_sizes
from kernlab.datasets.registry import (
    get_entry,
    get_protocol,
    protocol_rows,
    registry,
)
from kernlab.datasets.splits import plan_split

TABLES = {
    "llsvm-t2": "llsvm", "lasn-t2": "lasn", "lasn-t1": "lasn-cv", "sparse-t1": "sparse",
    "hss-t1": "hss", "fpc-t1": "fpc",
}  # fmt: skip

# Where a table prints another number of features than the file has.
OTHER_FEATURES = {
    ("lasn-t2", "ijcnn1"): 22,
    ("lasn-t2", "phishing"): 68,
    ("hss-t1", "a8a"): 123,
    ("hss-t1", "a9a"): 123,
    ("fpc-t1", "default"): 23,
}

ENTRIES = list(registry().sets.values())


def printed(table):
    from kernlab.lab.published import published

    cells = published(table)
    return cells[cells["row"] != "setting"]


def test_one_name_means_one_set():
    seen = {}
    for entry in ENTRIES:
        for name in (entry.name, *entry.aliases):
            plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
            assert seen.setdefault(plain, entry.name) == entry.name


@pytest.mark.parametrize(
    ("name", "near"), [("mushroms", "mushrooms"), ("ijcn1", "ijcnn1"), ("twomoons", "two-moons")]
)
def test_near_names_are_suggested(name, near):
    with pytest.raises(DataError, match=f"no data set '{name}'; near names: .*{near}"):
        get_entry(name)


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_rows_are_those_of_the_paper(table):
    paper, listed = protocol_rows(table)
    assert paper == TABLES[table]
    assert protocol_rows(paper) == (paper, listed)
    assert [row for _, row in listed] == list(dict.fromkeys(printed(table)["row"]))


@pytest.mark.parametrize("table", TABLES)
def test_the_protocols_give_the_printed_counts(table):
    """With the row counts of the registry, no file needed: the numbers of the paper's table."""
    paper, listed = protocol_rows(table)
    cells = printed(table).set_index(["row", "column"])["value"]
    for name, row in listed:
        entry, protocol = get_entry(name), get_protocol(paper, get_entry(name))
        copy = entry.copies[0] if entry.copies else None
        sizes = generated_sizes(entry, protocol) or (entry.train_rows, entry.test_rows)
        if copy:
            sizes = [sum(file.rows for file in getattr(copy, part)) for part in ("train", "test")]
        sizes = {part: rows for part, rows in zip(("train", "test"), sizes, strict=True) if rows}
        plan = plan_split(entry, protocol, None, sizes)
        train = (plan.train or sizes["train"]) - plan.held_out
        test = plan.test or sizes.get("test") or sizes["train"] - train - plan.valid
        assert train == cells.get((row, "training rows"), train), row
        assert test == cells.get((row, "test rows"), test), row
        assert sum(sizes.values()) == cells.get((row, "rows"), sum(sizes.values())), row
        assert len(entry.classes) == cells.get((row, "classes"), len(entry.classes)), row
        features = OTHER_FEATURES.get((table, row), cells[row, "features"])
        assert entry.features == features, row


def test_embedded_files_are_small_known_and_listed():
    folder = paths.embedded_data_dir()
    known = {file.name: file for entry in ENTRIES for c in entry.copies for file in c.files()}
    readme = (folder / "README.md").read_text()
    packed = sorted(folder.glob("*.xz"))
    assert sum(path.stat().st_size for path in packed) < 5_000_000
    assert {path.name for path in folder.iterdir()} <= {
        *(path.name for path in packed), "README.md", "repack.py", "downloads", "__pycache__"
    }  # fmt: skip
    for path in packed:
        assert path.stat().st_size < 2_000_000
        digest = hashlib.sha256(lzma.decompress(path.read_bytes())).hexdigest()
        assert f"{digest}  {path.stem}" in readme
        assert f"`{path.stem}`" in readme
        if path.stem != "a9a-parts":
            assert digest in (known[path.stem].sha256, *known[path.stem].copies)
            entry = next(e for e in ENTRIES for c in e.copies if known[path.stem] in c.files())
            assert entry.licence == "CC BY 4.0"
            assert "https://doi.org/" in entry.citation
