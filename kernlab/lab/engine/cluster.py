"""Function calls on the workers of a Dask cluster, with the interface of `processes.Processes`."""

import time
from collections import deque

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.processes import Ended

POLL_SECONDS = 0.2
MOST_DEATHS = 1  # of workers by one call, before it has failed


class Cluster:
    """The workers that a scheduler has, each thread of which calls a function at a time.

    Parameters
    ----------
    scheduler : str
        Its address, or "local:4x1" for 4 processes of 1 thread on this machine, which end with it.
    """

    def __init__(self, scheduler):
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise StudyError("--scheduler takes dask.distributed: pip install kernlab[dask]") from (
                error
            )
        self._local = None
        kind, _, size = scheduler.partition(":")
        if kind == "local":
            numbers = size.split("x")
            if len(numbers) != 2 or not all(n.isdigit() and int(n) for n in numbers):
                raise StudyError(
                    f"--scheduler {scheduler}: write local:4x1 for 4 processes of 1 thread each"
                )
            dask.config.set({"distributed.scheduler.allowed-failures": MOST_DEATHS})
            self._local = LocalCluster(
                n_workers=int(numbers[0]), threads_per_worker=int(numbers[1]),
                dashboard_address=":0", memory_limit=0,
            )  # fmt: skip
        try:
            self._client = Client(self._local or scheduler, set_as_default=False, timeout=5)
        except (OSError, ValueError) as error:
            raise StudyError(f"there is no scheduler at {scheduler}: {error}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._client.close()
        if self._local is not None:
            self._local.close()

    def run(self, function, calls, limit_seconds=None):
        """Yield (number of the call, result or `Ended`) as calls finish; see `Processes.run`.

        A call whose worker dies is made again on another; what kills worker after worker has ended.
        """
        waiting, busy = deque(enumerate(calls)), {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._threads():
                    number, arguments = waiting.popleft()
                    future = self._client.submit(function, *arguments, pure=False)
                    busy[future] = number, time.monotonic()
                for future in self._finished(busy, limit_seconds):
                    number, began = busy.pop(future)
                    yield number, self._result(future, time.monotonic() - began)
        finally:
            if busy and self._client.status == "running":
                self._client.cancel(list(busy), force=True)

    def _threads(self):
        threads = sum(self._client.nthreads().values()) if self._client.status == "running" else 0
        if not threads:
            self._require_scheduler()
        return max(1, threads)

    def _require_scheduler(self):
        """A worker that is restarted comes back; a scheduler that is gone does not."""
        if self._client.status != "running":
            raise StudyError(
                "the scheduler is lost; points that had finished are kept, so that the same "
                "command goes on from here"
            )

    def _finished(self, busy, limit_seconds):
        """The calls that are done, or whose time is over."""
        while True:
            self._require_scheduler()
            done = [future for future in busy if future.status != "pending"]
            over = [
                future
                for future, (_, began) in busy.items()
                if limit_seconds is not None and time.monotonic() - began > limit_seconds
            ]
            if done or over:
                return done or over
            time.sleep(POLL_SECONDS)

    def _result(self, future, seconds):
        if future.status == "finished":
            return future.result()
        if future.status == "pending":
            holders = [w for w, keys in self._client.processing().items() if future.key in keys]
            self._client.cancel([future], force=True)
            if holders:
                self._client.restart_workers(holders)
            return Ended("", seconds)
        if future.status == "cancelled":
            self._require_scheduler()
        error = future.exception() if future.status == "error" else "cancelled"
        if type(error).__name__ == "KilledWorker":
            return Ended("killed; perhaps the machine ran out of memory", seconds)
        return Ended(f"{type(error).__name__}: {error}", seconds)
