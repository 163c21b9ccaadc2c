"""The sparse kernel's benchmark: what is compared, what it says of it, and the hard limit."""

import numpy as np
import pytest
from quick_rows import measured

from kernlab.lab.bench import sparse as bench_sparse
from kernlab.lab.bench.sparse import CHOLESKY, EXACT, EXACT_DISTINCT, NEWTON
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine.measuring import LimitedCallError, call_limited

STUDY = STUDIES["bench-sparse"]


@pytest.fixture(scope="module")
def table():
    return measured(STUDY.id)[1]


def test_all_methods_learn_the_roll_and_both_paths_reach_one_optimum(table):
    rows = table[table["variant"] == "3,000"].set_index("method")
    assert list(rows.index) == [NEWTON, CHOLESKY, EXACT]
    assert rows["test_accuracy"].min() > 0.95
    assert np.ptp(rows["test_accuracy"]) < 0.02
    assert rows.loc[NEWTON, "objective"] == pytest.approx(rows.loc[CHOLESKY, "objective"], rel=1e-4)
    assert rows.loc[NEWTON, "kkt_residual"] <= 1e-4
    assert rows.loc[CHOLESKY, "entries_of_factor"] > 3000 * rows.loc[CHOLESKY, "near_rows"] / 2
    assert 0 < rows.loc[NEWTON, "child_peak_bytes"] < rows.loc[NEWTON, "limit_bytes"] == 3e9
    assert STUDY.key_figures(table)["LIBSVM, 3,000"].startswith("9")


def test_the_quick_rows_have_their_comparison(table):
    assert list(STUDY.comparison(table)["method"]) == [NEWTON]  # that of growing rows


def test_near_rows_are_held_as_rows_grow(table):
    scaling = table[table["variant"] == "scaling"].sort_values("rows")
    assert list(scaling["rows"]) == list(bench_sparse.SIZES.quick)
    assert scaling["near_rows"].between(30, 60).all()


def sized(n_bytes):
    print("among the answer")
    return int(np.ones(n_bytes // 8).sum())


def test_a_hard_limit_holds():
    result, held = call_limited(sized, (4 * 10**8,), 3e9)
    assert result == 5 * 10**7
    assert 4e8 < held < 3e9
    with pytest.raises(LimitedCallError, match=r"sized failed under a hard limit.*Unable to all"):
        call_limited(sized, (4 * 10**9,), 3e9)


def test_sigma_is_chosen_on_training_rows_alone(monkeypatch, real_data):
    """With the test rows replaced by nonsense the same width is chosen."""
    load, seen = bench_sparse.load_dataset, []

    def without_test_rows(name, **how):
        data = load("svmguide1", paper="sparse")
        seen.append(name)
        twice = {"X_train": np.vstack([data.X_train] * 2), "y_train": np.tile(data.y_train, 2)}
        return type("Training", (), twice)

    monkeypatch.setattr(bench_sparse, "load_dataset", without_test_rows)
    sigma = bench_sparse.chosen_sigma.__wrapped__("any")
    assert seen == ["any"]
    assert 0.1 < sigma < 16.0


def test_a_curves_methods_are_fitted_to_the_same_rows(monkeypatch, real_data):
    """Merged rows, weighted rows and all rows are one problem: LIBSVM's two answers say so."""
    load = bench_sparse.load_dataset
    monkeypatch.setattr(bench_sparse, "load_dataset", lambda name, **how: load("svmguide1", **how))
    monkeypatch.setattr(bench_sparse, "chosen_sigma", lambda name: 16.0)
    rows = {
        point.method: STUDY.measure(point, 0)
        for point in STUDY.grid("standard")
        if point.dataset == "skin_nonskin" and point["share"] == 1.0
    }
    assert {row["n_train"] for row in rows.values()} == {3089}
    assert rows[EXACT]["test_accuracy"] == pytest.approx(
        rows[EXACT_DISTINCT]["test_accuracy"], abs=0.002
    )
    assert rows[NEWTON]["test_accuracy"] == pytest.approx(0.9615, abs=0.001)
