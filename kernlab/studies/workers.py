"""Points measured in processes of their own, so that one that dies takes only its point with it.

The executors of the standard library give up on all their work when one process dies, and cannot
tell whose fault it was. Here every process has a pipe of its own: what was in it is what failed.
"""

import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait

from kernlab.parallel import thread_count
from kernlab.studies.base import StudyError
from kernlab.studies.measuring import failure, measure_point
from kernlab.studies.threads import THREAD_VARIABLES, environment

_GRACE_SECONDS = 5


class WorkerPools:
    """The processes of a whole run: several of one thread each, and one of all threads for timings.

    They are started when first needed and shared by the studies of the run, which saves each study
    the seconds that loading the libraries takes.
    """

    def __init__(self, jobs):
        if jobs < 1:
            raise StudyError(f"jobs={jobs}: at least one process is needed")
        self._parallel = WorkerPool(jobs, threads=1)
        self._timing = WorkerPool(1, threads=thread_count())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._parallel.close()
        self._timing.close()

    def for_study(self, study):
        return self._timing if study.timing else self._parallel


class WorkerPool:
    """Some processes that measure points. Only one `run` may be under way at a time."""

    def __init__(self, size, threads):
        self._size = size
        self._threads = threads
        self._idle = []

    def run(self, study, tasks):
        """Yield (task number, record) as points finish; `tasks` are (point, seed) pairs.

        When the caller stops listening, as after Ctrl-C, processes that are at work are killed.
        """
        reference = _reference(study)
        waiting, busy = deque(enumerate(tasks)), {}
        try:
            while waiting or busy:
                while waiting and len(busy) < self._size:
                    number, (point, seed) = waiting.popleft()
                    worker = self._idle.pop() if self._idle else _Worker(self._threads)
                    busy[worker] = number
                    worker.send((reference, point, seed, self._threads))
                for worker in _ready(busy):
                    number = busy.pop(worker)
                    record = worker.receive()
                    if worker.alive:
                        self._idle.append(worker)
                    yield number, record
        finally:
            for worker in busy:
                worker.kill()

    def close(self):
        with ExitStack() as stack:
            while self._idle:
                stack.callback(self._idle.pop().close)


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, threads):
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        # Libraries read these when they are loaded, which is before the process can be told more.
        limits = dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), str(threads))
        with environment(limits), _interrupts_blocked():
            self._process.start()
        theirs.close()
        self.alive = True

    def fileno(self):
        return self._pipe.fileno()

    def send(self, task):
        # If the process has died, `receive` will find that out and say so.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._pipe.send(task)

    def receive(self):
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            self.kill()
            return failure(f"The process that measured it died {_how(self._process.exitcode)}")

    def close(self):
        self._pipe.close()
        self._process.join(_GRACE_SECONDS)
        self.kill()

    def kill(self):
        self.alive = False
        self._pipe.close()
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


def _ready(workers):
    return wait(list(workers))


def _how(exitcode):
    if exitcode == -signal.SIGKILL:
        return "(killed; perhaps the machine ran out of memory)"
    if exitcode and exitcode < 0:
        return f"(signal {-exitcode}: {signal.Signals(-exitcode).name})"
    return f"(exit code {exitcode})"


def _reference(study):
    """What a process needs to find the study's `measure`: the function, or the study's id."""
    from kernlab.studies import STUDIES

    try:
        return pickle.dumps(study.measure)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if STUDIES.get(study.id) is study:
            return study.id
        raise StudyError(
            f"The function that measures {study.id} cannot be sent to other processes ({error}). "
            "Define it at the top level of a module, or run the study with jobs=1."
        ) from error


def _find(reference):
    from kernlab.studies import STUDIES

    return STUDIES[reference].measure if isinstance(reference, str) else pickle.loads(reference)


def _serve(pipe):
    """The life of a worker: measure what comes through the pipe until it is closed."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            reference, point, seed, threads = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            record = measure_point(_find(reference), point, seed, threads)
        except Exception as error:
            record = failure(f"The process could not begin: {type(error).__name__}: {error}")
        try:
            pipe.send(record)
        except OSError:
            return


def _die_with_parent():
    """A parent that was killed closes no pipes while its children compute: watch for its end."""
    multiprocessing.parent_process().join()
    os._exit(1)
