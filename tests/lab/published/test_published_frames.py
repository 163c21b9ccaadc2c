"""What holds for the published numbers without the papers at hand."""

import csv
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_text import numbers

import kernlab
from kernlab.datasets import dataset_names
from kernlab.lab.published import (
    COLUMNS,
    SETTING,
    UnknownIdError,
    published,
    published_all,
    published_ids,
)

FOLDER = Path(kernlab.__file__).parent / "published"
IDS = published_ids()
UNITS = {
    *("", "s", "h", "%", "fraction", "rows", "features", "classes", "landmarks", "centres"),
    *("trees", "support vectors", "MB", "GB", "GHz", "bytes", "repeats", "folds", "passes"),
    *("iterations", "points", "processors", "threads"),
}
# Columns that end like this hold one of these units and nothing else.
UNITS_OF_COLUMNS = {
    "time": {"s", "h"},
    "accuracy": {"%", "fraction"},
    "error": {"%", "fraction"},
    "rows": {"rows"},
    "features": {"features"},
    "classes": {"classes"},
    "landmarks": {"landmarks"},
    "memory": {"MB", "GB"},
    "size": {"MB", "GB"},
    "share": {"%"},
    "repeats": {"repeats"},
}


def test_files_and_index_name_the_same_ids():
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(IDS)
    assert len(IDS) == len(set(IDS))


@pytest.mark.parametrize("id", IDS)
def test_columns_and_types(id):
    frame = published(id)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) > 0
    assert frame["value"].dtype == float
    for column in frame.columns.drop("value"):
        assert frame[column].map(type).eq(str).all(), column
        assert (frame[column] == frame[column].str.strip()).all(), column
    assert (frame[["row", "column"]] != "").all(axis=None)


@pytest.mark.parametrize("id", IDS)
def test_row_and_column_are_a_key(id):
    frame = published(id)
    twice = frame[frame.duplicated(["row", "column"])]
    assert twice.empty, twice


@pytest.mark.parametrize("id", IDS)
def test_a_missing_value_is_explained(id):
    missing = published(id).query("value != value")
    assert (missing["note"] != "").all(), missing
    assert (missing["unit"] == "").all(), missing


@pytest.mark.parametrize("id", IDS)
def test_the_value_is_one_of_the_printed_numbers(id):
    frame = published(id).dropna(subset="value")
    for value, printed in zip(frame["value"], frame["printed"], strict=True):
        assert value in numbers(printed), f"{value} from {printed!r}"


@pytest.mark.parametrize("id", IDS)
def test_units(id):
    frame = published(id).dropna(subset="value")
    assert set(frame["unit"]) <= UNITS
    for column, unit in zip(frame["column"], frame["unit"], strict=True):
        quantity = column.removesuffix(" sd").split(" ")[-1]
        assert unit in UNITS_OF_COLUMNS.get(quantity, UNITS), f"{column}: {unit!r}"


@pytest.mark.parametrize("id", IDS)
def test_a_deviation_stands_beside_its_mean(id):
    frame = published(id).set_index(["row", "column"])
    for row, column in frame.index:
        if column.endswith(" sd"):
            mean, deviation = frame.loc[(row, column.removesuffix(" sd"))], frame.loc[(row, column)]
            assert mean["printed"] == deviation["printed"]
            assert mean["unit"] == deviation["unit"]


@pytest.mark.parametrize("id", IDS)
def test_settings_come_from_sentences(id):
    frame = published(id)
    settings = frame.loc[frame["row"] == SETTING, "note"]
    assert settings.str.startswith(("text, ", "caption: ", "footnote: ")).all()


@pytest.mark.parametrize("id", IDS)
def test_attrs_say_what_it_is(id):
    attrs = published(id).attrs
    assert attrs["id"] == id
    assert attrs["paper"] == id.split("-")[0]
    assert attrs["reference"].endswith(".")
    kind, number = attrs["source"].split(" ")[:2]
    if "-t" in id or "-f" in id:
        letter = {"Table": "t", "Figure": "f"}[kind]
        roman = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7}
        assert id == f"{attrs['paper']}-{letter}{roman.get(number, number)}"
    assert attrs["title"]
    assert attrs["caption"].endswith(".")


def test_known_numbers():
    """A few cells of each paper, read by eye."""
    for id, row, column, value, unit in [
        ("llsvm-t3", "webspam", "Poly2 time", 0.9, "h"),
        ("llsvm-t3", "checkerboard", "AMM error sd", 4.09, "%"),
        ("lasn-t4", "real-sim", "LASN time sd", 34.83, "s"),
        ("sparse-t2", "covtype (l = 3)", "sparse RBF accuracy", 0.90, "fraction"),
        ("hss-t5", "susy", "best C 3", 10, ""),
        ("fpc-t3", "default", "SVM-Poly training time", 35902.2, "s"),
        ("fpc-f6", "tolerance 10^-5", "test error", 0.01153, "fraction"),
    ]:
        cell = published(id).set_index(["row", "column"]).loc[(row, column)]
        assert (cell["value"], cell["unit"]) == (value, unit)


def test_damaged_numbers_have_no_value():
    cell = published("fpc-t4").query("row == 'occupancy' and column == 'SVM-RBF sparsity'")
    assert cell["value"].isna().all()
    assert cell["printed"].item() == "8,46.0"
    assert "damaged" in cell["note"].item()


def test_a_frame_is_the_callers_own():
    mine = published("lasn-t4")
    mine.loc[0, "value"] = -1.0
    mine.attrs["title"] = "mine"
    assert published("lasn-t4")["value"].min() >= 0
    assert published("lasn-t4").attrs["title"] != "mine"


def test_all_together():
    everything = published_all()
    assert list(everything.columns) == ["study", *COLUMNS]
    assert list(dict.fromkeys(everything["study"])) == IDS
    assert not everything.duplicated(["study", "row", "column"]).any()
    one = everything[everything["study"] == "hss-t4"].drop(columns="study").reset_index(drop=True)
    pd.testing.assert_frame_equal(one, published("hss-t4"))


def test_unknown_id_suggests_and_lists():
    with pytest.raises(UnknownIdError, match="Did you mean lasn-t4") as error:
        published("lasn-4")
    assert all(id in str(error.value) for id in IDS)


@given(st.text(max_size=12) | st.none() | st.integers() | st.sampled_from(["papers", "../index"]))
def test_what_is_not_an_id_is_refused(id):
    if id not in IDS:
        with pytest.raises(UnknownIdError):
            published(id)


def test_files_are_plain_csv():
    for path in FOLDER.glob("*.csv"):
        content = path.read_bytes()
        assert content.endswith(b"\n")
        assert b"\r" not in content
        rows = list(csv.reader(content.decode("utf-8").splitlines()))
        assert rows[0] == list(COLUMNS)
        assert {len(row) for row in rows} == {len(COLUMNS)}, path.name


def test_import_does_not_load_pandas():
    code = "import sys, kernlab.lab.published; sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("before", ["", "import kernlab.lab.published; "])
def test_the_name_at_the_top_is_callable_in_any_order_of_imports(before):
    code = f"{before}from kernlab.lab import published; print(len(published('lasn-t4')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) == len(published("lasn-t4"))


TABLES_OF_METHODS = ("llsvm-t1", "llsvm-t4", "fpc-t5", "fpc-t6", "fpc-t7")


@pytest.mark.parametrize("id", [id for id in IDS if "-t" in id and id not in TABLES_OF_METHODS])
def test_rows_are_data_sets_that_the_registry_knows(id):
    frame = published(id)
    stated = frame["note"].str.startswith(("text, ", "caption: ", "footnote: "))
    rows = frame.loc[~stated, "row"].str.replace(r" \(l = \d+\)$", "", regex=True)
    assert set(rows) <= set(dataset_names())
