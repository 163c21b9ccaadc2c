"""FPC's figures: means as the paper draws them, published values in place, nothing hidden."""

import numpy as np
import pandas as pd
import pytest
from drawn_figures import assert_drawn

from kernlab.lab.papers.fpc.figures.axes import (
    log_numbers,
    look,
    mean_band,
    ridge_below,
    say_percent,
)
from kernlab.lab.papers.fpc.figures.simulations import draw_noise, draw_parameter, draw_readings
from kernlab.lab.papers.fpc.figures.tables import (
    draw_accuracy,
    draw_images,
    draw_massive,
    draw_sparsity,
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


def test_missing_values_draw_nothing():
    _, ax = new_figure()
    mean_band(ax, pd.DataFrame({"x": [np.nan], "y": [1.0]}), "x", "y")
    assert not ax.get_lines()


def test_ridge_lies_below_and_is_broader():
    table = pd.DataFrame({"method": ["FPC", "ridge", "FPC"]})
    assert [method for method, _ in ridge_below(table)] == ["ridge", "FPC"]
    assert look("ridge")["lw"] > 4
    assert "lw" not in look("FPC")


@pytest.mark.parametrize(("high", "some", "other"), [(0.2, "0.02", None), (2000, "1000", "0.02")])
def test_numbers_of_a_log_axis_thin_out_when_far_apart(high, some, other):
    _, ax = new_figure()
    ax.plot([0.01, high], [1, 2])
    ax.set_xscale("log")
    log_numbers(ax.xaxis)
    assert some in texts(ax.xaxis)
    assert other not in texts(ax.xaxis)


def test_percent_is_said_without_noise():
    assert [say_percent(share) for share in (0.02, 0.123456)] == ["2 %", "12.35 %"]


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


def test_other_tables_draw_with_and_without_what_was_printed():
    table = pd.DataFrame(
        {"dataset": ["magic", "own"], "method": "FPC", "sparsity": [286, 10], "test_accuracy": 0.9}
    )
    assert_drawn(draw_sparsity(table))
    assert_drawn(draw_images(table.assign(dataset="dogs-vs-cats")))


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


def test_stated_errors_stand_beside_every_reading():
    rows = [
        {"variant": reading, "exponent": exponent, "n_iter": 3, "test_error": 0.02}
        | {"stated_error": {3.2: 0.01235, 5.0: 0.01153}[exponent]}
        for reading in ("as written", "no noise")
        for exponent in (3.2, 5.0)
    ]
    (ax,) = draw_readings(pd.DataFrame(rows)).axes
    assert sorted(line.get_xdata()[0] for line in ax.get_lines()) == [0.01153, 0.01235]
    assert texts(ax.yaxis) == ["as written", "no noise"]
