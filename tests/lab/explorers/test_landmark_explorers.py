"""LASN's and LLSVM's explorers: they show what single fits and other solvers give."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from kernlab import LASN, LLSVM
from kernlab.approximations import Nystrom
from kernlab.lab.explorers import block_passes, landmark_path, newton, solver_race
from kernlab.lab.explorers.linear import nystrom_parts
from kernlab.lab.explorers.nystrom import LANDMARKS, solve_path
from kernlab.lab.explorers.samples import samples
from kernlab.solvers import solve_newton

KS, COSTS = (5, 20, 60), (0.1, 1.0, 100.0)


def rows_of(name, most=2000):
    return samples((), sets=[name])[name].rows(most)


# ---------------------------------------------------------------------------- k and C at once
def test_the_path_has_the_machines_of_single_fits():
    rows = rows_of("breast-cancer")
    X, y, X_test, y_test = rows
    path = solve_path(rows, KS, COSTS)
    nested = Nystrom(gamma="variance", n_landmarks=max(KS), random_state=0).fit(X)
    for k in KS:
        points = nested.leading(k).landmarks_
        single = LASN(landmarks=points, n_landmarks=k, C=100.0).fit(X, y)
        row = landmark_path.compute(path, k, 100.0).row
        assert row.validation_accuracy == pytest.approx(single.score(X_test, y_test))
        assert row.objective == pytest.approx(single.result_.objective, rel=1e-3)
    part = nested.leading(20)
    assert path.errors.loc[20, "sampled"] == pytest.approx(part.error(X, n_sampled=500))
    assert path.errors.loc[20, "trace"] == pytest.approx(part.trace_error(X))
    assert (np.diff(path.errors["trace"]) < 0).all()


def test_no_solution_is_computed_while_a_slider_moves(monkeypatch):
    explorer = landmark_path()

    def refuse(*arguments, **parameters):
        raise AssertionError("solved again")

    monkeypatch.setattr("kernlab.lab.explorers.nystrom.sweep", refuse)
    monkeypatch.setattr("kernlab.lab.explorers.nystrom.Nystrom", refuse)
    for k in LANDMARKS:
        before = explorer.png
        explorer.controls["k"].value = k
        assert k == 100 or explorer.png != before
        assert f"k = {k}," in explorer.caption


# -------------------------------------------------------------------------------- Newton's steps
@pytest.mark.parametrize("method", ["direct", "cg"])
@pytest.mark.parametrize("dataset", ["magic", "checkerboard"])
def test_both_ways_reach_one_optimum(dataset, method):
    rows = rows_of(dataset)
    result = newton.compute(rows, 30, 10.0, method)
    other = newton.compute(rows, 30, 10.0, "direct", warm_up=True)
    assert result.converged
    assert result.objective == pytest.approx(other.objective, rel=1e-9)
    expected = solve_newton(
        nystrom_parts(rows)[0][:, :30], rows.y, C=10.0, intercept="penalised", tol=1e-10,
        warm_up=False, method=method, eta=(0.1, 1.0),
    )  # fmt: skip
    shown, steps = ([s["residual"] for s in r.trace] for r in (result, expected))
    np.testing.assert_allclose(shown[:-1], steps[:-1], rtol=1e-3)


# --------------------------------------------------------------------- runs over the data, solvers
# One pass over the data is what is looked at.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_runs_are_those_of_the_estimator():
    rows = rows_of("magic", 600)
    found = block_passes.compute(rows, 10.0, 1, 100)
    machine = LLSVM(100, C=10.0, runs=1, block_rows=100, random_state=0).fit(rows.X, rows.y)
    first, most = found.results
    assert first.objective == pytest.approx(machine.result_.objective, rel=1e-6)
    assert found.accuracies[0] == pytest.approx(machine.score(rows.X_test, rows.y_test))
    assert most.relative_gap < first.relative_gap
    assert most.trace[1]["residual"] == pytest.approx(first.relative_gap)


def test_the_solvers_race_to_the_objective_of_liblinear():
    rows = rows_of("magic", 500)
    F = np.ascontiguousarray(nystrom_parts(rows)[0][:, :40])
    reference = LinearSVC(C=1.0, tol=1e-9, max_iter=100_000, dual=False).fit(F, rows.y)
    margins = np.maximum(0.0, 1.0 - rows.y * reference.decision_function(F))
    weights = np.append(reference.coef_, reference.intercept_)
    best = 0.5 * weights @ weights + np.sum(margins**2)
    race = solver_race.compute(rows, 40, 1.0)
    for one in race.values():
        assert one.objectives[-1] == pytest.approx(best, rel=1e-3)
        assert one.excess[-1] < 1e-3
        assert one.accuracy == pytest.approx(reference.score(F, rows.y), abs=0.01)
    assert race["newton"].objectives[-1] == pytest.approx(best, rel=1e-8)
