"""The data that a study's points read: what is missing of it, and which files exactly it is."""

from pathlib import Path

from kernlab.datasets import DataError, data_path, dataset_available, dataset_names
from kernlab.datasets.checksums import digest_of
from kernlab.datasets.own import is_path


class Inputs:
    """The data sets of one study, each looked at once."""

    def __init__(self, study):
        self._needs = tuple(study.needs)
        self._known = frozenset(dataset_names())
        self._available, self._checksums = {}, {}

    def names(self, point):
        """The data sets that a point reads: its own, or where that is only a label, the study's."""
        known = point.dataset in self._known or is_path(point.dataset)
        return (point.dataset,) if known else self._needs

    def missing(self, point):
        """Why a point's data cannot be used, or "". Nothing is downloaded during a run."""
        missing = [name for name in self.names(point) if not self._is_available(name)]
        if not missing:
            return ""
        commands = " and ".join(f"kernlab data get {name}" for name in missing)
        return f"data not found: {', '.join(missing)} (to get it: {commands})"

    def checksums(self, point):
        """SHA-256 of every file that a point reads; {} where its data are generated."""
        return {
            file: digest
            for name in self.names(point)
            for file, digest in self._checksums_of(name).items()
        }

    def _is_available(self, name):
        if name not in self._available:
            found = Path(name).is_file() if is_path(name) else dataset_available(name)
            self._available[name] = found
        return self._available[name]

    def _checksums_of(self, name):
        if name not in self._checksums:
            self._checksums[name] = _digests(name)
        return self._checksums[name]


def _digests(name):
    try:
        paths = [Path(name)] if is_path(name) else data_path(name)
        return {path.name: digest_of(path) for path in paths}
    except DataError:  # generated, or gone: then there is no file to tell of
        return {}
