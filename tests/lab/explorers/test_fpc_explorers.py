"""FPC's explorers: what they show is what the estimator does, and paint is where it was put."""

import numpy as np
import pytest

from kernlab import FPC
from kernlab.lab.explorers import fpc_noise
from kernlab.lab.explorers.fpc.degrees import DEGREES, all_degrees
from kernlab.lab.explorers.fpc.noise import NAMES, PAINTED, fit_noise, noisy_rows
from kernlab.lab.explorers.fpc.plane import POINTS
from kernlab.lab.explorers.fpc.scale import MEASURED, Cost, measure_cost
from kernlab.lab.explorers.fpc.stopping import MOST_STEPS, all_steps, describe
from kernlab.lab.papers.fpc.toy import toy


@pytest.mark.parametrize(("tol", "most_steps"), [(5e-4, 5), (5e-4, 2), (1e-4, 1000), (1e3, 5)])
def test_it_stops_where_the_estimator_does(tol, most_steps):
    steps = all_steps(1.0)
    machine = FPC(9, tol=tol, max_iter=most_steps).fit(steps.X, steps.y)
    step, by_tolerance = steps.stop(tol, most_steps)
    assert step == machine.n_iter_
    assert by_tolerance == machine.result_.converged
    test, grid = steps.decisions(step)
    X_test = toy(1000, 0)[2]
    np.testing.assert_allclose(test, machine.decision_function(X_test), atol=1e-6)
    np.testing.assert_allclose(grid, machine.decision_function(POINTS), atol=1e-6)
    assert f"{machine.result_.objective:.3f}" in describe(steps, tol, most_steps)


def test_the_usual_stop_decides_as_ridge_and_a_late_one_does_not():
    steps = all_steps(1.0)
    assert "<b>100.0%</b> of the test rows" in describe(steps, 5e-4, 5)
    assert "<b>100.0%</b> of the test rows" not in describe(steps, 1e-9, MOST_STEPS)
    assert steps.losses[2] > 1.5 * steps.optimum.result_.objective


def test_a_beta_of_its_own_has_steps_of_its_own():
    one, less = all_steps(1.0), all_steps(1 / 30)
    machine = FPC(9, beta=1 / 30, max_iter=20_000).fit(less.X, less.y)
    assert less.stop(5e-4, MOST_STEPS) == (machine.n_iter_, True)
    assert machine.n_iter_ > one.stop(5e-4, MOST_STEPS)[0]


@pytest.mark.parametrize("degree", [1, 4, 9])
def test_every_degree_is_the_estimators(degree):
    fits = all_degrees(200)
    X, y, X_test, y_test = toy(200, 0)
    machine, at = FPC(degree).fit(X, y), DEGREES.index(degree)
    expected = machine.decision_function(POINTS)
    np.testing.assert_allclose(fits.scores["FPC", degree], expected, atol=1e-6)
    assert fits.errors["FPC"][1][at] == np.mean(machine.predict(X_test) != y_test)
    assert fits.errors["FPC"][0][at] == np.mean(machine.predict(X) != y)


def test_the_optimum_learns_the_noise_of_few_rows_and_fpc_does_not():
    last = {method: [rows[-1] for rows in pair] for method, pair in all_degrees(200).errors.items()}
    train, test = last["hinge optimum"]
    assert train == 0.0
    assert test > 3 * last["FPC"][1]
    assert last["FPC"][0] > 0.08


@pytest.mark.parametrize(
    ("place", "dabs"),
    [("near the curve", ()), ("far from the curve", ()), (PAINTED, ((0.2, 0.8, 1), (0.9, 0.1, 1)))],
)
def test_noise_is_where_it_was_painted(place, dabs):
    X, noisy, *_ = noisy_rows(place, 0.1, 0.5, dabs)
    clean = noisy_rows(place, 0.1, 0.0, dabs)[1]
    wrong = X[noisy != clean]
    assert len(wrong) > 10
    other = {"near the curve": "far from the curve", "far from the curve": "near the curve"}
    if dabs:
        distances = np.linalg.norm(wrong[:, None] - np.array(dabs)[:, :2], axis=2).min(axis=1)
        assert distances.max() < 0.1
        inside = np.linalg.norm(X[:, None] - np.array(dabs)[:, :2], axis=2).min(axis=1) < 0.1
        assert len(wrong) == pytest.approx(0.5 * inside.sum(), rel=0.3)
    else:
        elsewhere = noisy_rows(other[place], 0.1, 0.5)[1]
        assert not (noisy != clean)[elsewhere != clean].any()


def test_all_three_machines_are_fitted_to_the_noise():
    fit = fit_noise("everywhere", 0.1, 0.2, 5)
    machine = FPC(5).fit(fit.X, fit.y)
    np.testing.assert_allclose(fit.scores["FPC"], machine.decision_function(POINTS), atol=1e-6)
    assert set(fit.scores) == set(fit.errors) == set(NAMES)
    assert fit.errors["FPC"]["train_error"] == np.mean(machine.predict(fit.X) != fit.y)
    assert fit.gap < 0.01


def test_a_dab_of_paint_takes_over_from_the_band():
    explorer = fpc_noise()
    band = explorer.caption
    explorer.controls["dabs"].value = ((0.5, 0.9, 1),)
    assert explorer.caption != band
    explorer.controls["dabs"].value = ()
    assert explorer.caption == band


def test_costs_are_predicted_in_proportion_to_the_rows():
    cost = Cost(10, tuple(0.5 + 2e-6 * n for n in MEASURED))
    assert cost.predicted(1e6) == pytest.approx(2.5)
    needed = cost.bytes_of(1e6)
    assert list(needed.values()) == [800.0, 8e7, 8e12]
    assert measure_cost(2, 4).centres == 15
    with pytest.raises(ValueError, match="choose a lower degree"):
        measure_cost(4, 12)
