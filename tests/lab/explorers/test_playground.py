"""The playground: its picture agrees with its machine, and its controls redraw it."""

import io

import matplotlib.image as mpimg
import numpy as np
import pytest
from sklearn.svm import SVC

from kernlab.kernels import KERNELS
from kernlab.lab.explorers import EXPLORERS, playground
from kernlab.lab.explorers.base import WIDGET_VIEW
from kernlab.lab.explorers.playground import TOYS, describe, draw_playground, fit_playground


@pytest.mark.parametrize("dataset", TOYS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_toy_with_every_kernel(dataset, kernel):
    fit = fit_playground(dataset, kernel, gamma=1.0, C=1.0, rows=80)
    draw_playground(fit).canvas.draw()
    assert 0 <= fit.test_accuracy <= 1
    assert "duality gap" in describe(fit)
    if kernel not in ("sigmoid", "polynomial"):
        assert fit.certificate.relative_gap < 1e-2


def test_the_grid_shows_the_decisions_of_the_exact_machine():
    fit = fit_playground("two moons", "rbf", gamma=2.0, C=3.0, rows=120)
    reference = SVC(gamma=2.0, C=3.0).fit(fit.X, fit.y)
    across, up, decisions = fit.grid
    points = np.column_stack([across[[0, 40, 89]], up[[5, 50, 80]]])
    expected = [decisions[5, 0], decisions[50, 40], decisions[80, 89]]
    np.testing.assert_allclose(reference.decision_function(points), expected, atol=1e-6)
    np.testing.assert_array_equal(
        np.sort(fit.support), reference.support_[reference.support_.argsort()]
    )


def test_a_control_redraws_the_picture():
    explorer = playground()
    before = explorer.png
    explorer.controls["gamma"].value = 30.0
    after = explorer.png
    assert before != after
    assert mpimg.imread(io.BytesIO(after)).shape[:2] == mpimg.imread(io.BytesIO(before)).shape[:2]
    explorer.controls["gamma"].value = 1.0
    assert explorer.png == before


def test_what_cannot_be_drawn_is_said_in_the_caption():
    explorer = playground()

    def refuse(**values):
        raise ValueError("a <bad> value")

    explorer.draw = refuse
    explorer.controls["C"].value = 2.0
    assert "Not drawn:</b> a &lt;bad&gt; value" in explorer.caption


@pytest.mark.parametrize("name", EXPLORERS)
def test_without_a_front_end_a_picture_and_a_text_stand_in(name):
    bundle = EXPLORERS[name]().bundle()
    assert set(bundle) == {WIDGET_VIEW, "image/png", "text/plain"}
    assert bundle["text/plain"].startswith("<Explorer: ")
    assert "0x" not in bundle["text/plain"]
