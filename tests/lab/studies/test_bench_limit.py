"""The bench of machines on landmarks: it fits in other processes, by the code that it is told."""

from pathlib import Path

import numpy as np
import pytest
from quick_rows import table_of

import kernlab
from kernlab.lab.bench.limit import OLD, THIS, census
from kernlab.lab.catalogue import study

HERE = str(Path(kernlab.__file__).parents[1])


def test_fits_of_two_checkouts_stand_side_by_side():
    beside = study("bench-limit", old=HERE)
    table = table_of(beside, beside.grid("quick"))
    fits = table[table["dataset"] == "tiny"].set_index("method")
    assert set(fits.index) == {THIS, OLD}
    assert fits.loc[OLD, "objective"] == pytest.approx(fits.loc[THIS, "objective"], rel=1e-9)
    assert (table["roofline_seconds"] < table["fit_seconds"]).all()
    lines = beside.comparison(table)
    asked = lines.loc[lines["work"] == "tiny-path", "asked"]
    assert (asked == "ratio: at most 3 times tiny").all()
    seconds = table.set_index(["dataset", "method"])["fit_seconds"]
    ratios = lines.set_index(["work", "method"])["ratio"]
    assert ratios["tiny", THIS] == seconds["tiny", OLD] / seconds["tiny", THIS]
    assert ratios["tiny-path", OLD] == seconds["tiny-path", OLD] / seconds["tiny", OLD]


def test_a_checkout_without_kernlab_is_not_run(tmp_path):
    from kernlab.lab.engine import NotRun

    beside = study("bench-limit", works="tiny", old=tmp_path)
    (point,) = (p for p in beside.grid("quick") if p.method == OLD)
    with pytest.raises(NotRun, match="no kernlab in"):
        beside.measure(point, 0)


def test_rows_of_a_census_are_categories():
    X, y, *_ = census(2000)
    assert X.shape == (2000, 98)
    np.testing.assert_array_equal(X.sum(axis=1).A1, 15)
    assert 0.1 < np.mean(y > 0) < 0.5
