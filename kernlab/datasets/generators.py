"""Data sets that are made, not measured: the papers' own, and toys in the plane to look at.

Every function takes the number of rows and a seed (whatever `numpy.random.default_rng` takes), and
returns X in float64 and y.
"""

import math

import numpy as np


def swiss_roll(rows, *, stretches=12, noise=0.0, seed=0):
    """Swiss roll in 3 classes, as in Figure 5 of the sparse Cholesky thesis.

    The points are scikit-learn's `make_swiss_roll`, (t cos t, h, t sin t) with t uniform in
    [3 pi / 2, 9 pi / 2] and h in [0, 21], plus Gaussian noise. The thesis does not say where its
    classes lie. Here they alternate along the roll, in `stretches` equal stretches of t: with 12
    of them a linear classifier gets 48 % (printed: 45 %), with 3 it would get 75 %.
    """
    from sklearn.datasets import make_swiss_roll

    X, t = make_swiss_roll(rows, noise=noise, random_state=_state(seed))
    place = (t - 1.5 * math.pi) / (3 * math.pi) * stretches
    return X, np.minimum(place.astype(np.int64), stretches - 1) % 3


def checkerboard(rows, *, cells=4, noise=0.2, seed=0):
    """Checkerboard on the unit square with swapped labels: LLSVM's Ncheckerboard (Section 5).

    A point is +1 where the sum of its column and row of `cells` x `cells` is even. The share
    `noise` of the labels is swapped; LLSVM trains on 20 % and tests on clean labels.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    y = np.where(np.floor(X * cells).sum(axis=1) % 2 == 0, 1, -1)
    return X, _reversed(y, np.arange(rows), noise, rng)


def fpc_bayes_curve(t):
    """FPC's h(t) = ((1 - 2t)_+^5 (32 t^2 + 10 t + 1) + 1) / 2: the positive class lies above."""
    t = np.asarray(t, dtype=np.float64)
    return (np.maximum(1 - 2 * t, 0) ** 5 * (32 * t**2 + 10 * t + 1) + 1) / 2


def fpc_toy(rows, *, noise=0.1, where="everywhere", width=0.1, seed=0):
    """FPC's simulated data (Section V) with its three kinds of noise (Simulation 6).

    Points are uniform in the unit square, y = +1 where x2 >= h(x1), and labels are reversed:

    - ``where="everywhere"``: the share `noise` of all points (the paper's third kind);
    - ``"near"``: the share `noise` of the points whose distance to the Bayes curve, measured along
      x2, is at most `width` (first kind);
    - ``"far"``: the share `noise` of the points farther away than that (second kind).

    The share is of the region, as the paper's "ratio" is; exactly that many labels are reversed.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 2))
    height = X[:, 1] - fpc_bayes_curve(X[:, 0])
    near = np.abs(height) <= width
    regions = {"everywhere": np.ones(rows, dtype=bool), "near": near, "far": ~near}
    if where not in regions:
        raise ValueError(f'where must be "everywhere", "near" or "far", not {where!r}')
    y = np.where(height >= 0, 1, -1)
    return X, _reversed(y, np.flatnonzero(regions[where]), noise, rng)


def two_moons(rows, *, noise=0.15, seed=0):
    """Two half circles that reach into each other (scikit-learn's `make_moons`), y = -1 and +1."""
    from sklearn.datasets import make_moons

    X, y = make_moons(rows, noise=noise, random_state=_state(seed))
    return X, 2 * y - 1


def circles(rows, *, noise=0.08, factor=0.5, seed=0):
    """A circle (+1) within a larger one (scikit-learn's `make_circles`)."""
    from sklearn.datasets import make_circles

    X, y = make_circles(rows, noise=noise, factor=factor, random_state=_state(seed))
    return X, 2 * y - 1


def spirals(rows, *, turns=1.5, noise=0.03, seed=0):
    """Two spirals that wind around each other."""
    rng = np.random.default_rng(seed)
    y = _halves(rows)
    radius = np.sqrt(rng.uniform(0.02, 1.0, rows))
    angle = 2 * math.pi * turns * radius + np.where(y == 1, math.pi, 0.0)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal((rows, 2)), y


def gaussians(rows, *, distance=2.0, seed=0):
    """Two round Gaussians of unit variance whose centres are `distance` apart."""
    rng = np.random.default_rng(seed)
    y = _halves(rows)
    X = rng.standard_normal((rows, 2))
    X[:, 0] += distance / 2 * y
    return X, y


def _state(seed):
    """scikit-learn's generators want their seed in this form."""
    return int(np.random.default_rng(seed).integers(2**31))


def _halves(rows):
    return np.where(np.arange(rows) % 2 == 0, -1, 1)


def _reversed(y, region, share, rng):
    """y with exactly that share of the region's labels reversed."""
    if not 0 <= share <= 1:
        raise ValueError(f"noise is a share between 0 and 1, not {share}")
    chosen = rng.choice(region, size=round(share * len(region)), replace=False)
    y = y.copy()
    y[chosen] = -y[chosen]
    return y
