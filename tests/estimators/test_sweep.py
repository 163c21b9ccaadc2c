"""Grids: each point is the fit on its own, and what can be shared is computed once."""

import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_digits, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from kernlab import HSSSVC, LASN, LLSVM, KernelMachine, LASNRegressor, sweep
from kernlab.estimators.sweep import yardsticks
from kernlab.rows import as_rows

sweeps = sys.modules["kernlab.estimators.sweep"]  # the module, whose name the function has
X, Y = make_moons(300, noise=0.2, random_state=0)
NEW, NEW_Y = make_moons(200, noise=0.2, random_state=1)
COSTS = [0.01, 1.0, 100.0]
COLUMNS = [
    "n_train", "n_features", "rank", "approximate_seconds", "solve_seconds", "objective", "gap",
    "kkt_residual", "n_iter", "converged", "nbytes", "fit_seconds", "predict_seconds",
    "train_accuracy", "validation_accuracy", "status", "message",
]  # fmt: skip


def counting(gamma=1.0):
    """A kernel and the list of the numbers of values that it was asked for."""
    asked = []

    def kernel(A, B):
        asked.append(A.shape[0] * B.shape[0])
        return rbf_kernel(A, B, gamma=gamma)

    return kernel, asked


def general(approximation, solver, **settings):
    return KernelMachine(approximation, solver, gamma=1.0, random_state=0, **settings)


# ------------------------------------------------------------------ each point on its own
@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (LASN(30, random_state=0), {"gamma": [2.0, 0.5], "n_landmarks": [20, 10]}),
        (LASN(random_state=0), {"n_landmarks": ["sqrt", 10], "class_weight": [None, "balanced"]}),
        (LASN(random_state=0), {"landmarks": ["first", X[:6], sp.csr_matrix(X[:5])]}),
        (LLSVM(30, tol=1e-7, max_iter=5000, random_state=0), {"loss": ["hinge", "squared_hinge"]}),
        (HSSSVC(leaf_size=64, random_state=0), {"h": ["scale", 0.5], "max_iter": [5, 10]}),
        (general("exact", "newton-cg", tol=1e-9), {"intercept": ["free", "none"]}),
        (general("exact", "newton", tol=1e-9), {"solver": ["newton", "newton-cg"]}),
        (general("nystrom", "newton", tol=1e-9), {"approximation_params__n_landmarks": [10, 20]}),
        (general("nystrom", "newton"), {"solver_params__method": ["direct", "cg"]}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else type(value).__name__,
)  # fmt: skip
def test_every_point_is_the_fit_on_its_own(machine, grid):
    table = sweep(machine, X, Y, grid | {"C": [10.0, 0.1]}, validation=(NEW, NEW_Y))
    assert list(table.columns) == [*grid, "C", *COLUMNS]
    assert set(table["status"]) == {"ok"}
    assert len(table) == np.prod([len(v) for v in grid.values()]) * 2
    assert list(table["C"]) == [10.0, 0.1] * (len(table) // 2)
    points = pd.MultiIndex.from_product([range(len(v)) for v in grid.values()] + [range(2)])
    for place, row in zip(points, table.to_dict("records"), strict=True):
        chosen = {n: grid[n][i] for n, i in zip(grid, place[:-1], strict=True)}
        shown = [row[name] == value for name, value in chosen.items() if np.ndim(value) == 0]
        assert all(shown) or None in chosen.values()
        alone = clone(machine).set_params(**chosen, C=row["C"]).fit(X, Y)
        assert row["objective"] == pytest.approx(alone.result_.objective, rel=1e-4)
        assert row["validation_accuracy"] == pytest.approx(alone.score(NEW, NEW_Y), abs=0.011)
        assert row["train_accuracy"] == pytest.approx(alone.score(X, Y), abs=0.011)
        assert row["rank"] == alone.approximation_.rank_
    if "landmarks" in grid:
        shown = ["first", "array 1, 6 x 2", "array 2, 5 x 2"]
        assert list(table["landmarks"]) == [value for value in shown for _ in range(2)]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_prescribed_number_of_runs_begins_anew_at_every_cost(n_classes):
    """One run over the data from the last C's solution is not the run that LLSVM.fit makes."""
    labels = Y + (X[:, 0] > 1.0) if n_classes == 3 else Y
    machine = LLSVM(30, gamma=1.0, runs=1, block_rows=50, random_state=0)
    for row in sweep(machine, X, labels, {"C": COSTS}).itertuples():
        alone = clone(machine).set_params(C=row.C).fit(X, labels)
        assert row.objective == pytest.approx(alone.result_.objective, rel=1e-9)
        assert row.train_accuracy == alone.score(X, labels)


def test_regressors():
    t = np.sin(3 * X[:, 0])
    grid = {"C": COSTS, "epsilon": [0.01]}
    table = sweep(LASNRegressor(30, random_state=0), X, t, grid, validation=(X, t))
    for row in table.itertuples():
        alone = LASNRegressor(30, C=row.C, epsilon=0.01, random_state=0).fit(X, t)
        assert row.validation_r2 == pytest.approx(alone.score(X, t), abs=1e-4)
    others = sweep(Ridge(), X, t, {"alpha": [0.1, 10.0]}, validation=KFold(3))
    expected = cross_val_score(Ridge(0.1), X, t, cv=KFold(3))
    assert others["cv_r2"][0] == pytest.approx(expected.mean())
    assert others["cv_r2_sd"][0] == pytest.approx(expected.std(ddof=1))


# ------------------------------------------------------------------------- others' estimators
@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (LinearSVC(), {"C": [0.01, 1.0]}),
        (SVC(), {"C": [0.1, 10.0], "gamma": ["scale", 2.0]}),
        (make_pipeline(StandardScaler(), SVC()), {"svc__C": [0.1, 10.0]}),
        (make_pipeline(StandardScaler(), LASN(10, random_state=0)), {"lasn__C": [0.1, 10.0]}),
        (HistGradientBoostingClassifier(max_iter=5), {"max_depth": [1, None]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators_of_others_are_fitted_point_by_point(estimator, grid, tmp_path):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    table = sweep(estimator, X, Y, grid, validation=folds)
    assert set(table["status"]) == {"ok"}
    names = list(grid)
    for row in table.to_dict("records"):
        point = {n: None if row[n] != row[n] else row[n] for n in names}
        point |= {"max_depth": int(point["max_depth"])} if point.get("max_depth") else {}
        alone = clone(estimator).set_params(**point)
        found = cross_val_score(alone, X, Y, cv=folds)
        assert row["cv_accuracy"] == pytest.approx(found.mean())
        assert row["n_train"] == 200
        assert row["fit_seconds"] > 0
    path = tmp_path / "rows.svm"
    dump_svmlight_file(X, Y, str(path), zero_based=False)
    from_file = sweep(estimator, path, None, grid, validation=folds)
    assert np.abs(from_file["cv_accuracy"] - table["cv_accuracy"]).max() < 0.02


# ------------------------------------------------------------------------------ what is shared
def test_what_the_solver_alone_is_told_costs_one_pass_over_the_kernel():
    kernel, asked = counting()
    machine = LASN(25, kernel=kernel, random_state=0)
    grid = {"C": COSTS, "tol": [1e-4, 1e-6], "intercept": ["free", "penalised"]}
    table = sweep(machine, X, Y, grid)
    assert 0 < sum(asked) <= 25 * 25 + 300 * 25 + 25 + 300 + 300 * 25  # the last: to score rows
    assert list(table["approximate_seconds"] > 0) == [True] + 11 * [False]
    whole = table["approximate_seconds"] + table["solve_seconds"]
    np.testing.assert_allclose(table["fit_seconds"], whole)


def test_nested_landmarks_cost_one_map():
    """Five numbers of landmarks and three costs: the kernel values of the largest number alone."""
    kernel, asked = counting()
    machine, grid = LASN(kernel=kernel, random_state=0), {"n_landmarks": [5, 10, 20, 40, 80]}
    how = {"validation": (NEW, NEW_Y)}
    table = sweep(machine, X, Y, grid | {"C": COSTS}, nested=True, **how)
    assert len(table) == 15
    fit, scoring = 80 * 80 + 300 * 80 + 80 + 300, (300 + 200) * 80
    assert 0 < sum(asked) <= fit + scoring
    asked.clear()
    sweep(machine, X, Y, grid | {"C": COSTS}, **how)
    assert sum(asked) > 1.5 * (fit + scoring)  # not nested, each number pays for itself


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        (LASN(gamma=1.0, tol=1e-9, random_state=0), "n_landmarks"),
        (LLSVM(gamma=1.0, tol=1e-6, max_iter=2000, random_state=0), "n_landmarks"),
        (general("nystrom", "newton", tol=1e-9), "approximation_params__n_landmarks"),
    ],
    ids=["LASN", "LLSVM", "KernelMachine"],
)
def test_nested_machines_are_those_on_the_first_landmarks(machine, name):
    digits, labels = load_digits(return_X_y=True)
    for rows, y, gamma in ((X, Y, 1.0), (digits[:200], labels[:200] < 5, 1e-3)):
        machine = clone(machine).set_params(gamma=gamma)
        grid = {name: [40, 6, 15], "C": [10.0, 0.1]}
        table = sweep(machine, rows, y, grid, validation=(rows, y), nested=True)
        whole = clone(machine).set_params(**{name: 40}).fit(rows, y)
        for row in table.to_dict("records"):
            first = whole.approximation_.landmarks_[: row[name]]
            prefix = name.removesuffix("n_landmarks")
            alone = clone(machine).set_params(**{prefix + "landmarks": first, "C": row["C"]})
            alone.fit(rows, y)
            assert row["objective"] == pytest.approx(alone.result_.objective, rel=1e-5)
            assert row["validation_accuracy"] == pytest.approx(alone.score(rows, y), abs=0.006)
            assert row["rank"] == row[name]
        smaller = table.sort_values(name).groupby("C")["objective"]
        assert smaller.apply(lambda o: o.is_monotonic_decreasing).all()


# ------------------------------------------------------------------------------- validation
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_are_averaged(weighted):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    weights = np.random.default_rng(0).random(300) if weighted else None
    table = sweep(
        LASN(20, random_state=0), X, Y, {"C": COSTS}, validation=folds, sample_weight=weights
    )
    for row in table.itertuples():
        scores, objectives = [], []
        for train, held_out in folds.split(X, Y):
            w, v = (None, None) if weights is None else (weights[train], weights[held_out])
            alone = LASN(20, C=row.C, random_state=0).fit(X[train], Y[train], w)
            scores.append(alone.score(X[held_out], Y[held_out], v))
            objectives.append(alone.result_.objective)
        assert row.objective == pytest.approx(np.mean(objectives), rel=1e-4)
        assert row.cv_accuracy == pytest.approx(np.mean(scores), abs=0.005)
        assert row.cv_accuracy_sd == pytest.approx(np.std(scores, ddof=1), abs=0.01)
        assert (row.n_train, row.rank) == (200, 20)


# ------------------------------------------------------------------------------- failures
@pytest.mark.parametrize("nested", [False, True])
def test_a_point_that_fails_is_a_row_and_leaves_the_others_alone(nested):
    grid = {"C": [1.0, 0.0, 10.0], "n_landmarks": [5, 10]}
    table = sweep(LASN(random_state=0), X, Y, grid, nested=nested)
    assert list(table["status"]) == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert table["message"][table["C"] == 0.0].str.contains("ValueError: C must be").all()
    without = sweep(LASN(random_state=0), X, Y, grid | {"C": [1.0, 10.0]}, nested=nested)
    np.testing.assert_allclose(table["objective"].dropna(), without["objective"], rtol=1e-4)
    for machine, reason in (
        (LASN(random_state=0), "more than the 200 rows"), (SVC(), "kernel"),
    ):  # fmt: skip
        grid = {"n_landmarks": [5, 1000]} if reason != "kernel" else {"kernel": ["rbf", "magic"]}
        table = sweep(machine, X, Y, grid, validation=3)
        assert list(table["status"]) == ["ok", "failed"]
        assert list(table["cv_accuracy"].isna()) == [False, True]
        assert reason in table["message"].iloc[1]


@pytest.mark.parametrize("bad_fold", [0, 2], ids=["the first fold", "the last fold"])
def test_a_fold_that_fails_is_a_failed_row(bad_fold):
    """All rows of the second class are held out together: nothing is left to tell apart."""
    labels = (np.arange(120) // 40 == bad_fold).astype(int)
    grid = {"n_landmarks": [5, 1000], "C": [1.0, 2.0]}
    table = sweep(LASN(random_state=0), X[:120], labels, grid, validation=KFold(3))
    assert list(table["status"]) == ["failed"] * 4
    assert table["message"].iloc[0].startswith("ValueError: a classifier needs rows of at least 2")
    assert table[["n_train", "objective", "cv_accuracy", "cv_accuracy_sd"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("machine", "grid", "nested", "message"),
    [
        (LASN(), {"h": [1.0]}, False, "Invalid parameter 'h'"),
        (LASN(), {"C": []}, False, "at least one value"),
        (LASN(), {"C": [1.0]}, True, "put n_landmarks in the grid"),
        (LinearSVC(), {"C": [1.0]}, True, "put n_landmarks in the grid"),
        (LASN(), {"n_landmarks": ["sqrt"]}, True, "whole numbers"),
    ],
)
def test_impossible_grids_are_refused(machine, grid, nested, message):
    with pytest.raises(ValueError, match=message):
        sweep(machine, X, Y, grid, nested=nested)


def test_rows_of_one_class_have_no_linear_machine_beside_them():
    """Weights of zero may leave such rows."""
    assert yardsticks(as_rows(np.random.default_rng(0).normal(size=(30, 2)), np.ones(30))) == (1, 0)


def test_folds_are_copied_one_at_a_time():
    X, y = np.random.default_rng(0).normal(size=(2000, 500)), np.arange(2000) % 2
    tracemalloc.start()
    sweep(DummyClassifier(), X, y, {"strategy": ["prior"]}, validation=10, progress=False)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2.5 * X.nbytes


def test_what_chance_may_explain_is_no_reason_to_warn_of_defaults(monkeypatch):
    """On 300 rows with 90 % right, three points may be chance and six are not."""
    rows = as_rows(*make_moons(300, noise=0.2, random_state=0))
    machine = LASN(20).fit(X, Y)
    told = []
    monkeypatch.setattr(sweeps, "warn_if_no_better", lambda *_: told.append(True))
    monkeypatch.setattr(sweeps, "_accuracy", lambda *_: 0.90)
    for linear, count in ((0.93, 0), (0.96, 1)):
        monkeypatch.setattr(sweeps, "yardsticks", lambda _, linear=linear: (0.5, linear))
        sweeps.hold_against_others(machine, rows)
        assert len(told) == count
