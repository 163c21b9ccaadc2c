"""The processes in which points are measured: many of one thread each, one of all for timings."""

import pickle

from kernlab.lab.engine.errors import StudyError
from kernlab.lab.engine.measuring import failure, measure_point
from kernlab.lab.engine.processes import Died, ProcessPool
from kernlab.runtime import thread_count


class WorkerPools:
    """The processes of a whole run.

    They are shared by the studies of the run, which saves each study the seconds that loading the
    libraries takes.
    """

    def __init__(self, jobs):
        if jobs < 1:
            raise StudyError(f"jobs={jobs}: at least one process is needed")
        self._threads = thread_count()
        self._parallel = ProcessPool(jobs, threads=1)
        self._timing = ProcessPool(1, threads=self._threads)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._parallel.close()
        self._timing.close()

    def measure(self, study, tasks):
        """Yield (number of the task, record) as points finish; `tasks` are (point, seed) pairs."""
        measure = _pickled(study)
        pool, threads = (self._timing, self._threads) if study.timing else (self._parallel, 1)
        calls = [(measure, point, seed, threads) for point, seed in tasks]
        for number, result in pool.run(_measure, calls):
            if isinstance(result, Died):
                result = failure(f"The process that measured it died ({result.how})")
            yield number, result


def _pickled(study):
    try:
        return pickle.dumps(study.measure)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise StudyError(
            f"The function that measures {study.id} cannot be sent to other processes ({error}). "
            "Define it at the top level of a module, or run the study with jobs=1."
        ) from error


def _measure(measure, point, seed, threads):
    """What a process does with one point."""
    try:
        measure = pickle.loads(measure)
    except Exception as error:
        return failure(f"The study was not found: {type(error).__name__}: {error}")
    return measure_point(measure, point, seed, threads)
