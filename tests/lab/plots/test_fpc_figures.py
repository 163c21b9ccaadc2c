"""FPC's figures: means as the paper draws them, published values in place, nothing hidden."""

import numpy as np
import pandas as pd
import pytest

from kernlab.lab.papers.fpc.figures.axes import (
    mean_band,
)
from kernlab.lab.papers.fpc.figures.simulations import draw_noise, draw_parameter
from kernlab.lab.papers.fpc.figures.tables import (
    draw_accuracy,
    draw_massive,
)
from kernlab.lab.plots.style import method_colour, new_figure

MACHINES = ("FPC", "ridge", "hinge optimum")


def texts(axis):
    axis.figure.canvas.draw()
    return [label.get_text() for label in axis.get_majorticklabels()]


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


def test_labelled_rows_stand_beside_generated_ones():
    generated = {"dataset": "generated", "variant": "time and memory", "method": "FPC"}
    generated |= {"n_centres": 1287, "n_train": 20_000, "fit_seconds": 1.0, "peak_bytes": np.nan}
    real = {"dataset": "susy", "variant": "the real file", "method": "FPC", "n_centres": 1500}
    real |= {"n_train": 4_000_000, "fit_seconds": 9.0, "test_accuracy": 0.79}
    assert len(draw_massive(pd.DataFrame([generated]), "fpc-t5").axes) == 1
    cost, accuracy = draw_massive(pd.DataFrame([generated, real]), "fpc-t5").axes
    assert texts(cost.yaxis) == ["1287 centres"]
    assert texts(accuracy.yaxis) == ["susy, FPC, 1500 centres"]
    measured = draw_massive(
        pd.DataFrame([generated | {"peak_bytes": 2e9, "data_bytes": 1e9}]), "fpc-t5"
    )
    assert "peak 2 GB, data 1 GB" in texts(measured.axes[0].yaxis)[0]


def test_ridge_has_the_parameters_of_fpc():
    """A line through all values; the optimum, which has none of them, is level."""
    rows = [
        {"method": method, "alpha": value, "test_error": 0.02, "train_error": 0.1}
        for method in ("FPC", "ridge")
        for value in (0.1, 1.0, 10.0)
    ]
    rows.append({"method": "hinge optimum", "alpha": np.nan, "test_error": 0.01})
    (ax,) = draw_parameter(pd.DataFrame(rows), "alpha").axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert len(lines["ridge, test"].get_xdata()) == 3
    assert lines["hinge optimum, test"].get_xdata().tolist() == [0.1, 10.0]


def test_every_width_of_the_noise_is_drawn():
    rows = [
        {"method": method, "variant": "near the curve", "width": width, "ratio": ratio}
        | {"noise_level": ratio * width, "test_error": ratio, "train_error": ratio}
        for method in MACHINES
        for width in (0.1, 0.2)
        for ratio in (0.0, 0.4)
    ]
    above, below = draw_noise(pd.DataFrame(rows)).axes
    assert len(above.get_lines()) == 6
    ends = {round(line.get_xdata()[-1], 6) for line in above.get_lines()}
    assert ends == {0.04, 0.08}
    assert len(below.get_lines()) == 7, "and where the training error is the noise"
    assert "width 0.1 solid, 0.2 dashed" in above.get_title(loc="left") + above.get_title()
