"""The studies of trust: what defaults give, and what fits take beside what they promise."""

import pytest
from quick_rows import table_of

from kernlab.lab.bench.trust import MACHINES
from kernlab.lab.catalogue import STUDIES, study


def test_defaults_beat_the_most_frequent_class_where_something_can_be_learnt():
    table = table_of(
        study("trust-defaults"), study("trust-defaults", datasets="two moons").grid("quick")
    )
    accuracy = table.set_index("method")["test_accuracy"]
    assert set(accuracy.index) == set(MACHINES)
    kernels = accuracy.drop(["most frequent class", "LinearSVC"])
    assert kernels.min() > accuracy["most frequent class"] + 0.2
    assert kernels["LASN"] == pytest.approx(kernels["SVC"], abs=0.05)


def test_a_fit_is_measured_beside_its_promise():
    of = STUDIES["trust-memory"]
    table = table_of(of, [p for p in of.grid("quick") if p.dataset == "dense"])
    assert table["is_kept"].all()
    assert (table["memory_ratio"] == table["grown_bytes"] / 30e6).all()
    assert of.key_figures(table)["promises kept"] == f"{len(table)} of {len(table)}"
