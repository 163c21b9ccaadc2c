"""Function calls in processes of their own, so that one that dies takes only its call with it.

The executors of the standard library give up on all their work when one process dies, and cannot
tell whose fault it was. Here every process has a pipe of its own: what was in it is what failed.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait

from kernlab.lab.engine.threads import THREAD_VARIABLES, environment

_GRACE_SECONDS = 5


@dataclass(frozen=True)
class Died:
    """The result of a call whose process died; `how` says what is known of it."""

    how: str


class ProcessPool:
    """Some processes that call functions; they are started when first needed.

    Parameters
    ----------
    size : int
        How many work at the same time.
    threads : int, optional
        What the libraries in them are told to use; whatever they like if None.
    """

    def __init__(self, size, threads=None):
        self._size = size
        self._threads = threads
        self._idle = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, function, calls):
        """Yield (number of the call, result) as calls finish; `calls` are tuples of arguments.

        The function is sent to other processes by its name, and must not raise. Only one run may
        be under way at a time. When the caller stops listening, as after Ctrl-C, processes that are
        at work are ended.
        """
        waiting, busy = deque(enumerate(calls)), {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._size:
                    number, arguments = waiting.popleft()
                    process = self._idle.pop() if self._idle else _Process(self._threads)
                    busy[process] = number
                    process.send((function, arguments))
                for process in wait(list(busy)):
                    number = busy.pop(process)
                    result = process.receive()
                    if process.alive:
                        self._idle.append(process)
                    yield number, result
        finally:
            for process in busy:
                process.end()

    def close(self):
        with ExitStack() as stack:
            while self._idle:
                stack.callback(self._idle.pop().close)


class _Process:
    """One process and the pipe to it."""

    def __init__(self, threads):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # Libraries read these when they are loaded, which is before the process can be told more.
        names = (*THREAD_VARIABLES, "NUMBA_NUM_THREADS") if threads else ()
        with environment(dict.fromkeys(names, str(threads))), _interrupts_blocked():
            self._process.start()
        theirs.close()
        self.alive = True

    def fileno(self):
        return self._pipe.fileno()

    def send(self, call):
        # If the process has died, `receive` will find that out and say so.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send(call)

    def receive(self):
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            self.end()
            return Died(_how(self._process.exitcode))

    def close(self):
        """Let it end by itself: an idle process does when its pipe is closed."""
        self._pipe.close()
        self._process.join(_GRACE_SECONDS)
        self.end()

    def end(self):
        """End it now: politely, so that it can end what it has started, then not."""
        self.alive = False
        self._pipe.close()
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(_GRACE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


@contextmanager
def _interrupts_blocked():
    """Processes started here never see Ctrl-C, not even while they load: it is the parent's."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _how(exitcode):
    if exitcode == -signal.SIGKILL:
        return "killed; perhaps the machine ran out of memory"
    if exitcode and exitcode < 0:
        return f"signal {-exitcode}: {signal.Signals(-exitcode).name}"
    return f"exit code {exitcode}"


def _serve(pipe):
    """The life of a process: call what comes through the pipe until it is closed."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        result = function(*arguments)
        try:
            pipe.send(result)
        except OSError:
            return


def _die_with_parent():
    """A parent that was killed closes no pipes while its children compute: watch for its end."""
    multiprocessing.parent_process().join()
    os._exit(1)
