"""Rows of Dask arrays, DataFrames and delayed blocks: they stay on the workers that hold them.

What the client sees are sums over rows. `DaskRows` reads blocks where they are, several in a task;
`Pieces` are objects that workers keep, the features of some blocks say. Whatever a worker held when
it died is computed again from the collection's own graph, and nothing else.
"""

import asyncio
import concurrent.futures
import ctypes
import re
import time
import warnings
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache, partial, reduce
from itertools import count
from operator import itemgetter
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from dask.delayed import Delayed, delayed
from dask.utils import parse_timedelta
from distributed import default_client, scheduler
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from tqdm.auto import tqdm

from kernlab.rows.arrays import (
    ArrayRows,
    JoinedRows,
    Rows,
    added,
    as_dense,
    canonical_csr,
    extremes,
    not_finite,
    stacked,
    wider,
)
from kernlab.runtime import MemoryLimitError, bar_options, format_bytes, on_one_thread

FAN_IN = 8  # partial sums that one task adds up
PARTS_PER_THREAD = 8  # of which each may have to be computed again when a worker dies
FULL = 1.1  # times an even share of the rows: a worker that has so many gets no more
MOST_CLASSES = 10_000
LOOK, PAUSE = 0.02, 1.0  # seconds, between two looks at what is done, and at who is still there
NO_WORKERS = "distributed.scheduler.no-workers-timeout"  # Dask's own setting, and what it is here
WITHOUT_WORKERS = "60s"  # where it is not set
SHARE = 0.6  # of a worker's memory: above, Dask begins to move what it holds to disk
PROCESS_BYTES = 400_000_000  # of a worker before it holds anything, and what tasks need in passing
MALLOC_OPTIONS = ((-3, 2**25), (-1, 2**28))  # sizes above which memory is mapped, and given back
SAME_VERSIONS = ("kernlab", "numpy", "scipy", "dask", "distributed")
REMEDY = (
    "give the workers more memory, make blocks of fewer rows, or take float32 rows or fewer "
    "features"
)


class ClusterError(RuntimeError):
    """The cluster cannot do what is asked of it; the text says why, and what helps."""


def as_rows(X, y=None, keep=True):
    """`DaskRows` of a Dask array or DataFrame, a delayed block, or a list of delayed blocks."""
    return DaskRows(X, y, keep=keep)


# ------------------------------------------------------------------------------------ the cluster
def current_client():
    """The client that is connected, to workers with the same versions as here."""
    try:
        client = default_client()
    except ValueError as error:
        raise ClusterError(
            "rows of Dask are read by the workers of a cluster, and none is connected: begin with "
            "`from distributed import Client; client = Client()`, or call compute() on the rows"
        ) from error
    workers = frozenset(client.nthreads())
    if not workers:
        raise ClusterError(
            f"the scheduler {client.scheduler.address} has no workers: start some, with "
            f"`dask worker {client.scheduler.address}`"
        )
    if not workers <= getattr(client, "workers_of_same_versions", frozenset()):
        _require_same_versions(client.get_versions(packages=list(SAME_VERSIONS)))
        client.workers_of_same_versions = workers
    return client


def _require_same_versions(told):
    """Refuse workers whose packages differ: they would fail far from the cause, or differ."""
    here = told["client"]["packages"]
    for worker, known in told["workers"].items():
        packages = (known or {}).get("packages", {})
        for name in ("python", *SAME_VERSIONS):
            if packages.get(name) != here[name]:
                raise ClusterError(
                    f"{name} is {packages.get(name, 'missing')} on worker {worker} and "
                    f"{here[name]} here: install the same versions on all machines of the cluster"
                )


@contextmanager
def said_plainly(client, futures):
    """What goes wrong on a cluster, in words of rows and workers; no task is left running."""
    try:
        yield
    except BaseException as error:
        connected = client.status == "running" and not isinstance(error, CommClosedError)
        failed = [_told(future.key) for future in futures if future.status == "error"]
        if connected:
            client.cancel(list(futures), force=True)
        if isinstance(error, KilledWorker):
            raise MemoryLimitError(
                f"workers died, {error.allowed_failures + 1} of them, while they computed "
                f"{', for '.join(dict.fromkeys([_told(error.task), *failed[:1]]))}, most likely "
                f"for want of memory: {REMEDY}"
            ) from error
        if isinstance(error, MemoryError) and failed:
            raise MemoryLimitError(
                f"a worker has no memory left for {failed[0]} ({error}): {REMEDY}"
            ) from error
        if isinstance(error, getattr(scheduler, "NoWorkerError", ())):  # of recent versions
            raise _all_lost(client, _told(error.task), error.timeout) from error
        if not connected and isinstance(error, Exception):
            raise ClusterError(
                f"the scheduler {client.scheduler.address} is lost: start it, connect a new "
                "client, and begin again"
            ) from error
        if isinstance(error, FutureCancelledError):
            raise ClusterError(
                "the cluster has lost rows that cannot be computed again, since they were sent to "
                "a worker that died instead of being made by a task: load them by tasks, with "
                "dask.array.from_zarr, dask.dataframe.read_parquet or dask.delayed"
            ) from error
        raise


def _awaited(client, futures, what=None, bring=True):
    """The results of futures in their order (None unless they are to be brought here), with a bar
    that names the stage `what`.

    Whatever is awaited is awaited here: however long it takes, but neither for a scheduler that
    never comes back, nor without any worker for longer than `NO_WORKERS` allows.
    """
    coming = client.gather(futures, asynchronous=True) if bring else _there(client, futures)
    running = asyncio.run_coroutine_threadsafe(coming, client.loop.asyncio_loop)
    allowed = parse_timedelta(dask.config.get(NO_WORKERS, None) or WITHOUT_WORKERS)
    options, seen = bar_options(what is not None), time.monotonic()
    try:
        with tqdm(total=len(futures), desc=what, unit=" parts", **options) as bar:
            while concurrent.futures.wait([running], PAUSE).not_done:
                left = [_told(future.key) for future in futures if future.status == "pending"]
                bar.update(len(futures) - len(left) - bar.n)
                if client.status != "running":
                    raise CommClosedError("the scheduler does not answer")
                if client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() > seen + allowed:
                    raise _all_lost(client, left[0] if left else "what is to come here", allowed)
        return running.result()
    finally:
        running.cancel()


async def _there(client, futures):
    """Wait until all are there, or raise what went wrong with one."""
    while any(future.status != "finished" for future in futures):
        failed = [future for future in futures if future.status in ("error", "cancelled")]
        await client.gather(failed, asynchronous=True)
        await asyncio.sleep(LOOK)


def _all_lost(client, task, seconds):
    address = client.scheduler.address
    return ClusterError(
        f"the scheduler {address} has had no workers for {seconds:g} s, while {task} was to be "
        "computed: all are lost, with the rows and features that they held. Start some, with "
        f"`dask worker {address}`, and begin again; if they ran out of memory, {REMEDY}. How long "
        f"is waited is Dask's setting {NO_WORKERS}"
    )


def _total(client, tasks, sums, combine):
    """The total of sums, taken together by the workers where they are many; of what does that,
    `tasks` is told."""
    while len(sums) > FAN_IN:
        sums = [
            client.submit(reduce, combine, sums[i : i + FAN_IN], pure=False)
            for i in range(0, len(sums), FAN_IN)
        ]
        tasks += sums
    return reduce(combine, _awaited(client, sums))


class Pieces:
    """Objects that workers keep, one for each future, computed again where they are lost.

    `places`: by a future's key, the worker that computes it if it lives, so that what is to be done
    with an object goes there before it is made.
    """

    def __init__(self, client, futures, places=None):
        self.client, self.futures, self.places = client, futures, places or {}

    def release(self):
        """Let the workers forget the objects."""
        self.futures.clear()

    def made(self, what):
        """Wait until all are there, with a bar that names the stage."""
        with said_plainly(self.client, self.futures):
            _awaited(self.client, self.futures, what, bring=False)
        return self

    def each(self, function, *arguments, beside=None):
        """`function(object, *arguments)` of each, kept as `Pieces` where the objects are.

        The objects of other pieces `beside` these come second among the arguments.
        """
        pairs = zip(self.futures, *(() if beside is None else (beside.futures,)), strict=True)
        holders, made, places = self.client.who_has(self.futures), [], {}
        for items in pairs:
            key, place = _key(function), self._place(items[0], holders)
            where = _at(place) | {"key": key}
            made.append(self.client.submit(_on_one, function, *items, *arguments, **where))
            places[key] = place
        return Pieces(self.client, made, places)

    def sum(self, function, *arguments, combine=added):
        """The sum over all objects of `function(object, *arguments)`: one task a thread, of which
        a worker sends one sum."""
        client, tasks, sums = self.client, [], []
        with said_plainly(client, tasks):
            for address, groups in self._groups():
                where = _at(address)
                give = partial(client.submit, _on_several, function, combine, **where)
                own = [give(group, arguments, key=_key(function)) for group in groups]
                if len(own) > 1:
                    own.append(client.submit(reduce, combine, list(own), pure=False, **where))
                tasks += own
                sums.append(own[-1])
            return _total(client, tasks, sums, combine)

    def _place(self, future, holders):
        """Where an object is, or will be; None if nobody knows."""
        return next(iter(holders.get(future.key) or ()), self.places.get(future.key))

    def _groups(self):
        """(address, futures for each of its threads), of workers that have some, or will."""
        client = self.client
        holders, threads = client.who_has(self.futures), client.nthreads()
        by_address = {address: [] for address in threads}
        for future in self.futures:
            here = self._place(future, holders)
            if here not in threads:  # it is lost with its worker
                here = min(threads, key=lambda one: len(by_address[one]) / threads[one], default="")
            by_address.setdefault(here or None, []).append(future)
        for address, group in by_address.items():
            if group:
                most = min(len(group), threads.get(address, 1))
                yield address, [group[i::most] for i in range(most)]


def _at(worker):
    """Where a task is done: by this worker, unless it dies; by any (None)."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


def _key(what):
    """A key of its own for a task, by which the dashboard, and errors, say what is being done."""
    return f"{getattr(what, '__name__', what).strip('_')}-{uuid4().hex}"


def _told(key):
    """What is being done, of a `_key`; of other keys all."""
    return re.sub("-[0-9a-f]{32}$", "", str(key))


@cache
def _reuse_memory():
    """Let a worker use freed blocks again: Dask has them given back to the system at once, which
    for features in blocks takes longer than to compute them."""
    with suppress(OSError, AttributeError, TypeError):  # of other systems than Linux
        for option, size in MALLOC_OPTIONS:
            ctypes.CDLL(None).mallopt(option, size)


@contextmanager
def _in_a_task():
    _reuse_memory()
    with on_one_thread():
        yield


def _on_one(function, *arguments):
    with _in_a_task():
        return function(*arguments)


def _on_several(function, combine, items, arguments):
    with _in_a_task():
        return reduce(combine, (function(item, *arguments) for item in items))


# --------------------------------------------------------------------------------------- the rows
class DaskRows(Rows):
    """Rows in blocks that workers hold or can make, with labels and weights beside them.

    Parameters
    ----------
    X : Dask array or DataFrame, Delayed, Future, or a list of these two
        Blocks are arrays, SciPy's sparse matrices or tables. Chunks may be of unknown size, of one
        row, or empty.
    y, sample_weight : the same by one column, or arrays, default None
    keep : bool, default True
        Whether workers hold the rows as long as this object; else they are looked through once.
    """

    is_distributed = True

    def __init__(self, X, y=None, sample_weight=None, keep=True):
        self.client, self._lazy = current_client(), _blocks_of(X)
        # Never cancelled, for these may be the caller's own.
        blocks = self.client.compute(self._lazy) if keep else []
        try:
            reading = [
                self.client.submit(_described, block, key=_key(_name_of(X, number)))
                for number, block in enumerate(blocks or self.client.compute(self._lazy))
            ]
            told = self._read(reading, "reading blocks" if keep else None)
            _refuse(told)
        except BaseException:
            blocks.clear()
            raise
        self.chunks = tuple(one["n"] for one in told)  # rows of each block
        self._filled = [i for i, n in enumerate(self.chunks) if n]
        if not self._filled:
            raise ValueError("there are no rows: every block is empty")
        told = [told[i] for i in self._filled]
        self.starts = np.concatenate([[0], np.cumsum([one["n"] for one in told])])  # of the filled
        self.shape = (int(self.starts[-1]), told[0]["p"])
        self.dtype = np.dtype(np.float32 if all(one["single"] for one in told) else np.float64)
        self._bytes, self._known_finite = sum(one["nbytes"] for one in told), True
        if keep:
            chosen = [blocks[i] for i in self._filled]
            wanted = self.dtype.char, told[0]["sparse"]
            self._X = [  # a block that is as it should be stays the caller's own
                block if one["form"] == wanted else self._each_of(_converted, [block], *wanted)[0]
                for block, one in zip(chosen, told, strict=True)
            ]
            with said_plainly(self.client, []):
                _awaited(self.client, self._X, bring=False)
            self._y, self._w = self._beside(y, "labels"), self._beside(sample_weight, "weights")

    def release(self):
        """Let the workers forget the rows; nothing can be asked of them any more."""
        self._lazy = self._X = self._y = self._w = None

    def labelled(self, labels):
        rows = copy(self)
        rows._y = self._beside(labels, "labels")
        return rows

    def weighted(self, sample_weight):
        """The same rows, each with a weight that is not negative."""
        rows = copy(self)
        rows._w = self._beside(sample_weight, "weights")
        return rows

    def of_positive_weight(self):
        """The rows that count, where some have no weight."""
        chosen = [
            self.client.submit(_of_positive_weight, *parts, pure=False)
            for parts in zip(self._X, *self._labels_and_weights(), strict=True)
        ]
        return DaskRows(*([delayed(itemgetter(i))(delayed(c)) for c in chosen] for i in range(3)))

    @property
    def has_labels(self):
        return self._y is not None

    @property
    def has_weights(self):
        return self._w is not None

    @property
    def nbytes(self):
        return self._bytes

    @property
    def labels(self):
        """All labels, brought here; None where there are none."""
        return None if self._y is None else np.concatenate(self._read(self._y))

    @property
    def weights(self):
        """All weights, as `labels`."""
        return None if self._w is None else np.concatenate(self._read(self._w))

    # ------------------------------------------------------------------------- sums over rows
    def reduce(self, function, *aligned, combine=None):
        bounds = list(zip(self.starts, self.starts[1:], strict=False))
        parts = [[values[start:stop] for values in aligned] for start, stop in bounds]
        return self._over(function, (), combine or added, parts)

    def reduce_labelled(self, function, *arguments, combine=added):
        """The sum over all blocks of `function(block, labels, weights, *arguments)`."""
        parts = list(zip(*self._labels_and_weights(), strict=True))
        return self._over(function, arguments, combine, parts)

    def bounds(self):
        low, high = self.reduce(extremes, combine=wider)
        return low.astype(np.float64), high.astype(np.float64)

    def distinct_labels(self):
        """The distinct labels in order, and how many rows have each."""
        found = self.reduce_labelled(_counted_labels, combine=_joined_counts)
        if found is None:
            raise ValueError(
                f"the labels have more than {MOST_CLASSES:,} distinct values: a classifier needs "
                "classes; for numbers take a regressor"
            )
        return found

    def pieces(self, make, argument, what):
        """`make(argument, number, X, y, w)` of blocks, or of several small ones of one worker, as
        `JoinedRows` X, numbered for each worker, as `Pieces`; `argument` is sent once."""
        submit, (y, w), parts = self.client.submit, self._labels_and_weights(), []
        with said_plainly(self.client, parts):
            with warnings.catch_warnings():
                # Dask would have it scattered, and lost for good with the worker that holds it.
                warnings.filterwarnings("ignore", "Sending large graph")
                given = submit(_given, argument, pure=False)
            numbers = defaultdict(count)  # of each worker's own: all keep the same share
            for group, worker in self._shared_out():
                number = next(numbers[worker])
                columns = ([column[i] for i in group] for column in (self._X, y, w))
                place = _at(worker) | {"key": _key(f"{what} of {self._place_of(group)}")}
                parts.append(submit(_made, make, given, number, *columns, **place))
        return Pieces(self.client, parts).made(what)

    def most_pieces(self):
        """The most pieces that one worker is given."""
        return max(Counter(worker for _, worker in self._shared_out()).values())

    def worker_limits(self):
        """The bytes that each worker may hold before Dask moves some of them to disk."""
        self._read([self.client.submit(_given, None, pure=False)])  # once there is a worker
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = (SHARE * (told["memory_limit"] or 2**50) - PROCESS_BYTES for told in workers)
        return [max(0, int(limit)) for limit in limits]

    # ------------------------------------------------------------------------------- parts
    def block(self, rows):
        return self.take(np.arange(*rows.indices(len(self))))

    def take(self, indices):
        return self._taken([self._X], indices)[0]

    def take_labelled(self, indices):
        """Rows at these positions with their labels and weights, None where there are none."""
        return self._taken([self._X, self._y, self._w], indices)

    def _taken(self, lists, indices):
        """Of the blocks of each list (or None) the rows at these positions: a task a worker."""
        order, back = np.unique(np.asarray(indices, dtype=np.int64), return_inverse=True)
        if not len(order):
            return [None if part is None else part[:0] for part in self._taken(lists, [0])]
        numbers = np.searchsorted(self.starts, order, side="right") - 1
        holders, by_worker = self.client.who_has(self._X), defaultdict(list)
        for i in np.unique(numbers):
            by_worker[next(iter(holders.get(self._X[i].key) or ()), None)].append(i)
        chosen, places = [], []
        for worker, group in by_worker.items():
            rows = [np.flatnonzero(numbers == i) for i in group]
            blocks = [parts and [parts[i] for i in group] for parts in lists]
            inside = [order[some] - self.starts[i] for i, some in zip(group, rows, strict=True)]
            chosen.append(self.client.submit(_picked, blocks, inside, pure=False, **_at(worker)))
            places += rows
        where = np.argsort(np.concatenate(places))[back]
        found = zip(*self._read(chosen), strict=True)
        return [None if parts[0] is None else stacked(parts)[where] for parts in found]

    def select(self, indices):
        raise TypeError(
            "some of the rows of a cluster cannot be selected by their positions: split the "
            "collections beforehand, and give validation=(X, y)"
        )

    def each(self, function):
        """What `function(rows)` gives for the rows of each block, as a Dask array."""
        like = function(ArrayRows(np.zeros((1, self.n_features), self.dtype)))
        sent = delayed(function, traverse=False, pure=False)
        parts = [
            da.from_delayed(
                delayed(_applied)(sent, part, self.dtype, like), (n, *like.shape[1:]), like.dtype
            )
            for n, part in zip(self.chunks, self._lazy, strict=True)
        ]
        return da.concatenate(parts)

    # ----------------------------------------------------------------------------- how it is done
    def _read(self, futures, what=None):
        """The results of futures in their order; a bar names the stage where it takes long."""
        with said_plainly(self.client, futures):
            return _awaited(self.client, futures, what)

    def _each_of(self, function, blocks, *arguments):
        submit = self.client.submit
        return [submit(function, block, *arguments, pure=False) for block in blocks]

    def _labels_and_weights(self):
        nothing = [None] * len(self._filled)
        return self._y or nothing, self._w or nothing

    def _over(self, function, arguments, combine, parts):
        submit, tasks = self.client.submit, []
        sent = submit(_given, (function, arguments, combine), pure=False)
        with said_plainly(self.client, tasks):
            for group in self._groups():
                blocks, beside = [self._X[i] for i in group], [parts[i] for i in group]
                tasks.append(submit(_on_blocks, sent, blocks, beside, pure=False))
            return _total(self.client, tasks, list(tasks), combine)

    def _place_of(self, group):
        """The blocks of a group by their numbers, rows and size."""
        rows = sum(int(self.starts[i + 1] - self.starts[i]) for i in group)
        first, last = (self._filled[i] for i in (group[0], group[-1]))
        blocks = f"block {first}" if first == last else f"{len(group)} of blocks {first} to {last}"
        return f"{blocks} ({rows:,} rows, {format_bytes(self.nbytes * rows / len(self))})"

    def _shared_out(self):
        """(numbers of blocks, the worker that takes them): who holds them, unless he has his share
        of all rows already; then whoever has least."""
        holders, threads = self.client.who_has(self._X), self.client.nthreads()
        taken, share = dict.fromkeys(threads, 0), len(self) / max(1, sum(threads.values()))
        for group in self._groups():
            size = sum(self.starts[i + 1] - self.starts[i] for i in group)
            here = next(iter(holders.get(self._X[group[0]].key) or ()), None)
            if here not in taken or taken[here] + size > FULL * share * threads[here]:
                here = min(taken, key=lambda one: taken[one] / threads[one], default=None)
            if here is not None:
                taken[here] += size
            yield group, here

    def _groups(self):
        """Numbers of blocks that a task takes together, for one worker has them."""
        at, threads = self.client.who_has(self._X), sum(self.client.nthreads().values())
        most = -(-len(self) // (PARTS_PER_THREAD * max(1, threads)))
        groups, last = [], {}  # the last group of each worker, and its rows
        for i, (future, n) in enumerate(zip(self._X, np.diff(self.starts), strict=True)):
            here = next(iter(at.get(future.key) or ()), None)
            group, size = last.get(here, ([], 0))
            if not group or size + n > most:
                group, size = [], 0
                groups.append(group)
            group.append(i)
            last[here] = group, size + n
        return groups

    def _beside(self, values, what):
        """One delayed column for each block that has rows, checked where it lies."""
        if values is None:
            return None
        if isinstance(values, da.Array) and not np.isnan(values.shape[0]):
            self._require_as_many(values.shape[0], what)
            parts = list(values.rechunk((self.chunks,)).to_delayed().ravel())
        elif _is_collection(values):
            parts = _blocks_of(values)
            if len(parts) != len(self.chunks):
                raise ValueError(f"{len(self.chunks)} blocks of rows, but {len(parts)} of {what}")
        else:
            values = np.asarray(values)
            self._require_as_many(len(values), what)
            ends = np.cumsum(self.chunks)[:-1]
            parts = [delayed(part, traverse=False) for part in np.split(values, ends)]
        parts = self.client.compute([parts[i] for i in self._filled])
        parts = [
            self.client.submit(_checked, part, self.chunks[i], i, what, pure=False)
            for i, part in zip(self._filled, parts, strict=True)
        ]
        problems = [text for text in self._read(self._each_of(_problem, parts)) if text]
        if problems:
            raise ValueError(problems[0])
        return parts

    def _require_as_many(self, n, what):
        if n != len(self):
            raise ValueError(f"{len(self)} rows, but {n} {what}")


# ---------------------------------------------------------------------------- blocks, on the client
def _is_collection(X):
    return hasattr(X, "to_delayed") or isinstance(X, list | tuple | Delayed)


def _blocks_of(X):
    """A Delayed for each block."""
    if isinstance(X, da.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    if hasattr(X, "to_delayed"):
        return list(X.to_delayed())
    return [delayed(part) for part in (X if isinstance(X, list | tuple) else [X])]


def _name_of(X, number):
    """A block by its number, rows and size, as far as they are known before it is read."""
    known = isinstance(X, da.Array) and X.ndim == 2 and not np.isnan(X.shape).any()
    if not known:
        return f"block {number}"
    n = X.chunks[0][number]
    return f"block {number} ({n:,} rows, {format_bytes(n * X.shape[1] * X.dtype.itemsize)})"


def _refuse(told):
    """Raise what is wrong with a block, by its number and rows."""
    start, first = 0, None
    for number, one in enumerate(told):
        where = f"block {number}"
        if one["n"]:
            where += f" (rows {start:,} to {start + one['n'] - 1:,})"
        if "problem" in one:
            place = "" if one.get("row") is None else f"row {start + one['row']:,}, "
            raise ValueError(f"{where}: {place}{one['problem']}")
        if one["n"]:
            first = first or (number, one)
            there = f"block {first[0]} has"
            if one["p"] != first[1]["p"]:
                raise ValueError(f"{where} has {one['p']} features, {there} {first[1]['p']}")
            if one["names"] != first[1]["names"]:
                names = first[1]["names"]
                raise ValueError(f"{where} has the columns {one['names']}, {there} {names}")
        start += one["n"]


# -------------------------------------------------------------------------- blocks, on the workers
def _as_matrix(part):
    """A block as an array or CSR matrix."""
    if sp.issparse(part):
        return canonical_csr(part)
    if hasattr(part, "to_numpy"):
        part = part.to_numpy()
    part = np.asarray(part)
    return part.astype(np.float64) if part.dtype == object else part


def _described(part):
    """What the client has to know of a block: its rows, or what is wrong with them."""
    names = tuple(map(str, part.columns)) if hasattr(part, "columns") else None
    try:
        matrix = _as_matrix(part)
        if matrix.ndim != 2:
            raise ValueError(f"a block of shape {matrix.shape}, where rows and features are needed")
        values, wrong = matrix.data if sp.issparse(matrix) else matrix, not_finite(matrix)
    except (TypeError, ValueError) as error:
        return {"n": len(part) if hasattr(part, "__len__") else 0, "problem": str(error)}
    n, p = matrix.shape
    if wrong:
        return {"n": n, "row": wrong[0], "problem": wrong[1]}
    size = values.nbytes + (12 * len(values) // 3 + 4 * n if sp.issparse(matrix) else 0)
    in_order = matrix is part and (sp.issparse(part) or part.flags.c_contiguous)
    form = (values.dtype.char, sp.issparse(matrix)) if in_order else None
    told = {"n": n, "p": p, "form": form, "names": names, "nbytes": size}
    return told | {"single": matrix.dtype == np.float32, "sparse": sp.issparse(matrix)}


def _converted(part, dtype, sparse):
    """The block as all others are: in one precision, dense or CSR."""
    matrix = _as_matrix(part).astype(dtype, copy=False)
    return sp.csr_matrix(matrix) if sparse else as_dense(matrix, dtype)


def _checked(values, n, number, what):
    """The labels or weights of a block, or a text that says what is wrong with them."""
    values = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n,):
        return f"block {number} has {n} rows, but {what} of shape {values.shape}"
    if what == "weights":
        values = values.astype(np.float64)
        if not np.isfinite(values).all() or np.any(values < 0):
            return f"block {number}: sample_weight must be numbers that are not negative"
    elif values.dtype.kind == "f" and not np.isfinite(values).all():
        return f"block {number}: the labels hold NaN or infinity"
    return values


def _problem(part):
    return part if isinstance(part, str) else None


def _given(argument):
    """What was sent, which the scheduler so has for workers that ask again."""
    return argument


def _of_positive_weight(X, y, w):
    live = w > 0.0
    return X[live], y[live], w[live]


def _picked(lists, positions):
    """The rows at these positions in each block, one after the other; of each list of blocks."""
    return [
        blocks and stacked([b[at] for b, at in zip(blocks, positions, strict=True)])
        for blocks in lists
    ]


def _on_blocks(sent, blocks, parts):
    function, arguments, combine = sent
    with _in_a_task():
        results = (function(X, *p, *arguments) for X, p in zip(blocks, parts, strict=True))
        return reduce(combine, results)


def _made(make, argument, number, X, y, w):
    """What `make` gives for blocks taken together."""
    with _in_a_task():
        y, w = (None if part[0] is None else stacked(part) for part in (y, w))
        return make(argument, number, JoinedRows(X), y, w)


def _applied(function, part, dtype, like):
    matrix = _as_matrix(part).astype(dtype, copy=False)
    if matrix.shape[0] == 0:
        return np.empty((0, *like.shape[1:]), like.dtype)
    with _in_a_task():
        return function(ArrayRows(matrix))


def _counted_labels(block, y, w):
    values, counts = np.unique(y, return_counts=True)
    return (values, counts) if len(values) <= MOST_CLASSES else None


def _joined_counts(one, other):
    if one is None or other is None:
        return None
    values, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([one[1], other[1]])).astype(np.int64)
    return (values, counts) if len(values) <= MOST_CLASSES else None
