"""Losses against their own duality: what the dual of a machine takes from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlab.solvers.losses import LOSSES, get_loss, row_costs, signs

BOTH = pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
positive = st.floats(1e-6, 1e6)


@BOTH
@given(cost=positive, share=st.floats(0.0, 1.0))
def test_the_dual_term_is_the_conjugate_of_the_loss(loss, cost, share):
    """a - 1/2 diag a^2 = min over margins m of cost loss(m) + a m, for every a allowed."""
    a = share * cost if loss.name == "hinge" else share * 10 * cost
    assert a <= loss.upper(np.array([cost]))[0]
    margins = np.concatenate([np.linspace(-6.0, 2.0, 801), [1.0 - a / (2.0 * cost)]])
    lowest = np.min(cost * loss.value(margins) + a * margins)
    claimed = a - 0.5 * loss.dual_diagonal(np.array([cost]))[0] * a**2
    assert claimed == pytest.approx(lowest, rel=1e-9, abs=1e-9 * cost)


@BOTH
@given(margin=st.floats(-50, 50).filter(lambda m: abs(m - 1.0) > 1e-3))
def test_slope_is_minus_the_derivative(loss, margin):
    step = 1e-6
    around = loss.value(np.array([margin - step, margin + step]))
    assert loss.slope(np.array([margin]))[0] == pytest.approx(
        (around[0] - around[1]) / (2 * step), rel=1e-5, abs=1e-6
    )


@BOTH
def test_nothing_is_lost_beyond_the_margin(loss):
    beyond = np.array([1.0, 1.5, 1e300])
    np.testing.assert_array_equal(loss.value(beyond), 0.0)
    np.testing.assert_array_equal(loss.slope(beyond), 0.0)


@BOTH
def test_a_row_of_weight_zero_has_no_dual_variable(loss):
    np.testing.assert_array_equal(loss.upper(np.array([0.0, 2.0])) > 0, [False, True])


def test_unknown_loss_names_those_on_offer():
    with pytest.raises(ValueError, match="'logistic' is not one of hinge, squared_hinge"):
        get_loss("logistic")


def test_costs_are_c_times_weight():
    np.testing.assert_array_equal(row_costs(2.0, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(row_costs(2, 3, [0, 1, 2.5]), [0.0, 2.0, 5.0])
    np.testing.assert_array_equal(row_costs(np.float32(0.5), 1), [0.5])


@pytest.mark.parametrize("C", [0, -1.0, np.nan, np.inf, "1", None, [1.0], np.array([1.0, 2.0])])
def test_a_hostile_c_is_refused(C):
    with pytest.raises(ValueError, match="C must be a positive number"):
        row_costs(C, 3)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [1.0, -1e-9, 1.0], [1.0, np.nan, 1.0], 1.0])
def test_hostile_weights_are_refused(weights):
    with pytest.raises(ValueError, match="sample_weight must be 3 numbers"):
        row_costs(1.0, 3, weights)


def test_labels_other_than_signs_are_refused():
    np.testing.assert_array_equal(signs([1, -1], 2), [1.0, -1.0])
    with pytest.raises(ValueError, match=r"must be -1 and 1; these are \[0. 1.\]"):
        signs([0, 1, 1], 3)
    with pytest.raises(ValueError, match="4 rows of features, but labels of shape"):
        signs([1, -1, 1], 4)
