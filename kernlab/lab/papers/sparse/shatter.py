"""Figure 4 and Theorem 5.3: which labellings of a few points in the plane a line separates."""

import itertools

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from kernlab.lab.engine import Study, catalogued, product

CONFIGURATIONS = {
    "2 points": [(0.2, 0.3), (0.8, 0.7)],
    "3 points": [(0.15, 0.2), (0.85, 0.25), (0.5, 0.85)],
    "3 points on a line": [(0.15, 0.2), (0.5, 0.5), (0.85, 0.8)],
    "4 points of a square": [(0.2, 0.2), (0.8, 0.2), (0.8, 0.8), (0.2, 0.8)],
    "4 points, one inside": [(0.15, 0.15), (0.85, 0.2), (0.5, 0.9), (0.5, 0.42)],
}


def separating_line(points, labels):
    """(w1, w2, b) with y (w . x + b) >= 1 for all points and the smallest |w|_1, or None.

    A linear programme: separable is feasible, and nothing is left to rounding.
    """
    points, labels = np.asarray(points, float), np.asarray(labels, float)
    rows = labels[:, None] * np.column_stack([points, np.ones(len(points))])
    # w = u - v with u, v >= 0; b is free.
    A = -np.column_stack([rows[:, :2], -rows[:, :2], rows[:, 2]])
    bounds = [(0, None)] * 4 + [(None, None)]
    found = linprog([1, 1, 1, 1, 0], A_ub=A, b_ub=-np.ones(len(labels)), bounds=bounds)
    if found.status == 2:
        return None
    u1, u2, v1, v2, b = found.x
    return u1 - v1, u2 - v2, b


def labellings(n_points):
    """All assignments of -1 and 1, up to exchanging the two."""
    return [(1, *rest) for rest in itertools.product((1, -1), repeat=n_points - 1)]


@catalogued("sparse-shatter", "Figure 4: points that a line shatters")
def shattering():
    """How many points in the plane can a line separate, however they are labelled?"""

    def grid(profile):
        return product("points in the plane", "lines", CONFIGURATIONS)

    return Study(
        grid=grid, measure=measure_labellings, key_figures=_key_figures, measured=_measured
    )


def measure_labellings(point, seed):
    points = CONFIGURATIONS[point.variant]
    rows = []
    for number, labels in enumerate(labellings(len(points))):
        line = separating_line(points, labels)
        w1, w2, b = line or (np.nan,) * 3
        for (x1, x2), label in zip(points, labels, strict=True):
            rows.append(
                {
                    "labelling": number,
                    "x1": x1,
                    "x2": x2,
                    "label": label,
                    "separable": line is not None,
                    "w1": w1,
                    "w2": w2,
                    "b": b,
                    "n_train": len(points),
                }
            )
    return rows


def _by_configuration(table):
    """Points and the share of labellings that a line separates, per configuration."""
    first = table.groupby(["variant", "labelling"], sort=False).first().reset_index()
    return first.groupby("variant", sort=False).agg(
        points=("n_train", "first"),
        separated=("separable", "mean"),
        labellings=("labelling", "size"),
    )


def _key_figures(table):
    return {
        row.Index: f"{row.separated * row.labellings:.0f} of {row.labellings} labellings (up to "
        "exchange) are separated"
        for row in _by_configuration(table).itertuples()
    }


def _measured(table):
    """The VC dimension is the most points of which some configuration is shattered."""
    summary = _by_configuration(table)
    shattered = summary[summary["separated"] == 1.0]["points"].max()
    failed = summary.groupby("points")["separated"].max()
    cells = [
        ("lines in the plane", "VC dimension", shattered),
        ("lines in the plane", "points not shattered", failed[failed < 1.0].index.min()),
    ]
    return pd.DataFrame(cells, columns=["row", "column", "value"])
