"""The landmark explorer: its picture agrees with the estimator, for every rule and size."""

import numpy as np
import pytest

from kernlab import LASN
from kernlab.lab.explorers import landmarks
from kernlab.lab.explorers.landmarks import RULES, describe, draw_landmarks, fit_landmarks
from kernlab.lab.explorers.playground import TOYS


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_draws(rule):
    fit = fit_landmarks("spirals", rule, 20, 4.0, 10.0, rows=300)
    draw_landmarks(fit).canvas.draw()
    assert fit.landmarks.shape == (20, 2)
    assert fit.residuals[-1] < 1e-6
    assert set(fit.milliseconds) == {"landmarks", "map", "solve", "other"}
    assert "accuracy" in describe(fit)


def test_more_landmarks_reproduce_the_kernel_better():
    errors = [fit_landmarks("circles", "kmeans", k, 1.0, 10.0, rows=300).error for k in (5, 50)]
    assert errors[1] < errors[0] / 10


def test_the_grid_shows_the_estimators_decisions():
    fit = fit_landmarks("two moons", "kmeans", 15, 2.0, 10.0, rows=300)
    machine = LASN(n_landmarks=15, gamma=2.0, C=10.0, random_state=0).fit(fit.X, fit.y)
    across, up, decisions = fit.grid
    expected = machine.decision_function(np.array([[across[10], up[70]], [across[60], up[20]]]))
    np.testing.assert_allclose([decisions[70, 10], decisions[20, 60]], expected, atol=1e-6)


@pytest.mark.parametrize("dataset", TOYS)
def test_every_toy_and_the_ends_of_the_sliders(dataset):
    explorer = landmarks()
    explorer.controls["dataset"].value = dataset
    before = explorer.png
    explorer.controls["k"].value = 2.0
    assert explorer.png != before
    assert "Not drawn" not in explorer.caption
