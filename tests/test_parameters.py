"""Parameters that cannot be: one sentence, with the name that the user gave."""

import numpy as np
import pytest

from kernlab.kernels import gamma_from_sigma, resolve_gamma
from kernlab.parameters import check_parameters, one_of, share
from kernlab.solvers.problems import row_costs

BAD = {
    "C": [0, -1.0, np.nan, np.inf, "1", None, True, [1.0, 0.0], [[1.0], [np.nan]]],
    "gamma": [0, -1.0, np.nan, np.inf, "wide", None, [1.0], True],
    "sigma": [1e300, 1e-300, 0, "h"],
    "h": [1e300, 1e-300, -1, None],
    "tol": [-1, np.nan, "small", False],
    "max_iter": [0, -1, 2.5, np.inf, "many", True, 2**70],
    "dtype": ["float16", "scale", b"float32", True, int],
    "degree": [0, 2.5, np.nan],
    "n_landmarks": [0, -3, 1.5, "root"],
    "drop": [-0.1, 1.0, np.nan],
    "max_memory": ["4 parsecs", 0, -1, True, np.inf, b"4GB"],
    "random_state": ["abc", 1.5, -1],
    "intercept": ["maybe", None, 1],
    "class_weight": [[1.0], "even", 1.0],
    "own": [1.0],
}
OWN = {"own": (share, ("half",)), "intercept": one_of("free", "penalised", "none")}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_what_cannot_be_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"^{name}[ =]"):
        check_parameters({"unknown": object(), name: value}, **OWN)


def test_widths_beyond_numbers_are_refused_where_they_are_converted():
    with pytest.raises(ValueError, match="sigma=1e\\+300"):
        gamma_from_sigma(1e300)


def test_costs_of_any_whole_number_are_numbers():
    assert row_costs(2**70, 2).tolist() == [2.0**70] * 2


@pytest.mark.parametrize("rule", ["scale", "variance", "median"])
def test_rows_whose_squares_are_next_to_zero_are_refused_by_rules(rule):
    with pytest.raises(ValueError, match=f"too small for the rule '{rule}'"):
        resolve_gamma(rule, 1e-157 * np.random.default_rng(0).normal(size=(9, 2)))
