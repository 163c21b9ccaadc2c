"""Tables on record: what goes there, what it stands in for, and that it is checked."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import tiny_studies as tiny

from kernlab.datasets import DataNotFound
from kernlab.lab.engine import NotRun, Point, Study, product, provenance, record
from kernlab.lab.engine.record import check, recorded, results, show, update
from kernlab.lab.engine.rows import NoResults
from kernlab.lab.engine.run import execute

SIZES = {"quick": 10, "standard": 100, "paper": 1000}


def grid(profile):
    """Two methods; under the quick profile one of them in a small setting, and one set only."""
    names = ("magic",) if profile == "quick" else ("magic", "pendigits")
    points = product(names, "plain", repeats=2 if profile == "quick" else 3, C=(1, 2))
    return points + product(names, "tuned", C=1, budget=SIZES[profile])


def measure(point, seed):
    draws = np.random.default_rng(seed)
    return {"test_accuracy": draws.random() / point["C"], "fit_seconds": draws.random()}


STUDY = Study("tiny-record", "tiny", "t", "q?", grid, measure)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "record_dir", lambda: tmp_path / "record")
    monkeypatch.setattr(provenance, "_checksums", lambda name: {f"{name}.csv": "1234"})
    return tmp_path / "record"


def test_what_was_not_computed_here_comes_from_the_record_marked(tmp_path):
    with pytest.raises(NoResults, match="kernlab reproduce tiny-record --profile quick"):
        results(STUDY, out=tmp_path)
    full = execute(STUDY, "standard", out=tmp_path).table
    assert update(STUDY, tmp_path) == 14
    elsewhere = tmp_path / "elsewhere"
    alone = results(STUDY, "quick", elsewhere)
    assert (alone["source"] == "recorded").all()
    assert len(alone) == len(full) == 14
    for name in ("date", "machine", "code", "threads", "seconds", "peak_bytes"):
        assert alone[name].notna().all()
    np.testing.assert_allclose(alone["test_accuracy"], full["test_accuracy"], rtol=1e-8)
    execute(STUDY, "quick", out=elsewhere)
    both = results(STUDY, "quick", elsewhere)
    assert len(both) == 14
    live = both[both["source"] == "live"]
    # The full-size rows of the method that was run in a small setting are on record.
    assert set(zip(live["dataset"], live["method"], live["repeat"], strict=True)) == {
        ("magic", "plain", 0),
        ("magic", "plain", 1),
    }
    assert both.loc[both["method"] == "tuned", "budget"].eq(100).all()
    # Elsewhere what is live counts.
    execute(STUDY, "paper", out=elsewhere)
    paper = results(STUDY, "paper", elsewhere)
    assert len(paper) == 14
    assert (paper["source"] == "live").all()


def test_failed_points_are_replaced_and_do_not_go_on_record(tmp_path):
    execute(STUDY, "standard", out=tmp_path)
    update(STUDY, tmp_path)
    fails = dataclasses.replace(STUDY, measure=len)
    execute(fails, "standard", out=tmp_path, fresh=True)
    assert (results(fails, "standard", tmp_path)["source"] == "recorded").all()
    assert update(STUDY, tmp_path) == 14
    capped = dataclasses.replace(STUDY, predict_seconds=lambda point: 1e9)
    (record.record_dir() / "tables" / "tiny-record.csv").unlink()
    execute(capped, "standard", out=tmp_path, fresh=True)
    update(capped, tmp_path)
    assert recorded("tiny-record")["message"].eq("predicted 1000000000 s, not run").all()
    execute(STUDY, "standard", out=tmp_path, fresh=True)
    update(STUDY, tmp_path)
    assert recorded("tiny-record")["status"].eq("ok").all()


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_a_live_table_without_rows_takes_nothing_from_the_record(tmp_path, profile):
    """As of a run that was interrupted before its first point."""
    full = execute(STUDY, "standard", out=tmp_path).table
    update(STUDY, tmp_path)
    both = record.merged(STUDY, full.iloc[:0], profile)
    pd.testing.assert_frame_equal(both, recorded(STUDY.id))
    other = dataclasses.replace(STUDY, id="never-recorded")
    assert record.merged(other, full.iloc[:0], profile).empty


def measure_a_curve(point, seed):
    return [{"x": i, "height": 0.1 * i, "note": "" if i % 2 else "even"} for i in range(5)]


def test_what_the_rows_of_a_point_share_is_written_once(tmp_path):
    curves = dataclasses.replace(STUDY, measure=measure_a_curve)
    execute(curves, "standard", out=tmp_path)
    assert update(curves, tmp_path) == 14
    file = record.record_dir() / "tables" / "tiny-record.csv"
    assert file.read_text().count(f"{record.AS_ABOVE},") > 14 * 4 * 10
    live = results(curves, "standard", tmp_path).drop(columns="source")
    kept = recorded("tiny-record")[list(live)]
    timed = ["seconds", "peak_bytes"]  # kept to fewer digits
    pd.testing.assert_frame_equal(
        kept.drop(columns=timed), live.drop(columns=timed), check_dtype=False
    )


def test_a_table_that_is_too_large_stays_off_the_record_and_that_is_said(tmp_path, monkeypatch):
    execute(STUDY, "standard", out=tmp_path)
    monkeypatch.setattr(record, "_LARGEST", 1000)
    with pytest.raises(record.StudyError, match=r"not put on record: .* kB, more than 1"):
        update(STUDY, tmp_path)
    assert recorded(STUDY.id) is None
    assert show([STUDY]).empty
    assert not (record.record_dir() / "provenance.json").exists()
    monkeypatch.undo()
    assert record._LARGEST == 2_000_000


def measure_where_it_lies(point, seed):
    if point.dataset == "pendigits":
        raise DataNotFound("pendigits is not available. Looked for: /srv/rows/data")
    raise NotRun("more than /srv/rows/data/a.svm holds")


def test_the_record_names_no_folder_and_no_data_set_that_was_missing(tmp_path):
    there = dataclasses.replace(STUDY, measure=measure_where_it_lies)
    execute(there, "standard", out=tmp_path)
    update(there, tmp_path)
    told = "part of the data not found: pendigits (kernlab data get pendigits)"
    assert set(recorded("tiny-record")["message"]) == {"more than ... holds", told}


def test_rows_are_kept_and_dropped_with_the_points_of_the_study(tmp_path):
    execute(STUDY, "standard", out=tmp_path)
    update(STUDY, tmp_path)
    only = dataclasses.replace(STUDY, grid=lambda p: [Point.make("pendigits", "new", C=1)])
    execute(only, "standard", out=tmp_path, fresh=True)
    both = dataclasses.replace(STUDY, grid=lambda p: [*grid(p)[:4], *only.grid(p)])
    assert update(both, tmp_path) == 5
    assert recorded("tiny-record")["method"].to_list() == ["plain"] * 4 + ["new"]


def test_other_parameters_have_no_record(tmp_path):
    execute(STUDY, "standard", out=tmp_path)
    update(STUDY, tmp_path)
    other = dataclasses.replace(STUDY, id="tiny-record@0a1b2c")
    with pytest.raises(NoResults):
        results(other, "quick", tmp_path / "elsewhere")
    with pytest.raises(record.StudyError, match="no record"):
        update(other, tmp_path)


def test_a_sample_is_computed_again_and_only_times_may_differ(tmp_path, monkeypatch):
    execute(STUDY, "standard", out=tmp_path)
    update(STUDY, tmp_path)
    assert check([STUDY, tiny.TINY]) == (14, [], [])
    assert check([STUDY], sample=3) == (3, [], [])

    def slower(point, seed):
        row = measure(point, seed)
        return row | {"fit_seconds": 5.0, "test_accuracy": row["test_accuracy"] + 1e-9}

    assert check([dataclasses.replace(STUDY, measure=slower)])[1] == []

    def moved(point, seed):
        row = measure(point, seed)
        return row | {"test_accuracy": row["test_accuracy"] + 5e-4}

    moves = dataclasses.replace(STUDY, measure=moved)
    assert len(check([moves])[1]) == 14
    tables = record.recorded
    # What stopped at a gap, what stopped by count, and what says that it did not converge.
    ends = ({"gap": 8e-4}, 0), ({"gap": 0.5}, 14), ({"gap": 0.5, "converged": False}, 0)
    warned = {"gap": 0.5, "message": "hinge-interior stopped after 300 iterations with a gap"}
    for known, count in (*ends, (warned, 0)):
        monkeypatch.setattr(record, "recorded", lambda id, now=known: tables(id).assign(**now))
        assert len(check([moves])[1]) == count
    for steps, count in ((120, 0), (140, 14)):  # the order of sums decides which is the last

        def stepping(point, seed, now=steps):
            return measure(point, seed) | {"n_iter": now}

        monkeypatch.setattr(record, "recorded", lambda id: tables(id).assign(n_iter=100))
        assert len(check([dataclasses.replace(STUDY, measure=stepping)])[1]) == count
    monkeypatch.setattr(record, "recorded", tables)

    def otherwise(point, seed):
        return {"test_accuracy": 0.5 if point.dataset == "magic" else 0.6}

    count, texts, _ = check([dataclasses.replace(STUDY, measure=otherwise)])
    assert len(texts) == count == 14
    assert "test_accuracy is 0.5, on record 0." in texts[0]
    assert "another seed" in check([dataclasses.replace(STUDY, seed=3)], sample=1)[1][0]
    fails = dataclasses.replace(STUDY, measure=len)
    assert "failed: TypeError" in check([fails], sample=1)[1][0]

    def capped(point, seed):
        if point["C"] == 2:
            raise NotRun("over the cap")
        return measure(point, seed)

    count, texts, capped_here = check([dataclasses.replace(STUDY, measure=capped)])
    assert (count, texts, len(capped_here)) == (8, [], 6)
    assert "over the cap" in capped_here[0]
    # Other files of the same names, or none: nothing that the record could be compared with.
    monkeypatch.setattr(provenance, "_checksums", lambda name: {f"{name}.csv": "5678"})
    assert check([STUDY]) == (0, [], [])
