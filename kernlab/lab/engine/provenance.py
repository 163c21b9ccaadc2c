"""Where numbers come from: code, versions, machine and settings, kept beside every table."""

import datetime
import functools
import json
import os
import platform
import subprocess
from collections import Counter
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import psutil
from threadpoolctl import threadpool_info

import kernlab
from kernlab.lab.engine.table import write_atomically
from kernlab.lab.engine.threads import threads_for
from kernlab.paths import project_root

# Share of the machine in use by others from which on timings are called doubtful.
_BUSY_SHARE = 0.3
_BUSY_SECONDS = 0.2  # over which it is taken

_LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-sparse",
    "scikit-learn-intelex",
    "numba",
    "pandas",
    "matplotlib",
    "threadpoolctl",
)


@functools.cache
def machine():
    """The machine and the software on it: no names of hosts, users or folders."""
    return {
        "processor": processor_name(),
        "cores": psutil.cpu_count(logical=False) or os.cpu_count(),
        "logical_cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "system": system_name(),
        "python": platform.python_version(),
        "blas": [_describe_pool(pool) for pool in threadpool_info()],
        "blas_core_type_asked_for": os.environ.get("OPENBLAS_CORETYPE", ""),
        "versions": library_versions(),
    }


def processor_name():
    """The processor as its maker calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def system_name():
    """The operating system and its processor family."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.system()
    return f"{name}, {platform.machine()}"


def library_versions():
    """The installed version of every library whose numbers could matter."""
    versions = {"kernlab": kernlab.__version__}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


@functools.cache
def code_version():
    """The commit of the checkout and whether it has been changed since; {} outside a checkout."""
    root = project_root()
    if root is None or not (root / ".git").exists():
        return {}
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed_since": bool(changes)} if commit else {}


class RunLog:
    """One run of a study, written into the study's provenance file when it ends."""

    def __init__(self, study, profile, plan, jobs):
        self._study, self._profile, self._plan = study, profile, plan
        self._run = {
            "started": _now(),
            "jobs": 1 if study.timing else jobs,
            "threads_per_point": threads_for(study),
            "busy_before": _busy_share() if study.timing and plan.todo else None,
            "code": {**code_version(), **plan.stamp},
            "machine": machine(),
        }

    def notes(self):
        """What a reader of the table should be told."""
        notes = []
        if self._plan.kept_from_older_library:
            notes.append(
                f"{self._study.id}: {self._plan.kept_from_older_library} of "
                f"{len(self._plan.points)} points were computed before kernlab's code last "
                "changed, and kept. --fresh computes them again."
            )
        busy = self._run["busy_before"] or 0
        if busy > _BUSY_SHARE:
            notes.append(
                f"{self._study.id}: {busy:.0%} of the machine was busy with other work when the "
                "clock started: its timings are doubtful."
            )
        return notes

    def write(self, path):
        """Add this run to those that the file tells of already, if it computed anything."""
        runs = read_runs(path)
        if self._plan.computed:
            runs.append({**self._run, "finished": _now(), "points_computed": self._plan.computed})
        statuses = Counter(record["status"] for record in self._plan.records.values())
        content = {
            "study": self._study.id,
            "title": self._study.title,
            "profile": asdict(self._profile),
            "points": {"in the grid": len(self._plan.points), **statuses},
            "parameters": _values(self._plan.points),
            "data": self._data(),
            "runs": runs,
        }
        write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def _data(self):
        """The files that finished points have read, by data set."""
        names, records = self._plan.inputs.names, self._plan.records.items()
        read = ((names(self._plan.points[i]), record.get("data")) for i, record in records)
        return {" and ".join(sets): files for sets, files in read if files}


def _values(points):
    """The values that each parameter takes in the grid."""
    values = {}
    for point in points:
        for name, value in point.params:
            values.setdefault(name, {})[json.dumps(value)] = value
    return {name: list(found.values()) for name, found in values.items()}


def read_runs(path):
    """The runs that a provenance file tells of; none when there is no readable file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError):
        return []


def _busy_share():
    """How much of the machine is in use at this moment, from 0 to 1."""
    return round(psutil.cpu_percent(_BUSY_SECONDS) / 100, 2)


def _now():
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _git(root, *arguments):
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _describe_pool(pool):
    kept = ("internal_api", "user_api", "version", "threading_layer", "architecture")
    return {name: pool[name] for name in kept if pool.get(name)}
