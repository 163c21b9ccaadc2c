"""In the plane, what is shown is what the machine decides, and points that a reader adds count."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from kernlab import LASN, KernelMachine
from kernlab.kernels import KERNELS
from kernlab.lab.explorers import fourier, landmarks, pairs, playground
from kernlab.lab.explorers.machines import fronts
from kernlab.lab.explorers.nystrom import COUNTS, error_curves
from kernlab.lab.explorers.plane import Plane, square
from kernlab.lab.explorers.samples import ALONE, samples

POINTS = square()[1]


def rows_of(name, most):
    return samples((), toys=[name])[name].rows(most)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_playground_shows_the_exact_machine(kernel):
    rows = rows_of("two moons", 120)
    fit = playground.compute(rows, kernel, gamma=0.5, C=3.0)
    names = {"polynomial": "poly"}
    parameters = {"coef0": 1.0, "degree": 3, "gamma": 0.5, "C": 3.0, "tol": 1e-6}
    if kernel in ("rbf", "linear", "polynomial", "sigmoid"):
        reference = SVC(kernel=names.get(kernel, kernel), **parameters).fit(rows.X, rows.y)
        expected = reference.decision_function(POINTS)
        np.testing.assert_allclose(fit.decisions, expected, atol=0.02 * np.abs(expected).max())
        score = reference.score(rows.X_test, rows.y_test)
        assert fit.accuracy == pytest.approx(score, abs=0.02)
    assert len(fit.decisions) == len(POINTS)


def test_points_of_a_reader_count():
    rows = rows_of("gaussians", 60)
    outlier = (2.0, -2.0, -1)
    fit = playground.compute(rows, "rbf", 1.0, 100.0, [outlier])
    reference = SVC(gamma=1.0, C=100.0).fit(np.vstack([rows.X, outlier[:2]]), [*rows.y, -1])
    np.testing.assert_allclose(fit.decisions, reference.decision_function(POINTS), atol=2e-2)


def test_points_alone_and_moving_one():
    explorer = playground()
    plane = explorer.controls["points"]
    explorer.controls["dataset"].value = ALONE
    assert "click points of both classes" in explorer.caption
    plane.value = ((-1.0, 0.0, -1), (1.0, 0.0, 1))
    assert "2 of 2 rows are support vectors" in explorer.caption
    before = explorer.png
    blue, red = plane.marks
    np.testing.assert_array_equal([blue.x, red.x], [[-1.0], [1.0]])
    red.y = np.array([1.5])  # as the front end does after a drag
    assert plane.value == ((-1.0, 0.0, -1), (1.0, 1.5, 1))
    assert explorer.png != before
    names = {}
    exec(explorer.code(**explorer.values), names)
    np.testing.assert_array_equal(names["X"], [[-1.0, 0.0], [1.0, 1.5]])


def test_a_click_arrives_coordinate_by_coordinate():
    plane = Plane((0.1, 0.1, 0.8, 0.8), (0.0, 1.0), (4, 4), {"a": (1, "red"), "b": (2, "blue")})
    seen = []
    plane.observe(lambda change: seen.append(change["new"]), names="value")
    a, b = plane.marks
    a.x = np.array([0.5])
    assert seen == []
    a.y = np.array([0.25])
    b.x, b.y = np.array([0.1]), np.array([0.2])
    assert seen == [((0.5, 0.25, 1),), ((0.5, 0.25, 1), (0.1, 0.2, 2))]
    plane.value = ()
    assert len(a.x) == len(b.y) == 0
    # The picture reaches beyond its axes: a tenth of it on every side here.
    assert [a.scales["x"].min, a.scales["x"].max] == pytest.approx([-0.125, 1.125])


@pytest.mark.parametrize("rule", landmarks.rules)
def test_landmarks_show_the_estimator(rule):
    rows = rows_of("two moons", 300)
    fit = landmarks.compute(rows, rule, 15, 2.0, 10.0)
    machine = LASN(15, landmarks=rule, gamma=2.0, C=10.0, random_state=0).fit(rows.X, rows.y)
    np.testing.assert_allclose(fit.decisions, machine.decision_function(POINTS), atol=1e-6)
    assert fit.residuals[-1] < 1e-6
    assert fit.accuracy == machine.score(rows.X_test, rows.y_test)


def test_both_maps_are_the_machines_and_waves_err_like_one_over_the_root():
    rows = rows_of("circles", 400)
    found = fourier.compute(rows, 20, 1.0, 10.0)
    for name, approximation, parameter in (
        ("Nyström", "nystrom", "n_landmarks"),
        ("random Fourier", "fourier", "n_components"),
    ):
        machine = KernelMachine(
            approximation, "newton", gamma=1.0, C=10.0, random_state=0,
            approximation_params={parameter: 40},
        ).fit(rows.X, rows.y)  # fmt: skip
        expected = machine.decision_function(square(60)[1])
        np.testing.assert_allclose(found.fits[name].decisions, expected, atol=1e-6)
    curves = error_curves(rows, 1.0)
    slope = np.polyfit(np.log(COUNTS), np.log(curves["random Fourier"]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.2)
    assert curves["Nyström"][-1] < 1e-3 * curves["random Fourier"][-1]


def test_an_impossible_pair_says_what_is_missing():
    rows = rows_of("two moons", 200)
    chosen = {"approximation": "nystrom", "solver": "newton", "gamma": 1.0, "C": 1.0}
    assert len(pairs.compute(rows, **chosen)) == 6
    with pytest.raises(ValueError, match="no features"):
        pairs.compute(rows, **chosen | {"approximation": "hss", "solver": "dcd"})


def test_methods_are_switched_on_and_off():
    rows = [
        (name, method, dial, error, seconds)
        for name in ("s", "t")
        for method, dial, error, seconds in (("LASN", 1, 0.2, 1.0), ("linear", 1, 0.3, 0.1))
    ]
    names = ["dataset", "method", "dial", "error", "fit_seconds"]
    table = pd.DataFrame(rows, columns=names).assign(repeat=0)
    for column in ("search_seconds", "predict_microseconds_per_row", "fit_bytes", "model_bytes"):
        table[column] = 1.0
    explorer = fronts(table)
    assert "LASN 20.0%" in explorer.caption
    explorer.set(methods=("linear",))
    assert "linear 30.0%" in explorer.caption
    explorer.set(methods=())
    assert "choose a method" in explorer.caption
