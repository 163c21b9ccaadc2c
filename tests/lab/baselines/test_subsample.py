"""LIBSVM on a subsample: which rows, how many, and what is counted."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from kernlab.lab.baselines import LibSVM, LibSVMSubsample
from kernlab.lab.baselines.subsample import (
    AIM,
    EXPONENT,
    FIRST_SIZE,
    LARGEST_STEP,
    SMALLEST_STEP,
    stratified_order,
)
from kernlab.runtime import MemoryLimitError


def rows(n=600, n_classes=2):
    return make_classification(
        n,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        weights=[0.6, 0.4] if n_classes == 2 else None,
        random_state=1,
    )


# ------------------------------------------------------------------------------------ rows
@given(
    counts=st.lists(st.integers(1, 60), min_size=2, max_size=5),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 1000),
)
def test_every_head_is_stratified(counts, share, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    order = stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    size = max(len(counts), round(share * len(labels)))
    found = np.bincount(labels[order[:size]], minlength=len(counts))
    assert found.min() >= 1
    wanted = size * np.array(counts) / len(labels)
    assert np.abs(found - wanted).max() <= len(counts)


def test_the_order_is_random_and_repeats_with_its_seed():
    labels = np.repeat([0, 1], 100)
    first, again, other = (stratified_order(labels, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.corrcoef(first, np.arange(200))[0, 1] < 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_libsvm_on_those_rows(n_classes):
    X, y = rows(n_classes=n_classes)
    y = np.array(["x", "y", "z"])[y]
    machine = LibSVMSubsample(150, C=2.0, loss="squared_hinge", gamma=0.2).fit(X, y)
    chosen = machine.indices_
    assert machine.n_samples_ == len(chosen) == len(set(chosen)) == 150
    alone = LibSVM(2.0, loss="squared_hinge", gamma=0.2).fit(X[chosen], y[chosen])
    np.testing.assert_array_equal(machine.predict(X), alone.predict(X))
    np.testing.assert_array_equal(machine.decision_function(X), alone.decision_function(X))
    assert machine.machine_.certify(X[chosen], y[chosen]).relative_gap < 1e-3
    assert machine.n_iter_ == alone.n_iter_
    assert machine.nbytes_ == alone.nbytes_


def test_a_smaller_subsample_is_the_head_of_a_larger_one():
    X, y = rows()
    small, large = (LibSVMSubsample(size).fit(X, y).indices_ for size in (100, 400))
    np.testing.assert_array_equal(small, large[:100])


def test_as_many_rows_as_there_are_is_libsvm_on_all():
    X, y = rows()
    machine = LibSVMSubsample(10_000, gamma=0.2, tol=1e-6).fit(X, y)
    assert machine.n_samples_ == 600
    exact = LibSVM(gamma=0.2, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), exact.decision_function(X), atol=1e-4)


def test_rows_of_weight_zero_are_never_drawn():
    X, y = rows()
    weights = np.random.default_rng(0).choice([0.0, 2.0], len(y))
    machine = LibSVMSubsample(100).fit(X, y, weights)
    assert np.all(weights[machine.indices_] > 0)
    by_hand = LibSVM(2.0).fit(X[machine.indices_], y[machine.indices_])
    np.testing.assert_allclose(
        machine.decision_function(X), by_hand.decision_function(X), atol=1e-6
    )


# ---------------------------------------------------------------------------------- budget
class Clockwork:
    """Stands for LIBSVM: its fit takes the seconds that a formula says."""

    def __init__(self, monkeypatch, seconds_of, limit=10**9):
        original = LibSVM.fit

        def fit(machine, X, y, sample_weight=None):
            if len(y) > limit:
                raise MemoryLimitError("too large")
            original(machine, X, y, sample_weight)
            machine.timings_["total"] = seconds_of(len(y))
            return machine

        monkeypatch.setattr(LibSVM, "fit", fit)


def test_a_budget_is_used_and_kept(monkeypatch):
    X, y = rows(3000)
    Clockwork(monkeypatch, lambda n: (n / 1000) ** 2.5)
    machine = LibSVMSubsample(seconds=2.0).fit(X, y)
    sizes = [size for size, _ in machine.trials_]
    assert sizes[0] == FIRST_SIZE
    assert all(1.0 < b / a <= LARGEST_STEP + 0.01 for a, b in pairwise(sizes))
    assert 1.5 < machine.timings_["total"] <= 2.0
    assert machine.timings_["search"] == pytest.approx(
        sum(seconds for _, seconds in machine.trials_) - machine.timings_["total"]
    )


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 4.0])
def test_whatever_the_growth_the_machine_kept_is_within_the_budget(monkeypatch, exponent):
    X, y = rows(3000)
    Clockwork(monkeypatch, lambda n: (n / 1000) ** exponent)
    machine = LibSVMSubsample(seconds=1.0).fit(X, y)
    used = AIM * SMALLEST_STEP ** (-2 * max(EXPONENT, exponent))  # a step more is not worth it
    assert used < machine.timings_["total"] <= 1.0
    assert machine.n_samples_ == max(n for n, seconds in machine.trials_ if seconds <= 1.0)


def test_a_generous_budget_takes_all_rows_and_stops(monkeypatch):
    X, y = rows()
    Clockwork(monkeypatch, lambda n: 1e-9)
    machine = LibSVMSubsample(seconds=1e6).fit(X, y)
    assert [size for size, _ in machine.trials_] == [200, 400, 600]


def test_a_budget_too_small_for_anything_says_so(monkeypatch):
    X, y = rows()
    Clockwork(monkeypatch, lambda n: 5.0)
    with pytest.warns(UserWarning, match=r"200 rows, took 5 s, more than seconds=1") as caught:
        machine = LibSVMSubsample(seconds=1.0).fit(X, y)
    assert machine.n_samples_ == FIRST_SIZE
    assert caught[0].filename == __file__


def test_memory_ends_the_growth_as_time_does(monkeypatch):
    X, y = rows()
    Clockwork(monkeypatch, lambda n: 1e-9, limit=500)
    assert 450 < LibSVMSubsample(seconds=1e6).fit(X, y).n_samples_ <= 500
    Clockwork(monkeypatch, lambda n: 1e-9, limit=100)
    with pytest.raises(MemoryLimitError):
        LibSVMSubsample(seconds=1e6).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"n_samples": 100, "seconds": 1.0}, "give one"),
        ({"n_samples": 1}, "at least 2 to hold a row of every class"),
        ({"n_samples": 0.5}, "must be an integer"),
        ({"seconds": 0.0}, "seconds must be a positive number"),
        ({"C": -1.0}, "C must be a positive number"),
    ],
)
def test_refusals_say_what_is_wrong(parameters, text):
    with pytest.raises(ValueError, match=text):
        LibSVMSubsample(**parameters).fit(*rows())
