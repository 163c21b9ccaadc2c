"""Labels beside lines: none covers another, and none moves further than it must."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from kernlab.lab.plots.labels import label_lines, spread
from kernlab.lab.plots.style import house_style, new_figure

heights = st.lists(st.floats(0, 1), min_size=1, max_size=30).map(sorted)


@given(heights, st.floats(0.001, 0.5))
def test_spread_keeps_order_distance_and_bounds(wanted, distance):
    placed = spread(wanted, distance)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9
    if len(wanted) > 1:
        promised = min(distance, 1 / (len(wanted) - 1))
        assert np.diff(placed).min() >= promised - 1e-9


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
