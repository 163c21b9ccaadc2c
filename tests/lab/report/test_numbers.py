"""Numbers read as people write them, and no digit is invented or lost that matters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlab.lab.report.text import as_difference, as_duration, as_text


@pytest.mark.parametrize(
    ("say", "values", "texts"),
    [
        (
            as_text,
            (-0.0, 32561, 97.5, 1 / 3, 123456.789),
            ("0", "32,561", "97.5", "0.33333", "123,457"),
        ),
        (as_text, (-2.5, 1.23456e-7, math.nan, -math.inf), ("−2.5", "1.235e−7", "", "−∞")),
        (as_difference, (0.25379, -1, 0, math.nan), ("+0.254", "−1", "0", "")),
        (
            as_duration,
            (0.312, 59.99, 60, 200, 7500, 90000),
            ("0.31 s", "60 s", "1 min", "3 min 20 s", "2 h 5 min", "1 d 1 h"),
        ),
        (as_duration, (None, math.nan), ("", "")),
        (lambda value: as_text(value, 2), (3e-14, 2.96e-14), ("3e−14", "3e−14")),
    ],
)
def test_numbers_differences_and_durations_as_text(say, values, texts):
    assert tuple(map(say, values)) == texts


@given(st.floats(-1e12, 1e12))
def test_text_keeps_the_value_to_three_digits(value):
    read = float(as_text(value).replace(",", "").replace("−", "-"))
    assert read == pytest.approx(value, rel=1e-3, abs=1e-300)
