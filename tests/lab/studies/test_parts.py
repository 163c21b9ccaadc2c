"""The engine's parts on their own: points, tolerances, seeds, memory, code, names, progress."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import tiny_studies as tiny
from hypothesis import given
from hypothesis import strategies as st

from kernlab.lab.catalogue import (
    STUDIES,
    Point,
    Study,
    UnknownStudy,
    derive_seed,
    get_study,
    point_seed,
)
from kernlab.lab.engine import Tolerance, peak
from kernlab.lab.engine.fingerprint import study_fingerprint
from kernlab.lab.engine.plan import describe, point_key
from kernlab.lab.engine.progress import Progress
from kernlab.lab.engine.registry import collect


def test_point_is_its_fields_in_plain_types():
    point = Point.make("a9a", "LASN", n_landmarks=np.int64(50), C=np.float32(0.5), free=np.True_)
    assert point == Point.make("a9a", "LASN", free=True, C=0.5, n_landmarks=50)
    assert [type(value) for _, value in point.params] == [float, bool, int]
    assert point["C"] == 0.5
    assert point.get("gamma", 1) == 1
    assert str(point) == "LASN on a9a C=0.5 free=True n_landmarks=50"
    assert point_key(describe(point)) != point_key(describe(Point.make("a9a", "LASN", C=0.5)))
    with pytest.raises(KeyError, match=r"no parameter 'gamma' \(it has: C, free, n_landmarks"):
        point["gamma"]
    with pytest.raises(TypeError, match="C is a list"):
        Point.make("a9a", "LASN", C=[1, 2])


@given(st.floats(-1e6, 1e6), st.floats(0, 10), st.floats(-2, 2))
def test_tolerance_accepts_exactly_its_width(published, width, share):
    measured = published + share * width
    difference = abs(measured - published)
    # At the very edge the hair of slack for binary arithmetic decides.
    if abs(difference - width) > 1e-8 * (1 + abs(published)):
        assert Tolerance(absolute=width).accepts(published, measured) == (difference <= width)
    assert Tolerance(relative=0.5).accepts(100, 150)
    assert not Tolerance(relative=0.5).accepts(100, 151)


def test_tolerance_knows_the_better_side():
    assert Tolerance(better="higher").improves(90, 91)
    assert not Tolerance(better="higher").improves(90, 89)
    assert Tolerance(better="lower").improves(90, 89)
    assert not Tolerance().improves(90, 91)
    assert Tolerance(absolute=0.1).accepts(93.7, 93.8)
    with pytest.raises(ValueError, match="better='best'"):
        Tolerance(better="best")
    with pytest.raises(ValueError, match="negative"):
        Tolerance(absolute=-1)


def test_seeds_are_the_same_in_every_process_and_for_ever():
    assert derive_seed("lasn-t3", 0, "a9a", "LASN", 0) == 3758704046
    command = "from kernlab.lab.catalogue import derive_seed; print(derive_seed('ü', 1, 2.5))"
    for salt in ("1", "2"):
        answer = subprocess.check_output(
            [sys.executable, "-c", command], text=True, env={"PYTHONHASHSEED": salt}
        )
        assert int(answer) == derive_seed("ü", 1, 2.5)


def test_seeds_follow_study_data_and_repeat_alone():
    point = Point.make("a9a", "LASN", C=1)
    seed = point_seed(tiny.TINY, point)
    assert seed == point_seed(tiny.TINY, Point.make("a9a", "LASN", C=2))
    others = [
        point_seed(tiny.SLOW, point),
        point_seed(tiny.TINY, Point.make("a8a", "LASN")),
        point_seed(tiny.TINY, Point.make("a9a", "LASN", repeat=1)),
    ]
    assert len({seed, *others}) == 4
    assert derive_seed("ab", "c") != derive_seed("a", "bc")
    assert seed == point_seed(tiny.TINY, Point.make("a9a", "FPC")), "methods see the same rows"


@pytest.mark.parametrize("allowed", [True, False])
def test_peak_memory_is_what_the_block_added(monkeypatch, allowed):
    if not allowed:
        monkeypatch.setattr(peak, "_CLEAR_REFS", peak.Path("/nowhere/clear_refs"))
    size = 300_000_000 if allowed else 900_000_000  # above all that this process ever held
    with peak.peak_memory() as found:
        np.ones(size, dtype=np.uint8).sum()
    assert size * 0.95 < found.bytes_added < size * 1.2
    assert found.note == ""
    with peak.peak_memory() as smaller:
        np.ones(size // 3, dtype=np.uint8).sum()
    if allowed:
        assert size / 3 * 0.95 < smaller.bytes_added < size / 3 * 1.2
        assert smaller.note == ""
    else:
        assert smaller.bytes_added > size / 3 * 0.95
        assert smaller.note == peak.UPPER_BOUND


SOURCE = '''
"""Words."""
from kernlab.lab.catalogue import Study, Point
SHIFT = {shift}
UNUSED = {unused}
def helper(x):
    """{words}"""
    return x + SHIFT
def measure(point, seed):
    return {{"objective": helper(seed)}}  # {words}
study = Study("s", "p", "t", "q", lambda profile: [], measure)
'''


@pytest.fixture
def fingerprint_of(tmp_path, monkeypatch):
    """The fingerprint of a study written to a module of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    count = iter(range(99))

    def of(source):
        from kernlab.lab.engine import fingerprint

        module = tmp_path / "written_study.py"
        module.write_text(source + f"\n# version {next(count)}" * 3)
        for cached in tmp_path.rglob("*.pyc"):
            cached.unlink()
        sys.modules.pop("written_study", None)
        __import__("linecache").clearcache()
        fingerprint._contents.cache_clear()
        return study_fingerprint(__import__("written_study").study)

    return of


def test_fingerprint_of_a_study_follows_the_code_it_reaches(fingerprint_of):
    def of(**changes):
        return fingerprint_of(SOURCE.format(**{"shift": 1, "unused": 1, "words": "w", **changes}))

    assert of() == of(unused=2, words="other words")
    assert of() != of(shift=2)


def test_fingerprint_follows_lambdas_and_closures(fingerprint_of):
    in_lambda = SOURCE + "study = Study('s','p','t','q', None, lambda p, s: {{'a': helper({n})}})\n"
    texts = {"unused": 1, "words": ""}
    one = fingerprint_of(in_lambda.format(shift=1, n=1, **texts))
    assert one != fingerprint_of(in_lambda.format(shift=1, n=2, **texts))
    assert one != fingerprint_of(in_lambda.format(shift=2, n=1, **texts))

    def make(scale):
        def measure(point, seed):
            return {"a": scale}

        return Study("s", "p", "t", "q", None, measure)

    assert study_fingerprint(make(1)) == study_fingerprint(make(1)) != study_fingerprint(make(2))


def test_fingerprint_follows_settings_of_partial():
    def study(**settings):
        return Study("s", "p", "t", "q", None, partial(tiny.measure, **settings))

    assert study_fingerprint(study(a=1)) != study_fingerprint(study(a=2))
    assert study_fingerprint(study()) != study_fingerprint(tiny.SLOW)


def test_names_that_are_not_known_bring_the_nearest(monkeypatch):
    monkeypatch.setitem(STUDIES, "tiny-plain", tiny.TINY)
    assert get_study("tiny-plain") is tiny.TINY
    assert get_study(tiny.SLOW) is tiny.SLOW
    with pytest.raises(UnknownStudy, match=r"called 'tiny-plian'\. Did you mean tiny-plain"):
        get_study("tiny-plian")


def test_registry_refuses_the_same_id_twice_and_odd_ids():
    class Module:
        STUDIES = (tiny.TINY, tiny.TINY)

    with pytest.raises(ValueError, match="two studies are called 'tiny-plain'"):
        collect([Module])
    with pytest.raises(ValueError, match="lower-case words"):
        Study("Tiny study", "p", "t", "q", None, None)


def test_progress_tells_time_left_and_is_quiet_where_nobody_watches(capsys, monkeypatch):
    monkeypatch.setenv("KERNLAB_PROGRESS", "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("tiny", [1.0, 3.0]) as bar:
        bar.finished(Point.make("toy", "exact"), 1.0)
        bar._bar.refresh()
    shown = capsys.readouterr().err
    assert " 25%|" in shown  # one of four predicted seconds
    assert "[1 of 2 points] exact on toy" in shown
    assert " left" in shown
    monkeypatch.setenv("KERNLAB_PROGRESS", "0")
    with Progress("tiny", [None, 3.0]) as bar:
        bar.finished(Point.make("toy", "exact"), None)
    assert capsys.readouterr().err == ""
