"""What LLSVM's comparisons would take is told before they are run."""

import pytest

from kernlab.lab.catalogue import STUDIES, Point, get_profile
from kernlab.lab.papers.llsvm import comparisons as llsvm_comparisons

GIGABYTES = 1e9


@pytest.fixture
def two_threads(monkeypatch):
    """A machine of two threads and 8 GB for features."""
    monkeypatch.setattr(llsvm_comparisons, "thread_count", lambda: 2)
    monkeypatch.setattr(llsvm_comparisons, "memory_limit", lambda limit: 4 * 8 * GIGABYTES)


def seconds(dataset, method, k=0, profile="standard"):
    point = Point.make(dataset, method, n_landmarks=k, profile=profile)
    return STUDIES["llsvm-t3"].predict_seconds(point)


def test_the_quick_profile_predicts_nothing():
    assert seconds("checkerboard", "LIBSVM", profile="quick") is None
    assert all(
        STUDIES[id].predict_seconds(point) is None
        for id in ("llsvm-t3", "llsvm-f1")
        for point in STUDIES[id].grid("quick")
    )


def test_the_standard_profile_leaves_out_what_takes_hours(two_threads):
    cap = get_profile("standard").cap_seconds
    assert seconds("covtype-2", "LLSVM", 4000) < cap
    assert seconds("checkerboard", "LLSVM", 1000) < cap
    assert seconds("ijcnn1", "LIBSVM") < cap
    assert seconds("covtype-2", "LIBSVM") > cap
    assert seconds("covtype-2", "Poly2") > cap > seconds("covtype-2", "Linear")


def test_features_beyond_memory_are_computed_twice(two_threads, monkeypatch):
    before = seconds("covtype-2", "LLSVM", 2000)  # 7.4 GB of features
    monkeypatch.setattr(llsvm_comparisons, "memory_limit", lambda limit: 4 * GIGABYTES)
    assert 1.5 * before < seconds("covtype-2", "LLSVM", 2000) < 2 * before


def test_every_point_of_every_profile_has_a_prediction(two_threads):
    for id in ("llsvm-t3", "llsvm-f1"):
        for point in STUDIES[id].grid("paper"):
            assert STUDIES[id].predict_seconds(point) > 0, point
