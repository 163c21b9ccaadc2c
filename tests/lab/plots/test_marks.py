"""The parts that figures are made of show what the table says."""

import numpy as np
import pandas as pd
import pytest

from kernlab.lab.plots import marks
from kernlab.lab.plots.style import house_style, new_figure


@pytest.fixture
def ax():
    with house_style():
        yield new_figure()[1]


def repeats():
    return pd.DataFrame(
        {"n": [2, 1, 1, 1, 1, 1, 2], "y": [8.0, 1, 2, 3, 4, 100, 10], "method": "LASN"}
    )


def test_band_draws_the_median_and_shades_the_middle_sixty_per_cent(ax):
    line = marks.band(ax, repeats(), "n", "y", label="LASN")
    np.testing.assert_allclose(line.get_xdata(), [1, 2])
    np.testing.assert_allclose(line.get_ydata(), [3, 9])
    (shade,) = ax.collections
    corners = shade.get_paths()[0].vertices
    at_one = corners[corners[:, 0] == 1][:, 1]
    np.testing.assert_allclose(
        [at_one.min(), at_one.max()], np.quantile([1, 2, 3, 4, 100], (0.2, 0.8))
    )


def test_band_without_spread_shades_nothing_and_skips_what_is_missing(ax):
    table = pd.DataFrame({"n": [1, 2, 3], "y": [1.0, np.nan, 3.0]})
    assert list(marks.band(ax, table, "n", "y").get_xdata()) == [1, 3]
    assert not ax.collections
    assert marks.band(ax, table[table.n == 2], "n", "y") is None


def test_every_combination_has_a_panel_in_the_order_of_the_table_and_no_other_is_shown():
    table = pd.DataFrame(
        {"dataset": ["w8a", "a9a", "w8a", "a9a"], "h": [1, 1, 3, 1], "y": range(4)}
    )
    figure, parts = marks.panels(table, ["dataset", "h"], across=2)
    assert [(name, h, rows["y"].to_list()) for _, (name, h), rows in parts] == [
        ("w8a", 1, [0]),
        ("a9a", 1, [1, 3]),
        ("w8a", 3, [2]),
    ]
    assert [ax.axison for ax in figure.axes] == [True, True, True, False]
    assert len(marks.panels(table, "dataset")[0].axes) == 2


@pytest.mark.parametrize(
    ("data", "slope"), [(-1, -1), (0.5, 0.5), (3, 3), (0.5, 2), (2, 0.5), (-1, 1), (1, -1)]
)
def test_slope_guide_has_its_slope_and_stays_below_the_data(ax, data, slope):
    n = np.geomspace(10, 1e5, 9)
    ax.loglog(n, 9.0 * n**data)
    ax.loglog(n, 3.0 * n**data)
    limits = ax.get_xlim()
    x, y = marks.slope_guide(ax, slope).get_data()
    assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(slope)
    along = np.geomspace(*x, 50)
    assert (np.exp(np.interp(np.log(along), np.log(x), np.log(y))) < 3.0 * along**data).all()
    assert ax.get_xlim() == limits
    assert ax.get_ylim()[0] < y.min()


def test_heatmap_shows_medians_in_order_and_leaves_gaps_open(ax):
    table = pd.DataFrame(
        [(10.0, 1, 7.0), (0.1, 2, 1.0), (0.1, 1, 2.0), (0.1, 1, 4.0), (0.1, 1, 90.0)],
        columns=["C", "h", "accuracy"],
    )
    drawn = marks.heatmap(ax, table, "C", "h", "accuracy", best="highest")
    cells = drawn.get_array()
    np.testing.assert_allclose(cells.filled(-1), [[4, 7], [1, -1]])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.1", "10"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1", "2"]
    assert {patch.get_xy() for patch in ax.patches} == {(1, 0)}
