"""The bench of FPC: every kind of point runs, and the comparison says what was asked of it."""

import pytest
from quick_rows import table_of

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.published import published

STUDY = STUDIES["bench-fpc"]


@pytest.fixture(scope="module")
def table():
    """Rows of the quick profile, one point of each kind that is slow."""
    points, slow = [], set()
    for point in STUDY.grid("quick"):
        kind = (point.variant, dict(point.params).get("columns"))
        if point.dataset != "generated" or kind not in slow:
            points.append(point)
        slow.add(kind)
    return table_of(STUDY, points)


def test_every_kind_of_work_runs_and_is_certified(table):
    assert set(table["variant"]) == {"fit", "Table II", "massive", "scaling", "tolerance"}
    fits = table[table["variant"] == "fit"].set_index("method")
    assert fits["test_accuracy"].min() > 0.84
    assert fits.loc["hinge optimum", "gap"] < 1e-3
    assert fits.loc["FPC", "kkt_residual"] > 0.1, "an early stop is not the optimum, and says so"
    steps = table[table["exponent"] == 3.2]["n_iter"]
    assert steps.min() == 3
    assert steps.max() <= 5


def test_the_comparison_has_a_line_for_all_that_ran(table):
    lines = STUDY.comparison(table)
    assert lines["work"].str.contains("degree by validation").sum() >= 2
    magic = lines[lines["work"] == "magic, degree by validation"].iloc[0]
    stated = (
        published("fpc-t2").set_index(["row", "column"]).loc[("magic", "FPC accuracy"), "value"]
    )
    assert magic["ratio"] == pytest.approx(100 * magic["accuracy"] - stated)
    assert abs(magic["ratio"]) < 1.0
    small = lines[lines["work"].str.contains("centres")]
    assert (small["asked"] == "").all(), "what is asked of millions is not asked of thousands"
    # Growth is none where the process has held as much before.
    assert (small["memory"] >= 0).all()
