"""The sparse kernel against LIBSVM and against its own first path: seconds, memory, accuracy.

Every side may use all threads; compiled code is warm before the clock starts. LIBSVM is SVC with
scikit-learn's defaults but for the kernel's width and C. On real data the sparse kernel merges
equal rows, of which Skin has many; "LIBSVM, distinct rows" is LIBSVM on these, weighted, so that
merging is not taken for sparsity.
"""

from functools import cache, partial

import numpy as np

from kernlab.approximations.compact import radius_by_quantile
from kernlab.datasets import load_dataset
from kernlab.estimators import SparseCholeskySVC
from kernlab.estimators.sparse import best_sigma, cross_validate_sigma
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.bench.harness import Asked, Growth, compared, timed
from kernlab.lab.engine import Choice, catalogued, product
from kernlab.lab.engine.measuring import call_limited
from kernlab.lab.papers.common.fitting import dense, samples, seconds_in
from kernlab.lab.papers.sparse.matrix import EXPONENT, roll, sigma_for
from kernlab.rows.products import distinct_rows

NEWTON, CHOLESKY = "sparse Newton", "sparse Cholesky"
EXACT, EXACT_DISTINCT = "LIBSVM", "LIBSVM, distinct rows"
PATHS = {NEWTON: "newton", CHOLESKY: "cholesky"}
MAX_MEMORY = "16GB"
TEST_SHARE = 3  # training rows per test row

# variant: training rows, scaling, sigma, methods, the hard limit on a method's memory
ROLLS = {
    "30,000": (30_000, "unit", 0.02, (NEWTON, CHOLESKY, EXACT), {}),
    "225,000 in [-1, 1]": (225_000, "symmetric", 0.01, (NEWTON, CHOLESKY), {}),
    "225,000 in [0, 1]": (225_000, "unit", 0.01, (NEWTON, CHOLESKY), {NEWTON: 3e9}),
}
QUICK_ROLL = {"3,000": (3000, "unit", 0.06, (NEWTON, CHOLESKY, EXACT), {NEWTON: 3e9})}
SIZES = Choice((1000, 4000, 16_000), (100_000, 200_000, 400_000, 1_000_000))
REPEATS = 3  # of what takes seconds
NEAR_ROWS = 45
REAL = {"skin_nonskin": (NEWTON, EXACT, EXACT_DISTINCT), "cod-rna": (NEWTON, EXACT)}
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the chosen sigma, for the curve
FLOOR = 0.98  # of the sparsity among the widths to choose from
SECONDS = {0.25: 600.0, 0.5: 350.0}  # of LIBSVM on skin, by share; others take no minutes


@catalogued("bench-sparse", "The sparse kernel against LIBSVM")
def compact_support(profile):
    """How much faster is the sparse kernel, by a factor and without, and how large?"""
    quick, points = profile == "quick", []
    times = {NEWTON: 1 if quick else REPEATS}
    for variant, (*_, methods, _) in (QUICK_ROLL if quick else ROLLS).items():
        points += product("swiss-roll", methods, variant, lambda method: times.get(method, 1))
    points += product("swiss-roll", NEWTON, "scaling", times[NEWTON], rows=SIZES.of(profile))
    for name, methods in () if quick else REAL.items():
        points += product(name, methods, "curve", share=SHARES)
    return points


def predict_seconds(point):
    long = (point.dataset, point.method) == ("skin_nonskin", EXACT)
    return SECONDS.get(point["share"]) if long else None


def _measure(point, seed):
    if point.variant == "scaling":
        sigma = sigma_for(point["rows"], NEAR_ROWS)
        return _fit(_machine(NEWTON, sigma), _split_roll(point["rows"], 1000), sigma)
    if point.variant == "curve":
        return _curve(point)
    limit = (ROLLS | QUICK_ROLL)[point.variant][-1].get(point.method)
    if limit is None:
        return fit_roll(point.variant, point.method)
    row, held = call_limited(fit_roll, (point.variant, point.method), limit)
    return row | {"limit_bytes": limit, "child_peak_bytes": held}


def fit_roll(variant, method):
    """A row for the Swiss roll of a variant; importable, for a process of its own."""
    n, scaling, sigma, _, _ = (ROLLS | QUICK_ROLL)[variant]
    return _fit(_machine(method, sigma), _split_roll(n, n // TEST_SHARE, scaling=scaling), sigma)


def _split_roll(n, n_test, **how):
    X, y = roll(n + n_test, **how)
    return samples(X[:n], y[:n], X[n:], y[n:])


def _machine(method, sigma):
    if method in (EXACT, EXACT_DISTINCT):
        return LibSVM(C=1.0, gamma=gamma_from_sigma(sigma))
    return SparseCholeskySVC(
        sigma=sigma, l=EXPONENT, solver=PATHS[method], random_state=0, max_memory=MAX_MEMORY
    )


def _fit(machine, data, sigma, **given):
    row = timed(machine, data, warm=500, **given) | {"sigma": sigma}
    if not isinstance(machine, SparseCholeskySVC):
        return row
    matrix = machine.approximation_
    columns = {
        "assemble_seconds": seconds_in(machine, "predict", "sort", "assemble"),
        "near_rows": matrix.prediction_.per_row,
        "sparsity": machine.sparsity_,
        "objective": sum(result.objective for result in machine.results_),
        "held_bytes": machine.nbytes_,
    }
    if machine.solver == "cholesky":
        columns["entries_of_factor"] = matrix.factor_nonzeros_
    return row | columns


def _curve(point):
    """Around the sigma that cross-validation chooses on the training rows."""
    data = load_dataset(point.dataset, paper="sparse")
    sigma = point["share"] * chosen_sigma(point.dataset)
    machine = _machine(point.method, sigma)
    if point.method == NEWTON:
        machine.set_params(l="askey-odd", merge=True)
    X, y, given = dense(data.X_train), data.y_train, {}
    if point.method == EXACT_DISTINCT and (distinct := distinct_rows(X, y)) is not None:
        X, y, given = X[distinct.first], y[distinct.first], {"sample_weight": distinct.counts}
    row = _fit(machine, samples(X, y, dense(data.X_test), data.y_test), sigma, **given)
    return row | {"n_train": len(data.y_train)}


@cache
def chosen_sigma(name):
    """By cross-validation on the training rows, among widths that leave their matrix sparse."""
    data = load_dataset(name, paper="sparse")
    machine = SparseCholeskySVC(solver="newton", merge=True, random_state=0)
    X, y = dense(data.X_train), data.y_train
    distinct = distinct_rows(X, y)
    held = X if distinct is None else X[distinct.first]
    widths = radius_by_quantile(held, FLOOR, random_state=0) / 3.0 * 2.0 ** -np.arange(4)
    table = cross_validate_sigma(machine, X, y, widths, floor=FLOOR, n_folds=3, random_state=0)
    return best_sigma(table)


def _on_roll(variant, method, other, asked, **more):
    against = {"method": other} if other else None
    return Asked("{variant}", {"variant": variant, "method": method}, against, asked, **more)


ASKED = (
    _on_roll("30,000", NEWTON, EXACT, "60x faster, accuracy within 0.2 points"),
    _on_roll("30,000", CHOLESKY, EXACT, "12x faster"),
    _on_roll("225,000 in [-1, 1]", NEWTON, CHOLESKY, "at most 5 s"),
    _on_roll("225,000 in [-1, 1]", CHOLESKY, None, "at most 60 s"),
    _on_roll("225,000 in [0, 1]", NEWTON, CHOLESKY, "at most 12 s and 3 GB, 10x faster"),
    _on_roll(
        "225,000 in [0, 1]", NEWTON, None, "assembly at most 2 s", seconds="assemble_seconds"
    ),
    Asked(
        "{dataset}, sigma = {sigma:.3g}", {"variant": "curve", "share": 1.0, "method": NEWTON},
        {"method": EXACT}, "5x faster, accuracy within 0.5 points", each=("dataset",),
    ),
    Growth({"variant": "scaling"}, "exponent at most 1.1"),
)  # fmt: skip

compact_support.measure(
    _measure, timing=True, comparison=partial(compared, ASKED), needs=tuple(REAL),
    predict_seconds=predict_seconds,
)  # fmt: skip
