"""Machines side by side: what is shown is what the estimators do, and what cannot be is said."""

import numpy as np
import pandas as pd
import pytest

from kernlab import LASN
from kernlab.lab.explorers.machines import GRID, fit_shown, fronts, pairs, two_machines
from kernlab.lab.explorers.plane import square
from kernlab.lab.explorers.samples import TOYS, samples


def test_a_panel_is_the_estimators():
    rows = samples((), toys=TOYS)["two moons"].rows(200, plane=True)
    machine = LASN(20, gamma=1.0, random_state=0)
    shown = fit_shown("LASN", machine, rows)
    assert shown.error == pytest.approx(1.0 - machine.score(rows.X_test, rows.y_test))
    decisions = machine.decision_function(square(GRID)[1])
    np.testing.assert_allclose(shown.decisions, np.clip(decisions, -5, 5))


def test_methods_of_all_kinds_stand_side_by_side():
    explorer = two_machines()
    before = explorer.png
    explorer.set(dataset="circles", left="linear", right="random forest")
    assert explorer.png != before
    left, right = explorer.caption.split(";")
    assert "linear" in left
    assert "random forest" in right


def test_an_impossible_pair_says_what_is_missing():
    explorer = pairs()
    assert explorer.caption.count("test error") == 6
    explorer.set(approximation="hss", solver="dcd")
    assert "no features" in explorer.caption


def test_methods_are_switched_on_and_off():
    rows = [
        (name, method, dial, error, seconds)
        for name in ("s", "t")
        for method, dial, error, seconds in (("LASN", 1, 0.2, 1.0), ("linear", 1, 0.3, 0.1))
    ]
    table = pd.DataFrame(rows, columns=["dataset", "method", "dial", "error", "fit_seconds"])
    for column in ("search_seconds", "predict_microseconds_per_row", "fit_bytes", "model_bytes"):
        table[column] = 1.0
    explorer = fronts(table)
    assert "LASN 20.0 %" in explorer.caption
    explorer.set(methods=("linear",))
    assert "linear 30.0 %" in explorer.caption
    explorer.set(methods=())
    assert "choose a method" in explorer.caption


@pytest.mark.parametrize("make", [two_machines, pairs])
def test_headless_runs_have_a_picture(make):
    assert {"image/png", "text/plain"} <= set(make().bundle())
