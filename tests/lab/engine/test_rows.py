"""What is written to a table's CSV file comes back as it was."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlab.lab.engine.rows import parameter_names, read_table, to_frame
from kernlab.runtime import write_whole

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)


def there_and_back(rows, folder, parameters=()):
    table = to_frame(rows, parameters)
    table.to_csv(folder / "t.csv", index=False)
    return table, read_table(folder / "t.csv")


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(), st.integers(-(2**53), 2**53), TEXTS), min_size=1, max_size=8)
)
def test_every_bit_survives(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("table")
    rows = [{"gap": f, "n_iter": i, "message": t, "method": t} for f, i, t in cells]
    table, again = there_and_back(rows, folder)
    assert again.message.to_list() == [t for _, _, t in cells]
    assert again.n_iter.to_list() == [i for _, i, _ in cells]
    for read, (written, _, _) in zip(again.gap, cells, strict=True):
        assert read == written or (math.isnan(read) and math.isnan(written))
    assert list(again) == list(table)


def test_columns_keep_their_kind(tmp_path):
    rows = [
        {"method": "NA", "k": 50, "mixed": "sqrt", "kind": "hinge", "flag": True, "n_train": 7},
        {"method": "", "k": 100, "mixed": 50, "kind": None, "flag": False},
    ]
    _, again = there_and_back(rows, tmp_path, ["k", "mixed"])
    assert again.method.to_list() == ["NA", ""]
    assert again.k.dtype == int
    assert again.n_train.dtype == float
    assert again.mixed.to_list() == ["sqrt", "50"]
    assert again.kind[0] == "hinge"
    assert pd.isna(again.kind[1])
    assert again.flag.dtype == bool
    assert again.objective.isna().all()
    assert parameter_names(again) == ["k", "mixed"]
    table, empty = there_and_back([], tmp_path)
    assert empty.empty
    assert list(empty) == list(table)


def test_half_written_file_is_never_in_the_place_of_the_whole_one(tmp_path, monkeypatch):
    write_whole(tmp_path / "t.csv", "whole")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "t.csv", "half \ud800")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "t.csv", "half")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("t.csv", "whole")]
