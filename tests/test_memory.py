"""Amounts of memory, and refusals that come with their arithmetic."""

import pytest

from kernlab.runtime import (
    MemoryLimitError,
    format_bytes,
    memory_limit,
    parse_bytes,
    require_memory,
)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(1000, 1000), ("4GB", 4e9), ("500 MB", 5e8), ("1.5g", 1.5e9), ("12", 12), ("2kb", 2000)],
)
def test_amounts(amount, expected):
    assert parse_bytes(amount) == expected


@pytest.mark.parametrize("amount", ["", "4 parsecs", "GB", 0, -1, "0MB"])
def test_bad_amounts(amount):
    with pytest.raises(ValueError, match="max_memory"):
        parse_bytes(amount)


def test_the_default_limit_is_positive():
    assert memory_limit() > 0


@pytest.mark.parametrize("amount", [0, 0.0, "", "0MB"])
def test_no_memory_is_not_the_default_limit(amount):
    with pytest.raises(ValueError, match="max_memory"):
        memory_limit(amount)
    with pytest.raises(ValueError, match="max_memory"):
        require_memory(1, amount, what="x", arithmetic="y", way_out="z")


def test_a_refusal_says_why_and_what_to_do():
    require_memory(10, "1kB", what="x", arithmetic="y", way_out="z")
    with pytest.raises(MemoryLimitError, match=r"K needs 8 GB \(n\^2 x 8\), but only 1 GB.*fewer"):
        require_memory(8e9, "1GB", what="K", arithmetic="n^2 x 8", way_out="Take fewer rows.")


def test_amounts_are_written_for_people():
    assert [format_bytes(x) for x in (12, 1.5e4, 2e9)] == ["12 bytes", "15 kB", "2 GB"]
