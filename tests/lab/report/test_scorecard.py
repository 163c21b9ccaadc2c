"""The scorecard has a row for every published number, and a reason for every one without ours."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_demo

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point, Study, Tolerance, record
from kernlab.lab.engine.record import recorded
from kernlab.lab.published import KINDS, published, published_ids
from kernlab.lab.report import scorecard, scoring
from kernlab.lab.report.scoring import JUDGED, parted, score_study, tally


def study(measured=None, id="lasn-t4", needs=(), points=("a9a",), **more):
    return Study(
        id=id,
        paper=id.partition("-")[0],
        title="t",
        question="q",
        grid=lambda profile: [Point.make(name, "LASN") for name in points],
        measure=lambda point, seed: {},
        measured=measured,
        needs=needs,
        **more,
    )


def one_value(row="a9a", column="LASN accuracy", value=84.0):
    return lambda table: pd.DataFrame([(row, column, value)], columns=["row", "column", "value"])


def cell_of(card, row, column="LASN accuracy"):
    found = card[(card["row"] == row) & (card["column"] == column)]
    assert len(found) == 1
    return found.iloc[0]


def outcome(card, row, column="LASN accuracy"):
    cell = cell_of(card, row, column)
    assert cell["status"] not in JUDGED
    return cell["status"], cell["reason"]


def test_every_published_number_has_one_row_even_where_nothing_ran(tmp_path, studies):
    card = scorecard("quick", tmp_path)
    expected = [
        (i, *cell) for i in published_ids() for cell in published(i)[["row", "column"]].values
    ]
    assert [tuple(cell) for cell in card[["study", "row", "column"]].values] == expected
    assert set(card["status"]) == {"not run"}
    assert (card["reason"] != "").all()
    assert card.attrs["problems"] == []
    assert list(tmp_path.iterdir()) == []


def test_results_are_counted_apart_from_settings_data_and_quotations(tmp_path, studies):
    counts = tally(scorecard("quick", tmp_path)).sum(axis=1)
    assert counts.sum() == 1498
    assert counts.to_dict() == {
        "result": 883, "setting": 275, "data": 210, "quotation": 74, "none": 56,
    }  # fmt: skip
    assert set(published("lasn-t2").attrs["kinds"]) == {"data", "setting"}
    table = published("llsvm-t3")
    by_cell = table.assign(kind=table.attrs["kinds"]).set_index(["row", "column"])
    assert by_cell.loc[("ijcnn1", "Poly2 error"), "kind"] == "quotation"
    assert by_cell.loc[("ijcnn1", "LLSVM error"), "kind"] == "result"
    assert by_cell.loc[("ijcnn1", "LLSVM landmarks"), "kind"] == "setting"
    assert set(counts.index) == set(KINDS)


def test_a_measured_number_stands_beside_the_published_one(studies):
    tolerance = Tolerance(absolute=2, reason="of two points")
    studies["lasn-t4"] = study(one_value(), tolerances={"LASN accuracy": tolerance})
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    cell = cell_of(card, "a9a")
    printed = published("lasn-t4").set_index(["row", "column"]).loc[("a9a", "LASN accuracy")]
    assert (cell["published"], cell["measured"]) == (printed["value"], 84.0)
    assert (cell["status"], cell["source"]) == ("reproduced", "live")
    assert cell["tolerance"] == "within 2: of two points"
    assert card["status"].isin(JUDGED).sum() == 1


def test_the_spread_that_a_paper_prints_is_a_tolerance(studies):
    spread = published("lasn-t4").set_index(["row", "column"])["value"]["a9a", "LASN accuracy sd"]
    value = published("lasn-t4").set_index(["row", "column"])["value"]["a9a", "LASN accuracy"]
    for times, status in ((1.9, "reproduced"), (2.1, "different")):
        studies["lasn-t4"] = study(
            one_value(value=value - times * spread),
            tolerances={"LASN accuracy": Tolerance(spreads=2.0)},
        )
        card = score_study("lasn-t4", report_demo.small_table(), "quick")
        assert cell_of(card, "a9a")["status"] == status


def test_only_finished_rows_are_measured(studies):
    seen = []
    studies["lasn-t4"] = study(lambda table: seen.append(table) or one_value()(table))
    score_study("lasn-t4", report_demo.small_table(), "quick")
    assert all(set(table["status"]) == {"ok"} for table in seen)
    seen.clear()
    score_study("lasn-t4", report_demo.small_table().query("status == 'failed'"), "quick")
    assert seen == []


def test_reasons_where_a_study_left_no_table(studies):
    studies["lasn-t4"] = study(one_value(), needs=("a9a", "ijcnn1"))
    card = score_study("lasn-t4", None, "quick")
    assert outcome(card, "ijcnn1") == ("without data", "data set not available: ijcnn1")
    status, reason = outcome(card, "a9a")
    assert status == "not run"
    assert reason.startswith("not computed under the quick profile and not on record: kernlab rep")


@pytest.mark.parametrize(
    ("status", "message", "found"),
    [
        ("not run", "predicted 812 s, not run", "over its cap"),
        ("not run", "ended after 900 s, 3 times its cap", "over its cap"),
        ("not run", "needs 15 GB, but only 4 GB may be used", "over its cap"),
        ("not run", "part of the data not found: w8a (kernlab data get w8a)", "without data"),
        ("failed", "ValueError: boom", "not run"),
    ],
)
def test_reasons_are_those_of_the_rows_of_set_and_method(studies, status, message, found):
    studies["lasn-t4"] = study(one_value(), points=("a9a", "w8a", "w1a"))
    table = report_demo.small_table()
    table.loc[2, ["status", "message"]] = status, message
    libsvm = table.loc[[2]].assign(method="LIBSVM", status="failed", message="MemoryError")
    card = score_study("lasn-t4", pd.concat([table, libsvm], ignore_index=True), "quick")
    assert outcome(card, "w8a")[0] == found
    assert message in outcome(card, "w8a")[1]
    assert outcome(card, "w8a", "LIBSVM time") == ("not run", "failed: MemoryError")


def test_a_row_is_known_by_what_the_paper_calls_its_data_set(studies):
    told = pd.DataFrame({"dataset": ["covtype-2"], "method": ["LLSVM"], "message": ["too large"]})
    studies["llsvm-t3"] = study(
        one_value("covtype", "LLSVM error", 3.0), "llsvm-t3", points=("covtype-2",)
    )
    table = pd.concat([report_demo.small_table(), told.assign(status="not run")])
    card = score_study("llsvm-t3", table, "quick")
    assert outcome(card, "covtype", "Linear error") == ("not run", "too large")


def test_what_is_no_result_of_ours_is_told_apart(studies):
    studies["fpc-t5"] = study(lambda table: one_value()(table).iloc[:0], "fpc-t5", points=("susy",))
    table = report_demo.small_table().query("status == 'ok'")
    card = score_study("fpc-t5", table, "quick")
    assert outcome(card, "kNN", "accuracy")[0] == "without data"
    studies["lasn-f5"] = study(None, "lasn-f5")
    card = score_study("lasn-f5", table, "quick")
    assert outcome(card, "recommended", "C") == ("not run", "a choice of the paper, not a result")
    assert outcome(card, "accuracy", "stable from C")[0] == "not comparable"


def timed(table):
    cells = [("a9a", "LASN time", 5.0 + len(table)), ("a9a", "LASN accuracy", 80.0 + len(table))]
    return pd.DataFrame(cells, columns=["row", "column", "value"])


def test_times_of_two_machines_are_never_averaged(studies, tmp_path, monkeypatch):
    def cells_of(rows, timing=True, **given):
        studies["lasn-t4"] = study(timed, timing=timing)
        card = score_study("lasn-t4", rows, "quick", **given)
        return [tuple(cell_of(card, "a9a", f"LASN {what}")[["measured", "source"]])
                for what in ("time", "accuracy")]  # fmt: skip

    live = report_demo.small_table()  # two finished rows
    assert cells_of(live) == [(7.0, "live"), (82.0, "live")]
    for missing in ({"timing": False}, {"own_times": False}):
        time, accuracy = cells_of(live, **missing)
        assert np.isnan(time[0])
        assert accuracy == (82.0, "live")
    card = score_study("lasn-t4", live, "quick", own_times=False)
    assert "none is on record" in outcome(card, "a9a", "LASN time")[1]
    (tmp_path / "tables").mkdir()
    known = report_demo.table_of("lasn-t4").query("status == 'ok'").assign(profile="standard")
    known.to_csv(tmp_path / "tables" / "lasn-t4.csv", index=False)
    monkeypatch.setattr(record, "record_dir", lambda: tmp_path)
    both = pd.concat([live.assign(source="live"), known.assign(source="recorded")])
    mean, on_record = (80.0 + len(known) + 2, "both"), (5.0 + len(known), "recorded")
    assert cells_of(both) == [(7.0, "live"), mean]
    assert cells_of(both, timing=False) == cells_of(both, own_times=False) == [on_record, mean]
    assert cells_of(known.assign(source="recorded"))[0] == on_record


@pytest.mark.parametrize(
    ("measured", "problem"),
    [
        (lambda table: table["no such column"], "its comparison failed (KeyError"),
        (lambda table: pd.DataFrame({"row": [1]}), "its comparison failed"),
        (one_value(column="LASN acuracy"), "has not, the first: a9a / LASN acuracy"),
    ],
)
def test_a_comparison_that_fails_is_a_problem_and_not_the_end(studies, measured, problem):
    studies["lasn-t4"] = study(measured)
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert problem in card.attrs["problems"][0]


def test_reasons_that_differ_in_the_data_set_only_are_one():
    reasons = ["data set not available: a9a", "too large", "data set not available: susy"]
    card = pd.DataFrame({"status": ["without data", "not run", "without data"], "reason": reasons})
    _, groups = parted(card)
    assert {reason: list(found.index) for reason, found in groups.items()} == {
        "data set not available: a9a, susy": [0, 2],
        "too large": [1],
    }


# ------------------------------------------------------------------- what is on record today
ON_RECORD = [id for id in STUDIES if id in published_ids() and recorded(id) is not None]


@pytest.mark.parametrize("id", ON_RECORD)
def test_no_result_on_record_is_left_out_but_for_its_data_or_its_cap(id):
    card = score_study(id, recorded(id), "standard", local=False)
    results = card[card["kind"] == "result"]
    left = results[results["status"] == "not run"]
    assert left[["row", "column", "reason"]].values.tolist() == []
    assert card.attrs["problems"] == []


def test_explanations_are_of_printed_numbers_and_name_a_run_on_record():
    path = Path(scoring.__file__).with_name("explanations.toml")
    for id, entries in tomllib.loads(path.read_text(encoding="utf-8")).items():
        cells = score_study(id, recorded(id), "standard", local=False)
        for entry in entries:
            assert recorded(entry["run"]) is not None
            explained = [c for c in cells.itertuples() if entry["text"] in scoring.explanations(c)]
            assert explained
            assert "different" in {cell.status for cell in explained}
