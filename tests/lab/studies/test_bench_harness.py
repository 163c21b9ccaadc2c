"""What benches share: lines of what was asked beside what was reached, and the least seconds."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernlab.lab.bench import harness
from kernlab.lab.bench.harness import COLUMNS, Asked, Growth, compared
from kernlab.lab.catalogue import STUDIES, study


def row(dataset, method, seconds, **more):
    columns = {"dataset": dataset, "method": method, "status": "ok", "threads": 2}
    return columns | {"test_accuracy": 0.9, "fit_seconds": seconds} | more


ROWS = pd.DataFrame(
    [
        *(row("a9a", "LASN", seconds, k=200) for seconds in (1.0, 2.0, 9.0)),
        *(row("a9a", "SVC", seconds, k=0) for seconds in (50.0, 60.0, 70.0)),
        row("a9a", "LASN", 100.0, k=1000),
        row("w8a", "LASN", 4.0, k=200, predict_seconds=0.5),
        row("w8a", "LASN", 1e9, k=200, status="failed"),
        *(row("waves", "LASN", (n / 1e5) ** 1.01 * late, n_train=n, peak_bytes=n)
          for n in (10**5, 10**6) for late in (0.9, 1.0, 7.0)),
    ]
)  # fmt: skip


def test_medians_stand_beside_those_of_the_rows_compared_with():
    of = {"method": "LASN", "dataset": ("w8a", "a9a"), "k": 200}
    against = {"method": "SVC", "k": 0}
    asked = Asked("{dataset}, k = {k:.0f}", of, against, "20x faster", each=("dataset",))
    told = asked.lines(ROWS[ROWS["status"] == "ok"])
    lines = compared([asked, Asked("nothing", {"method": "FPC"})], ROWS)
    assert list(lines.columns) == COLUMNS
    assert lines["work"].to_list() == [line["work"] for line in told]
    assert lines["work"].to_list() == ["a9a, k = 200", "w8a, k = 200"]
    assert lines["seconds"].to_list() == [2.0, 4.0]
    assert lines["ratio"][0] == 30.0
    assert np.isnan(lines["ratio"][1])
    assert set(lines["asked"]) == {"20x faster"}
    assert (lines["threads"] == 2).all()


def test_a_line_may_have_cells_of_its_own():
    of = {"dataset": "a9a", "method": "LASN", "k": 200}
    one = Asked("{dataset}", of, {"k": 1000}, cells=harness.times)
    assert compared([one], ROWS)["ratio"].item() == pytest.approx(0.02)
    other = Asked("predicting", {"dataset": "w8a"}, {}, seconds="predict_seconds")
    assert compared([other], ROWS)["seconds"].item() == 0.5


def test_growth_is_the_exponent_of_medians():
    lines = compared([Growth({"dataset": "waves"}, "at most 1.02")], ROWS)
    assert lines["ratio"].item() == pytest.approx(1.01)
    assert lines["memory"].item() == 10**6
    assert compared([Growth({"dataset": "w8a"}, "")], ROWS).empty


def test_the_roofline_counts_operations(monkeypatch):
    """Rates of one per second show the counts themselves."""
    X, names = np.ones((600, 3)), ("operations", "double_operations", "exponentials", "bytes")
    for name, count in zip(
        names, (2 * 600 * 3 * 10, 1000 / 3, 600 * 10, 4 * 600 * 10), strict=True
    ):
        one = SimpleNamespace(**dict.fromkeys(names, np.inf) | {name: 1.0})
        monkeypatch.setattr(harness, "rates", lambda threads, one=one: one)
        assert harness.roofline(X, 10) == pytest.approx(count)
        if name == "operations":
            assert harness.roofline(sp.csr_matrix(np.eye(600, 3)), 10) == 2 * 3 * 10


def test_measured_rates_are_those_of_a_computer():
    rates = harness.rates(threads=1)
    assert 1e8 < rates.double_operations < 1e14
    assert 1e6 < rates.exponentials < 1e12


# Lines declared as `Asked`; the weak scaling compares a model with what was measured.
ASKING = {id: one for id, one in STUDIES.items() if isinstance(one.comparison, partial)}
COLUMNS_MEASURED = (
    *("test_accuracy", "fit_seconds", "solve_seconds", "predict_seconds", "compress_seconds"),
    *("roofline_seconds", "peak_bytes", "child_peak_bytes", "worker_bytes", "client_bytes"),
    *("data_bytes", "n_iter", "objective", "dual_objective", "gap", "sampled_error"),
    *("factor_seconds", "approximate_seconds", "smallest_rank", "solve_residual", "step_numbers"),
)


@pytest.mark.parametrize("id", ASKING)
def test_every_line_that_is_asked_for_has_its_points_and_those_it_is_compared_with(id):
    """On rows that measure 1 at every point of the profiles."""
    beside = study(id, old=".") if id == "bench-limit" else ASKING[id]
    points = [p for profile in ("quick", "standard") for p in beside.grid(profile)]
    sizes = {name: n for n, name in enumerate(p.dataset for p in points)}
    rows = [
        row(p.dataset, p.method, 1.0, variant=p.variant, n_train=p.get("rows", sizes[p.dataset]))
        | {"n_landmarks": sizes[p.dataset], "sigma": 1.0, **p.parameters}
        for p in points
    ]
    table = pd.DataFrame(rows).assign(**dict.fromkeys(COLUMNS_MEASURED, 1.0))
    for asked in ASKING[id].comparison.args[0]:
        lines = pd.DataFrame(asked.lines(table))
        assert len(lines), asked
        assert getattr(asked, "against", None) is None or lines["ratio"].notna().any(), asked


def test_every_bench_of_a_system_says_what_was_asked():
    assert {"bench-nystrom", "bench-sparse", "bench-hss", "bench-fpc"} <= set(ASKING)
