"""Workers that die, an impatient user, and what travels: nothing but time is lost."""

import _thread
import contextlib
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from kernlab import FPC, LASN
from kernlab.rows import as_rows

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
Pieces = pytest.importorskip("kernlab.rows.dask").Pieces
KILLS = 6


def rows_made_by_tasks(n=4000, blocks=8):
    """Rows and labels that workers make, so that they can make them again."""
    X = da.map_blocks(_block, chunks=((n // blocks,) * blocks, (5,)), dtype=float)
    return X, (da.sin(2 * X[:, 0]) + X[:, 1] ** 2 > 1).astype(int)


def _block(block_info=None):
    place = block_info[None]
    return np.random.default_rng(place["chunk-location"][0]).normal(size=place["chunk-shape"])


def ready(client):
    """The processes of both workers, once they are there."""
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:  # a nanny has given up on a machine that is short of time
        client.cluster.scale(0)
        client.sync(lambda: client.cluster)  # waits until they are gone
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=120)
    return [nanny.pid for nanny in client.cluster.workers.values()]


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("machine", ["lasn", "fpc"])
def test_a_worker_that_is_killed_costs_its_blocks_only(client, machine):
    X, y = rows_made_by_tasks()
    machine = {
        "lasn": LASN(80, gamma=0.4, random_state=0),
        "fpc": FPC(degree=4, basis="chebyshev", max_iter=8),
    }[machine]
    began = time.monotonic()
    machine.fit(X, y)
    wanted, score = machine.result_.objective, machine.score(X, y)
    lasts = min(time.monotonic() - began, 2.0)
    draw = np.random.default_rng(len(type(machine).__name__))
    for _ in range(KILLS):
        pids = ready(client)
        killer = threading.Timer(draw.uniform(0.0, 1.2 * lasts), kill, (int(draw.choice(pids)),))
        killer.start()
        again = machine.with_params().fit(X, y)
        assert again.score(X, y) == pytest.approx(score, abs=1e-12)
        assert again.result_.objective == pytest.approx(wanted, rel=1e-9)
        killer.join()


def test_ctrl_c_leaves_no_task(client):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("Ctrl-C reaches the main thread, and tests run in another here")
    ready(client)
    X, y = rows_made_by_tasks(40_000, 40)

    def states(dask_scheduler=None):
        return [task.state for task in dask_scheduler.tasks.values()]

    for delay in (0.2, 1.0):
        timer = threading.Timer(delay, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            fit_for_ever(X, y)
        give_up = time.monotonic() + 60
        while set(client.run_on_scheduler(states)) & {"processing", "waiting", "no-worker"}:
            assert time.monotonic() < give_up, "tasks go on"
            time.sleep(0.1)
    assert LASN(20, gamma=0.4, random_state=0).fit(X, y).result_.converged


def test_what_travels_does_not_grow_with_the_rows(client, monkeypatch):
    """Numbers sent and received for each reduction, of all workers together; and of all else that
    comes, a sample of 20,000 rows is the most."""
    ready(client)
    X, y = rows_made_by_tasks(60_000)
    k, sent, received, brought = 60, [], [], []
    submit, gather = client.submit, client.gather
    Future = distributed.Future

    def spy_submit(function, *arguments, **options):
        future = submit(function, *arguments, **options)
        if getattr(function, "__name__", "") == "_on_several":
            worker_function, values = arguments[0], arguments[3]
            sent.append((worker_function.__name__, len(pickle.dumps(values)) / 8))
            future.name_of_work = worker_function.__name__
        return future

    async def spy_gather(futures, **options):
        found = await gather(futures, **options)
        brought.append(len(pickle.dumps(found)) / 8)
        names = [getattr(f, "name_of_work", "") for f in futures if isinstance(f, Future)]
        received.extend(
            (name, len(pickle.dumps(value)) / 8)
            for name, value in zip(names, found, strict=True)
            if name
        )
        return found

    monkeypatch.setattr(client, "submit", spy_submit)
    monkeypatch.setattr(client, "gather", spy_gather)
    machine = LASN(k, gamma=0.4, random_state=0, intercept="free").fit(X, y)
    assert machine.result_.converged
    points = [numbers for name, numbers in received if name == "evaluate_part"]
    assert machine.n_iter_ <= len(points) <= 2 * (2 * machine.n_iter_ + 4)
    assert max(numbers for _, numbers in sent + received) <= k**2
    assert max(points) > k**2 / 2
    assert max(brought) < 20_000 * (X.shape[1] + 2)


def test_a_worker_of_several_threads_sends_one_sum(client, monkeypatch):
    ready(client)
    pieces = Pieces(client, client.map(np.full, [3] * 10, range(10)))
    workers, brought, gather = dict.fromkeys(client.nthreads(), 3), [], client.gather

    def spy(futures, **options):
        brought.append(len(futures))
        return gather(futures, **options)

    monkeypatch.setattr(client, "nthreads", lambda: workers)
    monkeypatch.setattr(client, "gather", spy)
    assert pieces.sum(np.sum) == 3 * sum(range(10))
    assert brought == [len(workers)]


def test_workers_that_do_not_come_back_are_not_waited_for_for_ever():
    options = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(n_workers=1, **options) as cluster,
        distributed.Client(cluster) as other,
        dask.config.set({"distributed.scheduler.no-workers-timeout": "3s"}),
    ):
        rows = as_rows(*rows_made_by_tasks())
        (nanny,) = cluster.workers.values()
        nanny.instantiate = given_up
        threading.Timer(0.5, kill, (nanny.pid,)).start()
        began = time.monotonic()
        with pytest.raises(RuntimeError, match=r"no workers for 3 s, while .* was to be computed"):
            fit_for_ever(rows)
        assert time.monotonic() - began < 30
        assert other.status == "running"


async def given_up():
    raise TimeoutError("the nanny gives up")


def test_a_lost_scheduler_is_said(scheduler_to_kill):
    process, file = scheduler_to_kill
    with distributed.Client(scheduler_file=file, timeout=5) as other:
        other.wait_for_workers(1, timeout=60)
        rows = as_rows(*rows_made_by_tasks(40_000, 40))
        threading.Timer(0.5, process.kill).start()
        with pytest.raises(RuntimeError, match="is lost: start it"):
            fit_for_ever(rows)


def fit_for_ever(*rows):
    while True:
        LASN(300, gamma=0.4, random_state=0).fit(*rows)
