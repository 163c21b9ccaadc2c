"""What parameters may be: one sentence for each that is not, with the name that the user gave.

A parameter means the same in every estimator, approximation and solver, so that one table by name
serves all of them: `check_parameters`.
"""

import difflib
import math
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from kernlab.runtime import parse_bytes

LARGEST_WHOLE = 2**31 - 1  # that compiled code can count to
GAMMA_RULES = ("scale", "variance", "median", "auto")  # of the rows


def number(allowed, what):
    """A check for finite numbers that are allowed, given back as floats."""

    def check(value, name):
        if not (_is_finite(value) and allowed(value)):
            raise ValueError(f"{name} must be {what}, not {value!r}")
        return float(value)

    return check


positive = number(lambda value: value > 0, "a positive number")
not_negative = number(lambda value: value >= 0, "a number that is not negative")
finite = number(lambda value: True, "a finite number")
share = number(lambda value: 0 <= value < 1, "a share from 0 up to below 1")
below_two = number(lambda value: 0 < value < 2, "a number between 0 and 2")
count = number(
    lambda value: 0 <= value <= LARGEST_WHOLE and value == int(value),
    f"a whole number, or 0, of at most {LARGEST_WHOLE}",
)
# Its square and its reciprocal are positive numbers as well.
moderate = number(lambda value: 1e-100 <= value <= 1e100, "a positive number, 1e-100 to 1e100")


def whole(value, name):
    """The value as an int, if it is a positive whole number; 5.0 is one, True is none."""
    if not (_is_finite(value) and value >= 1 and value == int(value)):
        raise ValueError(f"{name} must be a positive whole number, not {value!r}")
    if value > LARGEST_WHOLE:
        raise ValueError(
            f"{name}={value!r} is more than can be counted to: {LARGEST_WHOLE} at most"
        )
    return int(value)


def one_of(*choices):
    """A check for one of some words."""

    def check(value, name):
        if not (isinstance(value, str) and value in choices):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(choices)}")
        return value

    return check


def entry_of(registry, name, what):
    """The entry of this name; another name is refused, with the nearest there is."""
    if name not in registry:
        near = difflib.get_close_matches(str(name), registry, n=1, cutoff=0.5)
        meant = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{what}={name!r} is not one of {', '.join(registry)}{meant}")
    return registry[name]


def row_weights(sample_weight, n_rows):
    """How often each row counts, as an array of double precision; None for once."""
    weights = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights.shape != (n_rows,) or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"sample_weight must be {n_rows} numbers that are not negative")
    return weights


def word(value, name):
    """Any word: who looks it up says which there are."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word, not {value!r}")
    return value


def width(value, name):
    """The value as a float, if it is positive and so is its square in double precision."""
    if not 1e-150 <= positive(value, name) <= 1e150:
        raise ValueError(
            f"{name}={value!r} is no width that can be computed with: its square is zero or "
            f"infinite in double precision. Take {name} between 1e-150 and 1e150, or scale the rows"
        )
    return float(value)


def seed(value, name):
    """What scikit-learn takes as random_state."""
    try:
        check_random_state(value)
    except ValueError:
        raise ValueError(
            f"{name} must be None, a whole number or a RandomState, not {value!r}"
        ) from None
    return value


def precision(value, name):
    """The floating point precision, if it is single or double."""
    try:
        dtype = np.dtype(value) if isinstance(value, str | type | np.dtype) else None
    except TypeError:
        dtype = None
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"{name}={value!r} must be float32, float64 or None")
    return dtype


def flag(value, name):
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def weights_of_classes(value, name):
    """A dictionary, whatever its entries."""
    if not isinstance(value, dict):
        raise ValueError(
            f"{name} must be None, 'balanced' or a dictionary of weights by class, not {value!r}"
        )
    return value


# What parameters of these names may be wherever they stand; None is for the default where there is
# one. Words stand for rules: "sqrt" rows, "scale" of the data.
PARAMETERS = {
    "C": (positive, ()),
    "gamma": (positive, (*GAMMA_RULES, "quantile")),
    "sigma": (width, (*GAMMA_RULES, "quantile", "cv")),
    "h": (width, GAMMA_RULES),
    "coef0": (finite, ()),
    "degree": (whole, ("cv",)),
    "tol": (not_negative, (None,)),
    "gap_tol": (not_negative, ()),
    "max_iter": (whole, (None,)),
    "max_products": (whole, ()),
    "n_landmarks": (whole, ("sqrt", None)),
    "n_centres": (whole, (None,)),
    "epsilon": (not_negative, ()),
    "block_rows": (whole, (None,)),
    "max_seconds": (positive, (None,)),
    "drop": (share, ()),
    "runs": (whole, (None,)),
    "leaf_size": (whole, (None,)),
    "n_components": (whole, ()),
    "sparsity": (share, (None,)),
    "max_degree": (whole, ()),
    "to_optimum": (flag, ()),
    "merge": (flag, ()),
    "prediction": (one_of("exact", "structure"), ()),
    "certificate": (one_of("approximate", "exact"), ()),
    "floor": (number(lambda value: 0 < value < 1, "a number between 0 and 1"), ()),
    "approximation": (word, ()),
    "solver": (word, ()),
    "verbose": (lambda value, name: isinstance(value, bool) or not_negative(value, name), ()),
    "steps": (whole, (None,)),
    "acceleration": (count, (None,)),
    "relaxation": (below_two, (None,)),
    "max_memory": (lambda value, name: parse_bytes(value), (None,)),
    "random_state": (seed, ()),
    "dtype": (precision, (None,)),
    "class_weight": (weights_of_classes, ("balanced", None)),
    "intercept": (one_of("free", "penalised", "none"), ()),
}


def check_parameters(values, **own):
    """Refuse the first value that its parameter cannot have, in a sentence with its name.

    Parameters
    ----------
    values : dict
        By parameter name, such as `estimator.get_params(deep=False)`; names that nobody knows are
        not looked at.
    **own : callable or (callable, tuple of words)
        Checks (value, name) of further parameters, or in place of the common ones; the words are
        taken without a check.

    Examples
    --------
    >>> check_parameters({"C": 1.0, "max_iter": None, "gamma": "scale"})
    >>> check_parameters({"h": -1.0})
    Traceback (most recent call last):
    ...
    ValueError: h must be a positive number, not -1.0
    """
    table = PARAMETERS | {n: c if isinstance(c, tuple) else (c, ()) for n, c in own.items()}
    for name in [name for name in values if name in table]:
        value, (check, words) = values[name], table[name]
        if not ((value is None or isinstance(value, str)) and value in words):
            check(value, name)


def _is_finite(value):
    """Whether it is a number that double precision can hold."""
    try:
        return _is_number(value) and math.isfinite(float(value))
    except OverflowError:
        return False


def _is_number(value):
    is_scalar = isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0
    number = value.item() if is_scalar else value
    return isinstance(number, Real | Integral) and not isinstance(number, bool)
