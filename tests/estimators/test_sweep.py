"""Grids: each point is the fit on its own, and what can be shared is computed once."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold

from kernlab.estimators import HSSSVC, LASN, LLSVM, KernelMachine, LASNRegressor, sweep
from kernlab.estimators.machine import fit_together, scores_of

X, Y = make_moons(300, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(200, noise=0.2, random_state=1)
COSTS = [0.01, 1.0, 100.0]


def fit_path(machine, X, y, costs, n_landmarks=None):
    """Machines for several C, and for several numbers of landmarks, fitted together."""
    if n_landmarks is None:
        machines = [machine.with_params(C=C) for C in costs]
        fit_together(machines, X, y)
        return machines
    name = "n_landmarks"
    if name not in machine.get_params():
        name = "approximation_params__n_landmarks"
    grid = [[machine.with_params(C=C, **{name: k}) for C in costs] for k in n_landmarks]
    fit_together([one for row in grid for one in row], X, y, nested=True)
    return grid


def counting(gamma=1.0):
    """A kernel and the list of the numbers of values that it was asked for."""
    asked = []

    def kernel(A, B):
        asked.append(A.shape[0] * B.shape[0])
        return rbf_kernel(A, B, gamma=gamma)

    return kernel, asked


# ------------------------------------------------------------------ each point on its own
@pytest.mark.parametrize(
    "machine",
    [
        LASN(30, random_state=0),
        LLSVM(30, runs=None, tol=1e-6, max_iter=5000, random_state=0),
        KernelMachine("exact", "dcd", intercept="penalised", tol=1e-7, max_iter=5000, gamma=1.0),
        KernelMachine("nystrom", "liblinear-tron", intercept="penalised", tol=1e-8, random_state=0),
        KernelMachine("exact", "newton-cg", gamma=1.0, tol=1e-8),
    ],
    ids=lambda machine: f"{type(machine).__name__}-{machine.solver}",
)
def test_every_cost_gives_the_fit_on_its_own(machine):
    table = sweep(machine, X, Y, {"C": COSTS}, validation=(NEW, NEW_Y))
    assert list(table["C"]) == COSTS
    assert list(table["status"]) == ["ok"] * 3
    for row in table.itertuples():
        alone = clone(machine).set_params(C=row.C).fit(X, Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-4)
        assert row.validation_accuracy == pytest.approx(alone.score(NEW, NEW_Y), abs=0.011)
        assert row.train_accuracy == pytest.approx(alone.score(X, Y), abs=0.011)
    assert table["validation_accuracy"].nunique() > 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_prescribed_number_of_runs_starts_afresh_at_every_cost(n_classes):
    """One run over the data from the last C's solution is not the run that LLSVM.fit makes."""
    labels = Y + (X[:, 0] > 1.0) if n_classes == 3 else Y
    machine = LLSVM(30, gamma=1.0, runs=1, block_rows=50, random_state=0)
    table = sweep(machine, X, labels, {"C": COSTS})
    for row in table.itertuples():
        alone = clone(machine).set_params(C=row.C).fit(X, labels)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-9)
        assert row.train_accuracy == alone.score(X, labels)


@pytest.mark.parametrize("solver", ["dcd", "sbm"])
def test_each_class_starts_from_its_own_dual_variables(solver):
    """Not from those of the class before at the largest C; the first C starts from nothing."""
    labels = Y + (X[:, 0] > 1.0)
    machine = KernelMachine("nystrom", solver, intercept="penalised", gamma=1.0, random_state=0)
    first = fit_path(machine, X, labels, [0.01, 1.0])[0]
    alone = clone(machine).set_params(C=0.01).fit(X, labels)
    np.testing.assert_allclose(first.coef_, alone.coef_, rtol=1e-9)


def test_a_grid_of_several_parameters_keeps_its_order():
    grid = {"gamma": [2.0, 0.5], "C": [10.0, 0.1], "n_landmarks": [20, 10]}
    table = sweep(LASN(random_state=0), X, Y, grid)
    expected = [(g, c, k) for g in (2.0, 0.5) for c in (10.0, 0.1) for k in (20, 10)]
    assert list(zip(table["gamma"], table["C"], table["n_landmarks"], strict=True)) == expected
    for row in table.itertuples():
        alone = LASN(row.n_landmarks, gamma=row.gamma, C=row.C, random_state=0).fit(X, Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-4)
    assert "validation_accuracy" not in table


@pytest.mark.parametrize(
    ("machine", "grid", "shown"),
    [
        (HSSSVC(random_state=0), {"h": ["scale", 0.5]}, ["scale", 0.5]),
        (LASN(random_state=0), {"n_landmarks": ["sqrt", 10]}, ["sqrt", 10]),
        (LASN(random_state=0), {"landmarks": [X[:5], X[:6]]}, ["array 0, 5 x 2", "array 1, 6 x 2"]),
        (LASN(random_state=0), {"landmarks": ["first", sp.csr_matrix(X[:6])]},
         ["first", "array 1, 6 x 2"]),
    ],
    ids=["h", "n_landmarks", "arrays", "a word and a sparse array"],
)  # fmt: skip
def test_values_of_several_types_stay_what_they_are(machine, grid, shown):
    table = sweep(machine, X, Y, grid | {"C": [10.0, 1.0]}, validation=(NEW, NEW_Y))
    (name, values), *_ = grid.items()
    assert list(table[name]) == [value for value in shown for _ in range(2)]
    assert list(table["C"]) == [10.0, 1.0] * 2
    assert list(table["status"]) == ["ok"] * 4
    rows = table.itertuples()
    for value in values:
        for C in (10.0, 1.0):
            alone = clone(machine).set_params(**{name: value}, C=C).fit(X, Y)
            assert next(rows).objective == pytest.approx(alone.result_.objective, rel=1e-4)


@pytest.mark.parametrize(
    "costs",
    [2.0, np.float32(2.0), (2.0,), np.array([2.0]), np.array(2.0), range(2, 3), pd.Series([2.0])],
    ids=lambda costs: type(costs).__name__,
)
def test_the_values_of_a_grid_may_come_in_any_sequence_or_alone(costs):
    table = sweep(LASN(10, random_state=0), X, Y, {"C": costs, "landmarks": "first"})
    assert list(table["C"]) == [2.0]
    assert list(table["landmarks"]) == ["first"]
    assert list(table["status"]) == ["ok"]


def test_a_value_that_is_given_twice_has_two_rows():
    table = sweep(LASN(10, random_state=0), X, Y, {"C": [2.0, 1.0, 2.0], "gamma": [1.0, 1.0]})
    assert list(table["C"]) == [2.0, 2.0, 1.0, 1.0, 2.0, 2.0]
    assert list(table["status"]) == ["ok"] * 6


def test_regressors_and_estimators_of_others_are_fitted_point_by_point():
    t = np.sin(3 * X[:, 0])
    table = sweep(
        LASNRegressor(30, random_state=0), X, t, {"C": COSTS, "epsilon": [0.01]}, validation=(X, t)
    )
    assert table["validation_r2"].is_monotonic_increasing
    assert table["validation_r2"].iloc[-1] > 0.95


def test_many_classes():
    digits, labels = load_digits(return_X_y=True)
    table = sweep(
        LASN(gamma=5e-4, random_state=0),
        digits[:500],
        labels[:500],
        {"n_landmarks": [20, 80], "C": [1.0, 10.0]},
        validation=(digits[500:800], labels[500:800]),
        nested=True,
    )
    assert len(table) == 4
    assert table["validation_accuracy"].iloc[-1] > 0.9
    alone = LASN(80, gamma=5e-4, C=10.0, random_state=0).fit(digits[:500], labels[:500])
    score = alone.score(digits[500:800], labels[500:800])
    assert table["validation_accuracy"].iloc[-1] == pytest.approx(score, abs=1e-9)


# ------------------------------------------------------------------------------ what is shared
def test_a_path_over_costs_computes_the_kernel_once():
    kernel, asked = counting()
    sweep(LASN(25, kernel=kernel, random_state=0), X, Y, {"C": COSTS})
    one_fit = 25 * 25 + 300 * 25 + 25 + 300
    assert 0 < sum(asked) <= one_fit + 300 * 25  # and one pass for the training accuracy


def test_nested_landmarks_cost_one_map():
    """Five numbers of landmarks and three costs: the kernel values of the largest number alone."""
    kernel, asked = counting()
    grid = {"n_landmarks": [5, 10, 20, 40, 80], "C": COSTS}
    table = sweep(
        LASN(kernel=kernel, random_state=0), X, Y, grid, validation=(NEW, NEW_Y), nested=True
    )
    assert len(table) == 15
    fit = 80 * 80 + 300 * 80 + 80 + 300
    scoring = (300 + 200) * 80
    assert 0 < sum(asked) <= fit + scoring
    asked.clear()
    sweep(LASN(kernel=kernel, random_state=0), X, Y, grid, validation=(NEW, NEW_Y))
    assert sum(asked) > 1.5 * (fit + scoring)  # not nested, each number pays for itself


def test_nested_machines_are_those_on_the_first_landmarks():
    grid = {"n_landmarks": [6, 15, 40], "C": [0.1, 10.0]}
    machine = LASN(gamma=1.0, tol=1e-9, random_state=0)
    table = sweep(machine, X, Y, grid, validation=(NEW, NEW_Y), nested=True)
    whole = clone(machine).set_params(n_landmarks=40).fit(X, Y)
    for row in table.itertuples():
        alone = LASN(
            landmarks=whole.landmarks_[: row.n_landmarks], gamma=1.0, C=row.C, tol=1e-9
        ).fit(X, Y)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-6)
        assert row.validation_accuracy == pytest.approx(alone.score(NEW, NEW_Y), abs=1e-9)
        assert row.rank == row.n_landmarks
    assert table.groupby("C")["objective"].apply(lambda o: o.is_monotonic_decreasing).all()


def test_more_landmarks_than_directions_is_no_failure():
    rows = np.repeat(np.eye(3), 20, axis=0)
    table = sweep(LASN(random_state=0), rows, np.arange(60) % 2, {"n_landmarks": [2, 30]},
                  nested=True)  # fmt: skip
    assert list(table["rank"]) == [2, 3]
    assert list(table["status"]) == ["ok", "ok"]


def test_the_seconds_add_up_and_the_first_of_a_group_bears_what_is_shared():
    table = sweep(LASN(40, random_state=0), X, Y, {"gamma": [0.5, 1.0], "C": COSTS})
    assert list(table["approximate_seconds"] > 0) == [True, False, False] * 2
    np.testing.assert_allclose(
        table["fit_seconds"], table["approximate_seconds"] + table["solve_seconds"]
    )


def test_scores_together_are_scores_alone():
    machines = fit_path(LASN(30, random_state=0), X, Y, COSTS)
    for one, scores in zip(machines, scores_of(machines, machines[0].rows_of(NEW)), strict=True):
        np.testing.assert_allclose(scores[:, 0], one.decision_function(NEW), atol=1e-9)


def test_machines_of_a_path_are_whole():
    for one in fit_path(LASN(30, random_state=0), X, Y, COSTS):
        assert one.predict(NEW).shape == (200,)
        assert one.result_.relative_gap <= 1e-4
        assert one.nbytes_ > 0
        assert one.n_iter_ == one.results_[0].n_iter
        assert clone(one).C == one.C


@pytest.mark.parametrize(
    "machine",
    [
        LASN(50, random_state=0),
        KernelMachine("nystrom", random_state=0, approximation_params={"n_landmarks": 50}),
        KernelMachine("nystrom", random_state=0),
    ],
    ids=["own parameter", "approximation_params", "none given"],
)
def test_a_clone_of_a_machine_on_fewer_landmarks_asks_for_as_many(machine):
    for k, (one,) in zip([5, 20], fit_path(machine, X, Y, [1.0], n_landmarks=[5, 20]), strict=True):
        assert one.approximation_.landmarks_.shape[0] == k
        assert clone(one).fit(X, Y).approximation_.landmarks_.shape[0] == k
    assert dict(machine.approximation_params or {}).get("n_landmarks") in (50, None)


# ------------------------------------------------------------------------------- validation
def test_folds_are_averaged():
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = sweep(LASN(20, random_state=0), X, Y, {"C": COSTS}, validation=folds)
    for row in table.itertuples():
        scores = []
        for train, held_out in folds.split(X, Y):
            alone = LASN(20, C=row.C, random_state=0).fit(X[train], Y[train])
            scores.append(alone.score(X[held_out], Y[held_out]))
        assert row.cv_accuracy == pytest.approx(np.mean(scores), abs=0.005)
        assert row.cv_accuracy_sd == pytest.approx(np.std(scores, ddof=1), abs=0.01)
        assert row.n_train == 200
    assert "cv_accuracy" in sweep(LASN(random_state=0), sp.csr_matrix(X), Y, {"C": [1.0]},
                                  validation=2)  # fmt: skip


def test_a_point_that_fails_is_a_row():
    table = sweep(
        LASN(random_state=0), X, Y, {"n_landmarks": [10, 1000], "C": [1.0, 2.0]}, validation=(X, Y)
    )
    assert list(table["status"]) == ["ok", "ok", "failed", "failed"]
    assert "more than the 300 rows" in table["message"].iloc[2]
    assert table["validation_accuracy"].isna().tolist() == [False, False, True, True]
    everything = sweep(LASN(random_state=0), X, Y, {"n_landmarks": [1000]}, validation=3)
    assert list(everything["status"]) == ["failed"]


@pytest.mark.parametrize("bad_fold", [0, 2], ids=["the first fold", "the last fold"])
def test_a_fold_that_fails_is_a_failed_row(bad_fold):
    """All rows of the second class are held out together: nothing is left to tell apart."""
    labels = (np.arange(120) // 40 == bad_fold).astype(int)
    grid = {"n_landmarks": [5, 1000], "C": [1.0, 2.0]}
    table = sweep(LASN(random_state=0), X[:120], labels, grid, validation=KFold(3))
    assert list(table["n_landmarks"]) == [5, 5, 1000, 1000]
    assert list(table["status"]) == ["failed"] * 4
    assert table["message"].iloc[0].startswith("ValueError: a classifier needs rows of at least 2")
    assert table[["n_train", "objective", "cv_accuracy", "cv_accuracy_sd"]].isna().all(axis=None)


def test_a_point_that_fails_in_every_fold_leaves_the_means_of_the_others():
    grid = {"n_landmarks": [5, 1000]}
    table = sweep(LASN(random_state=0), X, Y, grid, validation=3)
    assert list(table["status"]) == ["ok", "failed"]
    assert list(table["cv_accuracy"].isna()) == [False, True]
    assert "more than the 200 rows" in table["message"].iloc[1]


@pytest.mark.parametrize("nested", [False, True])
def test_a_cost_that_fails_leaves_the_others_alone(nested):
    grid = {"C": [1.0, 0.0, 10.0], "n_landmarks": [5, 10]}
    table = sweep(LASN(random_state=0), X, Y, grid, nested=nested)
    assert list(table["status"]) == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert table["message"][table["C"] == 0.0].str.contains("ValueError: C ").all()
    without = sweep(LASN(random_state=0), X, Y, grid | {"C": [1.0, 10.0]}, nested=nested)
    np.testing.assert_allclose(
        table["objective"].dropna().to_numpy(), without["objective"].to_numpy(), rtol=1e-4
    )


@pytest.mark.parametrize(
    ("machine", "grid", "options", "message"),
    [
        (LASN(), {"h": [1.0]}, {}, "Invalid parameter 'h'"),
        (LASN(), {"C": []}, {}, "at least one value"),
        (LASN(), {"C": [1.0]}, {"nested": True}, "put n_landmarks in the grid"),
        (LASN(), {"n_landmarks": ["sqrt"]}, {"nested": True}, "whole numbers"),
    ],
)
def test_impossible_grids_are_refused(machine, grid, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(machine, X, Y, grid, **options)
