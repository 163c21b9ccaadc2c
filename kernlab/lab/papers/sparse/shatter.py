"""Lines in the plane: the margin (Figures 1, 2), and which points they shatter (Figure 4)."""

import itertools

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from kernlab.datasets import generators
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Point, catalogued, product

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
    return product("points in the plane", "lines", CONFIGURATIONS)


@shattering.measure
def measure_labellings(point, seed):
    points = CONFIGURATIONS[point.variant]
    rows = []
    for number, labels in enumerate(labellings(len(points))):
        line = separating_line(points, labels)
        w1, w2, b = line or (np.nan,) * 3
        shared = {"separable": line is not None, "w1": w1, "w2": w2, "b": b, "n_train": len(points)}
        rows += [
            {"labelling": number, "x1": x1, "x2": x2, "label": label} | shared
            for (x1, x2), label in zip(points, labels, strict=True)
        ]
    return rows


@shattering.key_figures("{variant}")
def _separated(rows):
    separable = rows.groupby("labelling")["separable"].first()
    return f"{separable.sum():.0f} of {len(separable)} labellings (up to exchange) are separated"


@shattering.measured({})
def _measured(table):
    """The VC dimension is the most points of which some configuration is shattered."""
    all_separated = table.groupby(["n_train", "variant"])["separable"].all()
    shattered = all_separated.groupby("n_train").any()
    yield "lines in the plane", "VC dimension", shattered[shattered].index.max()
    yield "lines in the plane", "points not shattered", shattered[~shattered].index.min()


# Two clouds far apart, and two that overlap: (distance of the centres, C).
MARGIN_CASES = {"hard": (5.4, 1e3), "soft": (2.5, 0.1), "soft, stricter": (2.5, 10.0)}


@catalogued("sparse-margin", "Figures 1 and 2: the margin, hard and soft")
def margins():
    """Which line separates two clouds best, and what does C do when none can?"""
    return [
        Point.make("gaussians", "LIBSVM", variant=variant, distance=distance, C=C)
        for variant, (distance, C) in MARGIN_CASES.items()
    ]


@margins.measure
def measure_margin(point, seed):
    """A linear machine on two Gaussians: one row per training point, and the line it draws."""
    X, y = generators.gaussians(80, distance=point["distance"], seed=5)
    machine = LibSVM(C=point["C"], kernel="linear", tol=1e-8).fit(X, y)
    w = machine.dual_coef_.ravel() @ machine.support_vectors_
    b = float(machine.intercept_[0])
    decisions = y * (X @ w + b)
    dual = np.zeros(len(y))
    dual[machine.support_] = np.abs(machine.dual_coef_.ravel())
    certificate = machine.certify(X, y)
    line = {"w1": w[0], "w2": w[1], "b": b, "width": 2.0 / np.linalg.norm(w), "n_train": len(y)}
    shared = line | {"objective": certificate.primal, "gap": certificate.relative_gap}
    rows = {"x1": X[:, 0], "x2": X[:, 1], "label": y, "margin": decisions, "dual": dual}
    return pd.DataFrame(rows).assign(**shared)


@margins.key_figures("{variant} margin")
def _supports(rows):
    inside = int((rows["margin"] < 1 - 1e-4).sum())
    supports = int((rows["dual"] > 1e-9 * rows["C"]).sum())
    width = f"width {rows['width'].iloc[0]:.2f}"
    return f"{width}, {supports} support vectors, {inside} rows inside the margin"
