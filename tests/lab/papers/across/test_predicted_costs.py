"""Predictions stand beside what the same fits took."""

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine import Point
from kernlab.lab.engine.measuring import measure_point
from kernlab.lab.papers.across.costs import MACHINES, measure_cost


def test_every_machine_is_predicted_and_fitted():
    points = STUDIES["costs"].grid("quick")
    assert {point.method for point in points} == set(MACHINES)
    for name in ("LASN", "FPC, degree chosen"):
        point = Point.make("magic", name, n_landmarks=40, rows=500, cap=100.0)
        record = measure_point(measure_cost, point, 0, 1)
        assert record["status"] == "ok", record["message"]
        (row,) = record["rows"]
        assert row["n_train"] == 500
        assert row["time_ratio"] == row["fit_seconds"] / row["predicted_seconds"] > 0
        assert row["predicted_bytes"] > 0
    long = Point.make("magic", "LASN", n_landmarks=40, rows=500, cap=1e-9)
    record = measure_point(measure_cost, long, 0, 1)
    assert record["status"] == "not run"
    assert "predicted to take" in record["message"]
