"""FPC's Simulation 6 (Figures 11 and 12), label noise of three kinds; readings of Simulation 1."""

import numpy as np
import pandas as pd
from scipy.ndimage import label

from kernlab.datasets import generators
from kernlab.lab.engine import Share, Study, Tolerance, catalogued, product, several
from kernlab.lab.engine.study import as_cells, per_cent
from kernlab.lab.papers.common.cells import figures_by
from kernlab.lab.papers.fpc import simulations
from kernlab.lab.papers.fpc.toy import DEGREE, MACHINES, errors, fit, judged, passing, toy

NOISES = {
    "near the curve": {"where": "near", "width": 0.1, "noise": 0.5},
    "everywhere": {"where": "everywhere", "noise": 0.2},
    "far from the curve": {"where": "far", "width": 0.25, "noise": 0.4},
}
GRID = np.linspace(0.0, 1.0, 61)


@catalogued("fpc-f11", "Figure 11: three kinds of noise")
def boundaries(degree=DEGREE):
    """Which boundaries are learnt under three kinds of label noise?"""

    return Study(
        grid=lambda profile: product("fpc-toy", MACHINES, NOISES, degree=degree),
        measure=measure_boundary,
        key_figures=figures_by("{method}, noise {variant}", _learnt),
        measured=_boundary_measured,
        tolerances={"pieces of the boundary under distant noise": Tolerance(reason="a count")},
    )


def measure_boundary(point, seed):
    """Scores on a grid of the square, and the training rows that they were learnt from."""
    X, y, X_test, y_test = toy(1000, point.repeat, **NOISES[point.variant])
    machine = fit(point.method, X, y, point["degree"])
    x1, x2 = (part.ravel() for part in np.meshgrid(GRID, GRID))
    scores = machine.decision_function(np.column_stack([x1, x2]))
    shared = errors(machine, X, y, X_test, y_test) | {"pieces": _pieces(scores), "n_train": len(X)}
    columns = {"score": (x1, x2, np.round(scores, 4)), "row": (*X.T, y.astype(float))}
    return [
        {"kind": kind, "x1": a, "x2": b, "value": value} | shared
        for kind, values in columns.items()
        for a, b, value in zip(*values, strict=True)
    ]


def _pieces(scores, smallest=0.004):
    """Connected pieces of the boundary: one fewer than the regions of equal sign that it parts."""
    signs = scores.reshape(len(GRID), len(GRID)) > 0
    regions = 0
    for part in (signs, ~signs):
        labels, count = label(part)
        sizes = np.bincount(labels.ravel())[1 : count + 1]
        regions += int(np.sum(sizes > smallest * labels.size))
    return max(regions - 1, 0)


def _learnt(rows):
    row = rows.iloc[0]
    pieces = "1 piece" if row["pieces"] == 1 else f"{row['pieces']:.0f} pieces"
    return f"a boundary of {pieces}, test error {per_cent(row['test_error'])}"


def _boundary_measured(table):
    distant = table[(table["method"] == "FPC") & (table["variant"] == "far from the curve")]
    cell = ("FPC", "pieces of the boundary under distant noise", distant["pieces"].iloc[0])
    return as_cells([cell])


WIDTHS = {"near the curve": (0.1, 0.2), "far from the curve": (0.25, 0.15), "everywhere": (0.0,)}
RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4)
LEVELS = (0.1, 0.15, 0.2, 0.25)  # training errors at which the kinds are compared


@catalogued("fpc-f12", "Figure 12: errors against noise")
def noise_sweep(noises: several(Share) = RATIOS, degree=DEGREE, repeats=None):
    """How do errors grow with the noise, by kind of noise?

    `noises` are shares of the labels of a region that are reversed. The paper compares the kinds at
    one training error and finds noise everywhere (kind 3) least harmful. At a training error of
    10 % it is as harmful as distant noise, 1.8 and 1.9 % of errors over 30 repeats; from 15 % on
    distant noise fills its region and breaks through, and the order is the paper's. Noise near the
    curve does most harm as far as it goes: its band holds too few labels for a training error of
    more than 15 %.
    """

    def grid(profile):
        times = repeats or simulations.REPEATS[profile]

        def of_method(method):
            return 1 if profile == "quick" and method == "hinge optimum" else times

        ratios = " ".join(map(str, noises))
        return [
            point
            for kind, widths in WIDTHS.items()
            for point in product(
                "fpc-toy", MACHINES, kind, of_method, width=widths, noises=ratios, degree=degree
            )
        ]

    return Study(
        grid=grid,
        measure=measure_noise,
        key_figures=_noise_key_figures,
        measured=_noise_measured,
        tolerances={"kind of noise that harms least": Tolerance(reason="a name")},
    )


def measure_noise(point, seed):
    rows = []
    for ratio in map(float, point["noises"].split()):
        noise = {**NOISES[point.variant], "noise": ratio}
        if point["width"]:
            noise["width"] = point["width"]
        X, y, X_test, y_test = toy(1000, point.repeat, **noise)
        clean = X[:, 1] >= generators.fpc_bayes_curve(X[:, 0])
        row = judged(point.method, X, y, X_test, y_test, point["degree"])
        rows.append({"ratio": ratio, "noise_level": float(np.mean((y > 0) != clean))} | row)
    return rows


def _noise_key_figures(table):
    rows = table[table["method"] == "FPC"]
    middle = sorted(rows["ratio"].unique())[rows["ratio"].nunique() // 2]
    columns = ["noise_level", "train_error", "test_error"]
    means = rows[rows["ratio"] == middle].groupby(["variant", "width"], sort=False)[columns].mean()
    figures = {}
    for (kind, width), row in means.iterrows():
        noise, train, test = map(per_cent, row)
        label = f"{kind}, width {width:g}" if width else kind
        figures[label] = f"noise {noise}, training error {train}, test error {test}"
    return figures


def errors_at(table, level):
    """FPC's mean test error at a training error, by kind and width of the noise that reach it."""
    found = {}
    rows = table[table["method"] == "FPC"]
    for curve, part in rows.groupby(["variant", "width"], sort=False):
        means = part.groupby("ratio")[["train_error", "test_error"]].mean()
        if means["train_error"].min() <= level <= means["train_error"].max():
            found[curve] = float(np.interp(level, means["train_error"], means["test_error"]))
    return pd.Series(found, dtype=float)


def _noise_measured(table):
    """The kind that does least harm at most training errors, or all in all if none is shared."""
    least = []
    for level in LEVELS:
        harm = errors_at(table, level)
        by_kind = harm.groupby(level=0).mean()
        if len(by_kind) > 1:
            least.append(by_kind.idxmin())
    if not least:
        rows = table[table["method"] == "FPC"]
        least = [rows.groupby("variant")["test_error"].mean().idxmin()]
    kinds = {"near the curve": 1.0, "far from the curve": 2.0, "everywhere": 3.0}
    winner = max(kinds, key=least.count)
    return as_cells([("FPC", "kind of noise that harms least", kinds[winner])])


READINGS = {
    "as written": {},
    "5 % reversed": {"noise": 0.05},  # what is left of 10 % whose labels are drawn anew
    "no noise": {"noise": 0.0},
    "rows mapped to [-1, 1]": {"symmetric": True},
    "uniform centres": {"centres": "uniform"},
    "200 centres": {"n_centres": 200},
    "3,000 rows": {"rows": 3000},
}
READ_EXPONENTS = (3.2, 5.0)
TEST_ROWS = 20_000
READ = {"quick": 1, "standard": 20, "paper": 50}
STATED = {3.2: 0.01235, 5.0: 0.01153}


@catalogued("fpc-f6-readings", "Readings of Simulation 1")
def readings(repeats=None):
    """Which reading of the toy gives the stated errors, 1.2 % at either tolerance?

    It prints 0.01235 at a tolerance of 10^-3.2 and 0.01153 at 10^-5, with 3 and 1734 steps; rows as
    Section V describes them err more. Other readings of the text are tried, against test rows so
    many that their own chance is nothing.
    """

    def grid(profile):
        return product("fpc-toy", "FPC", READINGS, repeats or READ[profile])

    return Study(grid=grid, measure=measure_reading, key_figures=figures_by("{variant}", _at_both))


def measure_reading(point, seed):
    reading = {"noise": 0.1, "rows": 1000, "symmetric": False} | READINGS[point.variant]
    noise, rows, symmetric = (reading.pop(name) for name in ("noise", "rows", "symmetric"))
    X, y = generators.fpc_toy(rows, noise=noise, seed=[point.repeat, 0])
    X_test, y_test = generators.fpc_toy(TEST_ROWS, noise=0.0, seed=[point.repeat, 1])
    if symmetric:
        X, X_test = 2.0 * X - 1.0, 2.0 * X_test - 1.0
    settings = {"scaling": "none", "random_state": point.repeat} | reading
    passed, fitted = passing(X, y, READ_EXPONENTS, map_settings=settings)
    rows = []
    for exponent, step in passed:
        signs = np.sign(fitted.decision(X_test, step["coefficients"]))
        row = {"exponent": exponent, "n_train": len(X), "n_iter": step["iteration"]}
        error = float(np.mean(signs != y_test))
        rows.append(row | {"test_error": error, "stated_error": STATED[exponent]})
    return rows


def _at_both(rows):
    errors = rows.groupby("exponent")["test_error"].mean()
    most = rows.groupby("exponent")["n_iter"].max()
    return (
        f"{per_cent(errors.loc[3.2])} after {most.loc[3.2]}, {per_cent(errors.loc[5.0])} after at "
        f"most {most.loc[5.0]} steps"
    )
