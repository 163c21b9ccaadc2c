"""FPC's simulations (Figures 5 to 12), with ridge regression and the hinge's optimum; readings of
Simulation 1, and label noise of three kinds."""

import numpy as np
import pandas as pd
from contourpy import contour_generator
from scipy import ndimage
from sklearn.svm import SVC

from kernlab.datasets import generators
from kernlab.lab.engine import Choice, Share, Tolerance, catalogued, per_cent, product, several
from kernlab.lab.papers.common.fitting import shape_of, unfinished
from kernlab.lab.papers.fpc.toy import (
    DEGREE,
    MACHINES,
    errors,
    fit,
    fit_degrees,
    judged,
    passing,
    toy,
)

REPEATS = Choice(5, 20, 50)
RECOMMENDED = 3.301  # 10^-3.301 is the recommended tolerance, 5e-4
EXPONENTS = sorted({*np.round(np.arange(26) * 0.2, 1).tolist(), RECOMMENDED})  # of 10^-gamma
ALPHAS = tuple(10.0**e for e in np.arange(-5, 1.01, 0.5))
BETAS = tuple(float(10.0**e) for e in np.round(np.arange(-2, 2.01, 0.2), 1))


@catalogued("fpc-f5", "Figure 5: the simulated data")
def simulated_data(rows=1000, noise=0.1):
    """Where do the toy's rows lie, and which labels are wrong?"""
    return product("fpc-toy", "as drawn", rows=rows, noise=noise)


@simulated_data.measure
def measure_data(point, seed):
    """The training rows of the first repeat, and which of their labels were reversed."""
    X, y, _, _ = toy(point["rows"], point.repeat, noise=point["noise"])
    clean = np.where(X[:, 1] >= generators.fpc_bayes_curve(X[:, 0]), 1, -1)
    told = {"label": y.astype(int), "reversed": (y != clean).astype(int)}
    return pd.DataFrame(X, columns=["x1", "x2"]).assign(**told)


@simulated_data.key_figures
def _data_key_figures(table):
    positive, turned = (table["label"] > 0).mean(), table["reversed"].mean()
    return {"positive labels": per_cent(positive), "reversed": per_cent(turned)}


@catalogued("fpc-f6", "Figure 6: when to stop")
def tolerance_sweep(rows=1000, noise=0.1, degree=DEGREE, repeats=REPEATS):
    """What do smaller tolerances cost, and what do they bring?

    `noise` is the share of reversed labels.
    """
    return product("fpc-toy", MACHINES, repeats=repeats, rows=rows, noise=noise, degree=degree)


@tolerance_sweep.measure
def measure_tolerance(point, seed):
    """One run to the smallest tolerance passes all others on its way."""
    degree = point["degree"]
    X, y, X_test, y_test = toy(point["rows"], point.repeat, noise=point["noise"])
    if point.method != "FPC":
        return judged(point.method, X, y, X_test, y_test, degree)
    passed, fitted = passing(X, y, EXPONENTS, degree)
    train, test = fitted.transform(X), fitted.transform(X_test)
    return [
        {
            "exponent": exponent,
            **shape_of(X),
            "n_iter": step["iteration"],
            "objective": step["objective"],
            "kkt_residual": step["residual"],
            "train_error": float(np.mean(np.sign(train @ step["coefficients"]) != y)),
            "test_error": float(np.mean(np.sign(test @ step["coefficients"]) != y_test)),
        }
        for exponent, step in passed
    ]


@tolerance_sweep.key_figures
def _tolerance_key_figures(table):
    figures = {}
    for exponent in (3.2, RECOMMENDED, 5.0):
        rows = table[table["exponent"] == exponent]
        most, error = rows["n_iter"].max(), 100 * rows["test_error"].mean()
        figures[f"tolerance 10^-{exponent:g}"] = (
            f"at most {most:.0f} iterations, test error {error:.2f} %"
        )
    for method in ("ridge", "hinge optimum"):
        error = table[table["method"] == method]["test_error"].mean()
        figures[method] = f"test error {100 * error:.2f} %"
    return figures


# Why they differ, as far as it is known (see fpc_readings).
STATED_ERRORS = (
    "the printed error is no mean over 50 repeats of 1,000 rows, and no reading of the toy gives "
    "it together with the printed steps"
)


@tolerance_sweep.measured({
    "tolerance": Tolerance(relative=0.01, reason="as printed, rounded"),
    "iterations": Tolerance(relative=0.3, reason="the largest of 50 repeats; 3 steps are 3"),
    "test error": Tolerance(absolute=0.002, better="lower", reason="two of 1,000 test rows"),
})  # fmt: skip
def _tolerance_measured(table):
    for label, exponent in (("tolerance 10^-3.2", 3.2), ("tolerance 10^-5", 5.0)):
        rows = table[table["exponent"] == exponent]
        yield label, "tolerance", 10.0**-exponent
        yield label, "iterations", rows["n_iter"].max()
        yield label, "test error", rows["test_error"].mean(), STATED_ERRORS
    default = table[table["exponent"] == RECOMMENDED]
    yield "recommended", "iterations", default["n_iter"].max()


@catalogued("fpc-f7", "Figure 7: the proximal parameter alpha")
def alpha_sweep(alphas=Choice(ALPHAS), rows=1000, noise=0.1, degree=DEGREE, repeats=REPEATS):
    """Does alpha matter?"""
    return _swept("alpha", alphas, repeats, rows=rows, noise=noise, degree=degree)


@catalogued("fpc-f8", "Figure 8: the Lagrangian parameter beta")
def beta_sweep(betas=Choice(BETAS), rows=1000, noise=0.1, degree=DEGREE, repeats=REPEATS):
    """Does beta matter?"""
    return _swept("beta", betas, repeats, rows=rows, noise=noise, degree=degree)


def _swept(name, values, repeats, **parameters):
    parameters |= {"swept": name, "values": " ".join(repr(float(value)) for value in values)}
    return product("fpc-toy", MACHINES, repeats=repeats, **parameters)


@alpha_sweep.measure
@beta_sweep.measure
def measure_parameter(point, seed):
    """FPC, and ridge regression with the same parameters, which is FPC's first step."""
    X, y, X_test, y_test = toy(point["rows"], point.repeat, noise=point["noise"])
    name, degree = point["swept"], point["degree"]
    data = point.method, X, y, X_test, y_test, degree
    if point.method == "hinge optimum":
        return judged(*data)
    steps = {"FPC": 20_000, "ridge": 1}[point.method]
    return [
        {name: value} | judged(*data, max_iter=steps, **{name: value})
        for value in map(float, point["values"].split())
    ]


@alpha_sweep.key_figures
@beta_sweep.key_figures
def _parameter_key_figures(table):
    name = table["swept"].iloc[0]
    means = 100 * table[table["method"] == "FPC"].groupby(name)["test_error"].mean()
    figures = {}
    for value in (means.index[0], 1.0, means.index[-1]):
        nearest = np.argmin(np.abs(np.log(means.index.to_numpy(float)) - np.log(value)))
        figures[f"{name} = {value:g}"] = f"test error {means.iloc[nearest]:.1f} %"
    optimum = table[table["method"] == "hinge optimum"]["test_error"].mean()
    return figures | {"hinge optimum": f"test error {100 * optimum:.1f} %"}


DEGREES = Choice((1, 3, 5, 7, 9, 12), tuple(range(1, 21)))  # of what is compared with FPC
COSTS = 10.0 ** np.arange(0, 7, 1.5)  # of SVM-Poly, divided by the kernel's mean diagonal
SVM_STEPS = 20_000  # LIBSVM would take days at high degrees and costs


@catalogued("fpc-f9", "Figure 9: the degree")
def degree_sweep(profile, degrees=None, rows=1000, noise=0.1, repeats=None):
    """Which degree is best, with FPC and with a regularised machine?"""
    times, every = repeats or Choice(1, 10, 50).of(profile), degrees or DEGREES.of(profile)
    methods, given = (*MACHINES, "SVM-Poly"), {"rows": rows, "noise": noise}
    if profile != "quick":
        return product("fpc-toy", methods, repeats=times, degree=every, **given)
    # A fit of FPC takes milliseconds.
    all_degrees = {"repeats": repeats or 10, "degree": degrees or DEGREES.standard}
    points = product("fpc-toy", "FPC", **all_degrees, **given)
    return points + product("fpc-toy", methods[1:], repeats=times, degree=every, **given)


@degree_sweep.measure
def measure_degree(point, seed):
    X, y, X_test, y_test = toy(point["rows"], point.repeat, noise=point["noise"])
    if point.method == "SVM-Poly":
        return _best_polynomial_machine(point["degree"], X, y, X_test, y_test)
    return judged(point.method, X, y, X_test, y_test, point["degree"])


def _best_polynomial_machine(degree, X, y, X_test, y_test):
    """LIBSVM with the regularisation that suits the test rows best, as the paper chose it."""
    scale = np.mean((1.0 + (X**2).sum(axis=1)) ** degree)
    rows = []
    for cost in COSTS / scale:
        kernel = {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": 1.0}
        machine = SVC(C=cost, max_iter=SVM_STEPS, **kernel)
        with unfinished():
            machine.fit(X, y)
        finished = int(machine.n_iter_[0] < SVM_STEPS)
        rows.append({"C": cost, "finished": finished} | errors(machine, X, y, X_test, y_test))
    best = min(rows, key=lambda row: row["test_error"])
    return best | shape_of(X)


@degree_sweep.key_figures("{method}")
def _best_degree(rows):
    means = rows.groupby("degree")["test_error"].mean()
    return f"best degree {means.idxmin()}, test error {100 * means.min():.1f} %"


@degree_sweep.measured(
    {"best degree": Tolerance(absolute=1, reason="errors are flat beside the best")}
)
def _degree_measured(table):
    """The best of all degrees that the paper tried: of fewer none is the best of all."""
    for method in ("FPC", "SVM-Poly"):
        means = table[table["method"] == method].groupby("degree")["test_error"].mean()
        if set(range(1, 21)) <= set(means.index):
            yield method, "best degree", float(means.idxmin())
        else:
            reason = f"{len(means)} degrees were tried, of the paper's 20"
            yield method, "best degree", np.nan, reason


SIZES = Choice((5000, 10_000), tuple(range(5000, 50_001, 5000)))
SCHEMES = {"uniform": "uniform", "first rows": "first", "random rows": "random"}


@catalogued("fpc-f10", "Figure 10: three ways to choose centres")
def centre_schemes(sizes=SIZES, repeats=Choice(2, 5, 50)):
    """Does it matter how centres are chosen?"""
    return product("fpc-toy", "FPC", SCHEMES, repeats, rows=sizes)


@centre_schemes.key_figures("{variant}")
def _mean_error(rows):
    return f"test error {per_cent(rows['test_error'].mean())}"


@centre_schemes.measure
def measure_scheme(point, seed):
    """All degrees together; the best on the test rows counts, as in the paper."""
    X, y, X_test, y_test = toy(point["rows"], point.repeat)
    centres = {"centres": SCHEMES[point.variant], "random_state": point.repeat}
    fits = fit_degrees(X, y, range(1, 13), **centres)
    wrong = {s: float(np.mean(scores(X_test) * y_test <= 0)) for s, scores in fits.items()}
    best = min(wrong, key=wrong.get)
    return shape_of(X) | {
        "best_degree": best,
        "train_error": float(np.mean(fits[best](X) * y <= 0)),
        "test_error": wrong[best],
    }


NOISES = {
    "near the curve": {"where": "near", "width": 0.1, "noise": 0.5},
    "everywhere": {"where": "everywhere", "noise": 0.2},
    "far from the curve": {"where": "far", "width": 0.25, "noise": 0.4},
}
GRID = np.linspace(0.0, 1.0, 61)


@catalogued("fpc-f11", "Figure 11: three kinds of noise")
def boundaries(degree=DEGREE):
    """Which boundaries are learnt under three kinds of label noise?"""
    return product("fpc-toy", MACHINES, NOISES, degree=degree)


@boundaries.measure
def measure_boundary(point, seed):
    """The boundary in the square, by the corners of its lines."""
    X, y, X_test, y_test = toy(1000, point.repeat, **NOISES[point.variant])
    machine = fit(point.method, X, y, point["degree"])
    grid = np.column_stack([part.ravel() for part in np.meshgrid(GRID, GRID)])
    scores = machine.decision_function(grid).reshape(len(GRID), len(GRID))
    lines = contour_generator(GRID, GRID, scores).lines(0.0) or [np.full((1, 2), np.nan)]
    shared = errors(machine, X, y, X_test, y_test) | {"pieces": _pieces(scores), "n_train": len(X)}
    return [
        {"line": number, "x1": x1, "x2": x2} | shared
        for number, line in enumerate(lines)
        for x1, x2 in np.round(line, 4)
    ]


def _pieces(scores, smallest=0.004):
    """Connected pieces of the boundary: one fewer than the regions of equal sign that it parts."""
    regions = 0
    for part in (scores > 0, scores <= 0):
        labels, count = ndimage.label(part)
        sizes = np.bincount(labels.ravel())[1 : count + 1]
        regions += int(np.sum(sizes > smallest * labels.size))
    return max(regions - 1, 0)


@boundaries.key_figures("{method}, noise {variant}")
def _learnt(rows):
    row = rows.iloc[0]
    pieces = "1 piece" if row["pieces"] == 1 else f"{row['pieces']:.0f} pieces"
    return f"a boundary of {pieces}, test error {per_cent(row['test_error'])}"


PIECES = "pieces of the boundary under distant noise"


@boundaries.measured({PIECES: Tolerance(reason="a count")})
def _boundary_measured(table):
    distant = table[(table["method"] == "FPC") & (table["variant"] == "far from the curve")]
    return [("FPC", PIECES, distant["pieces"].iloc[0])]


WIDTHS = {"near the curve": (0.1, 0.2), "far from the curve": (0.25, 0.15), "everywhere": (0.0,)}
RATIOS = (0.0, 0.1, 0.2, 0.3, 0.4)
LEVELS = (0.1, 0.15, 0.2, 0.25)  # training errors at which the kinds are compared


@catalogued("fpc-f12", "Figure 12: errors against noise")
def noise_sweep(profile, noises: several(Share) = RATIOS, degree=DEGREE, repeats=REPEATS):
    """How do errors grow with the noise, by kind of noise?

    `noises` are shares of the labels of a region that are reversed. The paper compares the kinds at
    one training error and finds noise everywhere (kind 3) least harmful. At a training error of
    10 % it is as harmful as distant noise, 1.8 and 1.9 % of errors over 30 repeats; from 15 % on
    distant noise fills its region and breaks through, and the order is the paper's. Noise near the
    curve does most harm as far as it goes: its band holds too few labels for a training error of
    more than 15 %.
    """

    def times(method):
        return 1 if profile == "quick" and method == "hinge optimum" else repeats

    ratios = {"noises": " ".join(map(str, noises)), "degree": degree}
    return [
        point
        for kind, widths in WIDTHS.items()
        for point in product("fpc-toy", MACHINES, kind, times, width=widths, **ratios)
    ]


@noise_sweep.measure
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


@noise_sweep.key_figures
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


@noise_sweep.measured({"kind of noise that harms least": Tolerance(reason="a name")})
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
    return [("FPC", "kind of noise that harms least", kinds[winner])]


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
STATED = {3.2: 0.01235, 5.0: 0.01153}


@catalogued("fpc-f6-readings", "Readings of Simulation 1")
def readings(repeats=Choice(1, 20, 50)):
    """Which reading of the toy gives the stated errors, 1.2 % at either tolerance?

    It prints 0.01235 at a tolerance of 10^-3.2 and 0.01153 at 10^-5, with 3 and 1734 steps; rows as
    Section V describes them err more. Other readings of the text are tried, against test rows so
    many that their own chance is nothing.
    """
    return product("fpc-toy", "FPC", READINGS, repeats)


@readings.measure
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


@readings.key_figures("{variant}")
def _at_both(rows):
    errors = rows.groupby("exponent")["test_error"].mean()
    most = rows.groupby("exponent")["n_iter"].max()
    return (
        f"{per_cent(errors.loc[3.2])} after {most.loc[3.2]}, {per_cent(errors.loc[5.0])} after at "
        f"most {most.loc[5.0]} steps"
    )
