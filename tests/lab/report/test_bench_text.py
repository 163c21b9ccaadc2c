"""What a bench prints: its rows, and below them what was asked beside what was reached."""

from types import SimpleNamespace

import pandas as pd
import pytest

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.report.text import bench_text

TABLE = pd.DataFrame(
    {
        "dataset": ["magic"] * 2, "method": ["LASN", "SVC"], "variant": ["fit"] * 2, "seed": [0, 0],
        "fit_seconds": [0.5, 80.0], "status": ["ok"] * 2, "message": [""] * 2,
    }
)  # fmt: skip


def _compared(lines):
    return bench_text(SimpleNamespace(comparison=lambda table: lines), TABLE).split("\n\n")


def test_what_was_asked_stands_below_the_rows():
    lines = pd.DataFrame(
        {
            "work": ["magic, fit", "memory"], "seconds": [0.5, None], "memory": [None, 2.5e9],
            "gap": [None, None], "ratio": [160.0, None], "asked": ["100x faster", "3 GB"],
        }
    )  # fmt: skip
    rows, asked = _compared(lines)
    assert "1 min 20 s" in rows
    header, first, second = (line.split() for line in asked.splitlines())
    assert header == ["work", "seconds", "memory", "ratio", "asked"]  # no gap was measured
    assert first == ["magic,", "fit", "0.5", "s", "160", "100x", "faster"]
    assert second == ["memory", "2.5", "GB", "3", "GB"]


@pytest.mark.parametrize("lines", [None, pd.DataFrame(columns=["work", "asked"])])
def test_a_bench_that_asks_nothing_shows_its_rows_alone(lines):
    study = SimpleNamespace(comparison=None if lines is None else lambda table: lines)
    assert "\n\n" not in bench_text(study, TABLE)


def test_every_bench_of_a_system_says_what_was_asked():
    asking = {id for id, study in STUDIES.items() if study.comparison is not None}
    assert {"bench-nystrom", "bench-sparse", "bench-hss", "bench-fpc"} <= asking
