"""What solvers return, and what is said when one falls short."""

import dataclasses
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kernlab.solvers import SolverResult, summarise
from kernlab.solvers.problems import observed_order, warn_unless_converged


def result(objective=2.0, dual=1.5, **changes):
    return SolverResult(
        **{
            "coefficients": np.ones(2),
            "intercept": 0.0,
            "objective": objective,
            "dual_objective": dual,
            "n_iter": 3,
            "converged": True,
            "solver": "dcd",
        }
        | changes
    )


def test_the_gap_is_primal_minus_dual():
    assert result().gap == 0.5
    assert result().relative_gap == 0.25
    assert result(dual=None).gap is None
    assert result(dual=None).relative_gap is None
    assert result(objective=0.0, dual=0.0).relative_gap == 0.0


def test_the_order_of_convergence_is_that_of_known_sequences():
    for order in (1.0, 1.6, 2.0):
        residuals = [0.5]
        for _ in range(4):
            residuals.append(0.5 * residuals[-1] ** order)
        assert observed_order(residuals) == pytest.approx(order)
    for unknown in (
        [1.0, 0.1],
        [0.1, 0.2, 0.3],
        [0.1, 0.1, 0.01],
        [1.0, 0.1, 0.0],
        [1.0, 0.0, 0.0],
    ):
        assert observed_order(unknown) is None
    trace = ({"order": None}, {"order": 1.5}, {"order": None})
    assert result(trace=trace).observed_order == 1.5
    assert result(trace=({"iteration": 0},)).observed_order is None


def test_it_cannot_be_changed_and_survives_a_pickle():
    found = result(trace=({"iteration": 0, "objective": 1.0},))
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.objective = 0.0
    copy = pickle.loads(pickle.dumps(found))
    assert copy.trace == found.trace
    assert copy.gap == found.gap


def test_a_summary_is_as_bad_as_the_worst():
    good = result(dual=1.9, n_iter=9, seconds=1.0, kkt_residual=0.1)
    bad = result(dual=1.0, n_iter=2, seconds=2.0, kkt_residual=0.01)
    silent = result(dual=None, seconds=4.0)
    both = summarise([good, bad, silent])
    assert both.relative_gap == bad.relative_gap
    assert both.n_iter == 9
    assert both.seconds == 7.0
    assert both.kkt_residual == 0.1
    assert both.converged
    assert summarise([good]) is good


def test_one_that_did_not_converge_speaks_for_all():
    short = result(dual=1.99, converged=False)
    both = summarise([result(dual=1.0), short])
    assert not both.converged
    assert both.relative_gap == short.relative_gap


def test_a_warning_only_where_it_fell_short():
    said = {"figure": "a gap of", "reached": 0.5, "tol": 0.1, "advice": "Raise max_iter."}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unless_converged(result(), **said)
    with pytest.warns(ConvergenceWarning) as caught:
        warn_unless_converged(result(converged=False), **said)
    assert [str(warning.message) for warning in caught] == [
        "dcd stopped after 3 iterations with a gap of 5.00e-01, above the tolerance 1.00e-01. "
        "Raise max_iter."
    ]
