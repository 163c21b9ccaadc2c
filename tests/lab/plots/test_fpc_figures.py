"""FPC's figures: means as the paper draws them, published values in place, nothing hidden."""

import numpy as np
import pandas as pd
import pytest

from kernlab.lab.papers.fpc.figures import draw_accuracy, mean_band
from kernlab.lab.plots.style import method_colour, new_figure

MACHINES = ("FPC", "ridge", "hinge optimum")


def test_repeats_are_drawn_by_their_mean_not_their_median():
    _, ax = new_figure()
    table = pd.DataFrame({"x": [1, 1, 1], "y": [0.0, 0.0, 3.0]})
    mean_band(ax, table, "x", "y")
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0]


def test_the_papers_accuracy_stands_in_the_row_of_its_method():
    table = pd.DataFrame(
        {"dataset": "magic", "method": ["FPC", "ridge"], "test_accuracy": [0.85, 0.85]}
    )
    (ax,) = draw_accuracy(table).axes
    marks = {}
    for scatter in ax.collections:
        for place in scatter.get_offsets():
            marks.setdefault(tuple(scatter.get_edgecolor()[0].round(3)), []).append(place)
    ours, theirs = marks[_edge("FPC")]
    assert ours[1] == theirs[1]
    assert theirs[0] == pytest.approx(0.851)
    assert len(marks[_edge("ridge")]) == 1, "the paper has no ridge"
    heights = [places[0][1] for places in marks.values()]
    assert len(set(heights)) == 2, "methods of one set would hide each other"


def _edge(method):
    from matplotlib.colors import to_rgba

    return tuple(np.round(to_rgba(method_colour(method)), 3))
