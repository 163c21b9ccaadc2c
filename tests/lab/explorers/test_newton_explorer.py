"""Newton's explorer: its course is the solver's own, and its controls do what they say."""

import numpy as np
import pytest

from kernlab.lab.explorers import newton
from kernlab.lab.explorers.newton import METHODS, describe, draw_newton, follow_newton
from kernlab.solvers import solve_newton


@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize("dataset", ["magic", "checkerboard"])
def test_both_ways_reach_one_optimum(dataset, method):
    course = follow_newton(dataset, 30, 10.0, method)
    other = follow_newton(dataset, 30, 10.0, "direct", warm_up=True)
    assert course.result.converged
    assert course.result.objective == pytest.approx(other.result.objective, rel=1e-9)
    draw_newton(course).canvas.draw()


def test_the_course_is_that_of_the_solver_on_those_features():
    from kernlab.lab.explorers.newton import _features

    features, y = _features("breast-cancer")
    expected = solve_newton(
        features[:, :25], y, C=3.0, intercept="penalised", tol=1e-10, warm_up=False
    )
    course = follow_newton("breast-cancer", 25, 3.0)
    shown = [step["residual"] for step in course.result.trace]
    np.testing.assert_allclose(shown, [step["residual"] for step in expected.trace], rtol=1e-3)
    assert f"{expected.n_iter} steps" in describe(course)


def test_steps_at_a_smaller_C_are_told_apart():
    course = follow_newton("magic", 30, 1e4)
    assert course.rungs[0]
    assert not course.rungs[-1]
    assert not follow_newton("magic", 30, 1.0).rungs.any()


def test_exacter_directions_cost_more_products_and_no_more_steps():
    rough, exact = (
        follow_newton("magic", 60, 10.0, "cg", eta).result for eta in ((0.5, 1e2), (1e-6, 1.0))
    )
    per_step = [sum(s["products"] for s in r.trace) / r.n_iter for r in (rough, exact)]
    assert per_step[1] > 1.5 * per_step[0]
    assert exact.n_iter <= rough.n_iter


@pytest.mark.parametrize(
    ("control", "value"),
    [
        ("dataset", "spambase"),
        ("k", 10.0 ** 2.3),
        ("k", 10.0**0.3),
        ("C", 1e-4),
        ("C", 1e4),
        ("method", "conjugate gradients"),
        ("warm_up", True),
    ],
)  # fmt: skip
def test_every_control_redraws(control, value):
    explorer = newton()
    explorer.controls["dataset"].value = "checkerboard"
    before = explorer.png
    explorer.controls[control].value = value
    assert explorer.png != before
    assert "Not drawn" not in explorer.caption
    assert "Warning" not in explorer.caption
