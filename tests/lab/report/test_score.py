"""A status follows from two numbers and a tolerance, and from nothing else."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlab.lab.engine import Tolerance
from kernlab.lab.report.scoring import judge, rounding_of, score

numbers = st.floats(-1e9, 1e9)
sizes = st.floats(0, 1e3)
directions = st.sampled_from(["higher", "lower", "neither"])
tolerances = st.builds(Tolerance, absolute=sizes, relative=st.floats(0, 1), better=directions)


def published(*values, column="accuracy"):
    return pd.DataFrame(
        {
            "row": [f"set {i}" for i in range(len(values))],
            "column": column,
            "value": [float(value) for value in values],
            "unit": "%",
        }
    )


def measured(*values, **more):
    return published(*values).drop(columns="unit").assign(**more)


def statuses(*arguments):
    return score(*arguments)["status"].to_list()


@pytest.mark.parametrize(
    ("printed", "ours", "tolerance", "status"),
    [
        (97.5, 97.5, Tolerance(), "reproduced"),
        (97.5, 97.49, Tolerance(), "different"),
        (93.6, 93.8, Tolerance(absolute=0.2), "reproduced"),  # 93.8 - 93.6 > 0.2 in binary
        (93.6, 93.81, Tolerance(absolute=0.2), "different"),
        (93.6, 93.81, Tolerance(absolute=0.2, better="higher"), "better"),
        (93.6, 93.39, Tolerance(absolute=0.2, better="higher"), "different"),
        (12.0, 10.8, Tolerance(relative=0.1, better="lower"), "reproduced"),
        (12.0, 10.7, Tolerance(relative=0.1, better="lower"), "better"),
        (12.0, 13.3, Tolerance(relative=0.1, better="lower"), "different"),
        (-2.0, -2.1, Tolerance(relative=0.1), "reproduced"),
        (0.0, 0.1, Tolerance(relative=0.5), "different"),
        (1.0, 0.5, Tolerance(absolute=0.6, better="lower"), "reproduced"),
    ],
)
def test_the_verdict_on_a_pair(printed, ours, tolerance, status):
    assert judge(printed, ours, tolerance)[0] == status


@pytest.mark.parametrize("better", ["higher", "lower", "neither"])
@pytest.mark.parametrize("ours", [math.inf, -math.inf, math.nan])
def test_what_is_no_number_is_never_better(ours, better):
    assert judge(1.0, ours, Tolerance(better=better))[0] == "not run"


@given(numbers, numbers, tolerances)
def test_the_direction_decides_only_outside_the_tolerance(printed, ours, tolerance):
    without = Tolerance(tolerance.absolute, tolerance.relative)
    plain, directed = judge(printed, ours, without)[0], judge(printed, ours, tolerance)[0]
    if plain == "reproduced":
        assert directed == "reproduced"
    else:
        gain = {"higher": ours - printed, "lower": printed - ours, "neither": 0}[tolerance.better]
        assert directed == ("better" if gain > 0 else "different")


cells = st.lists(st.tuples(numbers | st.just(math.nan), numbers | st.just(math.nan)), max_size=8)


@given(cells, tolerances, st.randoms(), st.text())
def test_status_depends_on_numbers_and_tolerance_alone(pairs, tolerance, random, word):
    """Not on the order, the labels, the unit, other rows or notes."""
    printed = published(*(p for p, _ in pairs))
    ours = measured(*(m for _, m in pairs))
    expected = [judge(p, m, tolerance)[0] for p, m in pairs]
    assert statuses(printed, ours, {"accuracy": tolerance}) == expected
    shuffled = ours.iloc[random.sample(range(len(ours)), len(ours))].assign(note=word)
    renamed = printed.assign(unit=word, note=word)
    assert statuses(renamed, shuffled, {"accuracy": tolerance}) == expected


def test_absent_rows_count_as_not_run():
    assert statuses(published(1, 2), measured(1), {}) == ["reproduced", "not run"]
    nothing = pd.DataFrame({"row": [], "column": [], "value": []})
    assert statuses(published(1, 2), nothing, {}) == ["not run", "not run"]


def test_a_printed_dash_is_not_run_whatever_was_measured():
    card = score(published(math.nan), measured(5), {})
    assert card.loc[0, ["status", "reason"]].to_list() == [
        "not run",
        "the paper prints no number here",
    ]


def test_a_missing_value_takes_the_reason_that_the_study_gives():
    card = score(published(1, 2), measured(math.nan, 2, reason=["out of memory", "ignored"]), {})
    assert card["reason"].to_list() == ["out of memory", "equal"]


@pytest.mark.parametrize(
    ("printed", "value", "rounding"),
    [
        ("0.0", 0.0, 0.05),
        ("97.19 (0.71)", 97.19, 0.005),
        ("97.19 (0.71)", 0.71, 0.005),
        ("1,026.9", 1026.9, 0.05),
        ("145", 145.0, 0.0),  # a count
        ("4 million", 4e6, 0.0),
        ("≈ 6.3 × 10^{-4}", 0.00063, 0.0),  # not the number itself
        ("0.9h", 0.9, 0.05),
        ("", 1.0, 0.0),
    ],
)
def test_a_number_is_known_to_the_digits_that_are_printed(printed, value, rounding):
    assert rounding_of(printed, value) == pytest.approx(rounding)


def test_what_rounds_to_the_printed_number_reproduces_it():
    printed = published(0.0, 0.0, 0.0).assign(printed=["0.0", "0.000", "0"])
    tolerance = {"accuracy": Tolerance(relative=0.5, better="lower")}
    ours = measured(0.0003, 0.003, 0.0003)
    assert statuses(printed, ours, tolerance) == ["reproduced", "different", "different"]


def test_the_study_may_say_why_a_number_differs():
    ours = measured(3, 1, 2, reason=["another split", "", "unused"])
    card = score(published(1, 1, 2), ours, {})
    assert card["reason"].to_list() == [
        "2 higher; no difference allowed. another split",
        "equal",
        "equal",
    ]


def test_a_column_without_tolerance_has_to_agree_exactly():
    printed = pd.concat([published(10), published(10, column="rows")])
    ours = measured(10.5).assign(column="accuracy")
    ours = pd.concat([ours, ours.assign(column="rows")])
    tolerance = {"accuracy": Tolerance(absolute=1)}
    assert statuses(printed, ours, tolerance) == ["reproduced", "different"]


def test_values_that_the_paper_does_not_have_are_reported_and_not_scored():
    card = score(published(1), measured(1, 2), {})
    assert len(card) == 1
    assert card.attrs["unmatched"] == [("set 1", "accuracy")]


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(ValueError, match="two values for row 'set 0', column 'accuracy'"):
        score(published(1), pd.concat([measured(1), measured(2)]), {})
