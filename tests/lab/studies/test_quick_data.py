"""The quick profile needs no data beyond what comes with the package or is generated."""

import pandas as pd
import pytest

from kernlab import paths
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine.provenance import Inputs
from kernlab.lab.engine.run import get_profile
from kernlab.lab.published import published
from kernlab.lab.report.scoring import TIMES


@pytest.mark.parametrize("id", STUDIES)
def test_every_quick_point_has_its_data_at_hand(id, monkeypatch, tmp_path):
    monkeypatch.delenv("KERNLAB_DATA", raising=False)
    monkeypatch.setattr(paths, "downloads_dir", lambda: tmp_path)
    inputs = Inputs(STUDIES[id])
    assert not [name for point in STUDIES[id].grid("quick") for name in inputs.missing(point)]


TABLES = ("lasn-t3", "lasn-t4", "fpc-t2", "fpc-t3", "fpc-t4", "fpc-f9", "sparse-t2")
ANYTHING = dict.fromkeys(
    ("test_accuracy", "test_error", "fit_seconds", "solve_seconds", "predict_seconds", "sparsity"),
    0.5,
)


def live_results(id):
    """The results that the quick points of a study give, whatever is measured there."""
    study, cap = STUDIES[id], get_profile("quick").cap_seconds
    rows = [
        {"dataset": p.dataset, "method": p.method, "variant": p.variant, "repeat": p.repeat}
        | ANYTHING
        | p.parameters
        for p in study.grid("quick")
        if not study.predict_seconds or (study.predict_seconds(p) or 0.0) <= cap
    ]
    found = study.measured(pd.DataFrame(rows)).dropna(subset="value")
    printed = published(id)
    results = printed[[kind == "result" for kind in printed.attrs["kinds"]]]
    return results.merge(found, on=["row", "column"])[["row", "column", "unit"]]


def test_at_least_two_hundred_results_are_measured_on_a_machine_without_data():
    results = {id: live_results(id) for id in TABLES}
    assert sum(map(len, results.values())) >= 200
    assert all(
        STUDIES[id].timing for id, found in results.items() if found["unit"].isin(TIMES).any()
    )
    spreads = results["fpc-t2"].query("column == 'FPC accuracy sd'")
    assert set(spreads["row"]) == set(published("fpc-t3")["row"]) - {"musk"}
