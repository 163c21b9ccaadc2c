"""LLSVM's studies: what its comparisons would take is told before, and parameters are its own."""

import pytest
from quick_rows import drawn, table_of

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point
from kernlab.lab.engine.run import get_profile
from kernlab.lab.papers import llsvm
from kernlab.lab.papers.llsvm import machines

GIGABYTES = 1e9


@pytest.fixture
def two_threads(monkeypatch):
    """A machine of two threads and 8 GB for features."""
    monkeypatch.setattr(machines, "thread_count", lambda: 2)
    monkeypatch.setattr(machines, "memory_limit", lambda limit: 4 * 8 * GIGABYTES)


def seconds(dataset, method, k=0, rows="the paper's"):
    return machines.predict_seconds(Point.make(dataset, method, n_landmarks=k, rows=rows))


def test_what_takes_hours_is_left_out_of_the_standard_profile(two_threads):
    cap = get_profile("standard").cap_seconds
    assert seconds("covtype-2", "LLSVM", 4000) < cap
    assert seconds("checkerboard", "LLSVM", 1000) < cap
    assert seconds("ijcnn1", "LIBSVM") < cap
    assert seconds("covtype-2", "LIBSVM") > cap
    assert seconds("covtype-2", "Poly2") > cap > seconds("covtype-2", "Linear")
    assert seconds("checkerboard", "LIBSVM", rows="the file's") is None
    for id in ("llsvm-t3", "llsvm-f1"):
        for point in STUDIES[id].grid("paper"):
            assert STUDIES[id].predict_seconds(point) > 0, point


def test_features_beyond_memory_are_computed_twice(two_threads, monkeypatch):
    before = seconds("covtype-2", "LLSVM", 2000)  # 7.4 GB of features
    monkeypatch.setattr(machines, "memory_limit", lambda limit: 4 * GIGABYTES)
    assert 1.5 * before < seconds("covtype-2", "LLSVM", 2000) < 2 * before


def test_the_reduced_machine_is_linear_on_the_map():
    study = llsvm.reduced_machine(datasets=["two-moons"], landmarks=[5])
    table = table_of(study, study.grid("quick"))
    assert table["agreement"].min() == 1.0
    assert table["objective_difference"].max() < 1e-5


def test_gamma_and_C_are_chosen_for_the_machine_that_is_judged():
    gamma, C = machines.chosen_parameters("checkerboard", "the file's", "LLSVM")
    assert gamma > 0
    assert C in (1.0, 10.0, 100.0)
    one, optimum = (
        table_of(llsvm.against_machines(n_landmarks=100), [point])["error"].item()
        for point in llsvm.against_machines(n_landmarks=100).grid("quick")
        if point.method == "LLSVM"
    )
    assert one < optimum + 0.03  # a single pass with parameters of its own is near the optimum


def test_the_papers_competitors_stand_in_its_table():
    study = llsvm.against_machines(n_landmarks=100)
    rivals = [p for p in study.grid("quick") if p.method in ("LIBSVM", "CVM", "LaSVM", "AMM")]
    table = table_of(study, rivals)
    exact = table.set_index(["method", "variant"])["dual_objective"]
    libsvm = exact["LIBSVM", ""]
    assert exact["LaSVM", "one epoch"] < (1 - 1e-3) * libsvm
    assert exact["LaSVM", "three epochs"] == pytest.approx(libsvm, rel=1e-3)
    figures = study.key_figures(table)
    assert "below LIBSVM's dual objective" in figures["checkerboard, LaSVM, one epoch"]
    assert "to 1e-3" in figures["checkerboard, LaSVM, three epochs"]
    assert table.set_index("method")["gap"]["CVM"] < 0.01
    cells = study.measured(table.assign(dataset="ijcnn1", rows="the paper's"))
    cells = cells.set_index(["row", "column"])["value"]
    errors = table.set_index(["method", "variant"])["error"]
    assert cells["ijcnn1", "LaSVM error"] == pytest.approx(100 * errors["LaSVM", "one epoch"])
    assert cells["ijcnn1", "AMM error"] == pytest.approx(100 * errors["AMM", "batch"])
    assert cells["ijcnn1", "CVM error"] == pytest.approx(100 * errors["CVM", ""])
    drawn("llsvm-t3", table)
