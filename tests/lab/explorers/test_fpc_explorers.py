"""FPC's explorers: what they show is what the estimator does, and their controls redraw it."""

import numpy as np
import pytest

from kernlab import FPC
from kernlab.lab.explorers import fpc_degrees, fpc_noise, fpc_stopping
from kernlab.lab.explorers.fpc.degrees import DEGREES, all_degrees
from kernlab.lab.explorers.fpc.degrees import describe as describe_degree
from kernlab.lab.explorers.fpc.noise import MACHINES, fit_noise
from kernlab.lab.explorers.fpc.noise import describe as describe_noise
from kernlab.lab.explorers.fpc.plane import AXIS, POINTS
from kernlab.lab.explorers.fpc.stopping import MOST_STEPS, stopping_course
from kernlab.lab.explorers.fpc.stopping import describe as describe_stop
from kernlab.lab.papers.fpc.toy import toy


@pytest.mark.parametrize(("tol", "most_steps"), [(5e-4, 5), (5e-4, 2), (1e-4, 1000), (1e3, 5)])
def test_it_stops_where_the_estimator_does(tol, most_steps):
    course = stopping_course(1.0)
    machine = FPC(9, tol=tol, max_iter=most_steps).fit(course.X, course.y)
    step, by_tolerance = course.stop(tol, most_steps)
    assert step == machine.n_iter_
    assert by_tolerance == machine.result_.converged
    test, grid = course.decisions(step)
    X_test = toy(1000, 0)[2]
    np.testing.assert_allclose(test, machine.decision_function(X_test), atol=1e-6)
    np.testing.assert_allclose(grid, machine.decision_function(POINTS), atol=1e-6)
    assert f"{machine.result_.objective:.3f}" in describe_stop(course, tol, most_steps)


def test_the_usual_stop_decides_as_ridge_and_a_late_one_does_not():
    course = stopping_course(1.0)
    assert "<b>100.0 %</b> of the test rows" in describe_stop(course, 5e-4, 5)
    assert "<b>100.0 %</b> of the test rows" not in describe_stop(course, 1e-9, MOST_STEPS)
    assert course.losses[2] > 1.5 * course.optimum.result_.objective


def test_a_beta_of_its_own_has_a_course_of_its_own():
    one, less = stopping_course(1.0), stopping_course(1 / 30)
    machine = FPC(9, beta=1 / 30, max_iter=20_000).fit(less.X, less.y)
    assert less.stop(5e-4, MOST_STEPS) == (machine.n_iter_, True)
    assert machine.n_iter_ > one.stop(5e-4, MOST_STEPS)[0]


@pytest.mark.parametrize("degree", [1, 4, 9])
def test_every_degree_is_the_estimators(degree):
    fits = all_degrees(200)
    X, y, X_test, y_test = toy(200, 0)
    machine = FPC(degree).fit(X, y)
    at = DEGREES.index(degree)
    np.testing.assert_allclose(
        fits.scores["FPC", degree], machine.decision_function(POINTS), atol=1e-6
    )
    assert fits.errors["FPC"][1][at] == np.mean(machine.predict(X_test) != y_test)
    assert fits.errors["FPC"][0][at] == np.mean(machine.predict(X) != y)


def test_the_optimum_learns_the_noise_of_few_rows_and_fpc_does_not():
    fits = all_degrees(200)
    last = {method: [rows[-1] for rows in pair] for method, pair in fits.errors.items()}
    train, test = last["hinge optimum"]
    assert train == 0.0
    assert test > 3 * last["FPC"][1]
    assert last["FPC"][0] > 0.08
    assert "hinge optimum: test error" in describe_degree(fits, DEGREES[-1])


def test_noise_is_painted_where_it_is_said_to_be():
    near = fit_noise("near the curve", 0.1, 0.5, 3)
    clean = fit_noise("near the curve", 0.1, 0.0, 3)
    moved = np.flatnonzero(near.y != clean.y)
    assert len(moved) == pytest.approx(1000 * near.noise_level)
    far = fit_noise("far from the curve", 0.1, 0.5, 3)
    assert not set(moved) & set(np.flatnonzero(far.y != clean.y))
    assert clean.noise_level == 0.0


def test_all_three_machines_are_refitted():
    fit = fit_noise("everywhere", 0.1, 0.2, 5)
    machine = FPC(5).fit(fit.X, fit.y)
    np.testing.assert_allclose(fit.scores["FPC"], machine.decision_function(POINTS), atol=1e-6)
    assert set(fit.scores) == set(fit.errors) == set(MACHINES)
    assert fit.errors["FPC"]["train_error"] == np.mean(machine.predict(fit.X) != fit.y)
    assert fit.gap < 0.01
    assert "decide alike" in describe_noise(fit)


@pytest.mark.parametrize(
    ("make", "control", "value"),
    [
        (fpc_stopping, "tol", 1e-5),
        (fpc_stopping, "most_steps", 1.0),
        (fpc_stopping, "most_steps", float(MOST_STEPS)),
        (fpc_stopping, "beta", "1/30"),
        (fpc_degrees, "degree", 1),
        (fpc_degrees, "degree", DEGREES[-1]),
        (fpc_degrees, "rows", 1000),
        (fpc_noise, "place", "everywhere"),
        (fpc_noise, "width", 0.02),
        (fpc_noise, "ratio", 0.5),
        (fpc_noise, "ratio", 0.0),
        (fpc_noise, "degree", 12),
    ],
)
def test_every_control_redraws(make, control, value):
    explorer = make()
    before = explorer.png
    explorer.controls[control].value = value
    assert explorer.png != before
    assert "Not drawn" not in explorer.caption
    assert "Warning" not in explorer.caption
    assert "Raise max_iter" not in explorer.caption


def test_the_grid_runs_across_first():
    assert POINTS[1].tolist() == [AXIS[1], 0.0]
