"""The showdown: all methods on the same rows, under one protocol of choosing their parameters.

Parameters are searched on a part of the training rows, split in rows to fit and rows to judge by;
every method may try as many settings. One fit on all training rows follows, and test rows are seen
once, at the end. A fit that would take longer than the cap is not begun: fits on some of its rows
foretell it.
"""

import time
import warnings
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import islice
from itertools import product as product_of

import numpy as np
import pandas as pd

from kernlab.datasets import is_path, load_dataset
from kernlab.datasets.splits import stratified_parts
from kernlab.estimators import sweep
from kernlab.kernels import resolve_gamma
from kernlab.lab.engine import Choice, Count, NotRun, Positive, catalogued, one_of, product, several
from kernlab.lab.engine.measuring import peak_memory
from kernlab.lab.engine.study import derive_seed, per_cent
from kernlab.lab.papers.across.contestants import CONTESTANTS, KERNEL_MACHINES, SHARE
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, seconds_of

SETS = {
    "magic": "standard", "default": "standard", "susy-30000": "standard", "a9a": "none",
    "w8a": "none", "ijcnn1": "none", "cod-rna": "standard", "skin_nonskin": "standard",
    "covtype-2": "standard", "mnist-round": "unit", "mnist": "unit",
}  # fmt: skip
SHOWN = Choice(("magic", "spambase"), tuple(SETS))
METHODS = Choice(tuple(CONTESTANTS))
BUDGETS = {  # training rows, test rows, seconds of a fit, settings searched, rows they see
    "quick": (1000, 1000, 10.0, 4, 600),
    "standard": (0, 10_000, 20.0, 12, 3000),
    "paper": (0, 0, 3600.0, 24, 6000),
}
REPEATS = {"quick": 1, "standard": 3, "paper": 5}
LARGEST = ("covtype-2", "mnist-round", "mnist")  # as long as all others together: once in standard
LEVELS = {4: (2, 2), 12: (4, 3), 24: (6, 4)}  # values on the axes of a grid
# Rows of the first fit that foretells, how many times more the next has, and how far it may reach.
FIRST_RUNG, RUNG, FAR = 500, 4, 20
TIMED_ROWS = 200  # predicted, to foretell the time of all
CLOSE = 0.01  # of error: within this of the best kernel machine


@catalogued("showdown", "All methods on the same rows", paper="across")
def showdown(
    profile, datasets=SHOWN, methods: several(one_of(*CONTESTANTS)) = METHODS, rows=None,
    test_rows: Count = None, cap: Positive = None, repeats: Count = None, seed=0,
):  # fmt: skip
    """Which method has the least error for its time, where hyper-parameters are chosen alike?

    Features of other sets than the catalogue's are standardised. `rows` and `test_rows` are drawn
    at random, at most so many; `cap` is the seconds that a fit may take. Each repeat has its own
    split, where the set has none, and its own seed; under `standard` there are three, and one of
    the largest sets.
    """
    train, test, seconds, settings, searched = BUDGETS[profile]
    limits = {"rows": rows or train, "test_rows": test_rows or test, "cap": cap or seconds}
    limits |= {"settings": settings, "search_rows": searched}
    points = []
    for name, method in product_of(datasets, methods):
        one = CONTESTANTS[method]
        dial = one.few if profile == "quick" else one.values
        once = profile == "standard" and name in LARGEST
        own = {"repeats": repeats or (1 if once else REPEATS[profile]), "dial": dial}
        points += product(name, method, scaling=scaling_of(name), **own, **limits)
    return _shuffled(points)


def scaling_of(name):
    """As the catalogue has it; other sets, and files, are standardised."""
    return SETS.get(name, "standard")


def _shuffled(points):
    """Methods in random order on each data set and repeat: none is always the first."""
    groups = dict.fromkeys((p.dataset, p.repeat) for p in points)
    place = {group: i for i, group in enumerate(groups)}
    draw = {p: derive_seed("showdown", p) for p in points}
    return sorted(points, key=lambda p: (place[p.dataset, p.repeat], draw[p]))


# ------------------------------------------------------------------------------ one point
@showdown.measure(timing=True)
def measure_contestant(point, seed):
    """Search, fit once within the cap, and test."""
    contestant = CONTESTANTS[point.method]
    if missing := contestant.missing():
        raise NotRun(missing)
    limits = point["rows"], point["test_rows"]
    data = loaded(point.dataset, point["scaling"], *limits, point.repeat)
    rows = len(data.y_train)
    if contestant.dial == SHARE and point["dial"] < 1:
        rows = int(np.ceil(point["dial"] * rows))
        if rows < 10 * len(np.unique(data.y_train)):
            raise NotRun(f"{rows} rows are too few for the classes")
    chosen, searching = searched(
        point.method, point.dataset, point["scaling"], *limits, point.repeat,
        point["settings"], point["search_rows"], point["cap"], seed,
    )  # fmt: skip
    chosen = dict(chosen)

    def make(n):
        made = contestant.make(point["dial"], n, data.X_train.shape[1], seed)
        return made.set_params(**chosen)

    X, y = some_rows(data.X_train, data.y_train, rows, seed)
    expected = foretold(make, X, y, point["cap"], seed, contestant.smallest)
    with peak_memory() as peak:
        model = make(rows)
        row = fitted_row(model, replace(data, X_train=X, y_train=y, y_test=None, y_valid=None))
    return row | _tested(model, data, point["cap"]) | searching | {
        "fit_bytes": peak.bytes_added,
        "model_bytes": model.nbytes_,
        "expected_seconds": expected,
        "chosen": ", ".join(f"{n}={v:.4g}" if isinstance(v, float) else f"{n}={v}"
                            for n, v in chosen.items()),
    }  # fmt: skip


@lru_cache(maxsize=2)
def loaded(name, scaling, rows, test_rows, repeat):
    """A set split and scaled, with at most so many rows (0: all)."""
    data = load_dataset(name, scaling=None if is_path(name) else scaling, seed=repeat)
    if is_path(name):
        dense = isinstance(data.X_train, np.ndarray)
        data = load_dataset(name, scaling=scaling if dense else "none", seed=repeat)
    X, y = some_rows(data.X_train, data.y_train, rows or len(data.y_train), repeat)
    X_test, y_test = some_rows(data.X_test, data.y_test, test_rows or len(data.y_test), repeat)
    return replace(data, X_train=X, y_train=y, X_test=X_test, y_test=y_test)


def some_rows(X, y, count, seed):
    """So many rows at random, each class in its share; all of them, untouched, if there are not."""
    if count >= len(y):
        return X, y
    (kept,) = stratified_parts(y, [count], seed % 2**31)
    return X[kept], y[kept]


@cache
def searched(method, dataset, scaling, rows, test_rows, repeat, settings, search_rows, cap, seed):
    """`best_setting` of a method on a set, for all values of its dial."""
    data = loaded(dataset, scaling, rows, test_rows, repeat)
    return best_setting(
        CONTESTANTS[method], data.X_train, data.y_train, settings, search_rows, cap, seed
    )


def best_setting(contestant, X, y, settings, search_rows, cap, seed):
    """The best setting on some of the rows, a third of which are held out; and what it took.

    The search ends when it has tried as many settings as it may, or at the cap. Of settings that
    are as good the first counts, with the smaller C. What is compiled is compiled before.
    """
    X, y = some_rows(X, y, search_rows, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    held, kept = order[: len(y) // 3], order[len(y) // 3 :]
    kept_X, kept_y, held_X, held_y = X[kept], y[kept], X[held], y[held]
    made = contestant.make(contestant.search, len(kept), X.shape[1], seed)
    with warnings.catch_warnings(action="ignore"):  # of settings that are only tried
        few = some_rows(kept_X, kept_y, 40 * len(np.unique(y)), seed)
        contestant.make(contestant.search, len(few[1]), X.shape[1], seed).fit(*few).predict(held_X)
        began, tried = time.perf_counter(), []
        for part in _parts(contestant.grid, settings, kept_X):
            tried.append(sweep(made, kept_X, kept_y, part, validation=(held_X, held_y),
                               progress=False))  # fmt: skip
            if time.perf_counter() - began > cap:
                break
    told = {"search_seconds": time.perf_counter() - began, "settings_tried": sum(map(len, tried))}
    if not tried:
        return (), told
    table = pd.concat(tried)
    if not table["validation_accuracy"].notna().any():
        raise RuntimeError(f"no setting could be fitted: {table['message'].iloc[0]}")
    best = table.sort_values("C", kind="stable") if "C" in table else table
    best = best.iloc[int(np.nanargmax(best["validation_accuracy"]))]
    told["cv_accuracy"] = float(best["validation_accuracy"])
    values = {name: best[name] for name in contestant.grid}
    return tuple((n, v.item() if hasattr(v, "item") else v) for n, v in values.items()), told


def _parts(grid, settings, X):
    """The beginnings of a grid's axes, one sweep for each value of the first axis."""
    sizes = LEVELS[settings] if len(grid) > 1 else (settings,)
    pairs = zip(grid.items(), sizes, strict=False)  # of no grid there is nothing to take
    axes = {name: list(islice(values, size)) for (name, values), size in pairs}
    unit = resolve_gamma("variance", X)
    scale = {"gamma": unit, "h": (2.0 * unit) ** -0.5}
    axes |= {n: [scale[n] * v for v in axes[n]] for n in scale if n in axes}
    first = next(iter(axes), None)
    return [axes | {first: [value]} for value in axes[first]] if axes else []


def foretold(make, X, y, cap, seed, smallest=0):
    """The seconds that a fit on all rows will take, by fits on some; more than the cap is refused.

    Fits on 500, 2,000, ... rows (none fewer than `smallest`), of which none may take a third of the
    cap. From two of them a power of the rows, or a straight line where that is more, foretells all
    rows. It counts where the last had a twentieth of the rows, or where the cap is far off, on
    either side: small fits may grow more slowly than large ones.
    """
    known, size, expected = [], max(FIRST_RUNG, int(smallest)), None
    while 2 * size <= len(y):
        part = some_rows(X, y, size, seed)
        with warnings.catch_warnings(action="ignore"):  # of a fit that is not the one measured
            known.append((size, seconds_of(partial(make(size).fit, *part))[1]))
        if known[-1][1] > cap / 3:
            raise NotRun(
                f"a fit on {size:,} of {len(y):,} rows took {known[-1][1]:.0f} s already: all "
                f"would take longer than the cap of {cap:g} s"
            )
        if len(known) > 1:
            (n1, t1), (n2, t2) = known[-2:]
            power = t2 * (len(y) / n2) ** max(0.0, np.log(t2 / t1) / np.log(n2 / n1))
            expected = max(power, t2 + max(0.0, t2 - t1) / (n2 - n1) * (len(y) - n2))
            if expected > cap and (FAR * n2 >= len(y) or expected > 10 * cap):
                raise NotRun(
                    f"a fit on {len(y):,} rows would take about {expected:.0f} s by one of "
                    f"{t2:.2g} s on {n2:,}: over the cap of {cap:g} s"
                )
            if expected < cap / 3 and (FAR * n2 >= len(y) or expected < cap / 30):
                break
        size *= RUNG
    return expected


def _tested(model, data, cap):
    """Error, seconds and rows of the test: fewer rows where all would take longer than the cap."""
    X, y = data.X_test, data.y_test
    each = seconds_of(lambda: model.predict(X[:TIMED_ROWS]))[1] / min(TIMED_ROWS, len(y))
    rows = slice(0, max(TIMED_ROWS, int(cap / each)))
    predicted, seconds = seconds_of(lambda: model.predict(X[rows]))
    share, tested = accuracy(predicted, y[rows]), len(predicted)
    return {
        "test_rows_seen": tested,
        "predict_seconds": seconds,
        "predict_microseconds_per_row": 1e6 * seconds / tested,
        "test_accuracy": share,
        "error": 1.0 - share,
    }


# -------------------------------------------------------------------- what the rows say
def settings_of(table):
    """Medians over the repeats of each setting (set, method, dial), and the range of the error.

    One that was over the cap in half of a set's repeats is left out: the others had the luck.
    """
    columns = ["error", "fit_seconds", "search_seconds", "predict_microseconds_per_row",
               "fit_bytes", "model_bytes"]  # fmt: skip
    groups = table.groupby(["dataset", "method", "dial"], sort=False)
    found = groups[columns].median()
    found[["least", "most"]] = groups["error"].agg(["min", "max"])
    repeats = table.groupby("dataset")["repeat"].nunique()
    enough = groups["repeat"].nunique() > 0.5 * found.index.get_level_values(0).map(repeats)
    return found[enough].reset_index()


def best_kernel_error(settings):
    """The least error of any kernel machine, by data set."""
    kernel = settings[settings["method"].isin(KERNEL_MACHINES)]
    return kernel.groupby("dataset", sort=False)["error"].min()


def seconds_to_come_close(table, close=CLOSE):
    """Training seconds to within `close` of the best kernel machine's error, by set and method.

    Returns
    -------
    DataFrame
        A row for each method, a column for each set; infinite where no setting comes so close.
    """
    settings = settings_of(table)
    allowed = best_kernel_error(settings) + close + 1e-12
    near = settings[settings["error"] <= settings["dataset"].map(allowed)]
    found = near.pivot_table("fit_seconds", "method", "dataset", "min", sort=False)
    names = settings["dataset"].drop_duplicates()
    return found.reindex(settings["method"].drop_duplicates(), columns=names).fillna(np.inf)


def excess_at(table, seconds):
    """How much more error than the best kernel machine each method has within so many seconds.

    Returns
    -------
    DataFrame
        A row for each method, a column for each set; infinite where nothing is fitted by then.
    """
    settings = settings_of(table)
    quick = settings[settings["fit_seconds"] <= seconds]
    found = quick.pivot_table("error", "method", "dataset", "min", sort=False)
    best = best_kernel_error(settings)
    methods = settings["method"].drop_duplicates()
    return (found - best).reindex(methods, columns=best.index).fillna(np.inf)


@showdown.key_figures
def _winners(table):
    kinds = table["method"].map(lambda method: CONTESTANTS[method].kind)
    kinds = kinds.replace({"paper": "kernel machine", "kernel": "kernel machine"})
    figures, settings = {}, settings_of(table)
    for name, rows in settings.groupby("dataset", sort=False):
        told = []
        for kind in dict.fromkeys(kinds):
            ours = rows[rows["method"].isin(table["method"][kinds == kind])].dropna(subset="error")
            if kind != "null" and len(ours):
                best = ours.loc[ours["error"].idxmin()]
                told.append(f"{best['method']} {per_cent(best['error'])}")
        figures[name] = "; ".join(told)
    return figures
