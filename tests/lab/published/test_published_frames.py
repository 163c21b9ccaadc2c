"""What holds for the published numbers without the papers' texts."""

from pathlib import Path

import pytest
from paper_text import numbers

import kernlab
from kernlab.datasets import dataset_names
from kernlab.lab.published import COLUMNS, UnknownIdError, published, published_ids

FOLDER = Path(kernlab.__file__).parent / "lab" / "published"
IDS = published_ids()
UNITS = {
    *("", "s", "h", "%", "fraction", "rows", "features", "classes", "landmarks", "centres"),
    *("trees", "support vectors", "MB", "GB", "GHz", "bytes", "repeats", "folds", "passes"),
    *("iterations", "points", "processors", "threads"),
}
# Columns that end like this hold one of these units and nothing else.
UNITS_OF_COLUMNS = {
    **{word: {word} for word in ("rows", "features", "classes", "landmarks", "repeats")},
    **{word: {"MB", "GB"} for word in ("memory", "size")},
    **{word: {"%", "fraction"} for word in ("accuracy", "error")},
    "time": {"s", "h"},
    "share": {"%"},
}
STATED = ("text, ", "caption: ", "footnote: ")
TABLES_OF_METHODS = ("llsvm-t1", "llsvm-t4", "fpc-t5", "fpc-t6", "fpc-t7")


def test_files_and_index_name_the_same_ids():
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(IDS)
    for id in IDS:
        table = published(id)
        assert list(table.columns) == list(COLUMNS)
        assert not table.duplicated(["row", "column"]).any()


@pytest.mark.parametrize("id", IDS)
def test_every_number_has_labels_a_unit_and_where_it_is_missing_a_reason(id):
    frame = published(id)
    assert tuple(frame.columns) == COLUMNS
    texts = frame[[name for name in COLUMNS if name != "value"]]
    assert texts.map(lambda text: isinstance(text, str) and text == text.strip()).all(axis=None)
    assert (frame[["row", "column"]] != "").all(axis=None)
    missing = frame[frame["value"].isna()]
    assert (missing["note"] != "").all()
    assert (missing["unit"] == "").all()
    for cell in frame.dropna(subset="value").itertuples():
        assert cell.value in numbers(cell.printed), f"{cell.value} from {cell.printed!r}"
        quantity = cell.column.removesuffix(" sd").split(" ")[-1]
        assert cell.unit in UNITS_OF_COLUMNS.get(quantity, UNITS), cell
    by_cell = frame.set_index(["row", "column"])
    for row, column in by_cell.index:
        if column.endswith(" sd"):  # it stands beside its mean
            mean, spread = (
                by_cell.loc[(row, column.removesuffix(" sd"))],
                by_cell.loc[(row, column)],
            )
            assert (mean["printed"], mean["unit"]) == (spread["printed"], spread["unit"])
    assert frame.loc[frame["row"] == "setting", "note"].str.startswith(STATED).all()
    if "-t" in id and id not in TABLES_OF_METHODS:  # its rows are data sets
        rows = frame.loc[~frame["note"].str.startswith(STATED), "row"]
        assert set(rows.str.replace(r" \(l = \d+\)$", "", regex=True)) <= set(dataset_names())


@pytest.mark.parametrize(
    ("id", "row", "column", "value", "unit"),
    [
        ("llsvm-t3", "webspam", "Poly2 time", 0.9, "h"),
        ("llsvm-t3", "checkerboard", "AMM error sd", 4.09, "%"),
        ("lasn-t4", "real-sim", "LASN time sd", 34.83, "s"),
        ("sparse-t2", "covtype (l = 3)", "sparse RBF accuracy", 0.90, "fraction"),
        ("hss-t5", "susy", "best C 3", 10, ""),
        ("fpc-t3", "default", "SVM-Poly training time", 35902.2, "s"),
        ("fpc-f6", "tolerance 10^-5", "test error", 0.01153, "fraction"),
    ],
)
def test_known_numbers(id, row, column, value, unit):
    """A few cells of each paper, read by eye."""
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


@pytest.mark.parametrize("id", ["lasn-4", "papers", "../index", "", None, 3])
def test_what_is_not_an_id_is_refused(id):
    with pytest.raises(UnknownIdError, match="Available: " if id != "lasn-4" else "mean lasn-t4"):
        published(id)
