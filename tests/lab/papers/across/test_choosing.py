"""What `recommend` finds stands beside the showdown, and what was predicted beside what it took."""

import pandas as pd
import pytest
from quick_rows import drawn, table_of

from kernlab.lab.catalogue import get_study
from kernlab.lab.engine import record
from kernlab.lab.papers.across import choosing


@pytest.fixture(scope="module")
def table():
    return table_of(get_study("recommended", datasets=["banknote"], budget=3.0))


def test_recommend_is_held_to_its_budget_and_to_rows_it_has_not_seen(table):
    (row,) = table.to_dict("records")
    assert 0 < row["fit_seconds"] < 2 * 3.0
    assert row["settings_tried"] > 1
    assert row["error"] == 1.0 - row["test_accuracy"] < 0.05
    assert row["gap"] < 1e-2


def test_its_error_stands_beside_the_least_of_the_showdown(monkeypatch, table):
    rows = [("LASN", 0.03), ("LASN", 0.01), ("LIBSVM", 0.02), ("LightGBM", 0.005)]
    known = pd.DataFrame(rows, columns=["method", "error"])
    costs = dict.fromkeys(
        ["fit_seconds", "search_seconds", "predict_microseconds_per_row", "fit_bytes",
         "model_bytes"], 1.0,
    )  # fmt: skip
    known = known.assign(dataset="banknote", dial=range(4), repeat=0, status="ok", **costs)
    monkeypatch.setattr(choosing, "recorded", lambda study: known)
    (row,) = choosing.beside_showdown(table).to_dict("records")
    assert (row["best_kernel"], row["best"]) == (0.01, 0.005)
    monkeypatch.setattr(choosing, "recorded", lambda study: None)
    assert choosing.beside_showdown(table)["best"].isna().all()


def test_the_clock_decides_what_it_finds_so_the_record_is_not_checked_by_it(monkeypatch, table):
    monkeypatch.setattr(record, "recorded", lambda study: table)
    assert record.check([get_study("recommended")]) == (0, [], [])


def test_figures(table):
    assert drawn("recommended", table) == {"banknote": "1,000 rows"}
    few = get_study("costs", datasets=["magic"], landmarks=[40], rows=300)
    points = [point for point in few.grid("quick") if point.method in ("LASN", "FPC")]
    assert drawn("costs", table_of(few, points))
