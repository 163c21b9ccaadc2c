"""The explorer of ADMM: one compression for an h, one factor for a beta, the right machine."""

import numpy as np
import pytest

from kernlab import HSSSVC
from kernlab.approximations.hss import HSSKernel
from kernlab.lab.explorers import hss_admm
from kernlab.lab.explorers.hss_admm import REL_TOL, describe, draw_admm, prepare, refit


@pytest.fixture
def counted(monkeypatch):
    """How often something is compressed."""
    counts, fit = [], HSSKernel.fit

    def counting(self, X, y=None):
        counts.append(len(X))
        return fit(self, X, y)

    monkeypatch.setattr(HSSKernel, "fit", counting)
    return counts


def test_the_picture_shows_the_estimator():
    prepared = prepare("two moons", 0.3, rows=400)
    fit = refit(prepared, 5.0, 10.0, 20)
    machine = HSSSVC(C=5.0, h=0.3, beta=10.0, max_iter=20, rel_tol=REL_TOL, random_state=0)
    machine.fit(prepared.X, prepared.y)
    across, up, decisions = fit.grid
    points = np.array([[across[10], up[40]], [across[50], up[20]], [across[30], up[30]]])
    shown = [decisions[40, 10], decisions[20, 50], decisions[30, 30]]
    np.testing.assert_allclose(shown, machine.decision_function(points), atol=1e-4)
    assert [row["iteration"] for row in fit.machine.result_.trace] == list(range(1, 21))
    assert "support vectors" in describe(fit)
    draw_admm(fit).canvas.draw()


def test_c_needs_no_other_compression_and_h_does(counted):
    prepare.cache_clear()
    explorer = hss_admm()
    assert counted == [5000]
    pictures = {explorer.png}
    for name, value in (("C", 0.1), ("C", 10.0), ("steps", 10.0), ("beta", 100.0)):
        explorer.controls[name].value = value
        pictures.add(explorer.png)
    assert counted == [5000]
    assert len(pictures) == 5
    explorer.controls["h"].value = 1.0
    assert counted == [5000, 5000]
    assert "Not drawn" not in explorer.caption


def test_a_beta_that_is_too_small_is_refused_in_words():
    prepared = prepare("checkerboard", 3.0, rows=1000)
    with pytest.raises(ValueError, match="does not converge at beta"):
        refit(prepared, 1.0, 1e-6, 10)


def test_dual_variables_at_the_bound_and_below():
    prepared = prepare("circles", 0.3, rows=300)
    few = refit(prepared, 1000.0, 100.0, 5)
    assert np.abs(few.machine.dual_coef_).max() < 1.0
    many = refit(prepared, 0.01, 1.0, 60)
    assert np.abs(many.machine.dual_coef_).max() == pytest.approx(0.01)
    draw_admm(few).canvas.draw()
    draw_admm(many).canvas.draw()
