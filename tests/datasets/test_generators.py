"""Generated sets are what the papers say, row by row."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlab.datasets import generators, load_dataset
from kernlab.datasets.registry import registry

GENERATED = [entry for entry in registry().sets.values() if entry.kind == "generated"]


@pytest.mark.parametrize("entry", GENERATED, ids=lambda entry: entry.name)
def test_every_generator_keeps_its_word(entry):
    make = getattr(generators, entry.generator)
    X, y = make(101, seed=3, **entry.params)
    assert X.shape == (101, entry.features)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(y) == set(entry.classes)
    again, labels = make(101, seed=3, **entry.params)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert not np.array_equal(X, make(101, seed=4, **entry.params)[0])


def test_the_bayes_curve_by_hand():
    for t in np.linspace(0, 1, 41):
        inside = 1 - 2 * t if 1 - 2 * t > 0 else 0.0
        by_hand = (inside**5 * (32 * t * t + 10 * t + 1) + 1) / 2
        assert generators.fpc_bayes_curve(t) == pytest.approx(by_hand, abs=1e-15)
    assert generators.fpc_bayes_curve(0) == 1
    assert generators.fpc_bayes_curve(0.5) == generators.fpc_bayes_curve(1) == 0.5


@given(
    st.integers(1, 400),
    st.sampled_from(["everywhere", "near", "far"]),
    st.floats(0, 1),
    st.floats(0.01, 0.4),
    st.integers(0, 99),
)
def test_fpc_noise_is_exact_and_in_its_region(rows, where, noise, width, seed):
    X, y = generators.fpc_toy(rows, noise=noise, where=where, width=width, seed=seed)
    clean_X, clean = generators.fpc_toy(rows, noise=0, seed=seed)
    np.testing.assert_array_equal(X, clean_X)
    height = X[:, 1] - generators.fpc_bayes_curve(X[:, 0])
    np.testing.assert_array_equal(clean, [1 if h >= 0 else -1 for h in height])
    wrong = y != clean
    near = np.abs(height) <= width
    region = {"everywhere": near | ~near, "near": near, "far": ~near}[where]
    assert not np.any(wrong & ~region)
    assert wrong.sum() == round(noise * region.sum())


@pytest.mark.parametrize("cells", [2, 4])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_checkerboard_cell_by_cell(cells, noise):
    X, y = generators.checkerboard(1000, cells=cells, noise=noise, seed=1)
    assert X.min() >= 0
    assert X.max() < 1
    clean = [1 if (int(a * cells) + int(b * cells)) % 2 == 0 else -1 for a, b in X]
    assert np.sum(y != clean) == round(1000 * noise)


def test_the_swiss_roll_lies_on_its_roll():
    X, y = generators.swiss_roll(6000, seed=0)
    t = np.hypot(X[:, 0], X[:, 2])
    np.testing.assert_allclose(X[:, 0], t * np.cos(t), atol=1e-9)
    np.testing.assert_allclose(X[:, 2], t * np.sin(t), atol=1e-9)
    stretch = np.floor((t - 1.5 * math.pi) / (3 * math.pi / 12))
    np.testing.assert_array_equal(y, stretch % 3)
    counts = np.bincount(y)
    assert counts.min() > 1850, "three classes of about the same size"


def test_training_and_test_rows_are_generated_apart():
    data = load_dataset("fpc-toy", seed=5)
    assert not np.isin(data.X_test[:, 0], data.X_train[:, 0]).any()
    for X, y, wrong in ((data.X_train, data.y_train, 100), (data.X_test, data.y_test, 0)):
        clean = np.where(X[:, 1] >= generators.fpc_bayes_curve(X[:, 0]), 1, -1)
        assert np.sum(y != clean) == wrong
