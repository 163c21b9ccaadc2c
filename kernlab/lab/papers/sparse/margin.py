"""The thesis' Figures 1 and 2, the margin of a linear machine; and its data sets counted."""

import numpy as np

from kernlab.datasets import generators
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Cell, Point, Study, catalogued
from kernlab.lab.papers.common.data_tables import counted

# Two clouds far apart, and two that overlap: (distance of the centres, C).
MARGIN_CASES = {"hard": (5.4, 1e3), "soft": (2.5, 0.1), "soft, stricter": (2.5, 10.0)}


@catalogued("sparse-margin", "Figures 1 and 2: the margin, hard and soft")
def margins():
    """Which line separates two clouds best, and what does C do when none can?"""

    def grid(profile):
        return [
            Point.make("gaussians", "LIBSVM", variant=variant, distance=distance, C=C)
            for variant, (distance, C) in MARGIN_CASES.items()
        ]

    return Study(grid=grid, measure=measure_margin, key_figures=_margin_key_figures)


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
    return [
        {
            "x1": X[i, 0],
            "x2": X[i, 1],
            "label": y[i],
            "margin": decisions[i],
            "dual": dual[i],
            "w1": w[0],
            "w2": w[1],
            "b": b,
            "width": 2.0 / np.linalg.norm(w),
            "n_train": len(y),
            "objective": certificate.primal,
            "gap": certificate.relative_gap,
        }
        for i in range(len(y))
    ]


def _margin_key_figures(table):
    figures = {}
    for variant, rows in table.groupby("variant", sort=False):
        inside = int((rows["margin"] < 1 - 1e-4).sum())
        supports = int((rows["dual"] > 1e-9 * rows["C"]).sum())
        figures[f"{variant} margin"] = (
            f"width {rows['width'].iloc[0]:.2f}, {supports} support vectors, "
            f"{inside} rows inside the margin"
        )
    return figures


@catalogued("sparse-t1", "Data sets of the thesis")
def data_sets(datasets=None):
    """Are the data sets that are there those of Table 1?"""
    printed = ("training rows", "test rows", "features", "classes")
    return counted("sparse-t1", datasets, [Cell(name, name.replace(" ", "_")) for name in printed])
