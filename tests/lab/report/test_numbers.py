"""Numbers read as people write them, and no digit is invented or lost that matters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlab.lab.report.text import as_difference, as_duration, as_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (32561, "32,561"),
        (8_000_000.0, "8,000,000"),
        (97.5, "97.5"),
        (0.1, "0.1"),
        (1 / 3, "0.33333"),
        (123456.789, "123,457"),
        (-2.5, "−2.5"),
        (1.23456e-7, "1.235e−7"),
        (-6.5e22, "−6.5e+22"),
        (math.nan, ""),
        (None, ""),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (99999.96, "100,000"),
    ],
)
def test_numbers_as_text(value, text):
    assert as_text(value) == text


def test_few_digits_leave_no_lonely_point():
    assert as_text(3e-14, 2) == "3e−14"
    assert as_text(2.96e-14, 2) == "3e−14"


@given(st.floats(-1e12, 1e12))
def test_text_keeps_the_value_to_three_digits(value):
    read = float(as_text(value).replace(",", "").replace("−", "-"))
    assert read == pytest.approx(value, rel=1e-3, abs=1e-300)


@pytest.mark.parametrize(
    ("value", "text"), [(0.25379, "+0.254"), (-1, "−1"), (0, "0"), (math.nan, "")]
)
def test_differences_carry_their_sign(value, text):
    assert as_difference(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.312, "0.31 s"),
        (42, "42 s"),
        (59.99, "60 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90000, "1 d 1 h"),
        (None, ""),
        (math.nan, ""),
    ],
)
def test_durations(seconds, text):
    assert as_duration(seconds) == text
