"""LASN's and LLSVM's explorers: they show what single fits and other solvers give."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from kernlab import LASN, LLSVM
from kernlab.approximations import Nystrom
from kernlab.lab.explorers import landmark_path
from kernlab.lab.explorers.newton import METHODS, draw_newton, follow_newton, nystrom_features
from kernlab.lab.explorers.passes import RUNS, follow_runs, nystrom_parts
from kernlab.lab.explorers.path import LANDMARKS, solve_path
from kernlab.lab.explorers.samples import samples
from kernlab.lab.explorers.solvers import TOLERANCES, run_race
from kernlab.solvers import solve_newton

KS, COSTS = (5, 20, 60), (0.1, 1.0, 100.0)


def rows_of(name, most=2000):
    return samples((), sets=[name])[name].rows(most)


# ---------------------------------------------------------------------------- k and C at once
def test_the_path_has_the_machines_of_single_fits():
    X, y, X_test, y_test = rows_of("breast-cancer")
    path = solve_path((X, y, X_test, y_test), KS, COSTS)
    nested = Nystrom(gamma="variance", n_landmarks=max(KS), random_state=0).fit(X)
    for k in KS:
        points = nested.leading(k).landmarks_
        single = LASN(landmarks=points, n_landmarks=k, C=100.0).fit(X, y)
        row = path.at(k, 100.0)
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

    monkeypatch.setattr("kernlab.lab.explorers.path.sweep", refuse)
    monkeypatch.setattr("kernlab.lab.explorers.path.Nystrom", refuse)
    for k in LANDMARKS:
        before = explorer.png
        explorer.controls["k"].value = k
        assert k == 100 or explorer.png != before
        assert f"k = {k}," in explorer.caption


# -------------------------------------------------------------------------------- Newton's steps
@pytest.mark.parametrize("method", METHODS.values())
@pytest.mark.parametrize("dataset", ["magic", "checkerboard"])
def test_both_ways_reach_one_optimum(dataset, method):
    rows = rows_of(dataset)
    features = nystrom_features(rows)
    run = follow_newton(features, rows.y, 30, 10.0, method)
    other = follow_newton(features, rows.y, 30, 10.0, "direct", warm_up=True)
    assert run.result.converged
    assert run.result.objective == pytest.approx(other.result.objective, rel=1e-9)
    expected = solve_newton(
        features[:, :30], rows.y, C=10.0, intercept="penalised", tol=1e-10, warm_up=False,
        method=method, eta=(0.1, 1.0),
    )  # fmt: skip
    shown, steps = ([s["residual"] for s in r.trace] for r in (run.result, expected))
    np.testing.assert_allclose(shown[:-1], steps[:-1], rtol=1e-3)
    assert draw_newton(run) != draw_newton(other)


def test_steps_at_a_smaller_C_are_told_apart():
    rows = rows_of("magic")
    features = nystrom_features(rows)
    run = follow_newton(features, rows.y, 30, 1e4)
    assert run.at_smaller_C[0]
    assert not run.at_smaller_C[-1]
    assert not follow_newton(features, rows.y, 30, 1.0).at_smaller_C.any()


def test_exacter_directions_cost_more_products_and_no_more_steps():
    rows = rows_of("magic")
    features = nystrom_features(rows)
    rough, exact = (
        follow_newton(features, rows.y, 60, 10.0, "cg", eta).result
        for eta in ((0.5, 1e2), (1e-6, 1.0))
    )
    per_step = [sum(s["products"] for s in r.trace) / r.n_iter for r in (rough, exact)]
    assert per_step[1] > 1.5 * per_step[0]
    assert exact.n_iter <= rough.n_iter


# --------------------------------------------------------------------- runs over the data, solvers
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_runs_are_those_of_the_estimator():
    rows = rows_of("magic", 600)
    found = follow_runs(nystrom_parts(rows), rows, 10.0, 1, 100)
    machine = LLSVM(100, C=10.0, runs=1, block_rows=100, random_state=0).fit(rows.X, rows.y)
    assert found.results[1].objective == pytest.approx(machine.result_.objective, rel=1e-6)
    assert found.accuracies[1] == pytest.approx(machine.score(rows.X_test, rows.y_test))
    gaps = [found.results[runs].relative_gap for runs in (1, RUNS[-1])]
    assert gaps[1] < gaps[0]
    trace = found.results[RUNS[-1]].trace
    assert trace[1]["residual"] == pytest.approx(found.results[1].relative_gap)


def test_the_solvers_race_to_the_objective_of_liblinear():
    rows = rows_of("magic", 500)
    F = np.ascontiguousarray(nystrom_features(rows)[:, :40])
    race = run_race(F, rows.y, 1.0)
    reference = LinearSVC(C=1.0, tol=1e-9, max_iter=100_000, dual=False).fit(F, rows.y)
    margins = np.maximum(0.0, 1.0 - rows.y * reference.decision_function(F))
    weights = np.append(reference.coef_, reference.intercept_)
    best = 0.5 * weights @ weights + np.sum(margins**2)
    for name in TOLERANCES:
        assert race.objectives[name][-1] == pytest.approx(best, rel=1e-3)
        assert race.excess(name)[-1] < 1e-3
        assert race.accuracies[name] == pytest.approx(reference.score(F, rows.y), abs=0.01)
    assert race.objectives["newton"][-1] == pytest.approx(best, rel=1e-8)
