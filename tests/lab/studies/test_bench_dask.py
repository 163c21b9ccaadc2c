"""The bench of clusters: its model against sums by hand, its lines, and a fit small enough."""

import pandas as pd
import pytest

from kernlab.lab.bench import dask as bench
from kernlab.lab.catalogue import FIGURES
from kernlab.lab.engine.run import execute

COSTS = {"features": 2.0, "others": 0.5, "reductions": 4, "overhead": 1.0, "first": 10.0}


def test_the_model_adds_up_what_each_worker_does_and_what_all_wait_for():
    kept = bench.modelled(COSTS, 100, 2)
    assert kept == pytest.approx(10.0 + 50 * (2.0 + 0.5) + 4 * 1.0)
    formed = bench.modelled(COSTS, 100, 2, kept=0.0)
    assert formed == pytest.approx(10.0 + 50 * (4 * 2.0 + 0.5) + 4 * 1.0)
    assert bench.modelled(COSTS, 200, 4) == pytest.approx(kept)


def test_what_was_asked_stands_beside_what_was_reached():
    def row(work, method, rows, seconds, objective=5.0):
        return {
            "variant": work, "method": method, "rows": rows, "columns": 22, "status": "ok",
            "fit_seconds": seconds, "objective": objective, "worker_bytes": 1e9,
            "client_bytes": 5e8, "step_numbers": 30_000.0 if work == bench.FIT else None,
        }  # fmt: skip

    table = pd.DataFrame(
        [
            row(bench.FIT, bench.CLUSTER, 100, 6.0),
            row(bench.FIT, bench.MEMORY, 100, 4.0),
            row(bench.SINGLE, bench.CLUSTER, 1000, 90.0),
            row(bench.PATH, bench.CLUSTER, 100, 18.6),
        ]
    )
    lines = bench.on_a_cluster().comparison(table)
    assert lines["ratio"].tolist() == pytest.approx([1.5, 0.75, 1.5, 3.1])
    assert lines["asked"].tolist() == [
        "ratio: at most 1.5 times in memory: kept; objective to 1e-9 (0e+00): kept",
        "ratio: numbers that a worker sends in a step, at most k^2: kept",
        "16 GB in all (1.5): kept; client under 1 GB (0.50): kept; "
        "ratio: at most 1.2 times as long a row as LASN: missed",
        "ratio: at most 3 times LASN: missed",
    ]


def test_a_small_fit_on_one_and_two_workers_is_measured_and_drawn(monkeypatch, tmp_path):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    monkeypatch.setattr(bench, "SCALED", (0, 20))
    monkeypatch.setattr(bench, "TARGET", (2_000_000, 22, 20))
    table = execute(bench.weak_scaling(rows=20_000), out=tmp_path, progress=False).table
    assert set(table["status"]) == {"ok"}, table["message"].tolist()
    assert table["workers"].tolist() == [1, 2, 1, 2, 10, 100]
    assert table["model_seconds"].notna().all()  # of so few rows their sign is the clock's affair
    assert table["fit_seconds"].notna().sum() == 2
    assert len(FIGURES["dask-scaling"][0].draw(table).axes) == 2
    lines = bench.weak_scaling().comparison(
        table.assign(fit_seconds=[1.0, 2.0, *4 * [None]], model_seconds=[1.1, 1.5, *4 * [9.0]])
    )
    told = [text.rpartition(" ")[2] for text in lines["asked"]]
    assert told == ["kept", "missed", *4 * ["model"]]
    assert lines["seconds"].tolist() == [1.0, 2.0, *4 * [9.0]]
