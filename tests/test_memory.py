"""Amounts of memory, and refusals that come with their arithmetic."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from kernlab import runtime
from kernlab.runtime import (
    MemoryLimitError,
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
    with pytest.raises(ValueError, match="max_memory"):
        memory_limit(amount)


def test_a_refusal_says_why_and_what_to_do():
    require_memory(10, "1kB", what="x", arithmetic="y", way_out="z")
    with pytest.raises(MemoryLimitError, match=r"K needs 8 GB \(n\^2 x 8\), but only 1 GB.*fewer"):
        require_memory(8e9, "1GB", what="K", arithmetic="n^2 x 8", way_out="Take fewer rows.")


@pytest.mark.parametrize("version", [1, 2])
def test_a_container_has_no_more_than_its_limit(tmp_path, monkeypatch, version):
    """The group's own limit is large; that of the group around it counts, less what is in use."""
    names = {
        2: ("memory.max", "memory.current", "inactive_file"),
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    }[version]
    top = tmp_path if version == 2 else tmp_path / "memory"
    inner = top / "box" / "job"
    inner.mkdir(parents=True)
    for folder, limit in ((inner, 2**40), (inner.parent, 3_000_000)):
        (folder / names[0]).write_text(f"{limit}\n")
        (folder / names[1]).write_text("1500000\n")
        (folder / "memory.stat").write_text(f"anon 1\n{names[2]} 500000\n")
    if version == 2:
        (top / names[0]).write_text("max\n")
    own = tmp_path / "cgroup"
    own.write_text({2: "0::/box/job\n", 1: "3:cpu:/x\n5:memory:/box/job\n"}[version])
    assert min(runtime.memory_left_in_groups(str(tmp_path), str(own))) == 2_000_000
    assert list(runtime.memory_left_in_groups(str(tmp_path), str(tmp_path / "none"))) == []
    monkeypatch.setattr(runtime, "memory_left_in_groups", lambda: [800])
    assert memory_limit() == 400


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="sizes are read as on Linux")
def test_what_threads_have_freed_is_given_back():
    """Blocks of 100 kB stay with the thread that had them, as long as one behind them is used."""

    def held():
        return psutil.Process().memory_info().rss

    with ThreadPoolExecutor(1) as thread:
        blocks = thread.submit(lambda: [np.ones(12_500) for _ in range(1000)]).result()
        before, last = held(), blocks[-1]
        blocks.clear()
        runtime.give_back_freed_memory()
        assert before - held() > 80e6
    assert last.sum() == 12_500
