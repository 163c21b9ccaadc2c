"""One look: colours and markers that stay with their names and that everybody can tell apart."""

import itertools
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from kernlab.lab.plots import style

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
COLOUR_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def cielab(colour, seen_through):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(seen_through) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ linear / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("kind", COLOUR_BLINDNESS)
def test_the_papers_methods_and_libsvm_stay_apart_for_every_eye(kind):
    main = list(style.METHOD_COLOURS.items())[:6]
    assert [name for name, _ in main][-1] == "LIBSVM"
    seen = {name: cielab(colour, COLOUR_BLINDNESS[kind]) for name, colour in main}
    for one, other in itertools.combinations(seen, 2):
        distance = np.linalg.norm(seen[one] - seen[other])
        assert distance > 12, f"{one} and {other} look alike (CIELAB distance {distance:.1f})"


def test_nothing_serves_twice_and_every_line_is_visible_on_the_card():
    markers = [*style.DATASET_MARKERS.values(), *style._REMAINING_MARKERS]
    colours = [*style.METHOD_COLOURS.values(), *style._REMAINING_COLOURS]
    assert len({*colours, *markers}) == len(colours) + len(markers)
    for colour in colours:
        assert style.contrast_to_white(colour) >= 3, colour


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_text_can_be_read_in_any_colour(rgb):
    assert style.contrast_to_white(style.text_colour(rgb)) >= 4.45


def test_contrast_of_the_extremes():
    assert style.contrast_to_white("white") == pytest.approx(1)
    assert style.contrast_to_white("black") == pytest.approx(21)
    # WebAIM's table: #767676 is the lightest grey that reaches 4.5.
    assert style.contrast_to_white("#767676") == pytest.approx(4.54, abs=0.01)


def test_figures_leave_pyplot_and_the_callers_settings_alone():
    before = dict(mpl.rcParams)
    code = (
        "import sys; from kernlab.lab.plots.style import new_figure; new_figure(2, 2);"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
    style.new_figure()
    with pytest.raises(ZeroDivisionError), style.house_style():
        raise ZeroDivisionError
    assert dict(mpl.rcParams) == before
