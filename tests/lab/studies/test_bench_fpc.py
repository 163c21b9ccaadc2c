"""The bench of FPC: every kind of point runs, and the comparison says what was asked of it."""

import numpy as np
import pandas as pd
import pytest
from quick_rows import table_of

from kernlab.lab.bench.fpc import COLUMNS, MASSIVE, comparison
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
    assert STUDY.key_figures(table)["toy, tolerance 10^-3.2"].startswith("3 to ")


def test_the_comparison_has_a_line_for_all_that_ran(table):
    lines = comparison(table)
    assert list(lines.columns) == COLUMNS
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


def test_figures_of_a_whole_run_mean_what_they_say():
    """Times made up so that ratios and exponents are known."""
    rows = [
        {"dataset": "magic", "variant": "fit", "method": method, "fit_seconds": seconds}
        for method, seconds in (("FPC", 0.1), ("FPC", 0.3), ("SVC-RBF", 6.0), ("SVC-Poly", 30.0))
    ]
    rows += [
        {"dataset": "generated", "variant": "massive", "method": "FPC", "rows": m, "n_train": m}
        | {"centres": n, "fit_seconds": 9.0, "peak_bytes": 3e9, "data_bytes": 2.6e9}
        for m, _, _, n, _ in MASSIVE
    ]
    rows += [
        {"dataset": "generated", "variant": "scaling", "method": "FPC", "rows": m}
        | {"fit_seconds": (m / 1e5) ** 1.01 * late}
        for m in (400_000, 1_000_000, 4_000_000)
        for late in (0.9, 1.0, 7.0)
    ]
    lines = comparison(pd.DataFrame(rows).assign(status="ok", threads=2)).set_index("work")
    assert lines.loc["magic, degree 3, against SVC-RBF", "ratio"] == pytest.approx(30.0)
    assert lines.loc["magic, degree 3, against SVC-Poly", "ratio"] == pytest.approx(150.0)
    assert lines.loc["m from 400,000 to 4,000,000", "ratio"] == pytest.approx(1.01)
    higgs = lines.loc["10,000,000 x 28, degree 2, 435 centres, 0.40 GB beyond"]
    assert higgs["asked"] == "at most 100 s, 0.5 GB beyond the data"
    assert np.isnan(float(higgs["accuracy"] or np.nan))


def test_the_standard_grid_is_the_whole_table():
    points = STUDY.grid("standard")
    kinds = pd.DataFrame(
        [{"set": p.dataset, "method": p.method, "kind": p.variant} for p in points]
    )
    assert {"SVC-RBF", "SVC-Poly"} <= set(kinds.loc[kinds["kind"] == "fit", "method"])
    per_set = kinds[kinds["kind"] == "Table II"].groupby("set").size()
    assert len(per_set) == 9
    assert set(per_set) == {20}
    sizes = {p["rows"] for p in points if p.variant == "scaling"}
    assert (min(sizes), max(sizes)) == (400_000, 4_000_000)
    assert {p["centres"] for p in points if p.variant == "massive"} == {1287, 1652, 435, 498}
