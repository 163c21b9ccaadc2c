"""Function calls in processes of their own: one that dies or outlasts its limit is told by name.

On this machine every place is a loky executor of one process, so that what was in a process that
died is what failed, and ending one call leaves the others alone; or the workers of a Dask cluster.
"""

import os
import re
import signal
import threading
import time
import warnings
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.measuring import THREAD_VARIABLES

_START_SECONDS = 60  # of a process, which no call's limit counts
_POLL_SECONDS = 0.2
_MOST_DEATHS = 1  # of a cluster's workers by one call, before it has failed
_KILLED = "killed; perhaps the machine ran out of memory"


@dataclass(frozen=True)
class Ended:
    """The result of a call that has none: how its process died; "" if it outlasted its limit."""

    why: str
    seconds: float


@dataclass(frozen=True)
class _Call:
    number: int
    began: float
    limit: float | None
    executor: ProcessPoolExecutor | None = None

    @property
    def seconds(self):
        return time.monotonic() - self.began

    @property
    def is_over(self):
        return self.limit is not None and self.seconds > self.limit


class _Callers:
    """What calls functions at several places at a time."""

    def __enter__(self):
        return self

    def run(self, function, calls, limit_seconds=None):
        """Yield (number of the call, result or `Ended`) as calls finish.

        Parameters
        ----------
        function : callable
            It must not raise.
        calls : iterable of tuple
            Its arguments.
        limit_seconds : float, optional
            A call that takes longer is ended.

        When the caller stops listening, as after Ctrl-C, calls at work are ended.
        """
        waiting, busy = deque(enumerate(calls)), {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._places():
                    number, arguments = waiting.popleft()
                    future, limit, executor = self._submit(function, arguments, limit_seconds)
                    busy[future] = _Call(number, time.monotonic(), limit, executor)
                done = self._wait(busy)
                for future in done or [future for future, call in busy.items() if call.is_over]:
                    call = busy.pop(future)
                    yield call.number, self._result(future, call)
        finally:
            self._end(busy)


class Processes(_Callers):
    """Some processes that call functions; they are started when first needed.

    Parameters
    ----------
    size : int
        How many work at the same time.
    threads : int, optional
        What the libraries in them are told to use; whatever they like if None.
    """

    def __init__(self, size, threads=None):
        names = (*THREAD_VARIABLES, "NUMBA_NUM_THREADS") if threads else ()
        self._environment = dict.fromkeys(names, str(threads))
        self._size, self._idle = size, []
        # loky renews a process that has grown much, between two calls: no user need care.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)

    def __exit__(self, *_):
        while self._idle:
            self._idle.pop().shutdown(wait=False)

    def _places(self):
        return self._size

    def _submit(self, function, arguments, limit):
        if self._idle:
            executor = self._idle.pop()
        else:
            begin = {"initializer": _begin, "initargs": (os.getpid(),)}
            executor = ProcessPoolExecutor(1, env=self._environment, **begin)
            limit = None if limit is None else limit + _START_SECONDS
        return executor.submit(function, *arguments), limit, executor

    def _wait(self, busy):
        left = [call.limit - call.seconds for call in busy.values() if call.limit is not None]
        return wait(busy, max(0.0, min(left)) if left else None, return_when=FIRST_COMPLETED)[0]

    def _result(self, future, call):
        if future.done() and future.exception() is None:
            self._idle.append(call.executor)
            return future.result()
        why = _how(future.exception()) if future.done() else ""
        call.executor.shutdown(kill_workers=True)
        return Ended(why, call.seconds)

    def _end(self, busy):
        for call in busy.values():
            call.executor.shutdown(kill_workers=True)


def _begin(parent):
    """The beginning of a process: Ctrl-C is the parent's, and it never outlives the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _how(error):
    if not isinstance(error, TerminatedWorkerError):  # a call or result that cannot be sent
        return f"{type(error).__name__}: {error}"
    if "SIGKILL" in str(error):
        return _KILLED
    codes = re.search(r"\{(.*?)\}", str(error))
    return codes[1] if codes else "its process is gone"


class Cluster(_Callers):
    """The workers that a scheduler of Dask's has, each thread of which calls a function at a time.

    A call whose worker dies is made again on another; what kills worker after worker has ended.

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
        if scheduler.startswith("local:"):
            size = re.fullmatch(r"local:([1-9]\d*)x([1-9]\d*)", scheduler)
            if size is None:
                raise StudyError(
                    f"--scheduler {scheduler}: write local:4x1 for 4 processes of 1 thread each"
                )
            dask.config.set({"distributed.scheduler.allowed-failures": _MOST_DEATHS})
            self._local = LocalCluster(
                n_workers=int(size[1]), threads_per_worker=int(size[2]), dashboard_address=":0",
                memory_limit=0,
            )  # fmt: skip
        try:
            self._client = Client(self._local or scheduler, set_as_default=False, timeout=5)
        except (OSError, ValueError) as error:
            raise StudyError(f"there is no scheduler at {scheduler}: {error}") from error

    def __exit__(self, *_):
        self._client.close()
        if self._local is not None:
            self._local.close()

    def _places(self):
        self._require_scheduler()
        return max(1, sum(self._client.nthreads().values()))  # a worker that restarts comes back

    def _require_scheduler(self):
        if self._client.status != "running":
            raise StudyError(
                "the scheduler is lost; points that had finished are kept, so that the same "
                "command goes on from here"
            )

    def _submit(self, function, arguments, limit):
        return self._client.submit(function, *arguments, pure=False), limit, None

    def _wait(self, busy):
        while True:
            self._require_scheduler()
            done = [future for future in busy if future.status != "pending"]
            if done or any(call.is_over for call in busy.values()):
                return done
            time.sleep(_POLL_SECONDS)

    def _result(self, future, call):
        if future.status == "finished":
            return future.result()
        if future.status == "pending":
            holders = [w for w, keys in self._client.processing().items() if future.key in keys]
            self._client.cancel([future], force=True)
            if holders:
                self._client.restart_workers(holders)
            return Ended("", call.seconds)
        self._require_scheduler()
        error = future.exception() if future.status == "error" else "cancelled"
        if type(error).__name__ == "KilledWorker":
            return Ended(_KILLED, call.seconds)
        return Ended(f"{type(error).__name__}: {error}", call.seconds)

    def _end(self, busy):
        if busy and self._client.status == "running":
            self._client.cancel(list(busy), force=True)
