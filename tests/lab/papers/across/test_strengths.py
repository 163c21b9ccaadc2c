"""Made rows have the property that their panel names, and nothing else; what is seen of it."""

import numpy as np
import pytest
from quick_rows import drawn, measured

from kernlab.lab.papers.across.strengths import HALF, PROPERTIES, WIDE

ROWS = 20_000


def of(name, value):
    one = PROPERTIES[name]
    return one.make(value, ROWS, np.random.default_rng(5))


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, p in PROPERTIES.items()
                                             for v in (*p.values, *p.few)])  # fmt: skip
def test_classes_are_as_frequent_as_they_should_be(name, value):
    _, y = of(name, value)
    assert y.mean() == pytest.approx(value if name == "a rare class" else 0.5, abs=0.012)


def test_a_turn_moves_the_boundary_and_not_the_rows():
    (X, straight), (same, turned) = of("a box, turned", 0), of("a box, turned", 45)
    np.testing.assert_array_equal(X, same)
    half = np.sqrt(0.5) * np.eye(3)
    back = X @ np.block([[half, -half], [half, half]])  # turned by 45 degrees the other way
    assert (turned == (np.abs(back[:, :3]).max(axis=1) < WIDE)).all()
    assert (straight != turned).mean() > 0.2


def test_what_is_irrelevant_says_nothing_and_what_is_spread_is_there():
    X, y = of("irrelevant features", 8)
    assert ((X[:, 0] ** 2 + X[:, 1] ** 2 < HALF[2]) == y).all()
    assert np.abs(np.corrcoef(X[:, 2:].T, y)[-1, :-1]).max() < 0.03
    X, y = of("spread over many features", 128)
    _, lengths, axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert lengths[3] > 5 * lengths[4]  # four directions have all but the noise
    square = np.sum((X @ axes[:4].T) ** 2, axis=1)
    assert ((square < HALF[4]) == y).mean() > 0.9
    alone = max(abs(np.corrcoef(column**2, y)[0, 1]) for column in X.T)
    assert alone < 0.5 * abs(np.corrcoef(square, y)[0, 1])


def test_trees_win_along_the_axes_and_kernels_across_them():
    _, table = measured("strengths")
    errors = table.set_index(["variant", "value", "method"])["balanced_error"]
    turned = errors["a box, turned"].unstack()
    assert turned.loc[0, "hist boosting"] < turned.loc[0, "LASN"]
    assert turned.loc[45, "hist boosting"] > turned.loc[45, "LASN"]
    assert abs(turned["LASN"].diff().iloc[-1]) < 0.04  # it does not see the turn
    nothing = errors["irrelevant features"].unstack()["LASN"]
    assert nothing.iloc[-1] > nothing.iloc[0] + 0.1
    many = errors["spread over many features"].unstack()
    assert many.loc[256, "LASN"] < many.loc[256, "hist boosting"] - 0.03
    rare = table[(table["variant"] == "a rare class") & (table["method"] == "majority")]
    assert (rare["balanced_error"] == 0.5).all()
    assert rare["error"].min() < 0.1
    told = drawn("strengths", table)
    assert told["a box, turned"] == "hist boosting at 0, LASN at 45"
