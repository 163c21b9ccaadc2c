"""The engine: what is computed, what is kept, and what a table says of what went wrong."""

import dataclasses
import getpass
import json
import math
import platform

import pandas as pd
import pytest
import tiny_studies as tiny
from tiny_studies import run_study

from kernlab.datasets import DataNotFound
from kernlab.lab.engine import Point, StudyError, provenance, run
from kernlab.lab.engine.record import results
from kernlab.lab.engine.rows import NoResults
from kernlab.lab.engine.run import execute
from kernlab.runtime import thread_count

NOT_NUMBERS = ["seconds", "peak_bytes", "peak_note", "date"]


def numbers(table):
    return table.drop(columns=NOT_NUMBERS)


def changed(study=tiny.TINY, **fields):
    return dataclasses.replace(study, **fields)


def test_table_is_tidy_in_the_order_of_the_grid(tmp_path):
    table = run_study(tiny.TINY, out=tmp_path)
    assert list(zip(table.dataset, table.method, table.C, table.repeat, strict=True)) == [
        (p.dataset, p.method, p["C"], p.repeat) for p in tiny.grid("quick")
    ]
    assert (table.study == "tiny-plain").all()
    assert (table.status == "ok").all()
    assert (table.seconds > 0).all()
    shared = "study variant dataset method C seed repeat n_train n_features rank fit_seconds"
    assert list(table)[:11] == shared.split()
    assert {"threads", "seconds", "status", "message", "date", "machine", "code"} <= set(table)
    pd.testing.assert_frame_equal(results(tiny.TINY, out=tmp_path)[list(table)], table)
    with pytest.raises(NoResults, match="kernlab reproduce tiny-plain --profile standard"):
        results(tiny.TINY, "standard", out=tmp_path)


def test_numbers_depend_neither_on_workers_nor_on_the_order_of_the_grid(tmp_path):
    alone = run_study(tiny.TINY, out=tmp_path / "alone")
    together = run_study(tiny.TINY, out=tmp_path / "together", jobs=3)
    pd.testing.assert_frame_equal(numbers(alone), numbers(together), check_exact=True)
    backwards = changed(grid=lambda profile: tiny.grid(profile)[::-1])
    other = run_study(backwards, out=tmp_path / "other").iloc[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(numbers(alone), numbers(other), check_exact=True)
    # The seed is that of data set and repeat: methods and parameters see the same draws.
    draws = alone.groupby(["dataset", "repeat"])
    assert (draws["careless"].nunique() == 1).all()
    assert alone["careless"].nunique() == 4


def test_only_what_is_new_is_computed(tmp_path, monkeypatch):
    first = run_study(tiny.TINY, out=tmp_path)
    monkeypatch.setenv(tiny.LOG, str(tmp_path / "log"))
    outcome = execute(tiny.TINY, out=tmp_path)
    assert (outcome.computed, outcome.kept) == (0, 24)
    assert not (tmp_path / "log").exists()
    pd.testing.assert_frame_equal(outcome.table, first)
    more = changed(grid=lambda p: [Point.make("toy", "exact", C=7), *tiny.grid(p)])
    assert len(run_study(more, out=tmp_path)) == 25
    assert (tmp_path / "log").read_text() == "exact on toy C=7\n"
    # And back: rows outside the grid leave the table, not the store.
    assert len(run_study(tiny.TINY, out=tmp_path)) == 24
    assert execute(more, out=tmp_path).computed == 0
    assert execute(tiny.TINY, out=tmp_path, fresh=True).computed == 24


def test_another_version_or_seed_is_computed_again(tmp_path):
    run_study(tiny.TINY, out=tmp_path)
    assert execute(changed(version=2), out=tmp_path).computed == 24
    before = set(results(tiny.TINY, out=tmp_path).seed)
    outcome = execute(changed(seed=1), out=tmp_path)
    assert outcome.computed == 24
    assert not set(outcome.table.seed) & before


def test_changed_code_recomputes_what_is_quick_and_speaks_up_where_rows_are_costly(
    tmp_path, monkeypatch
):
    for profile in ("quick", "standard"):
        run_study(tiny.TINY, profile, out=tmp_path)
    monkeypatch.setattr(run, "code_hash", lambda study: "another")
    assert execute(tiny.TINY, "quick", out=tmp_path).computed == 24
    outcome = execute(tiny.TINY, "standard", out=tmp_path)
    assert outcome.computed == 0
    assert "36 of 36 points were computed before kernlab's code" in outcome.notes[0]


def test_code_hash_follows_what_computes_and_nothing_else(tmp_path, monkeypatch):
    package = tmp_path / "kernlab"
    (package / "lab" / "plots").mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.setattr(provenance.kernlab, "__file__", str(package / "__init__.py"))

    def of(kernels, plots=""):
        (package / "kernels.py").write_text(kernels)
        (package / "lab" / "plots" / "style.py").write_text(plots)
        provenance._hash_of.cache_clear()
        return provenance.code_hash()

    assert of("a") == of("a", plots="colour = 1") != of("b")
    assert provenance.code_hash(tiny.TINY) != of("b")  # whose module lies outside of the package


@pytest.mark.parametrize("jobs", [0, 2])
def test_what_goes_wrong_is_a_row_and_the_others_go_on(tmp_path, jobs):
    study = tiny.DIFFICULT
    if jobs == 0:  # in this process nobody may die
        study = changed(
            study, grid=lambda p: [q for q in tiny.difficult_grid(p) if q.method != "dies"]
        )
    outcome = execute(study, out=tmp_path, jobs=jobs)
    rows = outcome.table.set_index("method")
    said = rows[["status", "message"]].apply(tuple, axis=1).to_dict()
    assert said["fine"] == ("ok", "")
    assert said["raises"] == ("failed", "ZeroDivisionError: no landmarks at all")
    assert said["warns"] == ("ok", "gap 0.1 is above the tolerance 0.01")
    assert said["refuses"] == ("not run", "the kernel is singular here")
    assert said["too much memory"] == ("not run", "K needs 8 GB")
    assert "returned no row" in said["no row"][1]
    assert "objective is a ndarray" in said["array"][1]
    assert math.isnan(rows.loc["raises", "objective"])
    if jobs:
        assert "died (killed; perhaps the machine ran out of memory)" in said["dies"][1]
    assert len(outcome.failed) == 3 + bool(jobs)
    assert "points failed" in outcome.shortcoming("quick")
    # Failed points are tried again, finished ones are not.
    assert execute(study, out=tmp_path, jobs=jobs).kept == 2


def test_a_point_past_three_times_its_cap_is_ended_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("kernlab.lab.engine.processes._START_SECONDS", 15)
    points = [Point.make("toy", method) for method in ("fine", "endless", "fine too")]
    study = changed(tiny.DIFFICULT, grid=lambda profile: points)
    outcome = execute(study, "standard", out=tmp_path, jobs=1, cap_seconds=0.3)
    rows = outcome.table.set_index("method")
    assert rows["status"].to_list() == ["ok", "not run", "ok"]
    assert "3 times its cap" in rows.loc["endless", "message"]
    assert rows.loc["endless", "seconds"] > 0.9
    # It is not tried again under this cap.
    assert execute(study, "standard", out=tmp_path, jobs=1, cap_seconds=0.3).computed == 0


def test_a_point_may_give_several_rows(tmp_path):
    table = run_study(tiny.STEPS, out=tmp_path)
    assert table.gradient.to_list() == [1, 0.5, 0.25]
    assert table.steps.to_list() == [3, 3, 3]
    assert execute(tiny.STEPS, out=tmp_path).kept == 1


def swept(point, seed):
    rows = {"C": [1.0, 2.0], "status": ["ok", "failed"], "message": ["", "no kernel"]}
    return pd.DataFrame(rows | {"test_accuracy": [0.5, None], "repeat": 0, "seconds": 1.0})


def test_the_table_of_a_sweep_is_the_rows_of_a_point(tmp_path):
    table = run_study(changed(tiny.STEPS, measure=swept), out=tmp_path)
    assert table[["C", "test_accuracy", "status"]].to_numpy().tolist() == [[1.0, 0.5, "ok"]]
    assert table["message"].item() == "a row of the sweep failed: no kernel"
    none = changed(tiny.STEPS, measure=lambda p, s: swept(p, s).iloc[1:])
    assert run_study(none, out=tmp_path / "none")["message"].item() == "RuntimeError: no kernel"


def test_a_point_predicted_to_pass_the_cap_is_not_run(tmp_path):
    study = changed(predict_seconds=lambda point: point["C"] * 1000)
    outcome = execute(study, out=tmp_path)
    assert set(outcome.table.message[outcome.table.C == 10]) == {"predicted 10000 s, not run"}
    assert "not one point was run: 0 of 24 points" in outcome.shortcoming("quick")
    outcome = execute(study, out=tmp_path, cap_seconds=1000)
    assert outcome.summary() == "16 of 24 points computed, 8 not run"
    assert not outcome.shortcoming("quick")
    assert execute(study, "paper", out=tmp_path).table.status.eq("ok").all()
    failing = changed(predict_seconds=lambda point: point["gone"])
    assert (
        run_study(failing, out=tmp_path / "failing")
        .message.str.contains("no parameter 'gone'")
        .all()
    )


def test_missing_data_is_said_and_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "dataset_available", lambda name: name != "higgs")
    points = [Point.make(name, "exact", C=1) for name in ("toy", "higgs")]
    study = changed(grid=lambda profile: points)
    outcome = execute(study, out=tmp_path)
    assert outcome.table.status.to_list() == ["ok", "not run"]
    assert "kernlab data get higgs" in outcome.table.message[1]
    text = "1 of 2 points computed, 1 data set missing: kernlab data get higgs"
    assert outcome.summary() == outcome.shortcoming("quick") == text
    outcome = execute(study, "standard", out=tmp_path)
    assert not outcome.shortcoming("standard"), "content with the data that are there"
    assert outcome.shortcoming("standard", named=True) == text, "unless asked for by name"
    label = changed(tiny.STEPS, needs=("higgs",))
    assert "kernlab data get higgs" in run_study(label, out=tmp_path).message[0]

    def reads(point, seed):
        raise DataNotFound("no file a9a in the folder; get it")

    late = execute(changed(tiny.STEPS, measure=reads), out=tmp_path)
    assert (late.lacking, late.table.status.item()) == (1, "not run")


def test_changed_data_are_computed_again(tmp_path, monkeypatch):
    digests = {"magic": {"magic04.data": "1234"}}
    monkeypatch.setattr(provenance, "_checksums", lambda name: digests.get(name, {}))
    study = changed(grid=lambda p: [Point.make(n, "exact", C=1) for n in ("magic", "pendigits")])
    run_study(study, "standard", out=tmp_path)
    told = json.loads((tmp_path / "standard/tables/tiny-plain.provenance.json").read_text())
    assert told["data"] == digests
    assert execute(study, "standard", out=tmp_path).computed == 0
    digests["magic"] = {"magic04.data": "5678"}
    assert execute(study, "standard", out=tmp_path).computed == 1


def test_provenance_tells_of_every_run_and_of_nobody(tmp_path):
    run_study(tiny.TINY, out=tmp_path)
    run_study(tiny.TINY, out=tmp_path)  # computes nothing, so it is no run
    table = run_study(
        changed(grid=lambda p: [*tiny.grid(p), Point.make("x", "a", C=5)]), out=tmp_path
    )
    text = (tmp_path / "quick/tables/tiny-plain.provenance.json").read_text()
    told = json.loads(text)
    assert [run["points_computed"] for run in told["runs"]] == [24, 1]
    assert told["points"] == {"in the grid": 25, "ok": 25}
    assert told["profile"]["name"] == "quick"
    run = told["runs"][0]
    assert {"numpy", "scipy", "scikit-learn"} <= run["machine"]["versions"].keys()
    assert (table["machine"] == run["key"]).all()
    assert (table["code"] == run["code"]).all()
    private = {platform.node(), getpass.getuser(), str(tmp_path), "site-packages"}
    for word in private - {"", "root", "user", "runner"}:
        assert word not in text


def test_timing_on_a_busy_machine_is_doubted(tmp_path, monkeypatch):
    monkeypatch.setattr(run.psutil, "cpu_percent", lambda seconds: 90)
    assert "90% of the machine was busy" in execute(tiny.TIMED, out=tmp_path).notes[0]
    assert execute(tiny.TIMED, out=tmp_path).notes == []  # nothing was timed


@pytest.mark.parametrize("jobs", [0, 2])
def test_one_thread_each_and_all_for_timings(tmp_path, jobs, monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")
    row = run_study(tiny.THREADS, out=tmp_path, jobs=jobs).iloc[0]
    assert (row.threads, row.blas, row.compiled, row.own) == (1, 1, 1, 1)
    row = run_study(tiny.TIMED, out=tmp_path, jobs=jobs).iloc[0]
    assert (row.threads, row.blas, row.own) == (2, 2, 2)
    assert thread_count() == 2
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "1")
    assert execute(tiny.TIMED, out=tmp_path).computed == 1, "timed with other threads: no use"


def test_mistakes_in_a_study_are_explained(tmp_path):
    twice = changed(grid=lambda p: [Point.make("toy", "exact", C=1)] * 2)
    with pytest.raises(StudyError, match="holds a point twice: exact on toy C=1"):
        run_study(twice, out=tmp_path)
    clash = changed(grid=lambda p: [Point.make("toy", "a", seconds=1)])
    with pytest.raises(StudyError, match="called seconds"):
        run_study(clash, out=tmp_path)
    row = run_study(changed(measure=lambda p, s: {"status": "great"}), out=tmp_path)
    assert row.message.str.contains("measure returned status").all()
    with pytest.raises(StudyError, match="no profile called 'fast'"):
        run_study(tiny.TINY, "fast", out=tmp_path)
    with pytest.raises(StudyError, match="at least one process"):
        run_study(tiny.TINY, out=tmp_path, jobs=-1)
    (tmp_path / "file" / "quick").parent.mkdir()
    (tmp_path / "file" / "quick").write_text("a file where the folder should be")
    with pytest.raises(StudyError, match=r"cannot be written .* --out DIR"):
        run_study(tiny.TINY, out=tmp_path / "file")
    assert [path.name for path in (tmp_path / "file").iterdir()] == ["quick"]
