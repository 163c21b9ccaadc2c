"""Where numbers come from: the code, the machine with its versions, and the files of the data."""

import datetime
import functools
import hashlib
import inspect
import json
import os
import platform
from importlib import metadata
from pathlib import Path

import psutil
from threadpoolctl import threadpool_info

import kernlab
from kernlab.datasets import DataError, data_path, dataset_available, digest_of, is_path, knows

_LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "scikit-sparse", "scikit-learn-intelex", "lightgbm"),
    *("thundersvm-cpu", "numba", "pandas", "matplotlib", "threadpoolctl"),
)
# What takes no part in computing numbers.
_NOT_NUMERICAL = ("plots", "explorers", "report", "published", "figures", "cli", "doctor")


def code_hash(study=None):
    """A short hash of all code that takes part in computing numbers, the studies included.

    Of a study that is defined outside kernlab, its own module counts as well.
    """
    package = Path(kernlab.__file__).parent
    module = inspect.getmodule(study.measure) if study is not None else None
    file = getattr(module, "__file__", None)
    if file is None or Path(file).is_relative_to(package):
        return _hash_of(package)
    return _hash_of(package, Path(file))


@functools.cache
def _hash_of(package, *others):
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).with_suffix("").as_posix()
        if not any(part.endswith(_NOT_NUMERICAL) for part in name.split("/")):
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    for path in others:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def machine():
    """The machine and the software on it: no names of hosts, users or folders."""
    kept = ("internal_api", "user_api", "version", "threading_layer", "architecture")
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return {
        "processor": processor_name(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "logical_cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": f"{system}, {platform.machine()}",
        "python": platform.python_version(),
        "blas": [{n: pool[n] for n in kept if pool.get(n)} for pool in threadpool_info()],
        "blas_core_type_asked_for": os.environ.get("OPENBLAS_CORETYPE", ""),
        "versions": {"kernlab": kernlab.__version__}
        | {name: version for name in _LIBRARIES if (version := installed(name))},
    }


def machine_key():
    """A short name of the machine and its software; BLAS apart, which loads in varying order."""
    told = {name: value for name, value in machine().items() if name != "blas"}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:8]


def processor_name():
    """The processor as its maker calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def installed(package):
    """The installed version of a package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def today():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


class Inputs:
    """The data that a study's points read: what is missing of it, and which files it is."""

    def __init__(self, study):
        self._needs = tuple(study.needs)
        self._available = functools.cache(_available)
        self._checksums = functools.cache(_checksums)

    def names(self, point):
        """The data sets that a point reads: its own, or where that is only a label, the study's."""
        known = is_path(point.dataset) or knows(point.dataset)
        return (point.dataset,) if known else self._needs

    def missing(self, point):
        """The data sets of a point that are not there. Nothing is downloaded during a run."""
        return [name for name in self.names(point) if not self._available(name)]

    def checksums(self, point):
        """SHA-256 of every file that a point reads; {} where its data are generated."""
        read = [self._checksums(name) for name in self.names(point)]
        return {file: digest for files in read for file, digest in files.items()}


def _available(name):
    return Path(name).is_file() if is_path(name) else dataset_available(name)


def _checksums(name):
    try:
        paths = [Path(name)] if is_path(name) else data_path(name)
        return {path.name: digest_of(path) for path in paths}
    except DataError:  # generated, or gone: then there is no file to tell of
        return {}
