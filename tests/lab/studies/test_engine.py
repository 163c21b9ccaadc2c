"""The engine: what is computed, what is kept, and what a table says of what went wrong."""

import dataclasses
import json
import math
import os
import platform

import pandas as pd
import pytest
import tiny_studies as tiny

from kernlab.lab.catalogue import (
    NoResults,
    Point,
    StudyError,
    StudyWarning,
    execute,
    results,
    run_study,
)
from kernlab.lab.engine import fingerprint, inputs, plan, provenance
from kernlab.runtime import thread_count

NOT_NUMBERS = ["seconds", "peak_bytes", "peak_note"]


def numbers(table):
    return table.drop(columns=NOT_NUMBERS)


def with_measure(study, measure):
    return dataclasses.replace(study, measure=measure)


def test_table_is_tidy_in_the_order_of_the_grid(tmp_path):
    table = run_study(tiny.TINY, out=tmp_path)
    assert list(zip(table.dataset, table.method, table.C, table.repeat, strict=True)) == [
        (p.dataset, p.method, p["C"], p.repeat) for p in tiny.grid("quick")
    ]
    assert (table.study == "tiny-plain").all()
    assert (table.status == "ok").all()
    assert (table.message == "").all()
    shared = "study variant dataset method C seed repeat n_train n_features rank"
    assert list(table)[:10] == shared.split()
    assert list(table)[-2:] == ["status", "message"]
    assert (table.seconds > 0).all()


def test_numbers_do_not_depend_on_the_number_of_workers(tmp_path):
    alone = run_study(tiny.TINY, out=tmp_path / "alone")
    together = run_study(tiny.TINY, out=tmp_path / "together", jobs=3)
    pd.testing.assert_frame_equal(numbers(alone), numbers(together), check_exact=True)
    assert alone["careless"].nunique() > 1


def test_numbers_do_not_depend_on_the_order_of_the_grid(tmp_path):
    backwards = dataclasses.replace(tiny.TINY, grid=lambda profile: tiny.grid(profile)[::-1])
    one = run_study(tiny.TINY, out=tmp_path / "one")
    other = run_study(backwards, out=tmp_path / "other").iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(numbers(one), numbers(other), check_exact=True)


def test_results_are_the_table_that_the_run_returned(tmp_path):
    table = run_study(tiny.TINY, out=tmp_path)
    pd.testing.assert_frame_equal(results(tiny.TINY, out=tmp_path), table, check_exact=True)
    with pytest.raises(NoResults, match="kernlab reproduce tiny-plain --profile standard"):
        results(tiny.TINY, "standard", out=tmp_path)


def test_second_run_computes_nothing(tmp_path, monkeypatch):
    first = run_study(tiny.TINY, out=tmp_path)
    monkeypatch.setenv(tiny.LOG, str(tmp_path / "log"))
    outcome = execute(tiny.TINY, out=tmp_path)
    assert (outcome.computed, outcome.kept) == (0, 24)
    assert not (tmp_path / "log").exists()
    pd.testing.assert_frame_equal(outcome.table, first)


def test_larger_grid_computes_only_what_is_new(tmp_path, monkeypatch):
    run_study(tiny.TINY, out=tmp_path)
    more = dataclasses.replace(
        tiny.TINY, grid=lambda p: [Point.make("toy", "exact", C=7), *tiny.grid(p)]
    )
    monkeypatch.setenv(tiny.LOG, str(tmp_path / "log"))
    assert len(run_study(more, out=tmp_path)) == 25
    assert (tmp_path / "log").read_text() == "exact on toy C=7\n"
    # And back: rows outside the grid leave the table, not the store.
    assert len(run_study(tiny.TINY, out=tmp_path)) == 24


def test_fresh_computes_everything_again(tmp_path):
    run_study(tiny.TINY, out=tmp_path)
    outcome = execute(tiny.TINY, out=tmp_path, fresh=True)
    assert (outcome.computed, outcome.kept) == (24, 0)


def test_changed_study_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLAB_TEST_DELAY", "0")
    run_study(tiny.TINY, out=tmp_path)
    newer = dataclasses.replace(tiny.TINY, version=2)
    assert execute(newer, out=tmp_path).computed == 24
    before = set(results(newer, out=tmp_path).seed)
    reseeded = dataclasses.replace(tiny.TINY, seed=1)
    outcome = execute(reseeded, out=tmp_path)
    assert outcome.computed == 24
    assert not set(outcome.table.seed) & before
    assert execute(tiny.TINY, out=tmp_path).computed == 0  # its own rows are still there
    assert execute(with_measure(tiny.TINY, tiny.slow_measure), out=tmp_path).computed == 24


def test_changed_library_recomputes_what_is_quick_and_speaks_up_where_rows_are_costly(
    tmp_path, monkeypatch
):
    for profile in ("quick", "standard"):
        run_study(tiny.TINY, profile, out=tmp_path)
    monkeypatch.setattr(plan, "library_fingerprint", lambda: "another")
    assert execute(tiny.TINY, "quick", out=tmp_path).computed == 24
    assert execute(tiny.TINY, "standard", out=tmp_path).computed == 0
    with pytest.warns(StudyWarning, match="36 of 36 points were computed before kernlab's code"):
        run_study(tiny.TINY, "standard", out=tmp_path)


def test_library_fingerprint_sees_code_and_not_words(tmp_path, monkeypatch):
    package = tmp_path / "kernlab"
    (package / "plots").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(fingerprint.kernlab, "__file__", str(package / "__init__.py"))

    def of(kernels, plots=""):
        (package / "kernels.py").write_text(kernels)
        (package / "plots" / "style.py").write_text(plots)
        return fingerprint.library_fingerprint.__wrapped__()

    plain = of("def rbf(d, gamma):\n    return exp(-gamma * d)\n")
    assert plain == of('def rbf(d, gamma):\n    "The kernel."\n    return exp(-gamma*d)  # as in\n')
    assert plain == of("def rbf(d, gamma):\n    return exp(-gamma * d)\n", plots="colour = 1")
    assert plain != of("def rbf(d, gamma):\n    return exp(-2 * gamma * d)\n")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_goes_wrong_is_a_row_and_the_others_go_on(tmp_path, jobs):
    study = tiny.DIFFICULT
    if jobs == 1:  # in this process nobody may die
        study = dataclasses.replace(
            study, grid=lambda p: [q for q in tiny.difficult_grid(p) if q.method != "dies"]
        )
    outcome = execute(study, out=tmp_path, jobs=jobs)
    rows = outcome.table.set_index("method")
    assert rows.loc["fine", ["status", "message"]].to_list() == ["ok", ""]
    assert rows.loc["raises", "status"] == "failed"
    assert rows.loc["raises", "message"] == "ZeroDivisionError: no landmarks at all"
    assert rows.loc["warns", "status"] == "ok"
    assert rows.loc["warns", "message"] == "gap 0.1 is above the tolerance 0.01"
    assert rows.loc["refuses", ["status", "message"]].to_list() == [
        "not run",
        "the kernel is singular here",
    ]
    assert rows.loc["too much memory", "status"] == "not run"
    assert "returned no row" in rows.loc["no row", "message"]
    assert "objective is a ndarray" in rows.loc["array", "message"]
    assert math.isnan(rows.loc["raises", "objective"])
    if jobs > 1:
        assert "died (killed; perhaps the machine ran out of memory)" in rows.loc["dies", "message"]
    assert len(outcome.failed) == 3 + (jobs > 1)
    assert outcome.shortcoming("quick")


def test_failed_points_are_tried_again(tmp_path, monkeypatch):
    failing = tiny.DIFFICULT
    failing = dataclasses.replace(failing, grid=lambda p: tiny.difficult_grid(p)[:2])
    assert len(execute(failing, out=tmp_path).failed) == 1
    outcome = execute(failing, out=tmp_path)
    assert (outcome.kept, outcome.computed) == (1, 1)


def test_point_with_a_course_gives_several_rows(tmp_path):
    table = run_study(tiny.COURSE, out=tmp_path)
    assert table.gradient.to_list() == [1, 0.5, 0.25]
    assert table.steps.to_list() == [3, 3, 3]
    assert execute(tiny.COURSE, out=tmp_path).kept == 1


def test_cap_by_prediction(tmp_path):
    study = dataclasses.replace(tiny.TINY, predict_seconds=lambda point: point["C"] * 1000)
    table = run_study(study, out=tmp_path)
    assert set(table.message[table.C == 10]) == {"predicted 10000 s, not run"}
    assert (table.status == "not run").all()
    assert execute(study, out=tmp_path).shortcoming("quick")  # there is not one finished row
    outcome = execute(study, out=tmp_path, cap_seconds=1000)
    assert outcome.table.status[outcome.table.C < 10].eq("ok").all()
    assert len(outcome.not_run) == 8
    assert not outcome.shortcoming("quick")
    assert execute(study, "paper", out=tmp_path).table.status.eq("ok").all()


def test_failing_prediction_is_a_failed_row(tmp_path):
    study = dataclasses.replace(tiny.TINY, predict_seconds=lambda point: point["gone"])
    table = run_study(study, out=tmp_path)
    assert table.status.eq("failed").all()
    assert table.message.str.contains("no parameter 'gone'").all()


def test_missing_data_is_said_and_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "dataset_names", lambda: ["toy", "far-away"])
    monkeypatch.setattr(inputs, "dataset_available", lambda name: name == "toy")
    monkeypatch.setattr(inputs, "_digests", lambda name: {})
    points = [Point.make("toy", "exact", C=1), Point.make("far-away", "exact", C=1)]
    study = dataclasses.replace(tiny.TINY, grid=lambda profile: points)
    outcome = execute(study, out=tmp_path)
    assert outcome.table.status.to_list() == ["ok", "not run"]
    assert "kernlab data get far-away" in outcome.table.message[1]
    assert outcome.shortcoming("quick")
    assert not execute(study, "standard", out=tmp_path).shortcoming("standard")


def test_changed_data_are_computed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "dataset_names", lambda: ["toy"])
    monkeypatch.setattr(inputs, "dataset_available", lambda name: True)
    monkeypatch.setattr(inputs, "_digests", lambda name: {"toy.csv": "1234"})
    run_study(tiny.TINY, "standard", out=tmp_path)
    told = json.loads((tmp_path / "standard/tables/tiny-plain.provenance.json").read_text())
    assert told["data"] == {"toy": {"toy.csv": "1234"}}
    assert execute(tiny.TINY, "standard", out=tmp_path).computed == 0
    monkeypatch.setattr(inputs, "_digests", lambda name: {"toy.csv": "5678"})
    assert execute(tiny.TINY, "standard", out=tmp_path).computed == 18  # of the 36, those on toy


def test_needs_stand_for_points_whose_data_set_is_a_label(tmp_path):
    study = dataclasses.replace(tiny.COURSE, needs=("higgs",))
    table = run_study(study, out=tmp_path)
    assert "kernlab data get higgs" in table.message[0]


def test_data_missing_only_when_it_is_read(tmp_path):
    from kernlab.datasets import DataNotFound

    def reads(point, seed):
        raise DataNotFound("no file a9a in the folder; get it")

    outcome = execute(with_measure(tiny.COURSE, reads), out=tmp_path)
    assert outcome.table.status.to_list() == ["not run"]
    assert outcome.missing_data == 1


def test_provenance_tells_of_every_run_and_of_nobody(tmp_path, monkeypatch):
    import getpass

    monkeypatch.setattr(provenance, "_busy_share", lambda: 0.9)
    run_study(tiny.TINY, out=tmp_path)
    run_study(tiny.TINY, out=tmp_path)  # computes nothing, so it is no run
    more = dataclasses.replace(tiny.TINY, grid=lambda p: [*tiny.grid(p), Point.make("x", "a", C=5)])
    run_study(more, out=tmp_path)
    text = (tmp_path / "quick/tables/tiny-plain.provenance.json").read_text()
    told = json.loads(text)
    assert [run["points_computed"] for run in told["runs"]] == [24, 1]
    assert told["points"] == {"in the grid": 25, "ok": 25}
    assert told["parameters"] == {"C": [0.1, 1, 10, 5]}
    assert told["profile"]["name"] == "quick"
    run = told["runs"][0]
    assert {"numpy", "scipy", "scikit-learn"} <= run["machine"]["versions"].keys()
    assert run["machine"]["blas_core_type_asked_for"] == os.environ.get("OPENBLAS_CORETYPE", "")
    assert run["threads_per_point"] == 1
    assert run["busy_before"] is None
    private = {platform.node(), getpass.getuser(), str(tmp_path), "site-packages"}
    for word in private - {"", "root", "user", "runner"}:
        assert word not in text


def test_timing_on_a_busy_machine_is_doubted(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_busy_share", lambda: 0.9)
    assert "90% of the machine was busy" in execute(tiny.TIMED, out=tmp_path).notes[0]
    assert execute(tiny.TIMED, out=tmp_path).notes == []  # nothing was timed


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_thread_each_and_all_for_timings(tmp_path, jobs, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")
    row = run_study(tiny.THREADS, out=tmp_path, jobs=jobs).iloc[0]
    assert (row.threads, row.blas, row.compiled, row.own) == (1, 1, 1, 1)
    row = run_study(tiny.TIMED, out=tmp_path, jobs=jobs).iloc[0]
    assert (row.threads, row.blas, row.own) == (2, 2, 2)
    assert thread_count() == 2


def test_timings_with_another_number_of_threads_do_not_serve(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "1")
    run_study(tiny.TIMED, out=tmp_path)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")
    assert execute(tiny.TIMED, out=tmp_path).computed == 1


def test_mistakes_in_a_study_are_explained(tmp_path):
    twice = dataclasses.replace(tiny.TINY, grid=lambda p: [Point.make("toy", "exact", C=1)] * 2)
    with pytest.raises(StudyError, match="holds a point twice: exact on toy C=1"):
        run_study(twice, out=tmp_path)
    clash = dataclasses.replace(tiny.TINY, grid=lambda p: [Point.make("toy", "a", seconds=1)])
    with pytest.raises(StudyError, match="called seconds"):
        run_study(clash, out=tmp_path)
    row = run_study(with_measure(tiny.TINY, lambda p, s: {"status": "great"}), out=tmp_path)
    assert row.message.str.contains("measure returned status").all()
    with pytest.raises(StudyError, match="no profile called 'fast'"):
        run_study(tiny.TINY, "fast", out=tmp_path)
    with pytest.raises(StudyError, match="at least one process"):
        run_study(tiny.TINY, out=tmp_path, jobs=0)


def test_function_that_cannot_travel_is_explained(tmp_path):
    study = with_measure(tiny.TINY, lambda point, seed: {"n_iter": 1})
    with pytest.raises(StudyError, match="top level of a module, or run the study with jobs=1"):
        run_study(study, out=tmp_path, jobs=2)
    assert len(run_study(study, out=tmp_path)) == 24


def test_folder_that_cannot_be_written_is_explained(tmp_path):
    (tmp_path / "quick").write_text("a file where the folder should be")
    with pytest.raises(StudyError, match=r"cannot be written .* --out DIR"):
        run_study(tiny.TINY, out=tmp_path)
