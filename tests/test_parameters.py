"""Parameters that cannot be: one sentence, with the name that the user gave."""

import numpy as np
import pytest

from kernlab.kernels import gamma_from_sigma
from kernlab.parameters import check_parameters, one_of, share

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
    "own": [1.0],
}
GOOD = {
    "C": [1, 0.5, np.float32(2), np.array([1.0, 2.0]), [1, 2], np.array(3.0)],
    "gamma": [1e-300, 3, "scale", "median"],
    "sigma": [1e-100, 1e100, "cv"],
    "h": [np.float64(0.3)],
    "tol": [0, 1e-9, None],
    "max_iter": [1, 5.0, np.int64(7), None],
    "dtype": ["float32", np.float64, np.dtype("float32"), None],
    "degree": [3, "cv"],
    "n_landmarks": [10, "sqrt"],
    "drop": [0.0, 0.75],
    "max_memory": ["4GB", 10**9, None],
    "random_state": [None, 0, np.random.RandomState(1)],
    "intercept": ["free", "penalised", "none"],
    "own": [0.5, "half"],
}
OWN = {"own": (share, ("half",)), "intercept": one_of("free", "penalised", "none")}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD.items() for v in values])
def test_what_cannot_be_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"^{name}[ =]"):
        check_parameters({"unknown": object(), name: value}, **OWN)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in GOOD.items() for v in values])
def test_what_can_be_is_taken(name, value):
    check_parameters({name: value}, **OWN)


def test_widths_beyond_numbers_are_refused_where_they_are_converted():
    with pytest.raises(ValueError, match="sigma=1e\\+300"):
        gamma_from_sigma(1e300)
