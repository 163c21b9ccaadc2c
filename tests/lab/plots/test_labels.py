"""Labels beside lines: none covers another, and none moves further than it must."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from scipy.optimize import minimize

from kernlab.lab.plots.labels import label_lines, spread
from kernlab.lab.plots.style import contrast_to_white, house_style, new_figure

heights = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(sorted)


@given(heights, st.floats(0.001, 0.5))
def test_spread_keeps_order_distance_and_bounds(wanted, distance):
    placed = spread(wanted, distance)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9
    if len(wanted) > 1:
        promised = min(distance, 1 / (len(wanted) - 1))
        assert np.diff(placed).min() >= promised - 1e-9


@given(st.lists(st.floats(0.05, 0.2), min_size=1, max_size=5))
def test_spread_leaves_what_has_room(gaps):
    wanted = np.cumsum(gaps) - gaps[0] * 0.5
    if wanted[-1] <= 1:
        np.testing.assert_allclose(spread(wanted, 0.04), wanted)


@pytest.mark.parametrize("seed", range(5))
def test_spread_is_the_least_squares_solution(seed):
    wanted = np.sort(np.random.default_rng(seed).uniform(0, 1, 5))
    distance = 0.2
    constraints = [
        {"type": "ineq", "fun": lambda p, i=i: p[i + 1] - p[i] - distance} for i in range(4)
    ]
    reference = minimize(
        lambda p: np.sum((p - wanted) ** 2),
        np.linspace(0, 1, 5),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints=constraints,
        options={"ftol": 1e-12},
    ).x
    np.testing.assert_allclose(spread(wanted, distance), reference, atol=1e-5)


def labelled_boxes(ends, scale="linear", panel=(4.8, 3.4)):
    with house_style():
        figure, ax = new_figure(panel=panel)
        for i, end in enumerate(ends):
            ax.plot([1, 2, 3], [1, 1, end], label=f"method {i}")
        ax.set_yscale(scale)
        labels = label_lines(ax)
        figure.draw_without_rendering()
    return ax, labels, [Text.get_window_extent(label) for label in labels]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_labels_of_lines_that_end_together_do_not_overlap(scale):
    ax, labels, boxes = labelled_boxes([2, 2, 2.001, 2.01, 5, 5.01], scale)
    assert len(labels) == 6
    for one, other in itertools.combinations(boxes, 2):
        overlap = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert overlap < 0.2 * one.height
    assert all(box.x0 >= ax.get_window_extent().x1 for box in boxes)


def test_all_labels_lie_inside_the_figure():
    ax, _, boxes = labelled_boxes([1, 2, 3])
    assert all(box.x1 <= ax.figure.bbox.x1 for box in boxes)


def test_labels_stand_in_the_order_of_the_line_ends():
    _, labels, boxes = labelled_boxes([5, 1, 3])
    by_height = [labels[i].get_text() for i in np.argsort([box.y0 for box in boxes])]
    assert by_height == ["method 1", "method 2", "method 0"]


def test_forty_labels_shrink_rather_than_leave_the_axes():
    ax, labels, boxes = labelled_boxes(np.linspace(1, 1.1, 40))
    frame = ax.get_window_extent()
    assert {label.get_fontsize() for label in labels} == {5.0}
    assert min(box.y0 for box in boxes) > frame.y0 - 10
    assert max(box.y1 for box in boxes) < frame.y1 + 10


def test_unlabelled_empty_and_hidden_lines_get_no_label():
    _, ax = new_figure()
    ax.plot([1, 2], [1, 2])
    ax.plot([], [], label="empty")
    ax.plot([1, 2], [np.nan, np.nan], label="nan")
    ax.plot([1, 2], [100, 100], label="outside")
    ax.set_ylim(0, 3)
    assert label_lines(ax) == []


def test_a_line_that_breaks_off_is_labelled_at_its_last_point():
    _, ax = new_figure()
    ax.plot([1, 2, 3], [1, 2, np.nan], label="breaks off")
    ax.set(xlim=(0, 4), ylim=(0, 4))
    (label,) = label_lines(ax)
    assert label.xy == pytest.approx((0.5, 0.5))


def test_the_text_of_a_pale_line_can_be_read():
    _, ax = new_figure()
    ax.plot([1, 2], [1, 2], color="yellow", label="pale")
    (label,) = label_lines(ax)
    assert contrast_to_white(label.get_color()) >= 4.45
