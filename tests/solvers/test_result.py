"""What solvers return, and what is said when one falls short."""

import numpy as np
import pytest

from kernlab.solvers import SolverResult, summarise
from kernlab.solvers.problems import observed_order


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
