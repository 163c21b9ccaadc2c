"""Recommendations fit the rows and the budget, and are as accurate as LIBSVM tuned alike."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import kernlab
from kernlab import costs, load_dataset, recommend
from kernlab.costs import Rates
from kernlab.estimators import choice
from kernlab.estimators.choice import look_at
from kernlab.rows import as_rows
from kernlab.runtime import MemoryLimitError


def rows_of(name, n=None):
    data = load_dataset(name, scaling="standard")
    order = np.random.default_rng(0).permutation(len(data.y_train))[:n]
    return data.X_train[order], data.y_train[order], data.X_test[:3000], data.y_test[:3000]


def tuned_svc(X, y, ranges):
    """LIBSVM at the best gamma and C of the same ranges, by the same share of held-out rows."""
    cut, best = len(y) * 3 // 4, (-1.0, None)
    for gamma in ranges["gamma"]:
        for C in ranges["C"]:
            machine = SVC(C=C, gamma=gamma, max_iter=100_000).fit(X[:cut], y[:cut])
            best = max(best, (machine.score(X[cut:], y[cut:]), (C, gamma)))
    return SVC(C=best[1][0], gamma=best[1][1]).fit(X, y)


# The search tries settings that do not converge; what it returns is judged.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "n"), [("magic", 1200), ("breast-cancer", None), ("banknote", None)]
)
def test_what_is_found_is_as_accurate_as_libsvm_tuned_alike(name, n):
    X, y, X_test, y_test = rows_of(name, n)
    found = recommend(X, y, seconds=120, fit=True)
    reference = tuned_svc(X, y, found.ranges).score(X_test, y_test)
    assert found.estimator.score(X_test, y_test) > reference - 0.02
    assert found.certificate == found.estimator.result_.relative_gap < 1e-3
    assert {"rows", "gamma", "C", "accuracy", "seconds"} <= set(found.curve)
    assert found.estimator.C in found.ranges["C"]
    assert found.estimator.gamma in found.ranges["gamma"]


@pytest.fixture(scope="module")
def many():
    """Rows that are too many for the exact kernel, about a curve."""
    X = np.random.default_rng(0).normal(size=(9000, 3))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 > 1, "far", "near")


def test_landmarks_are_searched_and_settings_behind_are_left_out(many):
    X, y = many
    found = recommend(X, y, seconds=60, fit=True)
    machine, curve = found.estimator, found.curve
    assert found.estimator.score(X, y) > 0.97
    assert machine.n_landmarks in found.ranges["n_landmarks"]
    few, more = np.unique(curve["rows"])[[0, -1]]
    assert set(curve[curve["rows"] == few]["gamma"]) == set(found.ranges["gamma"])
    assert 1 < curve[curve["rows"] == more]["gamma"].nunique() < len(found.ranges["gamma"])
    assert curve.dropna(subset="n_landmarks")["n_landmarks"].nunique() > 1
    assert "landmarks" in found.reasons[0]


@pytest.mark.parametrize("seconds", [0.5, 5.0, 500.0])
@pytest.mark.parametrize("memory", ["60MB", "4GB"])
def test_what_is_planned_is_within_time_and_memory(many, seconds, memory, monkeypatch):
    X, y = many
    known = Rates(double=3e10, single=8e10, values=9e8, moved=1e10)  # of whatever machine
    monkeypatch.setattr(costs, "rates", lambda: known)
    found = recommend(X, y, seconds=seconds, memory=memory)
    limit = 60e6 if memory == "60MB" else 4e9
    assert found.cost.seconds <= choice.FITTED * seconds or found.cost.rank <= choice.FEWEST
    assert found.cost.bytes <= limit
    assert found.cost == found.estimator.cost_on(found.facts.sizes)
    assert found.curve is None
    assert found.certificate is None
    if seconds > 1:
        assert found.seconds <= (choice.SEARCHED + choice.FITTED) * seconds


def test_time_that_runs_out_cuts_the_search_and_the_last_fit_short(many, monkeypatch):
    """The clock is one that goes a second at each look, whatever the machine does."""
    X, y = many
    ticks = iter(range(10_000))
    monkeypatch.setattr(choice.time, "perf_counter", lambda: float(next(ticks)))
    found = recommend(X, y, seconds=30, fit=True)
    assert any("cut short" in reason for reason in found.reasons)
    assert found.estimator.score(X, y) > 0.8


def test_the_clock_ends_the_search_for_landmarks(many, monkeypatch):
    """What the last number of them took decides on the next, whatever was predicted."""
    monkeypatch.setattr(choice, "TWICE", np.inf)
    curve = recommend(*many, seconds=60, fit=True).curve
    assert curve["n_landmarks"].dropna().nunique() == 1


def test_facts_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)) * [1, 1, 1, 100]
    X[250:] = X[:250]
    y = np.where(np.arange(500) < 480, 1, 0)
    facts = look_at(as_rows(X, y))
    assert facts.repeated == pytest.approx(0.5)
    assert facts.majority == pytest.approx(0.96)
    assert facts.uneven > 50
    text = str(recommend(X, y))
    for said in ("repeated", "scale the features", "of one class", "few enough"):
        assert said in text
    line = np.linspace(0, 1, 3000)[:, None]
    assert look_at(as_rows(line, line[:, 0] > 0.5)).rank < 20
    sparse = sp.random(6000, 3000, density=0.005, format="csr", random_state=0)
    found = recommend(sparse, np.arange(6000) % 2)
    assert any("never filled in" in reason for reason in found.reasons)
    assert found.facts.rank > 300  # nothing repeats: the spectrum is flat


def test_several_classes_and_a_file(tmp_path):
    from sklearn.datasets import dump_svmlight_file, load_iris

    X, y = load_iris(return_X_y=True)
    path = tmp_path / "iris.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    found = kernlab.recommend(str(path), seconds=60, fit=True)
    assert found.estimator.score(X, y) > 0.95
    assert found.facts.sizes.problems == 3


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"seconds": 0}, "seconds must be a positive number"),
        ({"seconds": "soon"}, "seconds must be a positive number"),
        ({"seconds": float("nan")}, "seconds must be a positive number"),
        ({"memory": "much"}, "not an amount"),
        ({"y": np.ones(100)}, "at least 2 classes"),
        ({"y": np.arange(100) == 0}, "at least 2 rows each"),
        ({"y": np.linspace(0, 1, 100)}, "continuous"),
        ({"X": np.full((100, 2), np.nan)}, "NaN"),
    ],
)
def test_what_cannot_be_is_refused_at_the_door(given, text):
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.raises(ValueError, match=text):
        recommend(**{"X": X, "y": np.sign(X[:, 0])} | given)


def test_rows_that_fit_in_no_budget_are_refused_with_what_was_looked_at(many):
    with pytest.raises(MemoryLimitError, match="too much memory"):
        recommend(*many, memory="100kB")
