"""The bench of the Nystrom machines: every kind of point runs, and figures mean what they say."""

import numpy as np
import pytest
from quick_rows import measured

from kernlab.lab.bench import nystrom
from kernlab.lab.bench.harness import COLUMNS, waves
from kernlab.lab.bench.nystrom import (
    GAP,
    TO_GAP,
    TOLERANCES,
    features_of,
    measure_equal_gap,
    measure_fit,
    measure_solver,
    write_waves,
)
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point
from kernlab.rows import as_rows
from kernlab.solvers import solve_newton

STUDY = STUDIES["bench-nystrom"]


@pytest.fixture(scope="module")
def table():
    return measured(STUDY.id)[1]


def chosen(table, variant, method):
    found = table[(table["variant"] == variant) & (table["method"] == method)]
    assert len(found), f"no row of {variant}, {method}"
    return found.iloc[0]


def test_the_quick_rows_have_their_comparison(table):
    lines = STUDY.comparison(table)
    assert list(lines.columns) == COLUMNS
    assert lines["work"].str.startswith("liver-disorders").any()


def test_all_sides_reach_the_same_machine(table):
    fits = table[table["variant"].isin(["fit", "equal gap"])]
    assert np.ptp(fits["test_accuracy"]) < 0.01
    assert fits["test_accuracy"].min() > 0.84
    text = STUDY.key_figures(table)
    assert text["magic, LASN, equal gap"].endswith("%")
    assert text["liver-disorders, LA-TRON, solve to 1e-4"] == "58.5 %"


def test_the_roofline_lies_below_what_was_reached(table):
    row = chosen(table, "fit", "LASN")
    assert 0 < row["roofline_seconds"] < row["fit_seconds"]


def test_equal_gaps_are_equal_and_no_tighter_than_need_be(table):
    ours, peer = (chosen(table, "equal gap", m) for m in ("LASN", "Nystroem + LinearSVC"))
    assert 0 <= ours["gap"] <= GAP
    assert -1e-6 <= peer["gap"] <= GAP
    # The same landmarks: one optimum, up to the two sides' treatment of tiny eigenvalues.
    assert ours["objective"] == pytest.approx(peer["objective"], rel=2 * GAP)
    assert peer["peer_tol"] in TOLERANCES
    assert peer["peer_tol"] > TOLERANCES[-1]


def test_a_peer_that_stops_early_gets_a_tighter_tolerance(monkeypatch):
    """A gap that only the last tolerances reach."""
    point = Point.make("magic", "Nystroem + LinearSVC", "equal gap", n_landmarks=20)
    loose = measure_equal_gap(point, 0)
    monkeypatch.setattr(nystrom, "GAP", 1e-9)
    assert measure_equal_gap(point, 0)["peer_tol"] < loose["peer_tol"]


def test_solvers_stop_at_the_objective_asked_for(table):
    for method in ("LA-SN", "LA-DCD", "LA-TRON"):
        assert chosen(table, TO_GAP, method)["gap"] <= 1e-4
    F, y, _, _, optimum = features_of("liver-disorders", 145)
    found = solve_newton(F, y, C=10.0, intercept="penalised", tol=1e-10)
    assert optimum == pytest.approx(found.objective, rel=1e-8)
    tight = measure_solver(
        Point.make("liver-disorders", "LA-SN", "solve, default stop", n_landmarks=145), 0
    )
    assert abs(tight["gap"]) < 1e-8


def test_sweeps_take_all_their_points(table):
    sweep, path = (chosen(table, v, "LASN") for v in ("k sweep, one map", "path over C"))
    for row in (sweep, path):
        assert row["gap"] <= 1e-4
        assert row["fit_seconds"] == pytest.approx(
            row["approximate_seconds"] + row["solve_seconds"], rel=0.2
        )
    assert path["test_accuracy"] >= chosen(table, "fit", "LASN")["test_accuracy"] - 0.01


def test_a_file_gives_what_memory_gives(table, tmp_path):
    file, memory = (chosen(table, "file", m) for m in ("SBM from a file", "DCD in memory"))
    assert file["objective"] == pytest.approx(memory["objective"], rel=1e-3)
    assert file["child_peak_bytes"] > 5e7
    first = write_waves(tmp_path / "waves.svm", 120)
    rows = as_rows(tmp_path / "waves.svm")
    assert rows.shape == (120, 22)
    np.testing.assert_allclose(rows.whole(), first, atol=1e-4)
    np.testing.assert_array_equal(rows.labels, waves(120, 22)[1])


def test_a_file_of_several_blocks_does_not_repeat_them(tmp_path, monkeypatch):
    monkeypatch.setattr(nystrom, "BLOCK_OF_TEXT", 50)
    first = write_waves(tmp_path / "waves.svm", 120)
    rows = as_rows(tmp_path / "waves.svm")
    assert rows.shape == (120, 22)
    assert first.shape == (50, 22)
    assert len(np.unique(rows.whole(), axis=0)) == 120


def test_the_exact_machine_comes_with_its_gap():
    point = Point.make("liver-disorders", "LIBSVM", "fit", n_landmarks=0)
    row = measure_fit(point, 0)
    assert 0 <= row["gap"] < 1e-2
    assert row["predict_seconds"] > 0
    assert row["test_accuracy"] > 0.4
