"""Function calls in processes of their own: one that dies or outlasts its limit is told by name.

Every place is a loky executor of one process, so that what was in a process that died is what
failed, and ending one call leaves the others alone.
"""

import os
import re
import signal
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from kernlab.lab.engine.measuring import THREAD_VARIABLES

_START_SECONDS = 60  # of a process, which no call's limit counts


@dataclass(frozen=True)
class Ended:
    """The result of a call that has none: how its process died; "" if it outlasted its limit."""

    why: str
    seconds: float


class Processes:
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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        while self._idle:
            self._idle.pop().shutdown(wait=False)

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

        When the caller stops listening, as after Ctrl-C, processes that are at work are ended.
        """
        waiting, busy = deque(enumerate(calls)), {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._size:
                    number, arguments = waiting.popleft()
                    limit = limit_seconds
                    if not self._idle:
                        self._idle.append(self._started())
                        limit = None if limit is None else limit + _START_SECONDS
                    executor = self._idle.pop()
                    call = _Call(number, executor, time.monotonic(), limit)
                    busy[executor.submit(function, *arguments)] = call
                for future in _next(busy):
                    call = busy.pop(future)
                    yield call.number, self._result(future, call)
        finally:
            for call in busy.values():
                call.executor.shutdown(kill_workers=True)

    def _started(self):
        return ProcessPoolExecutor(
            1, env=self._environment, initializer=_begin, initargs=(os.getpid(),)
        )

    def _result(self, future, call):
        if future.done() and future.exception() is None:
            self._idle.append(call.executor)
            return future.result()
        why = _how(future.exception()) if future.done() else ""
        call.executor.shutdown(kill_workers=True)
        return Ended(why, time.monotonic() - call.began)


@dataclass(frozen=True)
class _Call:
    number: int
    executor: ProcessPoolExecutor
    began: float
    limit: float | None

    @property
    def left(self):
        return self.began + self.limit - time.monotonic()


def _next(busy):
    """The calls that have finished, or else those whose time is over."""
    limited = {future: call for future, call in busy.items() if call.limit is not None}
    timeout = max(0.0, min(call.left for call in limited.values())) if limited else None
    done, _ = wait(busy, timeout, return_when=FIRST_COMPLETED)
    return done or [future for future, call in limited.items() if call.left <= 0]


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
        return "killed; perhaps the machine ran out of memory"
    codes = re.search(r"\{(.*?)\}", str(error))
    return codes[1] if codes else "its process is gone"
