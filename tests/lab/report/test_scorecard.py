"""The scorecard has a row for every published number, and a reason for every one without ours."""

import dataclasses

import pandas as pd
import pytest
import report_demo

from kernlab.lab.engine import Point, Study, Tolerance
from kernlab.lab.published import SETTING, published, published_ids
from kernlab.lab.report import scorecard
from kernlab.lab.report.reasons import gathered
from kernlab.lab.report.scorecard import score_study

COLUMNS = ["study", "row", "column", "published", "measured", "unit", "status", "reason"]


def study(measured=None, needs=(), points=("a9a",), **more):
    return Study(
        id="lasn-t4",
        paper="lasn",
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


def reason_of(card, row, column="LASN accuracy"):
    found = card[(card["row"] == row) & (card["column"] == column)]
    assert len(found) == 1
    assert found.iloc[0]["status"] == "not run"
    return found.iloc[0]["reason"]


def test_every_published_number_has_one_row_even_where_nothing_ran(tmp_path, studies):
    card = scorecard("quick", tmp_path)
    assert list(card.columns[:8]) == COLUMNS
    expected = [
        (i, *cell) for i in published_ids() for cell in published(i)[["row", "column"]].values
    ]
    assert [tuple(cell) for cell in card[["study", "row", "column"]].values] == expected
    assert set(card["status"]) == {"not run"}
    assert set(card["reason"]) == {"no study of it yet", "the paper prints no number here"}
    assert card.attrs["problems"] == []


def test_looking_at_the_scorecard_writes_nothing(tmp_path, studies):
    scorecard("quick", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_measured_number_stands_beside_the_published_one(studies):
    studies["lasn-t4"] = study(
        one_value(value=84.0), tolerances={"LASN accuracy": Tolerance(absolute=2)}
    )
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    cell = card[(card["row"] == "a9a") & (card["column"] == "LASN accuracy")].iloc[0]
    printed = published("lasn-t4").set_index(["row", "column"]).loc[("a9a", "LASN accuracy")]
    assert (cell["published"], cell["measured"]) == (printed["value"], 84.0)
    assert cell["status"] == "reproduced"
    assert (card["status"] != "not run").sum() == 1


def test_only_finished_rows_are_measured(studies):
    seen = []
    studies["lasn-t4"] = study(lambda table: seen.append(table) or one_value()(table))
    score_study("lasn-t4", report_demo.small_table(), "quick")
    assert set(seen[0]["status"]) == {"ok"}


def test_a_table_of_failures_alone_is_not_measured(studies):
    def measured(table):
        raise AssertionError("called without a finished row")

    studies["lasn-t4"] = study(measured, points=("w8a",))
    table = report_demo.small_table().query("status == 'failed'")
    card = score_study("lasn-t4", table, "quick")
    assert card.attrs["problems"] == []
    assert reason_of(card, "w8a") == "failed: ValueError: boom"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"needs": ("a9a", "ijcnn1", "susy")}, "data set not at hand: ijcnn1, susy"),
        ({"points": ()}, "the quick profile has no point of this study"),
        ({}, "the study has not been run under the quick profile"),
    ],
)
def test_reasons_where_a_study_left_no_table(studies, changes, reason):
    studies["lasn-t4"] = study(one_value(), **changes)
    assert reason_of(score_study("lasn-t4", None, "quick"), "a9a") == reason


def test_reasons_where_a_table_gives_no_value(studies):
    studies["lasn-t4"] = study(one_value(), points=("a9a", "w8a", "w1a"))
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert reason_of(card, "w8a") == "failed: ValueError: boom"
    assert reason_of(card, "a9a", "LIBSVM time") == "the study does not measure this"
    assert reason_of(card, "w1a") == "the study has not been run on w1a"
    assert reason_of(card, "madelon") == "not part of the quick profile: madelon"
    assert reason_of(card, "ijcnn1") == "not part of the quick profile: ijcnn1"
    # A row that names no data set: something else of the table may be to blame.
    assert reason_of(card, "w7a").startswith("1 of 3 rows have no result, the first: failed")


def test_a_profile_that_takes_the_data_at_hand_says_what_is_not(studies):
    studies["lasn-t4"] = study(one_value())
    card = score_study("lasn-t4", report_demo.small_table(), "standard")
    assert reason_of(card, "ijcnn1") == "data set not at hand: ijcnn1"
    assert reason_of(card, "madelon") == "not part of the standard profile: madelon"


def test_the_reason_of_a_point_that_was_too_expensive_is_its_prediction(studies):
    studies["lasn-t4"] = study(one_value(), points=("w8a",))
    table = report_demo.small_table()
    table.loc[2, ["status", "message"]] = "not run", "predicted 812 s, not run"
    assert reason_of(score_study("lasn-t4", table, "quick"), "w8a") == "predicted 812 s, not run"


def test_the_reason_is_that_of_the_method_in_question(studies):
    studies["lasn-t4"] = study(one_value(), points=("w8a",))
    table = report_demo.small_table()
    libsvm = table.loc[[2]].assign(method="LIBSVM", message="MemoryError: too large")
    table = pd.concat([table, libsvm], ignore_index=True)
    card = score_study("lasn-t4", table, "quick")
    assert reason_of(card, "w8a", "LIBSVM time") == "failed: MemoryError: too large"
    assert reason_of(card, "w8a", "LASN time") == "failed: ValueError: boom"


def test_a_method_that_a_profile_leaves_out_is_named(studies):
    studies["lasn-t4"] = study(one_value(), points=("a9a", "w8a"))
    table = report_demo.small_table().assign(status="ok")
    table.loc[table["dataset"] == "w8a", "method"] = "LIBSVM"
    card = score_study("lasn-t4", table, "quick")
    told = "the quick profile does not run LIBSVM on a9a"
    assert reason_of(card, "a9a", "LIBSVM accuracy") == told


def test_what_a_paper_chose_is_not_a_result(studies):
    setting = next(
        (id, cell)
        for id in published_ids()
        for cell in published(id).itertuples()
        if cell.row == SETTING and cell.value == cell.value
    )
    study_id, cell = setting
    studies[study_id] = study(one_value())
    card = score_study(study_id, report_demo.small_table(), "quick")
    assert reason_of(card, SETTING, cell.column) == "a choice of the paper, not a result"


def timed(table):
    cells = [("a9a", "LASN time", 5.0), ("a9a", "LASN accuracy", 84.0)]
    return pd.DataFrame(cells, columns=["row", "column", "value"])


def test_the_quick_profile_compares_no_times(studies):
    studies["lasn-t4"] = study(timed)
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert "times are not compared" in reason_of(card, "a9a", "LASN time")
    cell = card[(card["row"] == "a9a") & (card["column"] == "LASN time")].iloc[0]
    assert cell["measured"] != cell["measured"]
    accuracy = card[(card["row"] == "a9a") & (card["column"] == "LASN accuracy")]
    assert accuracy.iloc[0]["status"] == "different"
    card = score_study("lasn-t4", report_demo.small_table(), "standard")
    times = card[(card["row"] == "a9a") & (card["column"] == "LASN time")]
    assert times.iloc[0]["measured"] == 5.0


def test_the_scorecard_says_what_would_run_a_number(studies):
    def grid(profile):
        names = ["a9a"] if profile == "quick" else ["a9a", "ijcnn1"]
        return [Point.make(name, "LASN") for name in names]

    studies["lasn-t4"] = dataclasses.replace(study(one_value()), grid=grid)
    card = score_study("lasn-t4", report_demo.small_table(), "quick", advise=True)
    told = reason_of(card, "ijcnn1")
    fetched = "standard runs it, after kernlab data get ijcnn1"
    assert told == f"not part of the quick profile: ijcnn1; {fetched}"
    assert reason_of(card, "madelon") == "not part of the quick profile: madelon"
    plain = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert reason_of(plain, "ijcnn1") == "not part of the quick profile: ijcnn1"


def test_a_row_is_known_by_what_the_paper_calls_its_data_set(studies):
    told = pd.DataFrame({"dataset": ["covtype-2"], "method": ["LLSVM"], "message": ["too large"]})
    tiny = study(one_value("covtype", "LLSVM error", 3.0), points=("covtype-2",))
    studies["llsvm-t3"] = dataclasses.replace(tiny, id="llsvm-t3", paper="llsvm")
    table = pd.concat([report_demo.small_table(), told.assign(status="not run")])
    (cell,) = published("llsvm-t3").query("row == 'covtype' and column == 'Linear error'").index
    card = score_study("llsvm-t3", table, "quick")
    assert card.loc[cell, "reason"] == "too large"


def test_one_of_several_runs_on_a_set_is_known_by_the_set(studies):
    tiny = study(one_value("usps (l = 3)", "RBF time", 0.9), points=("usps",))
    studies["sparse-t2"] = dataclasses.replace(tiny, id="sparse-t2", paper="sparse")
    card = score_study("sparse-t2", report_demo.small_table(), "quick")
    told = "the study has not been run on usps"
    assert reason_of(card, "usps (l = 129)", "RBF accuracy") == told


def test_numbers_that_a_paper_quotes_or_concludes_are_told_apart(studies):
    studies["fpc-t5"] = study(lambda table: pd.DataFrame(columns=["row", "column", "value"]))
    table = report_demo.small_table().query("status == 'ok'")
    card = score_study("fpc-t5", table, "quick")
    assert "that the paper quotes: taken by the authors from Marron" in reason_of(
        card, "kNN", "accuracy"
    )
    assert reason_of(card, "FPC", "accuracy") == "the study does not measure this"
    studies["lasn-f5"] = study(None)
    card = score_study("lasn-f5", table, "quick")
    assert "draws from its figure" in reason_of(card, "recommended", "C")
    assert "says so of a figure" in reason_of(card, "accuracy", "stable from C")


def test_an_empty_table_is_that_of_a_study_without_points(studies):
    studies["lasn-t4"] = study(one_value(), points=())
    card = score_study("lasn-t4", report_demo.small_table().iloc[:0], "quick")
    assert reason_of(card, "a9a") == "not part of the quick profile: a9a"
    assert reason_of(card, "w7a") == "the quick profile has no point of this study"


def test_a_study_without_comparison_says_so(studies):
    studies["lasn-t4"] = study(None)
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert reason_of(card, "a9a") == "the study does not set its results beside this table"


@pytest.mark.parametrize(
    ("measured", "problem"),
    [
        (lambda table: table["no such column"], "its comparison failed (KeyError"),
        (lambda table: pd.DataFrame({"row": [1]}), "column, value is missing"),
    ],
)
def test_a_comparison_that_fails_is_a_problem_and_not_the_end(studies, measured, problem):
    studies["lasn-t4"] = study(measured)
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert problem in card.attrs["problems"][0]
    assert problem in reason_of(card, "a9a")


def test_labels_that_the_paper_does_not_have_are_a_problem(studies):
    studies["lasn-t4"] = study(one_value(row="a9a", column="LASN acuracy"))
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    (problem,) = card.attrs["problems"]
    assert "1 measured value has a label" in problem
    assert "a9a / LASN acuracy" in problem


def test_a_grid_that_cannot_be_made_does_not_hide_the_rest(studies):
    def grid(profile):
        raise OSError("no data")

    broken = study(one_value())
    object.__setattr__(broken, "grid", grid)
    studies["lasn-t4"] = broken
    card = score_study("lasn-t4", report_demo.small_table(), "quick")
    assert reason_of(card, "w8a") == "failed: ValueError: boom"


def test_a_damaged_table_is_left_out(tmp_path, studies):
    studies["lasn-t4"] = study(one_value())
    folder = tmp_path / "quick" / "tables"
    folder.mkdir(parents=True)
    (folder / "lasn-t4.csv").write_bytes(b"")
    card = scorecard("quick", tmp_path)
    assert "has not been run" in reason_of(card[card["study"] == "lasn-t4"], "a9a")


def test_the_same_run_gives_the_same_card(demo):
    pd.testing.assert_frame_equal(scorecard("quick", demo), scorecard("quick", demo))


def test_reasons_that_differ_in_the_data_set_only_are_one():
    reasons = [
        "not part of the quick profile: a9a",
        "a choice of the paper, not a result",
        "not part of the quick profile: w8a",
        "not part of the quick profile: a9a",
        "data set not at hand: susy",
    ]
    assert gathered(reasons) == {
        "not part of the quick profile: a9a, w8a": [0, 2, 3],
        "a choice of the paper, not a result": [1],
        "data set not at hand: susy": [4],
    }
