"""A cluster of two processes on this machine against one process with two threads, and a model of
what more workers would bring.

Rows are generated on the workers. The model is a line through fits of fewer rows, and the overhead
of reductions, measured by itself.
"""

import logging
import multiprocessing
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module

import numpy as np
import pandas as pd

from kernlab.approximations import Nystrom
from kernlab.cluster import ClusterFeatures, Targets
from kernlab.estimators import FPC, LASN, sweep
from kernlab.lab.bench.harness import COLUMNS, Asked, compared
from kernlab.lab.engine import NotRun, catalogued, product
from kernlab.lab.engine.measuring import most_held
from kernlab.lab.papers.common.fitting import seconds_of
from kernlab.rows import as_rows
from kernlab.solvers.newton import solve_newton
from kernlab.solvers.newton.core import SAMPLE_SHARE

MEMORY, CLUSTER = "in memory", "cluster"
PROCESSES, MEMORY_OF_WORKER = 2, "7.5GB"
COSTS = (1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FIT, SINGLE, POLYNOMIAL, PATH = "LASN", "LASN, float32", "FPC", "sweep over 9 C"
WORKS = {  # features, dtype, rows
    FIT: (22, "float64", 2_000_000),
    SINGLE: (18, "float32", 20_000_000),
    POLYNOMIAL: (8, "float64", 4_000_000),
    PATH: (22, "float64", 2_000_000),
}
QUICK_ROWS, LANDMARKS = 20_000, 200
SCALED = 4_000_000, 100  # rows of a worker, landmarks
TARGET = (1_000_000_000, 28, 1000)  # rows, features, landmarks
WORKERS = (1, 2, 10, 100)
LARGE_WORKER = 64e9  # bytes


# ------------------------------------------------------------------------------ rows, made there
def generated(n, p, dtype="float64", blocks=64):
    """Dask arrays of rows and labels, each block made by a worker from its own seed."""
    da = _imported("dask.array")
    sizes = np.diff(np.linspace(0, n, blocks + 1).astype(int)).tolist()
    X = da.map_blocks(_block, chunks=(tuple(sizes), (p,)), dtype=dtype)
    return X, X.map_blocks(_labels, drop_axis=1, dtype=np.int8)


def _block(block_info=None):
    place = block_info[None]
    draw = np.random.default_rng(place["chunk-location"][0])
    return draw.normal(size=place["chunk-shape"]).astype(place["dtype"])


def _labels(X):
    noise = np.random.default_rng(len(X)).normal(size=len(X))
    told = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + 0.5 * noise
    return np.where(told > 0.5, 1, -1).astype(np.int8)


@contextmanager
def local_cluster(processes=PROCESSES):
    """A client of so many processes of one thread each."""
    distributed = _imported("distributed")
    if multiprocessing.get_start_method() not in multiprocessing.get_all_start_methods():
        # The engine's own processes name a way of starting others that Dask's would not know.
        multiprocessing.set_start_method("spawn", force=True)
    options = {"dashboard_address": ":0", "memory_limit": MEMORY_OF_WORKER}
    options["silence_logs"] = logging.CRITICAL  # of workers slow to start or to end
    with (
        distributed.LocalCluster(processes, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _imported(name):
    try:
        return import_module(name)
    except ImportError as error:
        raise NotRun("dask.distributed is not installed: pip install kernlab[dask]") from error


def persisted(client, *arrays):
    """The arrays, once workers hold them."""
    _imported("distributed").wait(arrays := client.persist(list(arrays)))
    return arrays


# -------------------------------------------------------------------------------------- the table
@catalogued("bench-dask", "Fits on a cluster")
def on_a_cluster(profile):
    """What does a cluster of two processes cost against two threads of one process?"""
    points = []
    quick = profile == "quick"  # each of its points takes the seconds of a cluster's start
    for work, (p, dtype, rows) in WORKS.items():
        if quick and work not in (FIT, PATH):
            continue
        methods = (CLUSTER, MEMORY) if work in (FIT, POLYNOMIAL) else CLUSTER
        n = QUICK_ROWS if quick else rows
        points += product("generated", methods, work, columns=p, dtype=dtype, rows=n)
    return points


def _measure(point, seed):
    """One run, compiled code warm, rows where they are wanted before the clock starts."""
    n, p, work = point["rows"], point["columns"], point.variant
    rows = generated(n, p, point["dtype"])
    some = generated(QUICK_ROWS, p, point["dtype"], blocks=4)
    with nullcontext() if point.method == MEMORY else local_cluster() as client:
        if client is None:
            rows, some = _imported("dask").compute(rows, some, scheduler="threads")
        else:
            rows = persisted(client, *rows)
        _run(work, p, *some)
        (objective, n_iter), seconds = seconds_of(lambda: _run(work, p, *rows))
        row = {"n_train": n, "n_features": p, "fit_seconds": seconds}
        row |= {"objective": objective, "n_iter": n_iter}
        if client is not None:
            row |= {"worker_bytes": sum(client.run(most_held).values())}
            row |= {"client_bytes": most_held()}
        if client is not None and work == FIT:
            row |= {"step_numbers": _most_sent(client, *rows)}
    return row


def _most_sent(client, X, y):
    """The most numbers that a worker sends, to whomever, in a step of Newton's method."""
    sent, rows = [], as_rows(X, y)
    nystrom = Nystrom(gamma=1.0 / X.shape[1], n_landmarks=LANDMARKS, random_state=0)
    features = ClusterFeatures(rows, nystrom.fit(rows))
    labels = rows.distinct_labels()[0]
    targets = Targets(rows, labels, labels[:, None].astype(float))
    solve_newton(features, targets, C=1.0, callback=lambda _: sent.append(client.run(_bytes_sent)))
    features.release()
    steps = pd.DataFrame(sent).diff()
    return float(steps.max(axis=None)) / 8


def _bytes_sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def _run(work, p, X, y):
    """Objective and steps of a piece of work."""
    if work == POLYNOMIAL:
        machine = FPC(5, tol=0.0)
    else:
        machine = LASN(LANDMARKS, gamma=1.0 / p, random_state=0)
    if work == PATH:
        table = sweep(machine, X, y, {"C": list(COSTS)}, progress=False)
        return float(table["objective"].sum()), int(table["n_iter"].sum())
    machine.fit(X, y)
    return machine.result_.objective, machine.n_iter_


def _judged(asked, is_kept):
    return f"{asked}: {'kept' if is_kept else 'missed'}"


def _by_row(row, others):
    fit = others.iloc[0] if len(others) else {"fit_seconds": np.nan, "rows": np.nan}
    ratio = row["fit_seconds"] / row["rows"] / (fit["fit_seconds"] / fit["rows"])
    client, in_all = row["client_bytes"], row["client_bytes"] + row["worker_bytes"]
    asked = (
        _judged(f"16 GB in all ({in_all / 1e9:.1f})", in_all < 16e9),
        _judged(f"client under 1 GB ({client / 1e9:.2f})", client < 1e9),
        _judged("ratio: at most 1.2 times as long a row as LASN", ratio <= 1.2),
    )
    return {"ratio": ratio, "asked": "; ".join(asked)}


def _to_memory(row, others):
    told, off = _times(1.5, row, others), row["objective"] / others["objective"].median() - 1.0
    return told | {
        "asked": f"{told['asked']}; " + _judged(f"objective to 1e-9 ({off:.0e})", abs(off) < 1e-9)
    }


def _times(most, row, others):
    ratio, than = row["fit_seconds"] / others["fit_seconds"].median(), others.iloc[0]
    than = than["variant"] if than["method"] == CLUSTER else "in memory"
    asked = _judged(f"ratio: at most {most:g} times {than}", ratio <= most)
    return {"ratio": ratio, "asked": asked}


def _traffic(row, others):
    share = row["step_numbers"] / LANDMARKS**2
    asked = _judged("ratio: numbers that a worker sends in a step, at most k^2", share <= 1.0)
    return {"ratio": share, "asked": asked, "seconds": None}


def _asked(work, against, cells):
    def told(row, others):
        return {"memory": row["worker_bytes"]} | cells(row, others)

    of = {"variant": work, "method": CLUSTER}
    return Asked("{variant}, {rows:,.0f} x {columns:.0f}", of, against, cells=told)


ASKED = (
    _asked(FIT, {"method": MEMORY}, _to_memory),
    _asked(FIT, None, _traffic),
    _asked(SINGLE, {"variant": FIT}, _by_row),
    _asked(POLYNOMIAL, {"method": MEMORY}, _to_memory),
    _asked(PATH, {"variant": FIT}, partial(_times, 3.0)),
)
on_a_cluster.measure(_measure, timing=True, by_the_clock=True, comparison=partial(compared, ASKED))


# -------------------------------------------------------------------------------------- the model
def fitted(client, block, blocks, columns, k, repeats=3):
    """A machine, and the least seconds of its stages, where each worker has so many blocks."""
    parts = len(client.nthreads()) * blocks
    rows = persisted(client, *generated(parts * block, columns, blocks=parts))
    machine = LASN(k, gamma=1.0 / columns, random_state=0).fit(*rows)  # memory is warm
    return machine, pd.DataFrame([machine.fit(*rows).timings_ for _ in range(repeats)]).min()


def costs_on(client, block, columns, k):
    """What a fit takes by fits with one and with two such blocks for each worker: seconds that do
    not depend on the rows, of forming a row's features and of all else that is done for a row, of
    a reduction, and how many there are.
    """
    (_, one), (machine, two) = (fitted(client, block, held, columns, k) for held in (1, 2))
    each, features = ((two - one) / block)[["total", "approximate: features"]]
    overhead, trace = _overhead(client, k), machine.result_.trace
    reductions = 3 + sum(1 + (row["step"] not in (0.0, 1.0)) for row in trace)
    return {
        "first": one["total"] - each * block - reductions * overhead,
        "features": features,
        "others": each - features,
        "overhead": overhead,
        "reductions": reductions,
    }


def modelled(costs, rows, workers, kept=1.0):
    """Seconds of a fit: what each worker does for its rows, and what all wait for.

    Parameters
    ----------
    costs : of `costs_on`
    rows, workers : int
    kept : the share of the features that workers keep; others are formed in every pass
    """
    formed = 1.0 + (1.0 - kept) * (costs["reductions"] - 1.0)
    each = costs["features"] * formed + costs["others"]
    return costs["first"] + rows / workers * each + costs["reductions"] * costs["overhead"]


@catalogued("dask-scaling", "Weak scaling", paper="bench")
def weak_scaling(profile, rows=None):
    """What do more workers bring, by what a block of rows and a reduction take?

    `rows` are those of each worker. Nothing is measured under the quick profile, unless they are
    given: fits of fewer would say less than they take, and the record has those of four million.
    """
    if profile == "quick" and rows is None:
        return []
    most, k = SCALED
    return product("generated", "LASN", rows=rows or most, landmarks=k, columns=22)


def _measure_scaling(point, seed):
    """Fits by 1 and by 2 workers, with as many rows each, beside what the model says by one and two
    thirds of the rows; and what it says of a far larger one, by a few of its rows."""
    n, k, p = point["rows"], point["landmarks"], point["columns"]
    found, (rows, columns, large) = [], TARGET
    for workers in range(1, PROCESSES + 1):
        with local_cluster(workers) as client:
            LASN(k, gamma=1.0 / p).fit(*generated(QUICK_ROWS, p, blocks=2))  # which compiles
            costs = costs_on(client, n // 3, p, k)
            _, seconds = fitted(client, n // 3, 3, p, k)
            costs_of_large = costs_on(client, n // 40, columns, large)
        size = {"workers": workers, "rows_in_all": workers * n, "landmarks_in_all": k}
        told = {
            "fit_seconds": seconds["total"],
            "model_seconds": modelled(costs, workers * n, workers),
        }
        found.append(size | told)
    # So many rows begin on a part of them, and on a part of that, as a fit of fewer does not.
    costs_of_large["others"] *= SAMPLE_SHARE / (SAMPLE_SHARE - 1)
    waiting = costs_of_large["overhead"]
    for workers in WORKERS:  # a tree of sums has a level more for eight times as many workers
        overhead = waiting * (1.0 + np.log(workers) / np.log(8.0))
        kept = min(1.0, 0.6 * LARGE_WORKER * workers / (4.0 * rows * large))
        seconds = modelled(costs_of_large | {"overhead": overhead}, rows, workers, kept)
        size = {"workers": workers, "rows_in_all": rows, "landmarks_in_all": large}
        found.append(size | {"fit_seconds": np.nan, "model_seconds": seconds})
    return found


def _overhead(client, k, repeats=20):
    """Seconds of a reduction of half a k x k matrix in which nothing is computed."""
    from kernlab.rows.dask import Pieces

    pieces = Pieces(client, client.map(np.zeros, [1] * len(client.nthreads()), pure=False))
    return seconds_of(lambda: pieces.sum(_half_matrix, k), repeats)[1]


def _half_matrix(item, k):
    return np.zeros(k * (k + 1) // 2)


def _beside_the_model(table):
    """What was measured beside the model, and what the model says of the large fit."""
    lines = []
    for row in table[table["status"] == "ok"].to_dict("records"):
        size = f"{row['rows_in_all']:,.0f} rows, k = {row['landmarks_in_all']:.0f}"
        ratio, seconds = row["model_seconds"] / row["fit_seconds"], row["fit_seconds"]
        asked = _judged("ratio: the model within 20 % of what was measured", abs(ratio - 1) <= 0.2)
        if np.isnan(seconds):
            seconds, asked = row["model_seconds"], "by the model"
        work = f"{size}, {row['workers']:.0f} workers"
        lines.append({"work": work, "seconds": seconds, "ratio": ratio, "asked": asked})
    return pd.DataFrame(lines, columns=COLUMNS)


weak_scaling.measure(_measure_scaling, timing=True, by_the_clock=True, comparison=_beside_the_model)


@weak_scaling.key_figures
def _scaling_figures(table):
    """How large the fits are that were measured; seconds are the figure's affair."""
    rows = table[table["fit_seconds"].notna()]
    sizes = zip(rows["workers"], rows["rows_in_all"], rows["landmarks_in_all"], strict=True)
    return {f"{w:.0f} workers": f"{n:,.0f} rows, {k:.0f} landmarks" for w, n, k in sizes}
