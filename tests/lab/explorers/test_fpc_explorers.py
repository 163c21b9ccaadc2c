"""FPC's explorers: what they show is what the estimator does, and paint is where it was put."""

import numpy as np
import pytest

from kernlab import FPC
from kernlab.lab.explorers import fpc_degrees, fpc_noise, fpc_stopping
from kernlab.lab.explorers.fpc import (
    MEASURED,
    PAINTED,
    POINTS,
    bytes_held,
    measure_cost,
    noisy_rows,
    predicted,
)
from kernlab.lab.papers.fpc.toy import toy


@pytest.fixture(scope="module")
def steps():
    return fpc_stopping.prepare(1.0)


@pytest.mark.parametrize(("tol", "most_steps"), [(5e-4, 5), (5e-4, 2), (1e-4, 1000), (1e3, 5)])
def test_it_stops_where_the_estimator_does(steps, tol, most_steps):
    machine = FPC(9, tol=tol, max_iter=most_steps).fit(steps.X, steps.y)
    found = fpc_stopping.compute(steps, tol, most_steps)
    assert found.step == machine.n_iter_
    assert found.by_tolerance == machine.result_.converged
    X_test = toy(1000, 0)[2]
    np.testing.assert_allclose(found.test, machine.decision_function(X_test), atol=1e-6)
    np.testing.assert_allclose(found.grid, machine.decision_function(POINTS), atol=1e-6)
    assert steps.losses[found.step - 1] == pytest.approx(machine.result_.objective)


# The optimum is cut short by the explorer's limit of steps, and by the same one here.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_degree_is_the_estimators_and_the_optimum_learns_the_noise_of_few_rows():
    fits = fpc_degrees.prepare(200)
    X, y, X_test, y_test = toy(200, 0)
    for degree in (1, 4, 9):
        machine, errors = FPC(degree).fit(X, y), fits.errors["FPC"][degree]
        expected = machine.decision_function(POINTS)
        np.testing.assert_allclose(fits.scores["FPC"][degree], expected, atol=1e-6)
        assert errors["test_error"] == np.mean(machine.predict(X_test) != y_test)
        assert errors["train_error"] == np.mean(machine.predict(X) != y)
    optimum, last = (fits.errors[method][12] for method in ("hinge optimum", "FPC"))
    assert optimum["train_error"] == 0.0
    assert optimum["test_error"] > 3 * last["test_error"]
    assert last["train_error"] > 0.08


@pytest.mark.parametrize(
    ("place", "dabs"),
    [("near", ()), ("far", ()), (PAINTED, ((0.2, 0.8, 1), (0.9, 0.1, 1)))],
)
def test_noise_is_where_it_was_painted(place, dabs):
    X, noisy, *_ = noisy_rows(place, 0.1, 0.5, dabs)
    clean = noisy_rows(place, 0.1, 0.0, dabs)[1]
    wrong = X[noisy != clean]
    assert len(wrong) > 10
    other = {"near": "far", "far": "near"}
    if dabs:
        distances = np.linalg.norm(wrong[:, None] - np.array(dabs)[:, :2], axis=2).min(axis=1)
        assert distances.max() < 0.1
        inside = np.linalg.norm(X[:, None] - np.array(dabs)[:, :2], axis=2).min(axis=1) < 0.1
        assert len(wrong) == pytest.approx(0.5 * inside.sum(), rel=0.3)
    else:
        elsewhere = noisy_rows(other[place], 0.1, 0.5)[1]
        assert not (noisy != clean)[elsewhere != clean].any()


def test_a_dab_of_paint_takes_over_from_the_band():
    explorer = fpc_noise()
    band = explorer.caption
    explorer.controls["dabs"].value = ((0.5, 0.9, 1),)
    assert explorer.caption != band
    explorer.controls["dabs"].value = ()
    assert explorer.caption == band


def test_costs_are_predicted_in_proportion_to_the_rows():
    assert predicted([0.5 + 2e-6 * n for n in MEASURED], 1e6) == pytest.approx(2.5)
    assert bytes_held(10, 1e6) == (800.0, 8e7, 8e12)
    assert measure_cost(2, 4).centres == 15
    with pytest.raises(ValueError, match="choose a lower degree"):
        measure_cost(4, 12)
