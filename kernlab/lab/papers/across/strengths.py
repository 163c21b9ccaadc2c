"""What decides between kernel machines and trees: one property of the rows at a time.

The rows are made, so that nothing else changes along an axis; the protocol is the showdown's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernlab.lab.engine import Choice, Count, catalogued, one_of, product, several
from kernlab.lab.papers.across.contestants import CONTESTANTS
from kernlab.lab.papers.across.protocol import best_setting
from kernlab.lab.papers.common.fitting import shape_of

METHODS = Choice(
    ("LASN", "hist boosting", "linear", "majority"),
    ("LASN", "LIBSVM", "hist boosting", "random forest", "linear", "Parzen", "majority"),
)
TEST_ROWS = 10_000
SEARCH = {"quick": (4, 300), "standard": (12, 1500), "paper": (24, 3000)}  # settings, rows
CAP = 60.0  # seconds of a search
# Half of all rows: three normal variables within WIDE; |x|^2 of two, or of four, below HALF.
WIDE, HALF = 1.264, {2: 1.3863, 4: 3.3567}


@dataclass(frozen=True)
class Property:
    """A property of rows whose classes are equally frequent unless it says otherwise.

    Parameters
    ----------
    make : callable
        (value, rows, generator) -> X, y in {0, 1}.
    axis : str
        What its values are.
    values, few : tuple
        Under the other profiles, and under `quick`.
    """

    make: Callable
    axis: str
    values: tuple
    few: tuple


def turned_box(degrees, rows, generator):
    """A box in three of six features, turned against the axes; the rows look alike from all sides,
    so that to whoever sees distances alone nothing changes."""
    X = generator.standard_normal((rows, 6))
    angle = np.deg2rad(degrees)
    sides = np.cos(angle) * X[:, :3] + np.sin(angle) * X[:, 3:]
    return X, (np.abs(sides).max(axis=1) < WIDE).astype(int)


def with_irrelevant(count, rows, generator):
    """A disc in two features, beside so many that say nothing."""
    X = generator.standard_normal((rows, 2 + int(count)))
    return X, _within(X[:, :2], HALF[2])


def spread_over(features, rows, generator):
    """A ball in four dimensions that lie askew in so many features, each with a little noise of its
    own: as in images, no feature says much."""
    inside = generator.standard_normal((rows, 4))
    axes = np.linalg.qr(generator.standard_normal((int(features), 4)))[0]
    noise = 0.1 * generator.standard_normal((rows, int(features)))
    return inside @ axes.T + noise, _within(inside, HALF[4])


def of_few_rows(count, rows, generator):
    """A disc in two of four features."""
    return with_irrelevant(2, rows, generator)


def rare(share, rows, generator):
    """A disc in two of four features, in which only this share of the rows lies."""
    X = generator.standard_normal((rows, 4))
    return X, _within(X[:, :2], -2.0 * np.log1p(-share))


def _within(X, square):
    return (np.einsum("ij,ij->i", X, X) < square).astype(int)


PROPERTIES = {
    "a box, turned": Property(turned_box, "degrees", (0, 9, 18, 27, 36, 45), (0, 45)),
    "irrelevant features": Property(
        with_irrelevant, "features beside the two that decide", (0, 4, 8, 16, 32, 64), (0, 32)
    ),
    "spread over many features": Property(
        spread_over, "features that say a little", (4, 32, 128, 512), (4, 256)
    ),
    "few rows": Property(of_few_rows, "training rows", (30, 100, 300, 1000, 3000), (100, 600)),
    "a rare class": Property(rare, "share of the smaller class", (0.5, 0.2, 0.1, 0.05, 0.02),
                             (0.5, 0.05)),
}  # fmt: skip
ROWS = Choice(600, 3000)


@catalogued("strengths", "What decides between kernel machines and trees", paper="across")
def strengths(
    profile, methods: several(one_of(*CONTESTANTS)) = METHODS, rows: Count = ROWS,
    repeats=Choice(1, 5, 10), seed=0,
):  # fmt: skip
    """Which property of the rows makes kernel machines win, and which one trees?

    Rows are made with one property that changes and all else alike: a boundary along the axes or
    across them, features that say nothing, a signal spread over many, few rows, a rare class.
    """
    settings, searched = SEARCH[profile]
    points = []
    for name, one in PROPERTIES.items():
        values = one.few if profile == "quick" else one.values
        points += product("made", methods, name, repeats, value=values, rows=rows,
                          settings=settings, search_rows=searched)  # fmt: skip
    return points


@strengths.measure
def measure_property(point, seed):
    """Make rows, search, fit once and test; errors are counted class by class, too."""
    one, contestant = PROPERTIES[point.variant], CONTESTANTS[point.method]
    n = int(point["value"]) if one.make is of_few_rows else point["rows"]
    generator = np.random.default_rng(seed)
    X, y = one.make(point["value"], n + TEST_ROWS, generator)
    if len(np.unique(y[:n])) < 2:
        raise ValueError(f"{n} rows of one class alone")
    chosen, _ = best_setting(
        contestant, X[:n], y[:n], point["settings"], point["search_rows"], CAP, seed
    )
    dial = contestant.few[-1] if point["settings"] == SEARCH["quick"][0] else contestant.values[-1]
    machine = contestant.make(dial, n, X.shape[1], seed).set_params(**dict(chosen))
    wrong = machine.fit(X[:n], y[:n]).predict(X[n:]) != y[n:]
    return shape_of(X[:n]) | {
        "test_accuracy": 1.0 - wrong.mean(),
        "error": wrong.mean(),
        "balanced_error": np.mean([wrong[y[n:] == label].mean() for label in (0, 1)]),
        "chosen": ", ".join(f"{name}={value}" for name, value in chosen),
    }


@strengths.key_figures("{variant}")
def _at_both_ends(rows):
    """Who errs least at either end: printed numbers would differ from machine to machine."""
    medians = rows.groupby(["value", "method"], sort=False)["balanced_error"].median()
    ends = sorted(set(rows["value"]))
    return ", ".join(f"{medians[end].idxmin()} at {end:g}" for end in (ends[0], ends[-1]))
