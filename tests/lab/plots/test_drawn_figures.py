"""The helper that says whether a figure shows anything can say no."""

import pytest
from drawn_figures import assert_drawn

from kernlab.lab.plots.style import message_figure, new_figure


def test_empty_figures_and_figures_of_words_are_found_out():
    with pytest.raises(AssertionError, match="nothing is drawn"):
        assert_drawn(new_figure()[0])
    with pytest.raises(AssertionError, match="no axes but words"):
        assert_drawn(message_figure("no finished rows"))
    figure, ax = new_figure()
    ax.plot([0, 1], [float("nan")] * 2)
    with pytest.raises(AssertionError, match="nothing is drawn"):
        assert_drawn(figure)
    ax.plot([0, 1], [1, 2])
    assert assert_drawn(figure) is figure
