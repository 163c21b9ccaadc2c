"""The benchmark of HSSSVC: every kind of point runs, and the lines say what they mean."""

import numpy as np
import pytest
from quick_rows import measured

from kernlab.lab.bench.hss import (
    CONVERGED,
    EXACT,
    HSS,
    PAPERS_MODE,
    resampled,
)
from kernlab.lab.catalogue import STUDIES

STUDY = STUDIES["bench-hss"]


@pytest.fixture(scope="module")
def table():
    return measured(STUDY.id)[1]


def of(table, variant, method=HSS):
    return table[(table["variant"] == variant) & (table["method"] == method)]


def test_seconds_and_quality_are_told_apart(table):
    for variant in ("table 4", "table 5"):
        for method in (HSS, PAPERS_MODE):
            row = of(table, variant, method).iloc[0]
            parts = row["compress_seconds"] + row["factor_seconds"]
            assert 0 < parts <= row["approximate_seconds"] * 1.01
            assert row["solve_residual"] < 1e-10
            assert row["test_accuracy"] > 0.7
            assert (row["n_iter"], row["beta"]) == (10, 100.0)
            assert row["smallest_eigenvalue"] > -50.0
    rough, finer = (of(table, variant).iloc[0] for variant in ("table 4", "table 5"))
    assert finer["sampled_error"] < rough["sampled_error"]


def test_the_quick_rows_have_their_comparison(table):
    lines = STUDY.comparison(table)
    assert lines["work"].str.contains("to the optimum").any()
    assert lines["work"].str.startswith("cube").any()


def test_at_the_optimum_both_decide_alike(table):
    ours, theirs = (of(table, CONVERGED, method).iloc[0] for method in (HSS, EXACT))
    assert ours["converged"]
    assert 0 <= ours["gap"] < 5e-3
    assert ours["dual_objective"] == pytest.approx(theirs["dual_objective"], rel=1e-3)
    assert ours["test_accuracy"] == pytest.approx(theirs["test_accuracy"], abs=0.003)


def test_growing_rows_are_in_single_precision_and_all_different():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(50, 4)) * [1.0, 10.0, 100.0, 0.0], np.arange(50)
    moved, labels = resampled(X, y, 1000, seed=0)
    assert moved.dtype == np.float32
    assert len(np.unique(moved[:, 0])) > 990
    shift = moved - X[labels]
    np.testing.assert_allclose(shift.std(axis=0), 0.1 * X.std(axis=0), rtol=0.1)
